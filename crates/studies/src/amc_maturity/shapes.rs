//! Experiment 4: load balancing by nothing, loops or tasks.

use super::measure::{
    Along, FOUR_BIG, LOOP_DYNAMIC, LOOP_STATIC, PINNED, TASKS, Way, exhibit, gains, means, measure,
};
use crate::{Exhibit, Runs, StudyError};

/// The programs that the study also has as loops.
const PROGRAMS: [&str; 4] = ["blackscholes", "bodytrack", "fluidanimate", "swaptions"];
const WAYS: [Way; 4] = [PINNED, LOOP_STATIC, LOOP_DYNAMIC, TASKS];

/// Each program, and their mean.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let mut rows = measure(runs, &PROGRAMS, &FOUR_BIG, &WAYS)?;
    let remarks = FOUR_BIG.into_iter().filter_map(|on| gains(&rows, on, &WAYS)).collect();
    rows.extend(means(&rows, &FOUR_BIG, &WAYS));
    Ok(vec![Exhibit { remarks, ..exhibit("Four programs, and their mean", &rows, Along::Cores) }])
}
