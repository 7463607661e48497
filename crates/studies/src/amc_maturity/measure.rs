//! The measurements of all experiments with runs: programs, in several ways to run them, on parts
//! of the machine.

use evenkeel_metrics::Record;
use evenkeel_metrics::measures::{self, geometric_mean};

use super::MACHINE;
use crate::exhibit::percent;
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

/// A way to run a program.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// As the tables call it.
    pub name: &'static str,
    /// In which the program is.
    shape: &'static str,
    /// Policy of the operating system.
    policy: &'static str,
}

pub(super) const PINNED: Way = Way { name: "pinned", shape: "pinned", policy: "pinned" };
pub(super) const GTS: Way = Way { name: "gts", shape: "pinned", policy: "gts" };
pub(super) const TASKS: Way = Way { name: "tasks", shape: "tasks", policy: "pinned" };
pub(super) const LOOP_STATIC: Way =
    Way { name: "loop-static", shape: "loop-static", policy: "pinned" };
pub(super) const LOOP_DYNAMIC: Way =
    Way { name: "loop-dynamic", shape: "loop-dynamic", policy: "pinned" };

/// Four big cores, and none to all four little ones.
pub(super) const FOUR_BIG: [(u32, u32); 5] = [(4, 0), (4, 1), (4, 2), (4, 3), (4, 4)];

/// What speedups are over, and what energy and EDP are normalised to: big and little cores.
const ONE_LITTLE: (u32, u32) = (0, 1);
const FOUR_LITTLE: (u32, u32) = (0, 4);

/// Scale of the inputs in a quick look.
pub(super) const QUICK_SIZE: f64 = 0.1;
/// A program that keeps its size in a quick look. Its size is the number of its tasks; with a tenth
/// of them they could not be shared evenly.
pub(super) const NOT_SMALLER: &str = "swaptions";

/// A part of the machine as the study writes it, big cores first.
pub(super) fn cores((big, little): (u32, u32)) -> String {
    format!("{big}+{little}")
}

/// Carries out a program on a part of the machine.
pub(super) fn run(
    runs: &Runs,
    program: &str,
    on: (u32, u32),
    way: Way,
) -> Result<Record, StudyError> {
    let whole = evenkeel_files::machines::preset(MACHINE)?;
    let kinds = [(on.0, "big"), (on.1, "little")].into_iter().filter(|(count, _)| *count > 0);
    let part = kinds.map(|(count, kind)| format!("{count}{kind}")).collect::<Vec<_>>().join("+");
    let part = whole.subset(&part)?;
    let size = if runs.quick && program != NOT_SMALLER { QUICK_SIZE } else { 1.0 };
    let apps = runs.load(&part, &format!("{program}:{}", way.shape), size)?;
    runs.case(&whole, apps, way.policy).on(part).record_by_itself()
}

/// The results of a run, in the study's measures.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    pub program: &'static str,
    pub on: (u32, u32),
    pub way: Way,
    /// Over the program's threads on one little core.
    pub speedup: f64,
    /// Of cores and clusters, W.
    power: Option<f64>,
    /// Over that of pinned on four little cores.
    energy: Option<f64>,
    /// As energy.
    edp: Option<f64>,
}

