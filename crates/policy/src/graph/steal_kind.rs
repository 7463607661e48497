//! `steal-kind`: work stealing that knows kinds.
//!
//! ```text
//! ready   : as in steal
//! take    : own newest first; then a fast worker goes to victims on the slowest kind first, then
//!           the next, … its own kind and faster ones last; a worker on the slowest kind to any.
//!           Within a kind victims in turn from a random one, the oldest task of each
//! decline : a worker on kind k at time now leaves a task t if the faster workers F, once free
//!           (now, or when what they run is done by its cost), could do all other ready tasks and
//!           then t before now + w(t, k)
//! wake    : of workers that wait, one on the fastest kind first
//! ```
//!
//! `w(t, k)` is the cost of the task on the kind: known to the simulator, learnt by the runtime.
//! The tasks before `t` go one by one to the worker of `F` that is free first, each at its cost
//! there; once that takes longer than `now + w(t, k)`, `t` is taken.
//!
//! Source: the first rule follows Bender and Rabin (Theory of Computing Systems 35, 2002), whose
//! fast workers take tasks from slow ones; the second is ours, for coarse tasks at the end of a
//! graph.
//!
//! Three or more kinds: `F` is every worker on a faster kind, so each kind gives way to those above
//! it; the fastest declines nothing. Equal finish times are no reason to decline.

use evenkeel_machine::{KindId, Nanos};
use evenkeel_model::TaskId;

use super::deques::Deques;
use super::roster::Roster;
use super::victims::Victims;
use super::{GraphPolicy, Situation, WorkerId};

/// Work stealing that distinguishes kinds.
#[derive(Clone, Debug, Default)]
pub struct StealKind {
    seed: u64,
    deques: Deques,
    roster: Roster,
    /// By slot, when its present task should be done.
    free_at: Vec<Nanos>,
    /// By worker; none: to be computed again, because a worker has come or moved.
    victims: Vec<Option<Victims>>,
}

/// The rule `decline`: true if faster workers would finish all of `before` and then `task` sooner
/// than `own`, the time at which it would be done here.
///
/// `faster`: the workers `F`, each with the time at which it is free and its kind; updated as tasks
/// are dealt. `cost`: `w(t, k)`.
pub fn declines<T: Copy>(
    own: Nanos,
    faster: &mut [(Nanos, KindId)],
    before: impl IntoIterator<Item = T>,
    task: T,
    cost: impl Fn(T, KindId) -> Nanos,
) -> bool {
    for other in before {
        let Some(first) = faster.iter_mut().min() else { return false };
        if first.0 >= own {
            return false;
        }
        first.0 = first.0.saturating_add(cost(other, first.1));
    }
    faster.iter().any(|&(free, kind)| free.saturating_add(cost(task, kind)) < own)
}

impl StealKind {
    /// Uses this seed for the choice of victims.
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// True if faster workers would finish the task sooner than a worker on this kind.
    fn declines(&self, at: &Situation<'_>, task: TaskId, kind: KindId) -> bool {
        let own = at.now.saturating_add(at.cost(task, kind));
        let slots = self.roster.kinds().iter().zip(&self.free_at);
        let faster = slots.filter(|(other, _)| **other < kind);
        let mut faster: Vec<(Nanos, KindId)> =
            faster.map(|(&kind, &free)| (free.max(at.now), kind)).collect();
        let before = self.deques.tasks().filter(|&other| other != task);
        declines(own, &mut faster, before, task, |task, kind| at.cost(task, kind))
    }

    /// A worker asks on a kind of core. Returns its slot.
    fn seen(&mut self, worker: WorkerId, kind: KindId) -> Option<usize> {
        if self.roster.kind(worker) == Some(kind) {
            return self.roster.slot(worker);
        }
        self.victims.fill(None);
        self.roster.seen(worker, kind)
    }

    /// The victim that a worker takes from.
    fn victim(&mut self, at: &Situation<'_>, worker: WorkerId, kind: KindId) -> Option<usize> {
        let from = self.deques.draw();
        if self.victims[worker.index()].is_none() {
            let workers = 0..self.victims.len() as u32;
            let kinds: Vec<_> = workers.map(|other| self.roster.kind(WorkerId(other))).collect();
            let slowest = self.roster.kinds().iter().copied().max();
            self.victims[worker.index()] = Some(Victims::by_kind(worker.index(), &kinds, slowest));
        }
        let victims = self.victims[worker.index()].as_ref()?;
        let oldest = |&victim: &usize| self.deques.of(victim).front().copied();
        victims
            .round(from)
            .find(|victim| oldest(victim).is_some_and(|task| !self.declines(at, task, kind)))
    }
}

impl GraphPolicy for StealKind {
    fn start(&mut self, at: &Situation<'_>) {
        self.deques = Deques::new(at.team.kinds.len(), self.seed);
        self.roster = Roster::new(at.team);
        self.free_at = vec![Nanos::ZERO; at.team.kinds.len()];
        self.victims = vec![None; at.team.kinds.len()];
    }

