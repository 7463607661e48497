//! Experiment 2: execution time under each scheduler against scaled-load.

use evenkeel_machine::Machine;

use super::measure::{
    AGE, AGE_ORACLE, AGE_PROFILE, FCA_AGE, LIN, MACHINE, RR, Relative, SCALED_LOAD, Way, measure, run, run_on,
};
use super::programs::{Class, Program, programs};
use super::table::{PROGRAM, percent, relative_times};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

const WAYS: [Way; 7] = [SCALED_LOAD, LIN, RR, FCA_AGE, AGE, AGE_PROFILE, AGE_ORACLE];
const AXIS: &str = "execution time, scaled-load = 1";

/// Degrees of symmetry that a program of one's own is given: what counts as symmetric, and more and more that does not.
const DEGREES: [&str; 6] = ["0", "0.1", "0.25", "0.5", "1", "2"];
const DEGREE: &str = "degree of symmetry";

/// Programs, and what the assumed degree of symmetry has to do with it.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let programs = programs(runs.quick);
    let ran = measure(runs, &programs, &[MACHINE], &WAYS)?;
    let relative = Relative { ran: &ran, base: (None, SCALED_LOAD) };
    let table = relative_times("Each program, and means", AXIS, &relative, &programs, MACHINE, &WAYS);
    let gain = |classes: &[Class], way: Way| {
        relative.mean(classes, MACHINE, way).map(|ratio| format!("{} {}", way.name, percent(ratio)))
    };
    let gains = |name: &str, classes: &[Class]| {
        let each: Option<Vec<_>> = WAYS[1..].iter().map(|&way| gain(classes, way)).collect();
        Some(format!("{name}, mean execution time against scaled-load: {}.", each?.join(", ")))
    };
    let remarks =
        [("PARSEC", &[Class::Symmetric, Class::Asymmetric][..]), ("Other asymmetric programs", &[Class::Other])]
            .into_iter()
            .filter_map(|(name, classes)| gains(name, classes))
            .collect();
    Ok(vec![Exhibit { remarks, ..table }, by_degree(runs)?, without_costs(runs)?])
}

fn by_degree(runs: &Runs) -> Result<Exhibit, StudyError> {
    let wanted: Vec<(&str, Way)> = DEGREES.into_iter().flat_map(|degree| WAYS.map(|way| (degree, way))).collect();
    let times = runs.each(&wanted, |&(degree, way)| {
        let outcome = run(runs, &format!("generated:symmetry={degree}"), MACHINE, way)?;
        Ok(outcome.makespan.as_secs_f64())
    })?;
    let row = |(degree, times): (&str, &[f64])| -> Vec<Cell> {
        let ratios = times.iter().map(|time| Cell::from(time / times[0]));
        [Cell::from(degree.parse().unwrap_or(f64::NAN))].into_iter().chain(ratios).collect()
    };
    Ok(Exhibit {
        title: "A generated program, by its degree of symmetry".into(),
        columns: [Column::new(DEGREE, "")].into_iter().chain(WAYS.map(|way| Column::new(way.name, ""))).collect(),
        rows: DEGREES.into_iter().zip(times.chunks(WAYS.len())).map(row).collect(),
        figures: vec![Figure {
            title: "Execution time by degree of symmetry".into(),
            shape: Shape::Lines,
            x: DEGREE.into(),
            x_title: "standard deviation of the lengths of a group's threads / their mean".into(),
            y: WAYS.map(|way| way.name.to_owned()).to_vec(),
            y_title: AXIS.into(),
            panels: None,
            series: None,
            log_y: false,
        }],
        remarks: Vec::new(),
    })
}

/// Programs whose threads meet often, on a machine where a migration costs nothing.
fn without_costs(runs: &Runs) -> Result<Exhibit, StudyError> {
    let machine = Machine::preset(MACHINE)?.with_free_costs();
    let programs: Vec<_> = programs(runs.quick).into_iter().filter(|program| program.has_short_rounds()).collect();
    let wanted: Vec<_> = programs.iter().flat_map(|&program| WAYS.map(|way| (program, way))).collect();
    let times = runs.each(&wanted, |&(program, way)| {
        Ok(run_on(runs, &format!("sc09-{}", program.name), &machine, way)?.makespan.as_secs_f64())
    })?;
    let row = |(program, times): (&Program, &[f64])| -> Vec<Cell> {
        [program.name.into()].into_iter().chain(times.iter().map(|time| Cell::from(time / times[0]))).collect()
    };
    Ok(Exhibit {
        title: "Programs with short rounds, without costs of context switches and migrations".into(),
        columns: [Column::new(PROGRAM, "")].into_iter().chain(WAYS.map(|way| Column::new(way.name, ""))).collect(),
        rows: programs.iter().zip(times.chunks(WAYS.len())).map(row).collect(),
        figures: vec![Figure {
            title: "Execution time without costs".into(),
            shape: Shape::Bars,
            x: PROGRAM.into(),
            x_title: String::new(),
            y: WAYS.map(|way| way.name.to_owned()).to_vec(),
            y_title: AXIS.into(),
            panels: None,
            series: None,
            log_y: false,
        }],
        remarks: Vec::new(),
    })
}
