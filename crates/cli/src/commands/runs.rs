//! All runs of a plan, several at a time, with a progress bar on a terminal.

use indicatif::{ParallelProgressIterator as _, ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::error::{Failure, Result};
use crate::plan::{Chosen, Plan, Set};

/// Each set of applications under each policy, in that order, on as many threads as asked for (none: one per processor), given the number of the run. Which
/// of them a run comes on does not show in what it comes to.
///
/// # Errors
/// Threads that cannot be had.
pub fn in_parallel<T: Send>(
    plan: &Plan,
    jobs: Option<u32>,
    carry_out: impl Fn(usize, &Set, &Chosen) -> T + Sync,
) -> Result<Vec<T>> {
    let jobs = jobs.map_or(0, |jobs| jobs as usize);
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(jobs).build().map_err(|error| Failure::Failed(error.into()))?;
    let runs: Vec<_> = plan.sets.iter().flat_map(|set| plan.policies.iter().map(move |policy| (set, policy))).collect();
    let bar = ProgressBar::new(runs.len() as u64);
    // A template that does not parse is no reason to go without runs.
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left") {
        bar.set_style(style);
    }
    let finished = pool.install(|| {
        plan.measure_alone();
        let runs = runs.into_par_iter().enumerate();
        runs.map(|(index, (set, policy))| carry_out(index, set, policy)).progress_with(bar.clone()).collect()
    });
    bar.finish_and_clear();
    Ok(finished)
}
