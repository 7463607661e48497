//! Lower bounds of any schedule's makespan.
//!
//! ```text
//! path      = greatest sum of min_p w(t, p) along a path
//!             (transfers may all be saved by one worker)
//! capacity  = sum over t of min_p lambda_p w(t, p),
//!             lambda_p ~ 1 / (sum over t of w(t, p)),   sum of lambda_p = 1
//! ```
//!
//! `capacity` is a bound because the makespan is no less than any worker's load, and thus no less
//! than a weighted mean of the loads, in which each task counts with at least its least `lambda_p
//! w(t, p)`. Any weights will do. With these, if workers differ in speed only, it is the total work
//! over the total capacity.

use evenkeel_machine::Nanos;

use super::problem::Problem;

/// Margin for rounding of float sums, which must not make a bound too high.
const SLACK: f64 = 1e-9;

/// Lower bounds of the makespan of a problem; the module's head has the formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The critical path, each task on the worker that is fastest for it.
    pub path: Nanos,
    /// All work on all workers, none idle.
    pub capacity: Nanos,
}

impl Bound {
    /// Bounds of a problem.
    pub fn of(problem: &Problem) -> Self {
        let mut longest = vec![Nanos::ZERO; problem.tasks().len()];
        for task in problem.tasks().rev() {
            let rest = problem.successors(task).iter().map(|link| longest[link.task.index()]).max();
            longest[task.index()] =
                problem.least_cost(task).saturating_add(rest.unwrap_or_default());
        }
        let load =
            |worker| problem.tasks().map(|task| problem.cost(task, worker).0 as f64).sum::<f64>();
        // A worker that does everything in no time makes every load but its own irrelevant.
        let rates: Vec<f64> =
            problem.workers().map(|worker| 1.0 / load(worker).max(f64::MIN_POSITIVE)).collect();
        let total: f64 = rates.iter().sum();
        let weighed = |task| {
            let costs = problem.costs(task).iter().zip(&rates);
            costs.map(|(cost, rate)| cost.0 as f64 * (rate / total)).fold(f64::INFINITY, f64::min)
        };
        let capacity: f64 = problem.tasks().map(weighed).filter(|least| least.is_finite()).sum();
        Self {
            path: longest.into_iter().max().unwrap_or_default(),
            capacity: Nanos((capacity * (1.0 - SLACK)).ceil() as u64),
        }
    }

    /// The greater of the two.
    pub fn makespan(&self) -> Nanos {
        self.path.max(self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::problem;
    use super::*;

    #[test]
    fn a_chain_is_bounded_by_its_path_on_the_fastest() {
        let bound = Bound::of(&problem(&[&[10, 20], &[5, 10]], &[(0, 1, 100)]));
        assert_eq!((bound.path, bound.makespan()), (Nanos(15), Nanos(15)));
    }

    #[test]
    fn independent_tasks_are_bounded_by_work_over_capacity() {
        // One worker is twice as fast: six tasks of 10 are 60 of work on capacities 1 and 1/2.
        let bound = Bound::of(&problem(&[[10, 20].as_slice(); 6], &[]));
        assert_eq!((bound.path, bound.capacity), (Nanos(10), Nanos(40)));
    }

    #[test]
    fn workers_that_are_fast_at_different_tasks_are_not_taken_for_slow() {
        // Each task on its own worker: makespan 1.
        let bound = Bound::of(&problem(&[&[1, 1000], &[1000, 1]], &[]));
        assert_eq!(bound.makespan(), Nanos(1));
    }

    #[test]
    fn nothing_to_do_takes_no_time() {
        assert_eq!(Bound::of(&problem(&[], &[])).makespan(), Nanos(0));
        assert_eq!(Bound::of(&problem(&[&[0, 0]], &[])).makespan(), Nanos(0));
    }
}
