//! Slow cores leave what faster ones would end sooner: the rule of `steal-kind`
//! (`steal_kind::declines` in crates/policy) where each worker is a thread. On cores of one kind,
//! and for tasks without a name, nothing of this is asked.
//!
//! A worker asks before it begins a task with a name. The rule wants the task's cost on each kind,
//! learnt by its name; when each faster worker is free; and what else is ready, counted in the
//! deques. Each job there is taken to cost as much as the task in question, so the rule errs
//! towards taking, as plain stealing does.
//!
//! A worker says when it is free in a word of its own: idle, busy until (in a task with a name, by
//! its learnt cost), or busy for an unknown time. A worker of the last sort is not counted upon. It
//! may have just created the task, so the asker waits for an answer first: for a 64th of the time
//! that the task would take here, and 50 us at most. These words order nothing and may be stale: a
//! wrong answer costs time, never a task.
//!
//! A declined task goes into one list behind a mutex, with the time at which it would have been
//! done where it was declined. Workers on faster kinds look there before they steal, all others
//! once that time is over. The worker that declined it sleeps no longer than until then; so does
//! the one that is woken for the first task in the list, and the one that the last idle worker
//! wakes while a task is there. That time is asked behind the fence of rule 3 (sleep/README.md): a
//! task that was left before it is seen, and a thread that leaves one after it sees the sleeper. So
//! a task waits for other workers no longer than it would have run. The list is counted beside the
//! lock: without declined tasks looking is one load.
//!
//! A call from outside is often a whole program, whose sequential parts all run where it is taken.
//! Slower workers leave it while a faster one says that it is idle, for a millisecond after the
//! last call at most. The calling thread wakes the fastest sleeper, unless that is of the slowest
//! kind, even if another worker is idle. A slow worker does not sleep meanwhile: the last look of
//! rule 3 finds the call.

use std::cell::{Cell, RefCell};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use evenkeel_machine::{KindId, Nanos};
use evenkeel_policy::graph::steal_kind::declines;

use crate::costs::Label;
use crate::job::JobRef;
use crate::spin_timeout::SPIN_TIMEOUT;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::team::Place;
use crate::worker::Worker;

/// How long a call from outside is left to a faster worker: several times what it takes to begin a
/// thread, or to wake one.
const CALL_HELD_FOR: Nanos = Nanos::from_millis(1);
/// A worker waits for faster workers to say when they are free, for one part in so many of the time
/// that the task would take here.
const WAIT_PART: u64 = 64;
/// Busy for an unknown time.
const UNKNOWN: u64 = u64::MAX;
/// Idle.
const FREE: u64 = 0;

/// Declined tasks, and when each worker is free.
pub struct GiveWay {
    start: Instant,
    /// Indexed by worker: when it is free, in nanoseconds since the start.
    free_at: Box<[CachePadded<AtomicU64>]>,
    /// Until when the last call from outside is left to faster workers that are idle, in
    /// nanoseconds since the start.
    call_until: AtomicU64,
    /// How many have been left.
    count: AtomicUsize,
    declined: Mutex<Vec<Declined>>,
}

struct Declined {
    job: JobRef,
    label: Label,
    /// The kind of the worker that left it.
    kind: KindId,
    /// When any worker may take it.
    until: Instant,
}

/// What a worker keeps for the rule.
#[derive(Default)]
pub struct Deciding {
    /// A job that has been left for long enough.
    accepted: Cell<Option<JobRef>>,
    faster: RefCell<Vec<(Nanos, KindId)>>,
}

/// When a worker would have been free but for a task that it has begun.
pub struct FreeAt(u64);

impl GiveWay {
    /// For so many workers.
    pub fn new(workers: usize) -> Self {
        // Their threads are about to begin.
        let free_at = || CachePadded::new(AtomicU64::new(FREE));
        Self {
            start: Instant::now(),
            free_at: (0..workers).map(|_| free_at()).collect(),
            call_until: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            declined: Mutex::default(),
        }
    }

