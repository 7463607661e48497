//! `peft`: predict earliest finish time. HEFT with a look-ahead that costs no more than HEFT
//! itself.
//!
//! ```text
//! OCT(t, p)   = max over successors s of min over q
//!               ( OCT(s, q) + w(s, q) + (q == p ? 0 : c(t, s)) )             optimistic cost table
//! order       : among ready tasks the greatest mean over p of OCT(t, p) first
//! place       : on argmin_p ( EFT(t, p) + OCT(t, p) ), with insertion
//! ```
//!
//! Source: Arabnejad and Barbosa, IEEE TPDS 25(3), 2014. O(e p): the least over `q` is either on
//! `p` itself or the least of all plus its transfer.
//!
//! Ties: of equal ranks the lower task number, of equal sums the lower worker number, which is a
//! faster kind. Any number of kinds: only the cost matrix counts.

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use super::WorkerId;
use super::lanes::Lanes;
use super::problem::Problem;
use super::ranks::ReadyByRank;
use super::schedule::Schedule;

/// Schedules a problem by PEFT.
pub fn schedule(problem: &Problem) -> Schedule {
    let table = OptimisticCosts::new(problem);
    let mean =
        |task| table.row(task).iter().map(|cost| cost.0 as f64).sum::<f64>() / table.workers as f64;
    let ranks: Vec<f64> = problem.tasks().map(mean).collect();
    let mut lanes = Lanes::new(problem);
    for task in ReadyByRank::new(problem, &ranks) {
        let sum = |&worker: &WorkerId| {
            lanes.earliest_finish(task, worker).saturating_add(table.row(task)[worker.index()])
        };
        if let Some(worker) = problem.workers().min_by_key(sum) {
            lanes.insert(task, worker);
        }
    }
    lanes.finish()
}

/// `OCT(t, p)`.
struct OptimisticCosts {
    workers: usize,
    costs: Vec<Nanos>,
}

impl OptimisticCosts {
    fn new(problem: &Problem) -> Self {
        let workers = problem.workers().len();
        let mut table = Self { workers, costs: vec![Nanos::ZERO; workers * problem.tasks().len()] };
        for task in problem.tasks().rev() {
            for link in problem.successors(task) {
                let ahead = |worker: WorkerId| {
                    table.row(link.task)[worker.index()]
                        .saturating_add(problem.cost(link.task, worker))
                };
                let elsewhere = problem
                    .workers()
                    .map(ahead)
                    .min()
                    .unwrap_or_default()
                    .saturating_add(link.transfer);
                let least: Vec<_> =
                    problem.workers().map(|worker| ahead(worker).min(elsewhere)).collect();
                let row = &mut table.costs[task.index() * workers..][..workers];
                row.iter_mut().zip(least).for_each(|(cost, least)| *cost = (*cost).max(least));
            }
        }
        table
    }

    fn row(&self, task: TaskId) -> &[Nanos] {
        &self.costs[task.index() * self.workers..][..self.workers]
    }
}

#[cfg(test)]
mod tests {
    use super::super::heft;
    use super::super::testing::{placed, problem};
    use super::*;

    #[test]
    fn the_table_looks_one_path_ahead_and_spares_the_transfer_on_the_same_worker() {
        // 0 -> 1 needs a transfer of 4; 1 costs 10 on worker 0 and 3 on worker 1.
        let table = OptimisticCosts::new(&problem(&[&[1, 1], &[10, 3]], &[(0, 1, 4)]));
        assert_eq!(
            (table.row(TaskId(0)), table.row(TaskId(1))),
            (&[Nanos(7), Nanos(3)][..], &[Nanos(0); 2][..])
        );
    }

    #[test]
    fn a_task_goes_where_its_successor_will_be_fast_though_it_ends_later_there() {
        let problem = problem(&[&[1, 2], &[10, 3]], &[(0, 1, 4)]);
        assert_eq!(placed(&schedule(&problem)), [(0, 1, 0, 2), (1, 1, 2, 5)]);
        assert_eq!(heft::schedule(&problem).makespan(), Nanos(8));
    }
}