/// Each program on each part in each way, in this order.
pub(super) fn measure(
    runs: &Runs,
    programs: &[&'static str],
    parts: &[(u32, u32)],
    ways: &[Way],
) -> Result<Vec<Measured>, StudyError> {
    let mut wanted = Vec::new();
    for &program in programs {
        wanted.extend([(program, ONE_LITTLE, PINNED), (program, FOUR_LITTLE, PINNED)]);
        wanted.extend(parts.iter().flat_map(|&on| ways.iter().map(move |&way| (program, on, way))));
    }
    let records = runs.each(&wanted, |&(program, on, way)| run(runs, program, on, way))?;
    let mut measured = Vec::new();
    let of_each_program = 2 + parts.len() * ways.len();
    for (wanted, records) in wanted.chunks(of_each_program).zip(records.chunks(of_each_program)) {
        let [one_little, four_little, records @ ..] = records else { continue };
        for (&(program, on, way), record) in wanted.iter().skip(2).zip(records) {
            let over = |of: fn(&Record) -> Option<f64>| Some(of(record)? / of(four_little)?);
            measured.push(Measured {
                program,
                on,
                way,
                speedup: one_little.makespan_s / record.makespan_s,
                power: record.mean_power_w,
                energy: over(|record| record.energy_j),
                edp: over(|record| record.edp_js),
            });
        }
    }
    Ok(measured)
}

/// What the mean over programs is called in tables.
pub(super) const MEAN: &str = "mean";

/// The mean over the programs on one part in one way.
pub(super) fn mean(measured: &[Measured], on: (u32, u32), way: Way) -> Option<Measured> {
    let of: Vec<&Measured> =
        measured.iter().filter(|it| it.on == on && it.way.name == way.name).collect();
    let geometric = |value: fn(&Measured) -> Option<f64>| {
        geometric_mean(
            of.iter().map(|it| value(it)).collect::<Option<Vec<_>>>().unwrap_or_default(),
        )
    };
    let powers: Option<Vec<f64>> = of.iter().map(|it| it.power).collect();
    Some(Measured {
        program: MEAN,
        on,
        way,
        speedup: geometric(|it| Some(it.speedup))?,
        power: powers.and_then(measures::mean),
        energy: geometric(|it| it.energy),
        edp: geometric(|it| it.edp),
    })
}

/// The means on each part in each way, in this order.
pub(super) fn means(measured: &[Measured], parts: &[(u32, u32)], ways: &[Way]) -> Vec<Measured> {
    parts
        .iter()
        .flat_map(|&on| ways.iter().filter_map(move |&way| mean(measured, on, way)))
        .collect()
}

const PROGRAM: &str = "program";
const CORES: &str = "cores";
const WAY: &str = "scheduler";
/// Column, unit, and what an axis says.
const MEASURES: [(&str, &str, &str); 4] = [
    ("speedup", "over 1 little", "speedup over one little core"),
    ("power", "W", "mean power (W)"),
    ("energy", "", "energy, pinned on four little = 1"),
    ("EDP", "", "EDP, pinned on four little = 1"),
];

/// A table of what was measured, with a figure for each measure.
pub(super) fn exhibit(title: &str, measured: &[Measured], along: Along) -> Exhibit {
    let names = [PROGRAM, CORES, WAY].map(|name| Column::new(name, ""));
    let row = |it: &Measured| -> Vec<Cell> {
        let names = [it.program.into(), cores(it.on).into(), it.way.name.into()];
        names
            .into_iter()
            .chain([Some(it.speedup), it.power, it.energy, it.edp].map(Cell::from))
            .collect()
    };
    let (x, panels, x_title) = match along {
        Along::Programs => (PROGRAM, CORES, ""),
        Along::Cores => (CORES, PROGRAM, "cores (big+little)"),
    };
    let several = measured.iter().any(|it| it.program != measured[0].program);
    let figure = |(column, _, axis): (&str, &str, &str)| Figure {
        x_title: x_title.into(),
        panels: several.then(|| panels.into()),
        series: Some(WAY.into()),
        ..Figure::new(
            Shape::Bars,
            format!("{}{}", column[..1].to_uppercase(), &column[1..]),
            x,
            [column],
            axis,
        )
    };
    Exhibit {
        title: title.into(),
        columns: names
            .into_iter()
            .chain(MEASURES.map(|(name, unit, _)| Column::new(name, unit)))
            .collect(),
        rows: measured.iter().map(row).collect(),
        figures: MEASURES.map(figure).to_vec(),
        ..Exhibit::default()
    }
}

/// The quantity along the horizontal axis of figures; the other one separates the panels.
#[derive(Clone, Copy)]
pub(super) enum Along {
    Programs,
    Cores,
}

/// How much faster programs are in other ways than in the first, in the mean, on one part of the
/// machine.
pub(super) fn gains(measured: &[Measured], on: (u32, u32), ways: &[Way]) -> Option<String> {
    let (first, others) = ways.split_first()?;
    let base = mean(measured, on, *first)?;
    let gains: Option<Vec<String>> = others
        .iter()
        .map(|way| {
            Some(format!(
                "{} {}",
                way.name,
                percent(mean(measured, on, *way)?.speedup / base.speedup)
            ))
        })
        .collect();
    Some(format!("On {}, mean speedup against {}: {}.", cores(on), first.name, gains?.join(", ")))
}
