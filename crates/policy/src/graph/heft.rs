//! `heft`: heterogeneous earliest finish time.
//!
//! ```text
//! order   tasks by descending rank_u                       (ranks.rs)
//! place   each on argmin_p EFT(t, p), with insertion        (lanes.rs)
//! ```
//!
//! Source: Topcuoglu, Hariri and Wu, TPDS 13(3), 2002, section 4.2. O(e p).
//!
//! Ties: of equal ranks the lower task number, of equal finish times the lower worker number, which
//! is a faster kind. Any number of kinds: only the cost matrix counts.

use super::lanes::Lanes;
use super::problem::Problem;
use super::ranks::{descending, upward};
use super::schedule::Schedule;

/// Schedules a problem by HEFT.
pub fn schedule(problem: &Problem) -> Schedule {
    let mut lanes = Lanes::new(problem);
    for task in descending(problem, &upward(problem)) {
        lanes.insert(task, lanes.quickest(task));
    }
    lanes.finish()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{placed, problem, ten_tasks};
    use super::*;

    #[test]
    fn the_ten_tasks_of_its_paper_have_the_ranks_published_there() {
        let ranks: Vec<_> =
            upward(&ten_tasks()).into_iter().map(|rank| (rank * 1e3).round() / 1e3).collect();
        assert_eq!(ranks, [108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667]);
    }

    #[test]
    fn the_ten_tasks_of_its_paper_take_80_slot_by_slot_as_published() {
        let schedule = schedule(&ten_tasks());
        let expected = [
            (0, 2, 0, 9),
            (1, 0, 27, 40),
            (2, 2, 9, 28),
            (3, 1, 18, 26),
            (4, 2, 28, 38),
            (5, 1, 26, 42),
            (6, 2, 38, 49),
            (7, 0, 57, 62),
            (8, 1, 56, 68),
            (9, 1, 73, 80),
        ];
        assert_eq!((placed(&schedule), schedule.makespan().0), (expected.to_vec(), 80));
    }

    #[test]
    fn a_short_task_goes_into_the_gap_that_a_transfer_leaves() {
        // 0 -> 1 needs a transfer of 10 from worker 1, where only 0 is fast, to worker 0, where
        // only 1 is; 2 fits before 1.
        let problem = problem(&[&[90, 10], &[5, 90], &[12, 90]], &[(0, 1, 10)]);
        assert_eq!(placed(&schedule(&problem)), [(0, 1, 0, 10), (1, 0, 20, 25), (2, 0, 0, 12)]);
    }
}
