//! Core lending: a worker that has work and no core gets the core of an idle worker. See README.md
//! in this folder.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use evenkeel_machine::Nanos;

use self::state::Until;
pub use self::workers::CoreLending;
use self::workers::{LendOutcome, STALLED_AFTER};
use crate::trace::What;
use crate::worker::Worker;

mod monitor;
mod state;
mod workers;

/// A worker that has waited for so long looks at the workers that it may be waiting for. Most waits
/// are shorter.
const FIRST_LOOK: Duration = Duration::from_micros(5);
/// How long a lock that others hold for moments is tried before its waiter sleeps: long enough to
/// find out that its holder does not run.
const LOCK_SPIN: Duration = Duration::from_micros(20);
/// Tries between two looks at the clock.
const TRIES: u32 = 16;

/// What a waiting worker has seen of others.
pub struct Watch {
    /// How long the core is lent for.
    until: Until,
    /// When it looks again: after it has waited for so long.
    next: Duration,
    /// A worker, and how long it had run when it was looked at.
    seen: Option<(usize, Nanos)>,
    /// True for a monitor: it has been idle for so long that a worker on a slower core is better
    /// off on this one.
    is_monitor: bool,
}

impl Watch {
    /// For a worker that waits for work, or for others to have done theirs.
    pub const fn for_work() -> Self {
        Self { until: Until::Idle, next: FIRST_LOOK, seen: None, is_monitor: false }
    }

    const fn for_lock() -> Self {
        Self { until: Until::Unlocked, next: FIRST_LOOK, seen: None, is_monitor: false }
    }
}

/// The worker that this one lends its core to, or is about to.
#[derive(Default)]
pub struct Borrower {
    next: Cell<Option<usize>>,
    has: Cell<Option<usize>>,
    /// True if the system refused to move a thread.
    is_refused: Cell<bool>,
    /// Other programs use its core, too, as of a while ago.
    contended_until: Cell<Option<Instant>>,
}

impl Worker {
    /// Looks for a worker that is on no faster core, has work and does not run; called now and then
    /// while this worker is idle. True: there is one. This worker is to sleep then, and to lend its
    /// core as the last thing before that ([`Worker::lend_core`]).
    #[inline]
    pub fn finds_borrower(&self, watch: &mut Watch, waited: Duration) -> bool {
        waited >= watch.next && self.looks_for_borrower(watch, waited)
    }

    #[cold]
    fn looks_for_borrower(&self, watch: &mut Watch, waited: Duration) -> bool {
        let registry = self.registry();
        let lending = &registry.lending;
        watch.next = waited + STALLED_AFTER;
        if !lending.takes_part(self.index) || self.borrower.is_refused.get() {
            return false;
        }
        if !lending.is_home(self.index) {
            // Its own core is the one that it lost.
            lending.goes_home(self.index);
            return false;
        }
        let seen = watch.seen.take();
        if let Some((borrower, ran)) = seen
            && let Some(runs) = lending.ran(borrower)
            && (runs == ran || watch.is_monitor && lending.is_slower(borrower, self.index))
            && (watch.until == Until::Unlocked || !registry.has_work())
        {
            self.borrower.next.set(Some(borrower));
            return true;
        }
        // Each begins with the one after itself: so not all look at the same.
        let borrowers = lending.borrowers(self.index);
        let after = seen.map_or(self.index, |(last, _)| last) + 1;
        let mut round = (after..borrowers.end)
            .chain(borrowers.start..after)
            .filter(|&other| other != self.index);
        watch.seen = round.find_map(|other| Some((other, lending.ran(other)?)));
        false
    }

    /// Lends its core to the worker that it has found, and returns that one. From here on this
    /// worker may lose its core. None: it lent nothing.
    fn lend_core(&self, watch: &Watch) -> Option<usize> {
        let borrower = self.borrower.next.take()?;
        let since = Instant::now();
        let lent = self.registry().lending.lend(self.index, borrower, watch.until);
        match lent {
            LendOutcome::NotAtHome => return None,
            LendOutcome::Refused => {
                self.borrower.is_refused.set(true);
                return None;
            }
            LendOutcome::HasIt => self.borrower.has.set(Some(borrower)),
            LendOutcome::WentHome => {}
        }
        self.counts.lent.add(1);
        if let Some(recorder) = self.recorder() {
            recorder.happened(What::Lent(borrower as u32), since);
        }
        self.borrower.has.get()
    }

    /// Locks a mutex that others hold for moments, unless they lose their core meanwhile.
    #[inline]
    pub fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        try_lock(mutex).unwrap_or_else(|| self.lock_slow(mutex))
    }

    #[cold]
    fn lock_slow<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        let (since, mut watch) = (Instant::now(), Watch::for_lock());
        loop {
            for _ in 0..TRIES {
                if let Some(guard) = try_lock(mutex) {
                    return guard;
                }
                std::hint::spin_loop();
            }
            let waited = since.elapsed();
            if waited >= LOCK_SPIN || self.finds_borrower(&mut watch, waited) {
                break;
            }
        }
        // A thread that sleeps here has not lost its core.
        let lending = &self.registry().lending;
        lending.idles(self.index);
        let _ = self.lend_core(&watch);
        let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
        lending.works(self.index);
        self.takes_core_back();
        guard
    }

    /// True if it has found a worker to lend its core to.
    pub fn is_to_lend(&self) -> bool {
        self.borrower.next.get().is_some()
    }

    /// Takes its core back, for it has work itself.
    pub fn takes_core_back(&self) {
        self.borrower.next.set(None);
        let Some(borrower) = self.borrower.has.take() else { return };
        self.registry().lending.take_back(self.index, borrower);
    }
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::Pool;

    #[test]
    fn a_worker_that_sleeps_on_a_lock_is_lent_nothing() {
        let pool = Pool::builder().workers(2).lend(true).build().unwrap();
        let (mutex, both) = (Mutex::new(()), Barrier::new(2));
        let with_worker = |f: &dyn Fn(&Worker)| Worker::with_current(|worker| f(worker.unwrap()));
        let may_be_lent = |worker: usize| pool.registry.lending.ran(worker).is_some();
        pool.scope(|s| {
            let guard = mutex.lock().unwrap();
            s.spawn(|| {
                with_worker(&|worker| {
                    both.wait();
                    assert!(may_be_lent(worker.index));
                    drop(worker.lock(&mutex));
                    assert!(may_be_lent(worker.index));
                });
            });
            both.wait();
            with_worker(&|worker| {
                let since = Instant::now();
                while may_be_lent(1 - worker.index) {
                    assert!(since.elapsed() < Duration::from_secs(60));
                    std::thread::yield_now();
                }
            });
            drop(guard);
        });
    }
}
