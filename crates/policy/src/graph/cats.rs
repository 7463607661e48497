//! `cats`: criticality-aware task scheduling. The longest path known so far goes to the fast cores.
//!
//! ```text
//! level(t)    bottom level in tasks: 0 without successors, else 1 + max over successors s of
//!             level(s); a task that is created raises those that it waits for, and so on up
//! m           level of the last task that was found critical; 0 at first
//! critical(t) when t becomes ready:  level(t) > m,  or t is the heir of a critical task and
//!             level(t) >= m - 1;  then m = level(t)
//! heir(t)     the successor with the greatest level, the first created of several
//! fast        takes the critical task of the greatest level; where there is none, the oldest of
//!             the others
//! slow        takes the oldest of the others only
//! wake        of workers that wait, one on the fastest kind first
//! ```
//!
//! Source: Chronaki, Rico, Badia, Ayguadé, Labarta and Valero, "Criticality-aware dynamic task
//! scheduling for heterogeneous architectures", ICS 2015. Costs do not count, so nothing needs to
//! be known or learnt. A critical task must be an heir or on a path longer than the one being
//! followed: one path is followed, not all of the same length, so slow cores keep work when many
//! tasks have the same level.
//!
//! In the paper idle workers poll, so no worker has to be chosen for a wake-up.
//!
//! Ties: of critical tasks of one level the first created. Three or more kinds: *fast* is the
//! fastest kind that a worker of this graph is on, or is expected on; all others are slow.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use evenkeel_machine::{KindId, Nanos};
use evenkeel_model::TaskId;

use super::roster::Roster;
use super::{GraphPolicy, Situation, WorkerId};

/// State of a task.
#[derive(Clone, Debug, Default)]
struct Known {
    level: u32,
    predecessors: Vec<TaskId>,
    successors: Vec<TaskId>,
    critical: bool,
    heir: bool,
    done: bool,
}

/// Criticality-aware task scheduling.
#[derive(Clone, Debug, Default)]
pub struct Cats {
    /// Tasks from the first that is not done. Those before it are dropped, because a program may
    /// create tasks for ever.
    tasks: VecDeque<Known>,
    /// Number of the first in `tasks`.
    first: u32,
    roster: Roster,
    /// `m`.
    path_level: u32,
    critical: BinaryHeap<(u32, Reverse<TaskId>)>,
    others: VecDeque<TaskId>,
}

impl Cats {
    /// The state of a task; none if it and all before it are done.
    fn known(&mut self, task: TaskId) -> Option<&mut Known> {
        let at = task.0.checked_sub(self.first)? as usize;
        if self.tasks.len() <= at {
            self.tasks.resize_with(at + 1, Known::default);
        }
        self.tasks.get_mut(at)
    }

    /// The state of a task that is not done.
    fn pending(&mut self, task: TaskId) -> Option<&mut Known> {
        self.known(task).filter(|known| !known.done)
    }

    fn is_fast(&self, kind: KindId) -> bool {
        self.roster.fastest().is_none_or(|fastest| kind <= fastest)
    }
}

impl GraphPolicy for Cats {
    fn start(&mut self, at: &Situation<'_>) {
        *self = Self { roster: Roster::new(at.team), ..Self::default() };
    }

    fn created(&mut self, _at: &Situation<'_>, task: TaskId, predecessors: &[TaskId]) {
        // Tasks that are done precede nothing any more.
        let mut above = Vec::with_capacity(predecessors.len());
        for &before in predecessors {
            if let Some(known) = self.pending(before) {
                known.successors.push(task);
                above.push(before);
            }
        }
        let Some(known) = self.known(task) else { return };
        known.predecessors = above;
        let mut raised = vec![task];
        while let Some(task) = raised.pop() {
            let Some(known) = self.known(task) else { continue };
            let (above, predecessors) = (known.level + 1, std::mem::take(&mut known.predecessors));
            for &before in &predecessors {
                if let Some(before_it) = self.pending(before).filter(|it| it.level < above) {
                    before_it.level = above;
                    raised.push(before);
                }
            }
            if let Some(known) = self.known(task) {
                known.predecessors = predecessors;
            }
        }
    }

    fn ready(&mut self, _at: &Situation<'_>, task: TaskId, _by: Option<WorkerId>) {
        let path_level = self.path_level;
        let Some(known) = self.known(task) else { return };
        let level = known.level;
        known.critical = level > path_level || known.heir && level + 1 >= path_level;
        if known.critical {
            self.path_level = level;
            self.critical.push((level, Reverse(task)));
        } else {
            self.others.push_back(task);
        }
    }

    fn take(&mut self, _at: &Situation<'_>, worker: WorkerId, kind: KindId) -> Option<TaskId> {
        self.roster.seen(worker, kind);
        let critical = if self.is_fast(kind) { self.critical.pop() } else { None };
        critical.map(|(_, Reverse(task))| task).or_else(|| self.others.pop_front())
    }

    fn would_take(&self, _at: &Situation<'_>, worker: WorkerId) -> bool {
        let fast = self.roster.kind(worker).is_none_or(|kind| self.is_fast(kind));
        !self.others.is_empty() || fast && !self.critical.is_empty()
    }

    fn wake(
        &self,
        at: &Situation<'_>,
        waiting: &mut dyn Iterator<Item = WorkerId>,
    ) -> Option<WorkerId> {
        waiting
            .filter(|&worker| self.would_take(at, worker))
            .min_by_key(|&worker| self.roster.kind(worker))
    }

