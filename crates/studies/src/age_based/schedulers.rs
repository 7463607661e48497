//! Experiment 2: execution time under each scheduler against scaled-load.

use evenkeel_machine::Machine;

use super::measure::{
    AGE, AGE_ORACLE, AGE_PROFILE, FCA_AGE, LIN, MACHINE, RR, Relative, SCALED_LOAD, Way, case,
    measure,
};
use super::programs::{Class, programs};
use super::table::{PROGRAM, relative_times};
use crate::exhibit::percent;
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

const WAYS: [Way; 7] = [SCALED_LOAD, LIN, RR, FCA_AGE, AGE, AGE_PROFILE, AGE_ORACLE];
const AXIS: &str = "execution time, scaled-load = 1";

/// Degrees of symmetry of the `generated` program: some that count as symmetric, and greater ones.
const DEGREES: [&str; 6] = ["0", "0.1", "0.25", "0.5", "1", "2"];
const DEGREE: &str = "degree of symmetry";

/// Times of the programs, and the effect of the assumed degree of symmetry.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let programs = programs(runs.quick);
    let ran = measure(runs, &programs, &[MACHINE], &WAYS)?;
    let relative = Relative { ran: &ran, base: (None, SCALED_LOAD) };
    let table =
        relative_times("Each program, and means", AXIS, &relative, &programs, MACHINE, &WAYS);
    let gain = |classes: &[Class], way: Way| {
        relative.mean(classes, MACHINE, way).map(|ratio| format!("{} {}", way.name, percent(ratio)))
    };
    let gains = |name: &str, classes: &[Class]| {
        let each: Option<Vec<_>> = WAYS[1..].iter().map(|&way| gain(classes, way)).collect();
        Some(format!("{name}, mean execution time against scaled-load: {}.", each?.join(", ")))
    };
    let remarks = [
        ("PARSEC", &[Class::Symmetric, Class::Asymmetric][..]),
        ("Other asymmetric programs", &[Class::Other]),
    ]
    .into_iter()
    .filter_map(|(name, classes)| gains(name, classes))
    .collect();
    Ok(vec![Exhibit { remarks, ..table }, by_degree(runs)?, without_costs(runs)?])
}

fn by_degree(runs: &Runs) -> Result<Exhibit, StudyError> {
    let named = |degree: &'static str| {
        (Cell::from(degree.parse::<f64>().ok()), format!("generated:symmetry={degree}"))
    };
    let title = "A generated program, by its degree of symmetry";
    let table = over_scaled_load(
        runs,
        title,
        &evenkeel_files::machines::preset(MACHINE)?,
        DEGREE,
        &DEGREES.map(named),
    )?;
    let figure = drawn(Shape::Lines, "Execution time by degree of symmetry", DEGREE);
    let x_title = "standard deviation of the lengths of a group's threads / their mean".into();
    Ok(Exhibit { figures: vec![Figure { x_title, ..figure }], ..table })
}

/// Programs whose threads meet often, on a machine on which migrations are free.
fn without_costs(runs: &Runs) -> Result<Exhibit, StudyError> {
    let machine = evenkeel_files::machines::preset(MACHINE)?.with_free_costs();
    let programs = programs(runs.quick).into_iter().filter(|program| program.has_short_rounds());
    let named: Vec<_> = programs.map(|program| (program.name.into(), program.workload())).collect();
    let title = "Programs with short rounds, without costs of context switches and migrations";
    let table = over_scaled_load(runs, title, &machine, PROGRAM, &named)?;
    Ok(Exhibit {
        figures: vec![drawn(Shape::Bars, "Execution time without costs", PROGRAM)],
        ..table
    })
}

/// Execution times over that under scaled-load, a row for each workload, which the cell beside it
/// names.
fn over_scaled_load(
    runs: &Runs,
    title: &str,
    machine: &Machine,
    called: &str,
    workloads: &[(Cell, String)],
) -> Result<Exhibit, StudyError> {
    let wanted: Vec<_> =
        workloads.iter().flat_map(|(_, workload)| WAYS.map(|way| (workload, way))).collect();
    let times = runs.each(&wanted, |&(workload, way)| {
        Ok(case(runs, workload, machine, way)?.carry_out()?.makespan.as_secs_f64())
    })?;
    let row = |((name, _), times): (&(Cell, String), &[f64])| -> Vec<Cell> {
        std::iter::once(name.clone())
            .chain(times.iter().map(|time| Cell::from(time / times[0])))
            .collect()
    };
    Ok(Exhibit {
        title: title.into(),
        columns: std::iter::once(called)
            .chain(WAYS.map(|way| way.name))
            .map(|name| Column::new(name, ""))
            .collect(),
        rows: workloads.iter().zip(times.chunks(WAYS.len())).map(row).collect(),
        ..Exhibit::default()
    })
}

fn drawn(shape: Shape, title: &str, x: &str) -> Figure {
    Figure::new(shape, title, x, WAYS.map(|way| way.name), AXIS)
}
