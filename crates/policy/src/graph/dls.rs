//! `dls`: dynamic level scheduling. Each step takes the best pair of ready task and worker.
//!
//! ```text
//! w*(t)      = median over p of w(t, p)
//! SL(t)      = w*(t) + max over successors s of SL(s)                   static level: no transfers
//! DL(t, p)   = SL(t) - max( arrival(t, p), free(p) ) + w*(t) - w(t, p)               dynamic level
//! step       : the ready t and the p with the greatest DL(t, p); t goes behind the others on p
//! ```
//!
//! Source: Sih and Lee, IEEE TPDS 4(2), 1993: the generalised dynamic level with the term for
//! unlike processors, without the terms for descendants and for links, which are alike here. O(v r
//! p) for up to r tasks ready at once.
//!
//! Ties: the lower task number, then the lower worker number, which is a faster kind. Any number of
//! kinds: the median of an even number of workers is the mean of the two in the middle.

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use super::WorkerId;
use super::lanes::Lanes;
use super::problem::Problem;
use super::schedule::Schedule;
use super::waiting::Waiting;

/// A task whose predecessors have all been placed.
struct Ready {
    task: TaskId,
    /// By worker.
    arrivals: Vec<Nanos>,
}

/// Schedules a problem by DLS.
pub fn schedule(problem: &Problem) -> Schedule {
    let medians: Vec<f64> = problem.tasks().map(|task| median(problem.costs(task))).collect();
    let levels = static_levels(problem, &medians);
    let mut waiting = Waiting::new(problem);
    let mut lanes = Lanes::new(problem);
    let ready_now = |task, lanes: &Lanes<'_>| Ready {
        task,
        arrivals: problem.workers().map(|worker| lanes.arrival(task, worker)).collect(),
    };
    let mut ready: Vec<_> = waiting.ready().map(|task| ready_now(task, &lanes)).collect();
    loop {
        let mut best: Option<(f64, usize, WorkerId)> = None;
        for (place, Ready { task, arrivals }) in ready.iter().enumerate() {
            for (worker, arrival) in problem.workers().zip(arrivals) {
                let start = lanes.free(worker).max(*arrival).0 as f64;
                let gain = medians[task.index()] - problem.cost(*task, worker).0 as f64;
                let level = levels[task.index()] - start + gain;
                let better = best.is_none_or(|(greatest, at, _)| {
                    level > greatest || level == greatest && *task < ready[at].task
                });
                if better {
                    best = Some((level, place, worker));
                }
            }
        }
        let Some((_, place, worker)) = best else { return lanes.finish() };
        let task = ready.swap_remove(place).task;
        lanes.append(task, worker);
        ready.extend(waiting.place(task).map(|next| ready_now(next, &lanes)));
    }
}

fn static_levels(problem: &Problem, medians: &[f64]) -> Vec<f64> {
    let mut levels = vec![0.0; medians.len()];
    for task in problem.tasks().rev() {
        let rest = problem
            .successors(task)
            .iter()
            .map(|link| levels[link.task.index()])
            .fold(0.0, f64::max);
        levels[task.index()] = medians[task.index()] + rest;
    }
    levels
}

fn median(costs: &[Nanos]) -> f64 {
    let mut sorted = costs.to_vec();
    sorted.sort_unstable();
    let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    (below.0 as f64 + above.0 as f64) / 2.0
}

#[cfg(test)]
mod tests {
    use super::super::testing::{placed, problem, ten_tasks};
    use super::*;

    #[test]
    fn the_pair_with_the_greatest_dynamic_level_goes_first() {
        // Medians 3 and 10; DL(0, ·) = 3 + 1, 3 - 1; DL(1, ·) = 10, 10: task 1 first, and to worker
        // 0 as the lower number; then DL(0, 0) = 3 - 10 + 1 and DL(0, 1) = 3 - 1.
        let problem = problem(&[&[2, 4], &[10, 10]], &[]);
        assert_eq!(placed(&schedule(&problem)), [(0, 1, 0, 4), (1, 0, 0, 10)]);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        assert_eq!(median(&[5, 1, 9].map(Nanos)), 5.0);
        assert_eq!(median(&[5, 1, 9, 2].map(Nanos)), 3.5);
    }

    #[test]
    fn the_ten_tasks_take_91_as_published() {
        // Reported beside HEFT's 80 by Topcuoglu, Hariri and Wu, Heterogeneous Computing Workshop
        // 1999.
        assert_eq!(schedule(&ten_tasks()).makespan().0, 91);
    }
}
