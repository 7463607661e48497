//! Static schedules, and a check of their validity.

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use super::WorkerId;
use super::problem::Problem;

/// A task's place in a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Task.
    pub task: TaskId,
    /// When it starts.
    pub start: Nanos,
    /// When it ends.
    pub finish: Nanos,
}

/// A static schedule: by worker, its tasks in execution order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// By worker, in order of time.
    pub lanes: Vec<Vec<Slot>>,
}

/// Number of times that a task may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// Each task exactly once.
    Forbidden,
    /// Each at least once, at most once on a worker.
    Allowed,
}

/// Why a schedule is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The number of workers differs from the problem's.
    #[error("{found} workers, and there are {expected}")]
    Workers {
        /// In the schedule.
        found: usize,
        /// In the problem.
        expected: usize,
    },
    /// A task that the problem does not have.
    #[error("there is no task {}", task.0)]
    NoTask {
        /// Task.
        task: TaskId,
    },
    /// A task is done too often or never.
    #[error("task {} is done {times} times", task.0)]
    Times {
        /// Task.
        task: TaskId,
        /// Number of times.
        times: usize,
    },
    /// A slot is shorter or longer than the task's cost.
    #[error("task {} does not take what it costs on worker {}", slot.task.0, worker.0)]
    Length {
        /// Worker.
        worker: WorkerId,
        /// The slot.
        slot: Slot,
    },
    /// Two tasks overlap on one worker.
    #[error("tasks {} and {} overlap on worker {}", first.task.0, second.task.0, worker.0)]
    Overlap {
        /// Worker.
        worker: WorkerId,
        /// The earlier one.
        first: Slot,
        /// The later one.
        second: Slot,
    },
    /// A task starts before its data have come.
    #[error("task {} starts at {} on worker {}, before task {} is done and its data are \
             there", slot.task.0, slot.start, worker.0, before.0)]
    TooEarly {
        /// Worker.
        worker: WorkerId,
        /// Task that starts too early.
        slot: Slot,
        /// Predecessor that it did not wait for.
        before: TaskId,
    },
}

impl Schedule {
    /// When the last task ends.
    pub fn makespan(&self) -> Nanos {
        self.lanes.iter().flatten().map(|slot| slot.finish).max().unwrap_or_default()
    }

    /// All slots, with their workers.
    pub fn slots(&self) -> impl Iterator<Item = (WorkerId, Slot)> + '_ {
        let lanes = (0..).map(WorkerId).zip(&self.lanes);
        lanes.flat_map(|(worker, lane)| lane.iter().map(move |&slot| (worker, slot)))
    }

    /// Checks that every task is done, takes its cost, is alone on its worker, and starts after its
    /// predecessors.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self, problem: &Problem, duplicates: Duplicates) -> Result<(), Fault> {
        let (found, expected) = (self.lanes.len(), problem.workers().len());
        if found != expected {
            return Err(Fault::Workers { found, expected });
        }
        let mut copies: Vec<Vec<(WorkerId, Nanos)>> = vec![Vec::new(); problem.tasks().len()];
        for (worker, slot) in self.slots() {
            let copies =
                copies.get_mut(slot.task.index()).ok_or(Fault::NoTask { task: slot.task })?;
            copies.push((worker, slot.finish));
            if slot.start.saturating_add(problem.cost(slot.task, worker)) != slot.finish {
                return Err(Fault::Length { worker, slot });
            }
        }
        for (worker, lane) in (0..).map(WorkerId).zip(&self.lanes) {
            if let Some(pair) = lane.windows(2).find(|pair| pair[0].finish > pair[1].start) {
                return Err(Fault::Overlap { worker, first: pair[0], second: pair[1] });
            }
        }
        for (task, copies) in problem.tasks().zip(&copies) {
            let twice = copies.windows(2).any(|pair| pair[0].0 == pair[1].0);
            let allowed = duplicates == Duplicates::Allowed && !twice && !copies.is_empty();
            if copies.len() != 1 && !allowed {
                return Err(Fault::Times { task, times: copies.len() });
            }
        }
        for (worker, slot) in self.slots() {
            for link in problem.predecessors(slot.task) {
                let there = |&(from, finish): &(WorkerId, Nanos)| {
                    let transfer = if from == worker { Nanos::ZERO } else { link.transfer };
                    finish.saturating_add(transfer) <= slot.start
                };
                if !copies[link.task.index()].iter().any(there) {
                    return Err(Fault::TooEarly { worker, slot, before: link.task });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::problem;
    use super::*;

    fn lanes<const N: usize>(lanes: [&[(u32, u64, u64)]; N]) -> Schedule {
        let slot = |&(task, start, finish): &(u32, u64, u64)| Slot {
            task: TaskId(task),
            start: Nanos(start),
            finish: Nanos(finish),
        };
        Schedule { lanes: lanes.map(|lane| lane.iter().map(slot).collect()).into() }
    }

    /// Task 0 sends 5 to task 1; each costs 10 on worker 0 and 20 on worker 1.
    fn pair() -> Problem {
        problem(&[&[10, 20], &[10, 20]], &[(0, 1, 5)])
    }

    #[test]
    fn a_task_may_start_when_its_data_are_there_and_no_sooner() {
        let check = |schedule: Schedule| schedule.check(&pair(), Duplicates::Forbidden);
        assert_eq!(check(lanes([&[(0, 0, 10), (1, 10, 20)], &[]])), Ok(()));
        assert_eq!(check(lanes([&[(0, 0, 10)], &[(1, 15, 35)]])), Ok(()));
        let early = check(lanes([&[(0, 0, 10)], &[(1, 14, 34)]])).unwrap_err();
        assert_eq!(
            early.to_string(),
            "task 1 starts at 14 ns on worker 1, before task 0 is done and its data are there"
        );
    }

    #[test]
    fn every_task_is_done_once_unless_duplicates_are_allowed() {
        let twice = lanes([&[(0, 0, 10)], &[(0, 0, 20), (1, 20, 40)]]);
        assert_eq!(twice.check(&pair(), Duplicates::Allowed), Ok(()));
        assert_eq!(
            twice.check(&pair(), Duplicates::Forbidden),
            Err(Fault::Times { task: TaskId(0), times: 2 })
        );
        let on_one = lanes([&[(0, 0, 10), (0, 10, 20), (1, 20, 30)], &[]]);
        assert_eq!(
            on_one.check(&pair(), Duplicates::Allowed),
            Err(Fault::Times { task: TaskId(0), times: 2 })
        );
        let never = lanes([&[(0, 0, 10)], &[]]);
        assert_eq!(
            never.check(&pair(), Duplicates::Allowed),
            Err(Fault::Times { task: TaskId(1), times: 0 })
        );
    }

    #[test]
    fn two_at_once_a_wrong_length_and_what_is_not_there_are_told() {
        let fault =
            |schedule: Schedule| schedule.check(&pair(), Duplicates::Forbidden).unwrap_err();
        assert!(matches!(fault(lanes([&[(0, 0, 10), (1, 9, 19)], &[]])), Fault::Overlap { .. }));
        assert!(matches!(fault(lanes([&[(0, 0, 11), (1, 11, 21)], &[]])), Fault::Length { .. }));
        assert!(matches!(fault(lanes([&[(2, 0, 10)], &[]])), Fault::NoTask { .. }));
        assert!(matches!(fault(lanes([&[(0, 0, 10)]])), Fault::Workers { .. }));
    }
}