    fn done(
        &mut self,
        _at: &Situation<'_>,
        _worker: WorkerId,
        task: TaskId,
        _kind: KindId,
        _time: Nanos,
    ) {
        let Some(known) = self.known(task) else { return };
        let done = std::mem::replace(known, Known { done: true, ..Known::default() });
        if done.critical {
            let mut level = |task| self.known(task).map_or(0, |known| known.level);
            let heir = done.successors.into_iter().max_by_key(|&task| (level(task), Reverse(task)));
            if let Some(heir) = heir.and_then(|heir| self.known(heir)) {
                heir.heir = true;
            }
        }
        while self.tasks.front().is_some_and(|first| first.done) {
            self.tasks.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fifo;
    use super::super::testing::{Bench, graph, team};
    use super::*;

    /// A root that starts a chain of five tasks and eight single ones, which are created before the
    /// chain.
    fn fork() -> evenkeel_model::TaskGraph {
        let singles = (1..9).map(|task| (0, task));
        let chain = [(0, 9), (9, 10), (10, 11), (11, 12), (12, 13)];
        graph(&[10; 14], &singles.chain(chain).collect::<Vec<_>>())
    }

    #[test]
    fn a_chain_stays_on_the_fast_core_and_a_slow_core_never_takes_of_it() {
        let run = Bench::run(&mut Cats::default(), &fork(), &team(&[0, 1, 1]));
        let chain: Vec<_> = [0, 9, 10, 11, 12, 13].map(TaskId).to_vec();
        assert!(chain.iter().all(|task| run.worker_of(*task) == WorkerId(0)), "{:?}", run.placed);
    }

    #[test]
    fn a_fork_with_one_long_chain_takes_less_time_than_first_come_first_served() {
        let makespan = |policy: &mut dyn GraphPolicy| {
            Bench::run(policy, &fork(), &team(&[0, 1, 1])).makespan()
        };
        // The path is 6 tasks of 10 on the fast core. From 10 to 70 two slow cores do 6 of the 8
        // singles, from 60 to 80 the fast one does 2.
        assert_eq!(makespan(&mut Cats::default()), Nanos(80));
        // Singles until 50, then the chain: 50 more.
        assert_eq!(makespan(&mut Fifo::default()), Nanos(100));
    }

    #[test]
    fn levels_rise_as_tasks_are_created() {
        let (graph, team) = (graph(&[1; 4], &[(0, 2), (2, 3)]), team(&[0, 1]));
        let at = Situation::at_start(&graph, &team);
        let mut policy = Cats::default();
        policy.start(&at);
        policy.created(&at, TaskId(0), &[]);
        policy.created(&at, TaskId(1), &[]);
        assert_eq!(policy.tasks[0].level, 0);
        policy.created(&at, TaskId(2), &[TaskId(0)]);
        policy.created(&at, TaskId(3), &[TaskId(2)]);
        assert_eq!(policy.tasks.iter().map(|known| known.level).collect::<Vec<_>>(), [2, 0, 1, 0]);
    }

    #[test]
    fn of_tasks_that_are_done_nothing_is_kept_however_many_come() {
        let (graph, team) = (graph(&[1], &[]), team(&[0, 1]));
        let at = Situation::at_start(&graph, &team);
        let mut policy = Cats::default();
        policy.start(&at);
        policy.created(&at, TaskId(0), &[]);
        policy.ready(&at, TaskId(0), None);
        for task in 1..1_000 {
            let before = TaskId(task - 1);
            // The first task is done long ago: waiting for it changes nothing.
            policy.created(&at, TaskId(task), &[TaskId(0), before]);
            assert_eq!(policy.take(&at, WorkerId(0), KindId(0)), Some(before));
            policy.done(&at, WorkerId(0), before, KindId(0), Nanos(1));
            policy.ready(&at, TaskId(task), Some(WorkerId(0)));
            assert_eq!((policy.tasks.len(), policy.first), (1, task));
        }
    }

    #[test]
    fn independent_tasks_are_nobodys_path_and_keep_slow_cores_at_work() {
        let run = Bench::run(&mut Cats::default(), &graph(&[10; 6], &[]), &team(&[0, 1]));
        assert_eq!((run.tasks_of(WorkerId(0)).len(), run.tasks_of(WorkerId(1)).len()), (4, 2));
    }

    #[test]
    fn of_workers_that_wait_a_fast_one_is_woken() {
        let (graph, team) = (graph(&[1], &[]), team(&[0, 1]));
        let at = Situation::at_start(&graph, &team);
        let mut policy = Cats::default();
        policy.start(&at);
        policy.created(&at, TaskId(0), &[]);
        assert_eq!(
            [(1, 1), (0, 0)].map(|(worker, kind)| policy.take(&at, WorkerId(worker), KindId(kind))),
            [None, None]
        );
        let wakes = |policy: &Cats| policy.wake(&at, &mut [WorkerId(1), WorkerId(0)].into_iter());
        assert_eq!(wakes(&policy), None);
        policy.ready(&at, TaskId(0), None);
        assert_eq!(wakes(&policy), Some(WorkerId(0)));
    }

    #[test]
    fn whoever_is_on_the_fastest_kind_in_use_is_fast() {
        // No worker is on kind 0 here: kind 1 is the fast one of kinds 1 and 2.
        let run = Bench::run(&mut Cats::default(), &fork(), &team(&[1, 2, 2]));
        assert!((9..14).all(|task| run.worker_of(TaskId(task)) == WorkerId(0)));
    }
}
