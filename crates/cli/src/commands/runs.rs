//! Runs, several at a time, with a progress bar on a terminal.

use evenkeel_metrics::{Record, over_seeds};
use evenkeel_report::Timeline;
use evenkeel_sim::NoListener;
use indicatif::ParallelProgressIterator as _;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::args::JobsArgs;
use crate::commands::page;
use crate::error::{Failure, Result, say};
use crate::plan::{Chosen, Finished, Plan, Set};
use crate::progress;

/// Runs each set of applications under each policy of plans, in that order. `carry_out` is given
/// the number of the plan, and that of the run in it. Results do not depend on the thread that a
/// run is on.
///
/// # Errors
/// Threads cannot be made.
fn in_parallel<T: Send>(
    plans: &[Plan],
    jobs: JobsArgs,
    carry_out: impl Fn((usize, usize), &Set, &Chosen) -> T + Sync,
) -> Result<Vec<T>> {
    let threads = threads(jobs)?;
    plans[0].warn_of_length(plans.len(), threads.current_num_threads());
    let runs_of = |(number, plan): (usize, &'_ Plan)| {
        let runs =
            plan.sets.iter().enumerate().flat_map(move |(set, _)| {
                (0..plan.policies.len()).map(move |policy| (set, policy))
            });
        runs.enumerate().map(move |(run, of)| ((number, run), of)).collect::<Vec<_>>()
    };
    let runs: Vec<_> = plans.iter().enumerate().flat_map(runs_of).collect();
    let bar = progress::bar(runs.len() as u64, "runs");
    let finished = threads.install(|| {
        plans.par_iter().for_each(Plan::measure_alone);
        let carried_out = runs.into_par_iter().map(|(numbers, (set, policy))| {
            let plan = &plans[numbers.0];
            carry_out(numbers, &plan.sets[set], &plan.policies[policy])
        });
        carried_out.progress_with(bar.clone()).collect()
    });
    bar.finish_and_clear();
    Ok(finished)
}

/// Runs all of some plans that differ by their seeds alone, and gives the mean of each run over
/// them. Those of the first have timelines if a page will be written.
///
/// # Errors
/// Threads cannot be made.
pub fn with_timelines(
    plans: &[Plan],
    jobs: JobsArgs,
    wanted: bool,
) -> Result<Vec<(Finished, Option<Timeline>)>> {
    let mut all = in_parallel(plans, jobs, |(number, run), set, policy| {
        let plan = &plans[number];
        if !wanted || number > 0 {
            return (plan.carry_out(set, policy, &mut NoListener), None);
        }
        let mut runs = page::Runs::default();
        let finished = plan.carry_out(set, policy, &mut runs);
        let timeline = runs.timeline(run, plan, &finished.record);
        (finished, timeline)
    })?;
    if plans.len() == 1 {
        return Ok(all);
    }
    let others = all.split_off(all.len() / plans.len());
    let runs = all.len();
    for (number, (finished, _)) in all.iter_mut().enumerate() {
        let of_run = others.iter().skip(number).step_by(runs).map(|(other, _)| &other.record);
        let records: Vec<Record> =
            std::iter::once(&finished.record).chain(of_run).cloned().collect();
        if let Some(mean) = over_seeds(&records) {
            finished.record = mean;
        }
    }
    let is_alike = |(finished, _): &(Finished, _)| {
        let seeds = finished.record.seeds.as_ref();
        seeds.is_none_or(|seeds| seeds.ci95.values().all(|interval| *interval == 0.0))
    };
    if all.iter().all(is_alike) {
        say("note", "--seeds: no chance plays in these runs, all seeds come out alike");
    }
    Ok(all)
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
