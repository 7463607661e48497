//! Counts of what each worker has done. A worker writes its own counts, in a line of the cache of
//! its own: a load, an addition, a store, all relaxed. A summary reads them, as of about now. Times
//! come from the clock that is read anyway before a worker sleeps.

use evenkeel_machine::Nanos;

use crate::sync::{AtomicU64, Ordering};

/// A number that one thread writes.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds, by its own thread: so no atomic addition is needed.
    #[inline]
    pub fn add(&self, more: u64) {
        self.set(self.get() + more);
    }

    /// Sets, by its own thread.
    #[inline]
    pub fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }

    /// As of about now.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one worker has done. Times are in nanoseconds, instants in nanoseconds since the pool was
/// made.
#[derive(Default)]
pub struct Counts {
    /// Tasks that it has run.
    pub tasks: Count,
    /// Chunks of loops that it has run.
    pub chunks: Count,
    /// Tasks with names that it left to faster workers, and loops at their end.
    pub declined: Count,
    /// Deques of others that it has looked into for a job.
    pub steals_tried: Count,
    /// Jobs that it has found there.
    pub steals_got: Count,
    /// Times that it has lent its core to another.
    pub lent: Count,
    /// When it began to work; 0: not yet.
    pub began: Count,
    /// Looking for work, as far as that is over.
    pub looking: Count,
    /// Asleep, as far as that is over.
    pub asleep: Count,
    /// When it fell asleep; 0: it is awake.
    pub asleep_since: Count,
}

impl Counts {
    /// Busy, looking, asleep, until `now`.
    pub fn times(&self, now: Nanos) -> [Nanos; 3] {
        let until_now = |since: u64| if since == 0 { 0 } else { now.0.saturating_sub(since) };
        let asleep = self.asleep.get() + until_now(self.asleep_since.get());
        let looking = self.looking.get();
        let busy = until_now(self.began.get()).saturating_sub(looking + asleep);
        [busy, looking, asleep].map(Nanos)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_is_not_looking_or_asleep_it_is_busy() {
        let counts = Counts::default();
        assert_eq!(counts.times(Nanos(50)), [Nanos(0); 3], "it has not begun");
        counts.began.set(100);
        counts.looking.add(20);
        counts.asleep.add(30);
        assert_eq!(counts.times(Nanos(200)), [Nanos(50), Nanos(20), Nanos(30)]);
        counts.asleep_since.set(180);
        assert_eq!(counts.times(Nanos(200)), [Nanos(30), Nanos(20), Nanos(50)]);
    }
}
