//! Experiments 5 and 6: age with one choice changed.

use super::measure::{AGE, AGE_IW, BCJT, MACHINE, Relative, SHORTEST, Way, measure};
use super::programs::{Class, programs};
use super::table::relative_times;
use crate::exhibit::percent;
use crate::{Exhibit, Runs, StudyError};

/// Which thread gets the fast core, and where threads wake.
pub(super) fn orders(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    against_age(runs, "Longest or shortest first, sw or iw", &[AGE, SHORTEST, AGE_IW])
}

/// What counts as a milestone.
pub(super) fn milestones(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    against_age(runs, "bt or bcjt", &[AGE, BCJT])
}

fn against_age(runs: &Runs, title: &str, ways: &[Way]) -> Result<Vec<Exhibit>, StudyError> {
    let programs = programs(runs.quick);
    let ran = measure(runs, &programs, &[MACHINE], ways)?;
    let relative = Relative { ran: &ran, base: (None, AGE) };
    let table =
        relative_times(title, "execution time, age = 1", &relative, &programs, MACHINE, ways);
    let mean = |way: Way| relative.mean(&Class::ALL, MACHINE, way).map(percent);
    let remarks = ways[1..].iter().filter_map(|&way| {
        Some(format!("{}: mean execution time {} against age.", way.name, mean(way)?))
    });
    Ok(vec![Exhibit { remarks: remarks.collect(), ..table }])
}
