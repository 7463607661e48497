//! A policy and its view: which task for which worker. Sequential code over task numbers; the
//! sources know what a task is.
//!
//! A policy may keep a task for a worker that does not come: it is in a long task of another
//! program part, or waits for a lock that is held until the graph is done. (The simulator has no
//! such workers.) An idle worker then *stands in*: it takes what the late worker would be given,
//! once that one is late by as much as a task takes on average. A late worker is not waited for
//! again until it asks. So one worker that comes is enough for all tasks to be done, whatever a
//! policy decides; and if all come in time, none stands in.
//!
//! One worker must be awake for that. While there are tasks that no sleeper would be given, one of
//! the sleepers *watches*: it sleeps only until it may stand in.

use std::time::{Duration, Instant};

use evenkeel_machine::{KindId, Nanos, PerKind};
use evenkeel_model::{TaskGraph, TaskId};
use evenkeel_policy::graph::{GraphPolicy, Situation, Team, WorkerId};

/// The least time that a worker is waited for: a few of the delays with which an operating system
/// runs a thread that was woken.
const LATE_AFTER: Nanos = Nanos(4_000_000);
/// A new time counts one part in so many, the average before it the rest.
const MEMORY: u64 = 8;

/// A policy with its view of tasks and workers.
pub struct CentralScheduler {
    policy: Box<dyn GraphPolicy>,
    /// Empty if tasks come as they are created.
    graph: TaskGraph,
    team: Team,
    since: Instant,
    /// How many tasks are ready and have not been taken.
    ready: usize,
    /// Indexed by worker.
    presence: Vec<Presence>,
    /// Mean time of a task on each kind.
    mean: PerKind<Nanos>,
    /// The worker that sleeps only until it may stand in.
    watcher: Option<usize>,
}

/// What is expected of a worker.
#[derive(Clone, Copy, Default)]
struct Presence {
    /// When it should have done the task that it was given last.
    busy_until: Nanos,
    /// Since when there is a task for it that another worker would do.
    missed: Option<Nanos>,
    /// True if another worker has stood in for it since it asked last.
    is_absent: bool,
}

impl CentralScheduler {
    /// A scheduler for this team, worker by worker. `graph`: what is known of it beforehand.
    pub fn new(policy: Box<dyn GraphPolicy>, graph: TaskGraph, team: Team) -> Self {
        let presence = vec![Presence::default(); team.kinds.len()];
        let (since, mean) = (Instant::now(), PerKind::default());
        let mut scheduler =
            Self { policy, graph, team, since, ready: 0, presence, mean, watcher: None };
        scheduler.start();
        scheduler
    }

    /// The worker that a thread of the pool asks for: the reserve asks for the worker that it
    /// stands in for.
    fn worker_of_thread(&self, thread: usize) -> usize {
        thread.min(self.presence.len() - 1)
    }

    fn now(&self) -> Nanos {
        Nanos(self.since.elapsed().as_nanos() as u64)
    }

    fn split(&mut self) -> (&mut dyn GraphPolicy, Situation<'_>) {
        let now = self.now();
        (&mut *self.policy, Situation { graph: &self.graph, team: &self.team, now })
    }

