//! Experiment 3: idle cycles per core.

use evenkeel_machine::Machine;
use evenkeel_metrics::measures::mean;
use evenkeel_sim::Outcome;

use super::measure::{AGE, FCA_AGE, LIN, MACHINE, RR, Ran, SCALED_LOAD, Way, measure};
use super::programs::{Class, programs};
use super::table::{CLASS, PROGRAM};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

const WAYS: [Way; 5] = [SCALED_LOAD, LIN, RR, FCA_AGE, AGE];
const WAY: &str = "scheduler";
const CORE: &str = "core";
const SHARE: &str = "idle";

/// Shares of time in the mean, and cycles of each program.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let ran = measure(runs, &programs(runs.quick), &[MACHINE], &WAYS)?;
    let machine = evenkeel_files::machines::preset(MACHINE)?;
    Ok(vec![shares(&ran, &machine), cycles(&ran, &machine)])
}

/// By core: of all its cycles, those without a thread.
fn idle_shares(outcome: &Outcome) -> Vec<f64> {
    outcome
        .cores
        .iter()
        .map(|core| core.idle.as_secs_f64() / outcome.makespan.as_secs_f64())
        .collect()
}

fn label(machine: &Machine, core: usize) -> String {
    format!("{core} ({})", machine.kinds[machine.cores[core].kind.index()].name)
}

fn shares(ran: &[Ran], machine: &Machine) -> Exhibit {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for class in Class::ALL {
        for core in 0..machine.cores.len() {
            let mut row: Vec<Cell> = vec![class.name().into(), label(machine, core).into()];
            row.extend(WAYS.map(|way| {
                let of = ran.iter().filter(|ran| ran.program.class == class && ran.way == way);
                Cell::from(mean(of.map(|ran| 100.0 * idle_shares(&ran.outcome)[core])))
            }));
            rows.push(row);
        }
    }
    let names = [CLASS, CORE].map(|name| Column::new(name, ""));
    Exhibit {
        title: "Share of a core's cycles that it idles, mean over programs".into(),
        columns: names.into_iter().chain(WAYS.map(|way| Column::new(way.name, "%"))).collect(),
        rows,
        figures: vec![Figure {
            panels: Some(CLASS.into()),
            ..Figure::new(
                Shape::Bars,
                "Idle cycles by core",
                CORE,
                WAYS.map(|way| way.name),
                "idle, % of the core's cycles",
            )
        }],
        ..Exhibit::default()
    }
}

fn cycles(ran: &[Ran], machine: &Machine) -> Exhibit {
    let row = |ran: &Ran| -> Vec<Cell> {
        let idle = ran.outcome.cores.iter().zip(&machine.cores).map(|(total, core)| {
            let khz = machine.kinds[core.kind.index()].top().khz;
            Cell::from(total.idle.as_secs_f64() * khz as f64 / 1e3)
        });
        let share = mean(idle_shares(&ran.outcome)).map(|share| 100.0 * share);
        let names = [ran.program.name.into(), ran.way.name.into()];
        names.into_iter().chain(idle).chain([share.into()]).collect()
    };
    let cores = (0..machine.cores.len())
        .map(|core| Column::new(format!("core {}", label(machine, core)), "Mcycles"));
    let names = [PROGRAM, WAY].map(|name| Column::new(name, ""));
    Exhibit {
        title: "Idle cycles of each program".into(),
        columns: names.into_iter().chain(cores).chain([Column::new(SHARE, "% of time")]).collect(),
        rows: ran.iter().map(row).collect(),
        figures: vec![Figure {
            series: Some(WAY.into()),
            ..Figure::new(
                Shape::Bars,
                "Idle, mean over the cores",
                PROGRAM,
                [SHARE],
                "idle, % of time",
            )
        }],
        ..Exhibit::default()
    }
}
