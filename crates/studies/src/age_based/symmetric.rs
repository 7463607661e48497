//! Experiment 1: the value of fast cores, all of them or half.

use super::measure::{AGE, LIN, Relative, Way, measure};
use super::programs::{Class, programs};
use super::table::{CLASS, PROGRAM};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

/// The study's names of the machines, and their presets.
const MACHINES: [(&str, &str); 3] =
    [("all-fast", "amp-8f"), ("half-half", "amp-4f4s"), ("all-slow", "amp-8s")];
const WAYS: [Way; 2] = [LIN, AGE];
const CORES: &str = "cores";

/// Times, and their means by class.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let programs = programs(runs.quick);
    let ran = measure(runs, &programs, &MACHINES.map(|(_, preset)| preset), &WAYS)?;
    let relative = Relative { ran: &ran, base: (Some(MACHINES[0].1), LIN) };
    let mut rows = Vec::new();
    for &program in &programs {
        for (name, machine) in MACHINES {
            let mut row: Vec<Cell> =
                vec![program.name.into(), program.class.name().into(), name.into()];
            row.extend(WAYS.map(|way| {
                relative.time_s(program, machine, way).map(|time_s| 1e3 * time_s).into()
            }));
            row.extend(WAYS.map(|way| relative.program(program, machine, way).into()));
            rows.push(row);
        }
    }
    let mut means = Vec::new();
    for class in Class::ALL {
        for (name, machine) in MACHINES {
            let ratios = WAYS.map(|way| relative.mean(&[class], machine, way).into());
            means.push(
                [class.name().into(), name.into()].into_iter().chain(ratios).collect::<Vec<Cell>>(),
            );
        }
    }
    let names = WAYS.map(|way| way.name.to_owned());
    let ratio = |name: &String| format!("{name}, all-fast lin = 1");
    let figure = |x: &str, panels: &str| Figure {
        panels: Some(panels.into()),
        ..Figure::new(
            Shape::Bars,
            "Execution time",
            x,
            names.iter().map(ratio),
            "execution time, all-fast under lin = 1",
        )
    };
    let of_means = [CLASS, CORES].map(|name| Column::new(name, ""));
    let of_each = [PROGRAM, CLASS, CORES].map(|name| Column::new(name, ""));
    let times = names.iter().map(|name| Column::new(name.clone(), "ms"));
    let ratios = || names.iter().map(|name| Column::new(ratio(name), ""));
    Ok(vec![
        Exhibit {
            title: "Mean over the programs of a class".into(),
            columns: of_means.into_iter().chain(ratios()).collect(),
            rows: means,
            figures: vec![figure(CORES, CLASS)],
            ..Exhibit::default()
        },
        Exhibit {
            title: "Each program".into(),
            columns: of_each.into_iter().chain(times).chain(ratios()).collect(),
            rows,
            figures: vec![figure(PROGRAM, CORES)],
            ..Exhibit::default()
        },
    ])
}
