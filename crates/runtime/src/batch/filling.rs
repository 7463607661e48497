//! A batch that its worker still puts tasks into, while others may take from it. README.md,
//! "Batches", has the argument.

use crate::sync::Ordering;

use super::Part;
use super::remaining::Remaining;

/// Only its worker calls what says so; the rest is for all. The end is the worker's; the beginning
/// is moved under the lock.
pub struct Filling<B>(Remaining<B>);

impl<B> Default for Filling<B> {
    fn default() -> Self {
        Self(Remaining::default())
    }
}

impl<B: Copy> Filling<B> {
    /// As of about now.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its worker begins an empty one.
    pub fn begin(&self, batch: B) {
        self.0.begin(batch, 0..0);
    }

    /// How many its worker has put into it.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.end.load(Ordering::Relaxed)
    }

    /// Its worker has written one more.
    #[inline]
    pub fn put(&self) {
        self.0.end.store(self.count() + 1, Ordering::Release);
    }

    /// Its worker ends it, and keeps what is left.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_steals_has_the_first_half_and_the_worker_keeps_the_rest() {
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
}

/// Every interleaving, within bounds: `make race` runs them.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;

    #[test]
    fn what_is_put_in_is_seen_by_whoever_takes_it_and_taken_once() {
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
}