    fn at(&self) -> Situation<'_> {
        Situation { graph: &self.graph, team: &self.team, now: self.now() }
    }

    /// Begins anew, without tasks.
    pub fn start(&mut self) {
        let (policy, at) = self.split();
        policy.start(&at);
        self.rest();
    }

    /// Begins once more, without tasks: what was planned is kept.
    pub fn again(&mut self) {
        let (policy, at) = self.split();
        policy.again(&at);
        self.rest();
    }

    /// Plans anew with these costs of a unit of work.
    pub fn plan(&mut self, unit_costs: Vec<PerKind<f64>>) {
        self.team.pace = unit_costs;
        for (rank, mean) in self.mean.0.iter_mut().enumerate() {
            let at = Situation { graph: &self.graph, team: &self.team, now: Nanos::ZERO };
            let tasks = (0..self.graph.tasks.len() as u32).map(TaskId);
            let sum = tasks.map(|task| at.cost(task, KindId(rank as u8)).0 as f64).sum::<f64>();
            *mean = Nanos((sum / self.graph.tasks.len().max(1) as f64).round() as u64);
        }
        self.start();
    }

    fn rest(&mut self) {
        self.presence.fill(Presence::default());
        (self.ready, self.watcher) = (0, None);
    }

    /// A task has been created that waits for these.
    pub fn created(&mut self, task: TaskId, predecessors: &[TaskId]) {
        let (policy, at) = self.split();
        policy.created(&at, task, predecessors);
    }

    /// A task has become ready by this worker.
    pub fn ready(&mut self, task: TaskId, by: Option<usize>) {
        let by = by.map(|by| self.worker_of_thread(by));
        let (policy, at) = self.split();
        policy.ready(&at, task, by.map(|by| WorkerId(by as u32)));
        self.ready += 1;
    }

    /// A worker asks for a task.
    pub fn take(&mut self, thread: usize) -> Option<TaskId> {
        let worker = self.worker_of_thread(thread);
        self.leave(worker);
        self.presence[worker].is_absent = false;
        if self.ready == 0 {
            return None;
        }
        let kind = self.team.kinds[worker];
        let (policy, at) = self.split();
        let now = at.now;
        let own = policy.take(&at, WorkerId(worker as u32), kind);
        if own.is_some() {
            self.presence[worker].missed = None;
        }
        let task = own.or_else(|| self.stand_in(worker, now))?;
        self.ready -= 1;
        self.presence[worker].busy_until = now.saturating_add(self.cost(task, kind));
        Some(task)
    }

    /// Takes a task in the name of a late worker.
    fn stand_in(&mut self, worker: usize, now: Nanos) -> Option<TaskId> {
        (0..self.presence.len()).filter(|&other| other != worker).find_map(|other| {
            self.note_missed(other, now);
            if self.late_at(other, worker)? > now {
                return None;
            }
            let other_id = WorkerId(other as u32);
            let kind = self.team.kinds[other];
            let (policy, at) = self.split();
            let task = policy.take(&at, other_id, kind);
            self.presence[other].missed = None;
            self.presence[other].is_absent = task.is_some();
            task
        })
    }

    /// Notes if there is a task for a worker that another would do: since now, unless that is
    /// known.
    fn note_missed(&mut self, other: usize, now: Nanos) {
        let (policy, at) = self.split();
        let lies_here = policy.would_take(&at, WorkerId(other as u32));
        let missed = &mut self.presence[other].missed;
        *missed = if lies_here { missed.or(Some(now)) } else { None };
    }

    /// When a worker may stand in for another.
    fn late_at(&self, other: usize, worker: usize) -> Option<Nanos> {
        let Presence { busy_until, missed, is_absent } = self.presence[other];
        let missed = missed?;
        if is_absent {
            return Some(missed);
        }
        let grace = self.mean[self.team.kinds[worker]].max(LATE_AFTER);
        Some(missed.max(busy_until).saturating_add(grace))
    }

    fn cost(&self, task: TaskId, kind: KindId) -> Nanos {
        if task.index() < self.graph.tasks.len() {
            self.at().cost(task, kind)
        } else {
            self.mean[kind]
        }
    }

    /// A worker has done a task in this time.
    pub fn done(&mut self, thread: usize, task: TaskId, time: Nanos) {
        let worker = self.worker_of_thread(thread);
        let kind = self.team.kinds[worker];
        let mean = &mut self.mean[kind];
        *mean = if mean.0 == 0 { time } else { Nanos(mean.0 - mean.0 / MEMORY + time.0 / MEMORY) };
        let (policy, at) = self.split();
        let now = at.now;
        policy.done(&at, WorkerId(worker as u32), task, kind, time);
        self.presence[worker].busy_until = now;
    }

    /// A worker has begun a task that no other task waits for.
    pub fn forget(&mut self, thread: usize, task: TaskId) {
        let worker = self.worker_of_thread(thread);
        let kind = self.team.kinds[worker];
        let (policy, at) = self.split();
        policy.done(&at, WorkerId(worker as u32), task, kind, Nanos::ZERO);
    }

    /// True if a worker would be given a task.
    pub fn would_give(&self, thread: usize) -> bool {
        let worker = self.worker_of_thread(thread);
        let is_late = |other| {
            other != worker && self.late_at(other, worker).is_some_and(|at| at <= self.now())
        };
        self.ready > 0
            && (self.policy.would_take(&self.at(), WorkerId(worker as u32))
                || (0..self.presence.len()).any(is_late))
    }

    /// When a worker that would be given nothing may stand in for another. It sleeps and watches
    /// until then.
    pub fn due(&mut self, thread: usize) -> Option<Instant> {
        let worker = self.worker_of_thread(thread);
        if self.ready == 0 {
            return None;
        }
        let (now, others) = (self.now(), (0..self.presence.len()).filter(|&other| other != worker));
        // The worker has not seen what came since it asked last.
        others.clone().for_each(|other| self.note_missed(other, now));
        let due = others.filter_map(|other| self.late_at(other, worker)).min()?;
        self.watcher = Some(worker);
        Some(self.since + Duration::from_nanos(due.0))
    }

    /// A worker is awake: it does not watch.
    pub fn leave(&mut self, thread: usize) {
        let worker = self.worker_of_thread(thread);
        if self.watcher == Some(worker) {
            self.watcher = None;
        }
    }

    /// Which of the sleepers to wake. None: none would be given a task, and none is needed to
    /// watch.
    pub fn worker_to_wake(
        &mut self,
        asleep: &mut dyn Iterator<Item = usize>,
        by: Option<usize>,
    ) -> Option<usize> {
        by.into_iter().for_each(|by| self.leave(by));
        if self.ready == 0 {
            return None;
        }
        let asleep: Vec<usize> = asleep.collect();
        let chosen =
            self.policy.wake(&self.at(), &mut asleep.iter().map(|&worker| WorkerId(worker as u32)));
        chosen
            .map(WorkerId::index)
            .or_else(|| asleep.first().copied().filter(|_| self.watcher.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_policy::graph::Cats;

    use super::*;

    /// A fast worker and a slow one, and a chain of two tasks of which the first is ready.
    fn chain() -> CentralScheduler {
        let team = Team { kinds: vec![KindId(0), KindId(1)], pace: Vec::new(), link: None };
        let mut scheduler =
            CentralScheduler::new(Box::new(Cats::default()), TaskGraph::default(), team);
        scheduler.created(TaskId(0), &[]);
        scheduler.created(TaskId(1), &[TaskId(0)]);
        scheduler.ready(TaskId(0), None);
        scheduler
    }

    #[test]
    fn a_worker_that_is_given_nothing_stands_in_for_a_late_one_and_no_sooner() {
        let mut scheduler = chain();
        assert_eq!(scheduler.take(1), None);
        assert!(!scheduler.would_give(1) && scheduler.would_give(0));
        let due = scheduler.due(1).unwrap();
        assert!(due >= scheduler.since + Duration::from_nanos(LATE_AFTER.0));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        assert!(scheduler.would_give(1));
        assert_eq!(scheduler.take(1), Some(TaskId(0)));
        assert_eq!((scheduler.take(0), scheduler.due(1)), (None, None));
    }

    #[test]
    fn a_worker_that_goes_to_sleep_watches_over_what_has_come_since_it_asked() {
        let mut scheduler = chain();
        assert_eq!(scheduler.take(1), None);
        // As if it had come only now.
        scheduler.presence[0].missed = None;
        assert_eq!(
            (scheduler.would_give(1), scheduler.due(1).is_some(), scheduler.watcher),
            (false, true, Some(1))
        );
    }

    #[test]
    fn a_worker_that_was_late_is_waited_for_no_more_until_it_asks() {
        let mut scheduler = chain();
        assert_eq!(scheduler.take(1), None);
        scheduler.presence[0].is_absent = true;
        assert_eq!(scheduler.take(1), Some(TaskId(0)));
        scheduler.done(1, TaskId(0), Nanos(100));
        scheduler.ready(TaskId(1), Some(1));
        scheduler.take(0);
        assert!(!scheduler.presence[0].is_absent && scheduler.take(1).is_none());
    }

    #[test]
    fn no_worker_stands_in_for_one_that_comes() {
        let mut scheduler = chain();
        assert_eq!((scheduler.take(1), scheduler.take(0)), (None, Some(TaskId(0))));
        scheduler.done(0, TaskId(0), Nanos(100));
        scheduler.ready(TaskId(1), Some(0));
        assert_eq!(
            (scheduler.take(1), scheduler.take(0), scheduler.take(1)),
            (None, Some(TaskId(1)), None)
        );
    }

    #[test]
    fn one_of_the_sleepers_is_woken_to_watch_what_none_of_them_would_be_given() {
        let mut scheduler = chain();
        assert_eq!(scheduler.worker_to_wake(&mut [0, 1].into_iter(), None), Some(0));
        assert_eq!(scheduler.worker_to_wake(&mut [1].into_iter(), Some(0)), Some(1));
        // It looks, is given nothing and sleeps again: it watches, until it is awake for something
        // else.
        assert!(scheduler.take(1).is_none() && scheduler.due(1).is_some());
        assert_eq!(scheduler.worker_to_wake(&mut [1].into_iter(), Some(0)), None);
        scheduler.leave(1);
        assert_eq!(scheduler.worker_to_wake(&mut [1].into_iter(), Some(0)), Some(1));
    }
}
