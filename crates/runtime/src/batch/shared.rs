//! The open part of a worker's batches: its worker takes from one end, thieves from the other.
//! README.md in this folder has the argument.

#[cfg(not(loom))]
use std::hint::spin_loop;
use std::sync::{PoisonError, TryLockError};

use crossbeam_utils::CachePadded;
#[cfg(loom)]
use loom::thread::yield_now as spin_loop;

use crate::sleep::AsymmetricFence;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering};

use super::{BatchRef, Part};

/// The part of a worker's batches that thieves see.
#[derive(Default)]
pub struct SharedBatches {
    pub filling: CachePadded<Filling<BatchRef>>,
    pub running: CachePadded<Running<BatchRef>>,
}

impl SharedBatches {
    /// True if both are empty, as of about now.
    pub fn is_empty(&self) -> bool {
        self.filling.is_empty() && self.running.is_empty()
    }
}

/// A batch that its worker still fills. The end is its worker's, which alone calls `begin`, `put`
/// and `stop`; the beginning is moved under the lock.
pub struct Filling<B>(Remaining<B>);

impl<B> Default for Filling<B> {
    fn default() -> Self {
        Self(Remaining::default())
    }
}

impl<B: Copy> Filling<B> {
    /// True if it is empty, as of about now.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins an empty batch, by its worker.
    pub fn begin(&self, batch: B) {
        self.0.begin(batch, 0..0);
    }

    /// How many tasks its worker has put into it.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.end.load(Ordering::Relaxed)
    }

    /// Counts one more task, which its worker has written.
    #[inline]
    pub fn put(&self) {
        self.0.end.store(self.count() + 1, Ordering::Release);
    }

    /// Ends it, by its worker, which keeps what is left.
    pub fn stop(&self) -> Part {
        self.0.stop()
    }

    /// Takes the first half of its tasks, and calls `keep` with them. Until that returns the batch
    /// stays what it is, except that more may be put in. None: it is empty, or another thief has
    /// the lock.
    pub fn steal<R>(&self, keep: impl FnOnce(B, Part) -> R) -> Option<R> {
        let filling = self.0.try_hold()?;
        let batch = (*filling)?;
        let (next, end) = (self.0.next.load(Ordering::Relaxed), self.0.end.load(Ordering::Acquire));
        if next >= end {
            return None;
        }
        let middle = next + (end - next).div_ceil(2);
        self.0.next.store(middle, Ordering::Relaxed);
        Some(keep(batch, next..middle))
    }
}

/// How often a worker tries the lock before it sleeps until it has it: some 50 us.
const LOCK_TRIES: u32 = if cfg!(loom) { 1 } else { 1_000 };

/// A batch that its worker runs, which alone calls `begin`, `take` and `stop`.
///
/// The beginning is its worker's: one past the next task while the worker finds out that none is
/// left. The end is moved under the lock.
pub struct Running<B>(Remaining<B>);

impl<B> Default for Running<B> {
    fn default() -> Self {
        Self(Remaining::default())
    }
}

impl<B: Copy> Running<B> {
    /// True if it is empty, as of about now.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are left, as of about now.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Begins to run these tasks, by its worker.
    pub fn begin(&self, batch: B, part: Part) {
        self.0.begin(batch, part);
    }

    /// Takes the next task, by its worker. None: there is none, and the batch has ended.
    #[inline]
    pub fn take(&self, fence: &AsymmetricFence) -> Option<usize> {
        let it = self.0.next.load(Ordering::Relaxed);
        self.0.next.store(it + 1, Ordering::Relaxed);
        fence.light();
        if it < self.0.end.load(Ordering::Relaxed) { Some(it) } else { self.take_last(it) }
    }

    /// A thief is about to take this one, or has.
    #[cold]
    fn take_last(&self, it: usize) -> Option<usize> {
        // A thief holds the lock for as long as the heavy half of a fence takes. A sleep and a
        // wake-up take several times as long.
        let tried = (0..LOCK_TRIES).find_map(|_| {
            spin_loop();
            self.0.try_hold()
        });
        let mut running = tried.unwrap_or_else(|| self.0.hold());
        let end = self.0.end.load(Ordering::Relaxed);
        if it < end {
            return Some(it);
        }
        *running = None;
        self.0.next.store(end, Ordering::Relaxed);
        None
    }

    /// Ends it, by its worker, which keeps what is left.
    pub fn stop(&self) -> Part {
        self.0.stop()
    }

    /// Takes the latter half of what is left, and calls `keep` with it; until that returns the
    /// batch stays what it is. None: it is empty, its worker was faster, or another thief has the
    /// lock. Only its own worker may pass no fence.
    pub fn steal<R>(
        &self,
        fence: Option<&AsymmetricFence>,
        keep: impl FnOnce(B, Part) -> R,
    ) -> Option<R> {
        let running = self.0.try_hold()?;
        let batch = (*running)?;
        let (next, end) = (self.0.next.load(Ordering::Relaxed), self.0.end.load(Ordering::Relaxed));
        if next >= end {
            return None;
        }
        let middle = next + (end - next) / 2;
        self.0.end.store(middle, Ordering::Relaxed);
        if !fence.is_none_or(AsymmetricFence::heavy) || self.0.next.load(Ordering::Relaxed) > middle
        {
            self.0.end.store(end, Ordering::Relaxed);
            return None;
        }
        Some(keep(batch, middle..end))
    }
}

/// The tasks of a batch that are left: its worker moves one end, thieves the other.
pub struct Remaining<B> {
    /// The first.
    pub next: AtomicUsize,
    /// One past the last.
    pub end: AtomicUsize,
    /// The batch, if there is one. Locked by thieves, and by its worker when it begins and ends
    /// one.
    batch: Mutex<Option<B>>,
}