    fn ready(&mut self, _at: &Situation<'_>, task: TaskId, by: Option<WorkerId>) {
        self.deques.push(task, by);
    }

    fn take(&mut self, at: &Situation<'_>, worker: WorkerId, kind: KindId) -> Option<TaskId> {
        let slot = self.seen(worker, kind)?;
        self.free_at[slot] = at.now;
        let own = self.deques.of(worker.index()).back().copied();
        let task = match own.filter(|&task| !self.declines(at, task, kind)) {
            Some(_) => self.deques.pop(worker)?,
            None => {
                let victim = self.victim(at, worker, kind)?;
                self.deques.steal(victim)?
            }
        };
        self.free_at[slot] = at.now.saturating_add(at.cost(task, kind));
        Some(task)
    }

    fn would_take(&self, at: &Situation<'_>, worker: WorkerId) -> bool {
        let Some(kind) = self.roster.kind(worker) else { return true };
        let accepts =
            |task: Option<&TaskId>| task.is_some_and(|&task| !self.declines(at, task, kind));
        let mut others = (0..at.team.kinds.len()).filter(|&victim| victim != worker.index());
        accepts(self.deques.of(worker.index()).back())
            || others.any(|victim| accepts(self.deques.of(victim).front()))
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
        at: &Situation<'_>,
        worker: WorkerId,
        _task: TaskId,
        _kind: KindId,
        _time: Nanos,
    ) {
        if let Some(slot) = self.roster.slot(worker) {
            self.free_at[slot] = at.now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, graph, team};
    use super::*;

    #[test]
    fn a_fast_thief_takes_from_a_slow_victim_before_a_fast_one() {
        let (graph, team) = (graph(&[1; 3], &[]), team(&[0, 0, 1]));
        let at = Situation::at_start(&graph, &team);
        for seed in 0..20 {
            let mut policy = StealKind::new(seed);
            policy.start(&at);
            for (worker, kind) in [(0, 0), (1, 0), (2, 1)] {
                assert_eq!(policy.take(&at, WorkerId(worker), KindId(kind)), None);
            }
            policy.ready(&at, TaskId(0), Some(WorkerId(1)));
            policy.ready(&at, TaskId(1), Some(WorkerId(2)));
            assert_eq!(policy.take(&at, WorkerId(0), KindId(0)), Some(TaskId(1)), "seed {seed}");
        }
    }

    #[test]
    fn a_slow_worker_leaves_a_last_task_that_a_fast_one_would_end_sooner() {
        // Kind 1 takes twice as long as kind 0. Task 0 runs on the fast worker until 4; task 1
        // would take 10 there and 20 here.
        let (graph, team) = (graph(&[4, 10], &[]), team(&[0, 1]));
        let mut at = Situation::at_start(&graph, &team);
        let mut policy = StealKind::new(1);
        policy.start(&at);
        policy.ready(&at, TaskId(0), None);
        assert_eq!(policy.take(&at, WorkerId(0), KindId(0)), Some(TaskId(0)));
        policy.ready(&at, TaskId(1), None);
        assert_eq!(policy.take(&at, WorkerId(1), KindId(1)), None);
        assert!(!policy.would_take(&at, WorkerId(1)));
        at.now = Nanos(4);
        policy.done(&at, WorkerId(0), TaskId(0), KindId(0), Nanos(4));
        assert_eq!(policy.take(&at, WorkerId(0), KindId(0)), Some(TaskId(1)));
    }

    #[test]
    fn a_slow_worker_takes_its_part_where_there_is_enough_for_all() {
        let (graph, team) = (graph(&[10; 3], &[]), team(&[0, 1]));
        let run = Bench::run(&mut StealKind::new(1), &graph, &team);
        // Fast: two tasks of 10; slow: one of 20.
        assert_eq!(run.makespan(), Nanos(20));
        assert_eq!(run.tasks_of(WorkerId(1)).len(), 1);
    }

    #[test]
    fn of_two_equal_tasks_the_second_waits_for_the_fast_worker_only_if_that_is_sooner() {
        let two = graph(&[10; 2], &[]);
        // Twice as slow: 20 either way, which is no reason to decline. Three times as slow: 20 on
        // the fast worker against 30.
        let slow_part = |kinds| {
            Bench::run(&mut StealKind::new(1), &two, &team(kinds)).tasks_of(WorkerId(1)).len()
        };
        assert_eq!((slow_part(&[0, 1]), slow_part(&[0, 2])), (1, 0));
    }

    #[test]
    fn the_middle_of_three_kinds_gives_way_to_the_fastest_and_not_to_the_slowest() {
        let (graph, team) = (graph(&[10], &[]), team(&[1, 2]));
        let at = Situation::at_start(&graph, &team);
        let mut policy = StealKind::new(1);
        policy.start(&at);
        policy.ready(&at, TaskId(0), None);
        assert_eq!(policy.take(&at, WorkerId(1), KindId(2)), None);
        assert_eq!(policy.take(&at, WorkerId(0), KindId(1)), Some(TaskId(0)));
    }
}
