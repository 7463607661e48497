//! `cpop`: critical path on a processor.
//!
//! ```text
//! priority(t) = rank_u(t) + rank_d(t)                                   (ranks.rs)
//! path        : from the entry with the greatest priority, again and again to the successor with
//!               the greatest
//! p_path      = argmin_p sum over t in path of w(t, p)
//! order       : among ready tasks the greatest priority first
//! place       : t in path on p_path, any other on argmin_p EFT(t, p), both with insertion
//! ```
//!
//! Source: Topcuoglu, Hariri and Wu, TPDS 13(3), 2002, section 4.3. O(e p). The paper follows
//! successors whose priority *equals* the entry's. Those are the greatest, and looking for the
//! greatest does not depend on rounding.
//!
//! Ties: of equal priorities the lower task number; of workers equally fast for the path, or done
//! at the same time, the lower number, which is a faster kind. Any number of kinds: only the cost
//! matrix counts.

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use super::lanes::Lanes;
use super::problem::Problem;
use super::ranks::{ReadyByRank, downward, upward};
use super::schedule::Schedule;

/// Schedules a problem by CPOP.
pub fn schedule(problem: &Problem) -> Schedule {
    let priorities: Vec<f64> =
        upward(problem).iter().zip(downward(problem)).map(|(up, down)| up + down).collect();
    let path = critical_path(problem, &priorities);
    let on_path = |worker| {
        let costs = problem
            .tasks()
            .filter(|task| path[task.index()])
            .map(|task| problem.cost(task, worker));
        costs.fold(Nanos::ZERO, Nanos::saturating_add)
    };
    let path_worker = problem.workers().min_by_key(|&worker| on_path(worker));
    let mut lanes = Lanes::new(problem);
    for task in ReadyByRank::new(problem, &priorities) {
        let chosen = path_worker.filter(|_| path[task.index()]);
        lanes.insert(task, chosen.unwrap_or_else(|| lanes.quickest(task)));
    }
    lanes.finish()
}

/// By task: true if it is on the critical path.
fn critical_path(problem: &Problem, priorities: &[f64]) -> Vec<bool> {
    let mut path = vec![false; priorities.len()];
    let greatest = |tasks: &mut dyn Iterator<Item = TaskId>| {
        tasks.max_by(|a, b| priorities[a.index()].total_cmp(&priorities[b.index()]).then(b.cmp(a)))
    };
    let mut next =
        greatest(&mut problem.tasks().filter(|&task| problem.predecessors(task).is_empty()));
    while let Some(task) = next {
        path[task.index()] = true;
        next = greatest(&mut problem.successors(task).iter().map(|link| link.task));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::super::testing::{placed, ten_tasks};
    use super::*;

    #[test]
    fn the_critical_path_of_the_ten_tasks_is_that_of_the_paper() {
        let problem = ten_tasks();
        let priorities: Vec<_> =
            upward(&problem).iter().zip(downward(&problem)).map(|(up, down)| up + down).collect();
        let path = critical_path(&problem, &priorities);
        let path: Vec<_> =
            problem.tasks().filter(|task| path[task.index()]).map(|task| task.0 + 1).collect();
        assert_eq!((path, priorities[0]), (vec![1, 2, 9, 10], 108.0));
    }

    #[test]
    fn the_ten_tasks_of_its_paper_take_86_slot_by_slot_as_published() {
        let schedule = schedule(&ten_tasks());
        let expected = [
            (0, 1, 0, 16),
            (1, 1, 16, 35),
            (2, 0, 28, 39),
            (3, 2, 25, 42),
            (4, 1, 35, 48),
            (5, 2, 42, 51),
            (6, 0, 39, 46),
            (7, 2, 54, 68),
            (8, 1, 65, 77),
            (9, 1, 79, 86),
        ];
        assert_eq!((placed(&schedule), schedule.makespan().0), (expected.to_vec(), 86));
    }
}
