//! A schedule under construction, and the quantities that static policies read from it.
//!
//! ```text
//! arrival(t, p)  = max over predecessors s of min over copies of s on q
//!                  ( finish + (q == p ? 0 : c(s, t)) )
//! EST(t, p)      = the earliest gap on p of at least w(t, p) that starts at arrival(t, p) or later
//!                  (insertion)
//! EFT(t, p)      = EST(t, p) + w(t, p)
//! ```
//!
//! Insertion is that of Topcuoglu, Hariri and Wu (TPDS 2002, section 4.2).

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use super::WorkerId;
use super::problem::{Link, Problem};
use super::schedule::{Schedule, Slot};

/// A schedule under construction.
pub struct Lanes<'a> {
    problem: &'a Problem,
    schedule: Schedule,
    /// By task: the workers that it has been placed on, and when it ends there.
    copies: Vec<Vec<(WorkerId, Nanos)>>,
}

impl<'a> Lanes<'a> {
    /// Nothing placed yet.
    pub fn new(problem: &'a Problem) -> Self {
        let schedule = Schedule { lanes: vec![Vec::new(); problem.workers().len()] };
        Self { problem, schedule, copies: vec![Vec::new(); problem.tasks().len()] }
    }

    /// The workers that a task has been placed on, and when it ends there.
    pub fn copies(&self, task: TaskId) -> &[(WorkerId, Nanos)] {
        &self.copies[task.index()]
    }

    /// The slots of a worker, in order of time.
    pub fn lane(&self, worker: WorkerId) -> &[Slot] {
        &self.schedule.lanes[worker.index()]
    }

    /// When the data of one edge reach a worker, and from which copy of the predecessor: the one
    /// whose data arrive first.
    pub fn source(&self, link: &Link, worker: WorkerId) -> Option<(Nanos, WorkerId)> {
        let at = |&(from, finish): &(WorkerId, Nanos)| {
            let transfer = if from == worker { Nanos::ZERO } else { link.transfer };
            (finish.saturating_add(transfer), from)
        };
        self.copies(link.task).iter().map(at).min()
    }

    /// When the data of one edge reach a worker.
    pub fn arrival_over(&self, link: &Link, worker: WorkerId) -> Nanos {
        self.source(link, worker).map_or(Nanos::MAX, |(at, _)| at)
    }

    /// When all data that a task needs have reached a worker; its predecessors have been placed.
    pub fn arrival(&self, task: TaskId, worker: WorkerId) -> Nanos {
        let links = self.problem.predecessors(task).iter();
        links.map(|link| self.arrival_over(link, worker)).max().unwrap_or_default()
    }

    /// When the last task of a worker ends.
    pub fn free(&self, worker: WorkerId) -> Nanos {
        self.lane(worker).last().map_or(Nanos::ZERO, |slot| slot.finish)
    }

    /// Start of the first gap of a length that begins at `from` or later, and its index in the
    /// lane.
    fn gap(&self, worker: WorkerId, from: Nanos, length: Nanos) -> (usize, Nanos) {
        let lane = self.lane(worker);
        let mut start = from;
        for (place, slot) in
            lane.iter().enumerate().skip(lane.partition_point(|slot| slot.finish <= from))
        {
            if start.saturating_add(length) <= slot.start {
                return (place, start);
            }
            start = start.max(slot.finish);
        }
        (lane.len(), start)
    }

    /// `EST(t, p)`.
    pub fn earliest_start(&self, task: TaskId, worker: WorkerId) -> Nanos {
        self.gap(worker, self.arrival(task, worker), self.problem.cost(task, worker)).1
    }

    /// `EFT(t, p)`.
    pub fn earliest_finish(&self, task: TaskId, worker: WorkerId) -> Nanos {
        self.earliest_start(task, worker).saturating_add(self.problem.cost(task, worker))
    }

    /// The worker with the least `EFT(t, p)`; of several the lowest number.
    pub fn quickest(&self, task: TaskId) -> WorkerId {
        let workers = self.problem.workers();
        workers.min_by_key(|&worker| self.earliest_finish(task, worker)).unwrap_or(WorkerId(0))
    }

    /// Places a task into the first gap that begins at `from` or later.
    pub fn place_from(&mut self, task: TaskId, worker: WorkerId, from: Nanos) {
        let cost = self.problem.cost(task, worker);
        let (place, start) = self.gap(worker, from, cost);
        let finish = start.saturating_add(cost);
        self.schedule.lanes[worker.index()].insert(place, Slot { task, start, finish });
        self.copies[task.index()].push((worker, finish));
    }

    /// Places a task at its `EST(t, p)`.
    pub fn insert(&mut self, task: TaskId, worker: WorkerId) {
        self.place_from(task, worker, self.arrival(task, worker));
    }

    /// Places a task behind all others of the worker.
    pub fn append(&mut self, task: TaskId, worker: WorkerId) {
        self.place_from(task, worker, self.arrival(task, worker).max(self.free(worker)));
    }

    /// Removes a task from a worker; no other task may depend on this copy.
    pub fn remove(&mut self, task: TaskId, worker: WorkerId) {
        self.schedule.lanes[worker.index()].retain(|slot| slot.task != task);
        self.copies[task.index()].retain(|&(other, _)| other != worker);
    }

    /// The finished schedule.
    pub fn finish(self) -> Schedule {
        self.schedule
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::problem;
    use super::*;

    #[test]
    fn a_task_goes_into_the_first_gap_that_is_long_enough() {
        let problem = problem(&[&[4], &[4], &[2], &[3]], &[]);
        let worker = WorkerId(0);
        let mut lanes = Lanes::new(&problem);
        lanes.place_from(TaskId(0), worker, Nanos(2));
        lanes.place_from(TaskId(1), worker, Nanos(10));
        assert_eq!(lanes.earliest_start(TaskId(2), worker), Nanos(0));
        assert_eq!(lanes.earliest_start(TaskId(3), worker), Nanos(6));
        lanes.insert(TaskId(2), worker);
        lanes.append(TaskId(3), worker);
        let order: Vec<_> =
            lanes.lane(worker).iter().map(|slot| (slot.task.0, slot.start.0)).collect();
        assert_eq!(order, [(2, 0), (0, 2), (1, 10), (3, 14)]);
    }

    #[test]
    fn data_come_from_the_copy_that_has_them_there_first() {
        let problem = problem(&[&[10, 30], &[1, 1]], &[(0, 1, 15)]);
        let mut lanes = Lanes::new(&problem);
        lanes.insert(TaskId(0), WorkerId(0));
        assert_eq!(lanes.arrival(TaskId(1), WorkerId(1)), Nanos(25));
        lanes.insert(TaskId(0), WorkerId(1));
        assert_eq!(lanes.arrival(TaskId(1), WorkerId(1)), Nanos(25));
        lanes.remove(TaskId(0), WorkerId(0));
        assert_eq!(lanes.arrival(TaskId(1), WorkerId(1)), Nanos(30));
    }
}