    fn at(&self, now: Instant) -> Nanos {
        Nanos(now.saturating_duration_since(self.start).as_nanos() as u64)
    }

    /// A call from outside has come.
    pub fn note_call(&self) {
        self.call_until
            .store(self.at(Instant::now()).saturating_add(CALL_HELD_FOR).0, Ordering::Relaxed);
    }

    /// True if a call from outside is left to one of the so many faster workers.
    pub fn holds_call(&self, faster: usize) -> bool {
        // None has come for long, mostly: then the clock need not be asked.
        let until = self.call_until.load(Ordering::Relaxed);
        let is_idle = |free_at: &CachePadded<AtomicU64>| free_at.load(Ordering::Relaxed) == FREE;
        until > 0 && self.free_at[..faster].iter().any(is_idle) && {
            let is_over = self.at(Instant::now()).0 >= until;
            if is_over {
                let _ = self.call_until.compare_exchange(
                    until,
                    0,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
            }
            !is_over
        }
    }

    /// Waits until the so many fastest workers say when they are free, or for `most`. A worker that
    /// has just created a task has not begun one yet, and is about to.
    fn wait_for_free_times(&self, faster: usize, most: Duration) {
        let is_unknown =
            |free_at: &CachePadded<AtomicU64>| free_at.load(Ordering::Relaxed) == UNKNOWN;
        let since = Instant::now();
        while self.free_at[..faster].iter().any(is_unknown) && since.elapsed() < most {
            std::hint::spin_loop();
        }
    }

    /// A worker has nothing to do, or has found something.
    pub fn set_idle(&self, worker: &Worker, idles: bool) {
        self.free_at[worker.index].store(if idles { FREE } else { UNKNOWN }, Ordering::Relaxed);
    }

    /// A worker begins a task with a name.
    pub fn begins(&self, worker: &Worker, label: Label, since: Instant) -> FreeAt {
        let cost = worker.registry().costs.of(label, worker.kind);
        let end = cost.map_or(UNKNOWN, |cost| self.at(since).saturating_add(cost).0);
        FreeAt(self.free_at[worker.index].swap(end, Ordering::Relaxed))
    }

    /// It has ended.
    pub fn ends(&self, worker: &Worker, FreeAt(free_at): FreeAt) {
        self.free_at[worker.index].store(free_at, Ordering::Relaxed);
    }

    /// A task that was left for this worker, or for long enough.
    #[inline]
    pub fn take(&self, worker: &Worker) -> Option<JobRef> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut left = self.declined.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let place = left.iter().position(|it| it.is_for(worker.kind, now))?;
        let declined = left.remove(place);
        self.count.store(left.len(), Ordering::Relaxed);
        if declined.until <= now {
            worker.deciding.accepted.set(Some(declined.job));
        }
        Some(declined.job)
    }

    /// True if a worker on this kind would be given a task.
    pub fn would_give(&self, kind: KindId) -> bool {
        // The fence orders this load after the sleeper's entry (sleep/README.md, rule 3).
        self.count.load(Ordering::Relaxed) > 0 && {
            let left = self.declined.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            left.iter().any(|it| it.is_for(kind, now))
        }
    }

    /// When any worker may take a task, unless a faster one has by then.
    pub fn due(&self) -> Option<Instant> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.declined.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|it| it.until).min()
    }
}

impl Declined {
    fn is_for(&self, kind: KindId, now: Instant) -> bool {
        kind < self.kind || self.until <= now
    }
}

impl Worker {
    /// Leaves a task with a name for a faster worker, where that would end it sooner. False: it is
    /// to be run here.
    pub fn declines_task(&self, job: JobRef, label: Label) -> bool {
        let Some(give_way) = &self.registry().give_way else { return false };
        let leaves =
            self.deciding.accepted.take() != Some(job) && self.declines(give_way, job, label);
        self.counts.declined.add(u64::from(leaves));
        leaves
    }

