//! Experiment 3: four big cores, with more and more little ones beside them.

use super::PROGRAMS;
use super::measure::{
    Along, FOUR_BIG, GTS, Measured, PINNED, TASKS, Way, exhibit, gains, mean, means, measure,
};
use crate::exhibit::percent;
use crate::{Exhibit, Runs, StudyError};

const WAYS: [Way; 3] = [PINNED, GTS, TASKS];

/// The mean over programs, and each of them.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let measured = measure(runs, &PROGRAMS, &FOUR_BIG, &WAYS)?;
    let mut remarks: Vec<String> =
        FOUR_BIG.into_iter().filter_map(|on| gains(&measured, on, &WAYS)).collect();
    remarks.extend(WAYS.into_iter().filter_map(|way| little_cores_beside(&measured, way)));
    let all =
        exhibit("Mean over the nine programs", &means(&measured, &FOUR_BIG, &WAYS), Along::Cores);
    Ok(vec![Exhibit { remarks, ..all }, exhibit("Each program", &measured, Along::Cores)])
}

/// What little cores add.
fn little_cores_beside(measured: &[Measured], way: Way) -> Option<String> {
    let [without, with_one, .., with_all] = FOUR_BIG;
    let speedup = |on| mean(measured, on, way).map(|mean| mean.speedup);
    let gain = |on| Some(percent(speedup(on)? / speedup(without)?));
    Some(format!(
        "{}: one little core beside four big ones changes the mean speedup by {}, four by {}.",
        way.name,
        gain(with_one)?,
        gain(with_all)?
    ))
}
