//! The tables of the study on the machine at hand.

use evenkeel_machine::Machine;
use evenkeel_metrics::measures::geometric_mean;

use super::predict::Predicted;
use super::{Cores, Measured, SERIAL, Timed, VERSIONS, median};
use crate::exhibit::percent;
use crate::{Cell, Column, Exhibit, Figure, Shape};

const PROGRAM: &str = "program";
const VERSION: &str = "version";
const IDEAL: &str = "ideal";
const COPIES: &str = "copies";

/// Programs by versions.
pub(super) fn speedups(
    machine: &Machine,
    measured: &[Measured],
    timed: &[Timed],
    inputs: &str,
) -> Exhibit {
    let row = |it: &Measured| -> Vec<Cell> {
        let best = it.speedups.iter().flatten().copied().fold(f64::NAN, f64::max);
        let head = [it.program.into(), it.ratio().into(), it.ideal.into(), it.copies.into()];
        let share = |of: f64| 100.0 * best / of;
        let shares = [share(it.ideal).into(), it.copies.map(share).into()];
        head.into_iter().chain(it.speedups.map(Cell::from)).chain(shares).collect()
    };
    let mut columns = vec![Column::new(PROGRAM, "")];
    columns.extend(
        ["ratio", IDEAL, COPIES].into_iter().chain(VERSIONS).map(|name| Column::new(name, "")),
    );
    columns.extend(["best of ideal", "best of copies"].map(|name| Column::new(name, "%")));
    let (all, loops): (Vec<&Measured>, Vec<&Measured>) = (
        measured.iter().collect(),
        measured.iter().filter(|it| it.speedups.iter().all(Option::is_some)).collect(),
    );
    let mut rows: Vec<_> = measured.iter().map(row).collect();
    for (name, of) in [("mean of all", &all), ("mean of those with loops", &loops)] {
        if of.len() < 2 {
            continue;
        }
        rows.extend(mean(of).map(|mean| row(&Measured { program: name, ..mean })));
    }
    let title = "Speedup over one core of the slowest kind";
    let figure = Figure::new(
        Shape::Bars,
        title,
        PROGRAM,
        [IDEAL].into_iter().chain(VERSIONS),
        "speedup over one slow core",
    );
    Exhibit {
        ci95: Vec::new(),
        title: format!("{title}, {} ({})", machine.name, machine.cores_label()),
        columns,
        rows,
        figures: vec![figure],
        remarks: remarks(machine, &all, &loops, timed, inputs),
    }
}

/// The mean over the programs, each column by itself; a version that some program lacks has none.
fn mean(of: &[&Measured]) -> Option<Measured> {
    let all = |value: &dyn Fn(&Measured) -> Option<f64>| {
        geometric_mean(of.iter().map(|it| value(it)).collect::<Option<Vec<_>>>()?)
    };
    Some(Measured {
        program: "",
        ratios: vec![all(&|it| Some(it.ratio()))?],
        ideal: all(&|it| Some(it.ideal))?,
        copies: all(&|it| it.copies),
        speedups: std::array::from_fn(|version| all(&|it| it.speedups[version])),
    })
}

fn remarks(
    machine: &Machine,
    all: &[&Measured],
    loops: &[&Measured],
    timed: &[Timed],
    inputs: &str,
) -> Vec<String> {
    let mut remarks = vec![format!("Inputs: {inputs}.")];
    if machine.kinds.len() == 1 {
        let same = "All cores are of one kind: one slow core is one core, and the ratio is 1. \
                    `evenkeel lab --slow 1=3 -- …` makes one slower.";
        remarks.push(same.to_owned());
    }
    for (name, of) in [("Of all programs", all), ("Of those with loops", loops)] {
        let Some(mean) = mean(of) else { continue };
        let [Some(pinned), others @ ..] = mean.speedups else { continue };
        let gains: Vec<String> = VERSIONS[1..]
            .iter()
            .zip(others)
            .filter_map(|(version, speedup)| {
                Some(format!("{version} {}", percent(speedup? / pinned)))
            })
            .collect();
        if !gains.is_empty() {
            remarks.push(format!("{name}, mean speedup against pinned: {}.", gains.join(", ")));
        }
    }
    let spread = |it: &Timed| {
        let ends = it.seconds().fold((f64::INFINITY, 0.0), |(least, most), it| {
            (f64::min(least, it), f64::max(most, it))
        });
        ends.1 / ends.0
    };
    let several = timed.iter().filter(|it| it.runs.len() > 1);
    let spreads: Vec<f64> = several.map(spread).collect();
    if let Some(most) = spreads.iter().copied().reduce(f64::max) {
        remarks.push(format!(
            "The slowest run of a case took {} against its fastest in the median, {} at most.",
            percent(median(spreads.into_iter())),
            percent(most)
        ));
    }
    if timed.iter().all(|it| it.joules().is_none()) {
        remarks.push("Energy: no sensor (RAPL, hwmon) that can be read.".into());
    }
    remarks
}

