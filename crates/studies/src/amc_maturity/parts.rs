//! Experiment 2: four cores, of one kind or two of each.

use super::PROGRAMS;
use super::measure::{Along, GTS, PINNED, TASKS, Way, exhibit, gains, mean, measure};
use crate::{Exhibit, Runs, StudyError};

const PARTS: [(u32, u32); 3] = [(0, 4), (2, 2), (4, 0)];
const WAYS: [Way; 3] = [PINNED, GTS, TASKS];

/// All programs and their mean.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let measured = measure(runs, &PROGRAMS, &PARTS, &WAYS)?;
    let mut rows = Vec::new();
    for on in PARTS {
        rows.extend(measured.iter().filter(|it| it.on == on).copied());
        rows.extend(WAYS.into_iter().filter_map(|way| mean(&measured, on, way)));
    }
    let remarks = PARTS.into_iter().filter_map(|on| gains(&measured, on, &WAYS)).collect();
    Ok(vec![Exhibit {
        remarks,
        ..exhibit("Four cores, by part of the machine", &rows, Along::Programs)
    }])
}