    fn declines(&self, give_way: &GiveWay, job: JobRef, label: Label) -> bool {
        let registry = self.registry();
        let (costs, kind) = (&registry.costs, self.kind);
        // A task that is shorter than a wake-up is not worth the wait.
        let Some(own) = costs.of(label, kind).filter(|own| own.0 >= SPIN_TIMEOUT.as_nanos() as u64)
        else {
            return false;
        };
        let faster_places = registry.team.places.iter().take_while(|place| place.kind < kind);
        give_way.wait_for_free_times(
            faster_places.clone().count(),
            Duration::from_nanos(own.0 / WAIT_PART).min(SPIN_TIMEOUT),
        );
        let now = Instant::now();
        let at = give_way.at(now);
        let mut faster = self.deciding.faster.borrow_mut();
        faster.clear();
        let free_at = |(&Place { kind, .. }, free_at): (_, &CachePadded<AtomicU64>)| {
            let free_at =
                Some(free_at.load(Ordering::Relaxed)).filter(|&free_at| free_at != UNKNOWN);
            free_at.map(|free_at| (at.max(Nanos(free_at)), kind))
        };
        faster.extend(faster_places.zip(&give_way.free_at).filter_map(free_at));
        if faster.iter().any(|&(_, kind)| costs.of(label, kind).is_none()) {
            return false;
        }
        let mut left = give_way.declined.lock().unwrap_or_else(PoisonError::into_inner);
        let before =
            left.iter().map(|it| it.label).chain(std::iter::repeat_n(label, registry.jobs()));
        let cost = |label, kind| costs.of(label, kind).unwrap_or_default();
        if !declines(at.saturating_add(own), &mut faster, before, label, cost) {
            return false;
        }
        left.push(Declined { job, label, kind, until: now + Duration::from_nanos(own.0) });
        give_way.count.store(left.len(), Ordering::Relaxed);
        let is_first = left.len() == 1;
        drop(left);
        // The fastest that sleeps. If it is no faster than this one, it is to know until when the
        // first may lie here: this one may be long in something else.
        let is_faster = |other: usize| registry.team.places[other].kind < kind;
        let woken = registry.sleep.asleep().next().filter(|&other| is_first || is_faster(other));
        woken.into_iter().for_each(|other| registry.sleep.wake(other));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_left_to_a_faster_worker_that_is_idle_and_not_for_ever() {
        let give_way = GiveWay::new(3);
        assert!(!give_way.holds_call(1), "nobody has called");
        give_way.call_until.store(u64::MAX, Ordering::Relaxed);
        assert!(give_way.holds_call(1) && !give_way.holds_call(0));
        give_way.free_at[0].store(UNKNOWN, Ordering::Relaxed);
        assert!(!give_way.holds_call(1) && give_way.holds_call(2));
        give_way.call_until.store(0, Ordering::Relaxed);
        assert!(!give_way.holds_call(2));
    }

    #[test]
    fn a_worker_with_a_long_task_waits_for_word_of_all_faster_ones_and_not_for_ever() {
        const LONG: Duration = Duration::from_secs(60);
        let (give_way, began) = (GiveWay::new(3), Instant::now());
        give_way.wait_for_free_times(2, LONG);
        // The third is no faster than the one that asks.
        give_way.free_at[2].store(UNKNOWN, Ordering::Relaxed);
        give_way.wait_for_free_times(2, LONG);
        give_way.free_at[1].store(UNKNOWN, Ordering::Relaxed);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                std::thread::sleep(Duration::from_millis(1));
                give_way.free_at[1].store(FREE, Ordering::Relaxed);
            });
            give_way.wait_for_free_times(2, LONG);
        });
        assert!(began.elapsed() < LONG / 2);
        give_way.free_at[0].store(UNKNOWN, Ordering::Relaxed);
        let since = Instant::now();
        give_way.wait_for_free_times(2, Duration::from_millis(2));
        assert!(since.elapsed() >= Duration::from_millis(2));
    }
}
