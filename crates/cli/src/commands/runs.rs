//! Runs, several at a time, with a progress bar on a terminal.

use evenkeel_report::Timeline;
use evenkeel_sim::NoListener;
use indicatif::ParallelProgressIterator as _;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::args::JobsArgs;
use crate::commands::page;
use crate::error::{Failure, Result};
use crate::plan::{Chosen, Finished, Plan, Set};
use crate::progress;

/// Runs each set of applications under each policy of a plan, in that order, given the number of
/// the run. Results do not depend on the thread that a run is on.
///
/// # Errors
/// Threads cannot be made.
pub fn in_parallel<T: Send>(
    plan: &Plan,
    jobs: JobsArgs,
    carry_out: impl Fn(usize, &Set, &Chosen) -> T + Sync,
) -> Result<Vec<T>> {
    let threads = threads(jobs)?;
    plan.warn_of_length(threads.current_num_threads());
    let runs: Vec<_> = plan
        .sets
        .iter()
        .flat_map(|set| plan.policies.iter().map(move |policy| (set, policy)))
        .collect();
    let bar = progress::bar(runs.len() as u64, "runs");
    let finished = threads.install(|| {
        plan.measure_alone();
        let runs = runs.into_par_iter().enumerate();
        runs.map(|(index, (set, policy))| carry_out(index, set, policy))
            .progress_with(bar.clone())
            .collect()
    });
    bar.finish_and_clear();
    Ok(finished)
}

/// Runs all of a plan, each with its timeline if a page will be written.
///
/// # Errors
/// Threads cannot be made.
pub fn with_timelines(
    plan: &Plan,
    jobs: JobsArgs,
    wanted: bool,
) -> Result<Vec<(Finished, Option<Timeline>)>> {
    in_parallel(plan, jobs, |index, set, policy| {
        if !wanted {
            return (plan.carry_out(set, policy, &mut NoListener), None);
        }
        let mut runs = page::Runs::default();
        let finished = plan.carry_out(set, policy, &mut runs);
        let timeline = runs.timeline(index, plan, &finished.record);
        (finished, timeline)
    })
}

/// As many threads as asked for; by default one per processor.
///
/// # Errors
/// Threads cannot be made.
pub fn threads(jobs: JobsArgs) -> Result<ThreadPool> {
    let jobs = jobs.jobs.map_or(0, |jobs| jobs as usize);
    rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|error| Failure::Failed(error.into()))
}