impl<B> Default for Remaining<B> {
    fn default() -> Self {
        Self { next: AtomicUsize::new(0), end: AtomicUsize::new(0), batch: Mutex::new(None) }
    }
}

impl<B> Remaining<B> {
    /// How many are left, as of about now.
    pub fn count(&self) -> usize {
        self.end.load(Ordering::Relaxed).saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// True if nothing is left, as of about now.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Begins with so much of a batch.
    pub fn begin(&self, batch: B, part: Part) {
        let mut held = self.hold();
        self.next.store(part.start, Ordering::Relaxed);
        self.end.store(part.end, Ordering::Relaxed);
        *held = Some(batch);
    }

    /// Ends it: returns what is left.
    pub fn stop(&self) -> Part {
        let mut held = self.hold();
        *held = None;
        let (next, end) = (self.next.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        self.next.store(end, Ordering::Relaxed);
        next..end
    }

    /// Waits for thieves to be done.
    pub fn hold(&self) -> MutexGuard<'_, Option<B>> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None: another worker has the lock.
    pub fn try_hold(&self) -> Option<MutexGuard<'_, Option<B>>> {
        match self.batch.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thief_has_the_first_half_and_the_worker_keeps_the_rest() {
        let filling = Filling::default();
        assert!(filling.is_empty() && filling.steal(|(), part| part).is_none());
        filling.begin(());
        assert!(filling.steal(|(), part| part).is_none(), "nothing is in it");
        (0..5).for_each(|_| filling.put());
        assert_eq!(filling.steal(|(), part| part), Some(0..3));
        filling.put();
        assert_eq!(filling.steal(|(), part| part), Some(3..5));
        assert_eq!(filling.stop(), 5..6);
        assert!(filling.is_empty() && filling.steal(|(), part| part).is_none());
    }

    #[test]
    fn a_thief_has_the_latter_half_and_the_worker_the_rest() {
        let (running, fence) = (Running::default(), AsymmetricFence::new());
        assert!(running.is_empty() && running.steal(Some(&fence), |(), part| part).is_none());
        running.begin((), 3..10);
        assert_eq!(running.take(&fence), Some(3));
        assert_eq!(running.steal(Some(&fence), |(), part| part), Some(7..10));
        assert_eq!(running.steal(Some(&fence), |(), part| part), Some(5..7));
        assert_eq!(running.take(&fence), Some(4));
        assert!(running.is_empty() && running.take(&fence).is_none());
        assert!(running.steal(Some(&fence), |(), part| part).is_none(), "it has ended");
    }

    #[test]
    fn the_last_one_can_be_stolen_and_what_is_left_be_kept() {
        let (running, fence) = (Running::default(), AsymmetricFence::new());
        running.begin((), 0..1);
        assert_eq!(running.steal(Some(&fence), |(), part| part), Some(0..1));
        assert_eq!(running.take(&fence), None);
        running.begin((), 5..9);
        assert_eq!(running.take(&fence), Some(5));
        assert_eq!(running.stop(), 6..9);
        assert!(running.is_empty());
    }
}

/// Every interleaving, within bounds: `make race` runs them.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;

    #[test]
    fn what_is_put_in_is_seen_by_its_taker_and_taken_once() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new((Filling::default(), <[UnsafeCell<usize>; 3]>::default()));
            shared.0.begin(());
            let take = |tasks: &[UnsafeCell<usize>; 3], part: Part| {
                // SAFETY: what is being checked: it has been written, and no other thread has it.
                part.for_each(|it| tasks[it].with_mut(|it| unsafe { *it += 1 }));
            };
            let thief = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    for _ in 0..2 {
                        shared.0.steal(|(), part| take(&shared.1, part));
                    }
                })
            };
            for it in 0..3 {
                // SAFETY: no other thread has it before it is put in.
                shared.1[it].with_mut(|it| unsafe { *it = 1 });
                shared.0.put();
            }
            take(&shared.1, shared.0.stop());
            thief.join().unwrap();
            // SAFETY: all are back.
            shared.1.iter().for_each(|it| assert_eq!(it.with(|it| unsafe { *it }), 2));
        });
    }

    /// Each thread touches the tasks that it has taken: a task taken twice would be found.
    type Tasks = [UnsafeCell<usize>; 3];

    fn touch(tasks: &Tasks, part: Part) {
        // SAFETY: what is being checked: no other thread has it.
        part.for_each(|it| tasks[it].with_mut(|times| unsafe { *times += 1 }));
    }

    fn model(thieves: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let shared = Arc::new((Running::default(), AsymmetricFence::new(), Tasks::default()));
            shared.0.begin((), 0..3);
            let steal = |shared: &(Running<()>, AsymmetricFence, Tasks)| {
                shared.0.steal(Some(&shared.1), |(), part| touch(&shared.2, part));
            };
            let thieves: Vec<_> = (0..thieves)
                .map(|_| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || steal(&shared))
                })
                .collect();
            while let Some(it) = shared.0.take(&shared.1) {
                touch(&shared.2, it..it + 1);
            }
            thieves.into_iter().for_each(|thief| thief.join().unwrap());
            // SAFETY: all are back.
            shared.2.iter().for_each(|times| assert_eq!(times.with(|times| unsafe { *times }), 1));
        });
    }

    #[test]
    fn each_task_is_taken_once_by_its_worker_or_a_thief() {
        model(1);
    }

    #[test]
    fn each_task_is_taken_once_where_two_steal() {
        model(2);
    }
}