/// Measurements beside predictions.
pub(super) fn beside(
    measured: &[Measured],
    predicted: &[[Option<Predicted>; VERSIONS.len()]],
) -> Exhibit {
    const MEASURED: &str = "measured";
    const OWN: &str = "simulated";
    const AS_MEASURED: &str = "simulated, ratio as measured";
    let mut rows = Vec::new();
    let mut off: [Vec<f64>; VERSIONS.len()] = Default::default();
    for (it, predicted) in measured.iter().zip(predicted) {
        for (index, predicted) in predicted.iter().enumerate() {
            let (Some(speedup), Some(predicted)) = (it.speedups[index], predicted) else {
                continue;
            };
            let ratio = speedup / predicted.by_measured_ratio;
            off[index].push(ratio);
            let Predicted { by_own_ratio, by_measured_ratio } = *predicted;
            rows.push(vec![
                it.program.into(),
                VERSIONS[index].into(),
                speedup.into(),
                by_own_ratio.into(),
                by_measured_ratio.into(),
                (100.0 * (ratio - 1.0)).into(),
            ]);
        }
    }
    let remark = |(version, off): (&str, Vec<f64>)| {
        Some(format!("{version} {}", percent(geometric_mean(off)?)))
    };
    let off: Vec<String> = VERSIONS.into_iter().zip(off).filter_map(remark).collect();
    let figure = Figure {
        panels: Some(VERSION.into()),
        ..Figure::new(
            Shape::Bars,
            "Measured and simulated",
            PROGRAM,
            [MEASURED, OWN, AS_MEASURED],
            "speedup over one slow core",
        )
    };
    Exhibit {
        ci95: Vec::new(),
        title: "Speedup, measured and simulated".into(),
        columns: vec![
            Column::new(PROGRAM, ""),
            Column::new(VERSION, ""),
            Column::new(MEASURED, ""),
            Column::new(OWN, ""),
            Column::new(AS_MEASURED, ""),
            Column::new("measured above that", "%"),
        ],
        rows,
        figures: vec![figure],
        remarks: vec![format!(
            "Measured against simulated with the ratio measured, in the mean: {}.",
            off.join(", ")
        )],
    }
}

/// All that was timed.
pub(super) fn times(machine: &Machine, timed: &[Timed]) -> Exhibit {
    let has_energy = timed.iter().any(|it| it.joules().is_some());
    let slow = |it: &Timed| {
        let on = Cores::One(machine.slowest());
        timed
            .iter()
            .find(|other| other.program == it.program && other.version == SERIAL && other.on == on)
    };
    let row = |it: &Timed| -> Vec<Cell> {
        let cores = match it.on {
            Cores::One(kind) => format!("1{}", machine.kinds[kind.index()].name),
            Cores::Copy(kind) => format!("1{} of all at once", machine.kinds[kind.index()].name),
            Cores::All => machine.cores_label(),
        };
        let (least, most) =
            (it.seconds().fold(f64::INFINITY, f64::min), it.seconds().fold(0.0, f64::max));
        let mut row = vec![it.program.into(), it.version.into(), cores.into()];
        row.extend([it.median(), least, most].map(Cell::from));
        if has_energy {
            let (joules, base) =
                (it.joules(), slow(it).and_then(|slow| Some((slow.joules()?, slow.median()))));
            let mean = it.seconds().sum::<f64>() / it.runs.len() as f64;
            let over = |energy: f64, time: f64| Some(joules? * (it.median() / time) / energy);
            let energy = base.and_then(|(energy, _)| Some(joules? / energy));
            let edp = base.and_then(|(energy, time)| over(energy, time));
            row.extend([joules, joules.map(|joules| joules / mean), energy, edp].map(Cell::from));
        }
        row
    };
    let mut columns = [PROGRAM, VERSION, "cores"].map(|name| Column::new(name, "")).to_vec();
    columns.extend(["median", "least", "greatest"].map(|name| Column::new(name, "s")));
    if has_energy {
        columns.extend([Column::new("energy", "J"), Column::new("power", "W")]);
        columns.extend(
            ["energy over one slow core's", "EDP over one slow core's"]
                .map(|name| Column::new(name, "")),
        );
    }
    Exhibit {
        title: "Time of the parallel part".into(),
        columns,
        rows: timed.iter().map(row).collect(),
        ..Exhibit::default()
    }
}
