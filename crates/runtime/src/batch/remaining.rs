//! The part of a batch that is left: its worker moves one end, thieves the other.

use std::sync::{PoisonError, TryLockError};

use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering};

use super::Part;

/// See the file's head.
pub struct Remaining<B> {
    /// The first.
    pub next: AtomicUsize,
    /// One past the last.
    pub end: AtomicUsize,
    /// Which batch. None: there is none. Held by thieves, and by its worker when it begins with one
    /// and when it ends that.
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

    /// The worker begins with so much of a batch.
    pub fn begin(&self, batch: B, part: Part) {
        let mut held = self.hold();
        self.next.store(part.start, Ordering::Relaxed);
        self.end.store(part.end, Ordering::Relaxed);
        *held = Some(batch);
    }

    /// The worker ends it, and keeps what is left.
    pub fn stop(&self) -> Part {
        let mut held = self.hold();
        *held = None;
        let (next, end) = (self.next.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        self.next.store(end, Ordering::Relaxed);
        next..end
    }

    /// Waits for thieves to be through.
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
