//! How long a thread that a timer wakes waits for its core.

use evenkeel_machine::Nanos;
use evenkeel_sim::Latencies;

use super::{MACHINE, SCHEDULERS};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "cyclictest: a normal thread pinned to each core, woken every 10 \
                                  ms, for 60 s; from the wake-up to its first instruction. Load \
                                  that only computes: none, 4 threads (low), 16 threads (high). \
    Interrupts on all cores, or on little cores only: then big cores have no timer, and no timer \
    thread. Entry and handler of the interrupt itself are not modelled. --quick: 6 s.";

const LOADS: [&str; 3] = ["idle", "low", "high"];

/// The cores that have interrupts: the workload's word, and the description.
const ROUTES: [(&str, &str); 2] = [("all", "all cores"), ("slow", "little cores")];

/// Heading of the column that tells the kind of core of a timer, and which cores have interrupts.
const PLACE: &str = "timers of";

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(MACHINE)?;
    let seconds = if runs.quick { 6 } else { 60 };
    let mut points = Vec::new();
    let mut cases = Vec::new();
    for load in LOADS {
        for (on, cores) in ROUTES {
            let apps = runs.load(
                &machine,
                &format!("interrupts:load={load},on={on},seconds={seconds}"),
                1.0,
            )?;
            for (name, policy) in SCHEDULERS {
                points.push((load, cores, name));
                cases.push(runs.case(&machine, apps.clone(), policy));
            }
        }
    }
    let title = "Wake-up latency";
    let mut rows = Vec::new();
    for (&(load, cores, scheduler), outcome) in points.iter().zip(&runs.outcomes(&cases)?) {
        for (kind, latencies) in
            machine.kinds.iter().zip(&outcome.wakeup_latency).filter(|(_, it)| it.count() > 0)
        {
            let place = format!("{}, interrupts on {cores}", kind.name);
            let mut row: Vec<Cell> = vec![place.into(), load.into(), scheduler.into()];
            row.extend(figures(latencies).map(Cell::from));
            rows.push(row);
        }
    }
    let names = [PLACE, "load", "scheduler"].map(|name| Column::new(name, ""));
    let measures = ["least", "mean", "99 %", "greatest"].map(|name| Column::new(name, "us"));
    let figure = |measure: &str| Figure {
        panels: Some(PLACE.into()),
        series: Some("scheduler".into()),
        log_y: true,
        ..Figure::new(Shape::Bars, format!("{title}, {measure}"), "load", [measure], "latency, us")
    };
    Ok(vec![Exhibit {
        title: title.into(),
        columns: names.into_iter().chain(measures).collect(),
        rows,
        figures: vec![figure("mean"), figure("greatest")],
        ..Exhibit::default()
    }])
}

/// Least, mean, 99th percentile, greatest, microseconds.
fn figures(latencies: &Latencies) -> [Option<f64>; 4] {
    let us = |time: Option<Nanos>| time.map(|time| time.0 as f64 / 1e3);
    [
        us(latencies.least()),
        us(latencies.mean()),
        us(latencies.quantile(0.99)),
        us(latencies.greatest()),
    ]
}
