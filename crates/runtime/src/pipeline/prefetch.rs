//! Items that fast workers take from the source for slow ones.
//!
//! The source is asked by one worker at a time, and holds up all others once they are out of items;
//! a slow core holds them up for longest. So a fast worker that asks takes an item for each slow
//! worker in a stage, before its own. A slow worker finds one ready, and asks only if no fast one
//! has come by meanwhile, or if it has been out of work.
//!
//! An item that was taken ahead waits until the slow worker is done, or until a fast one comes by
//! next. A source that has to wait itself, for input or for what comes out of the pipeline, may
//! keep a fast worker waiting meanwhile. So nothing is taken ahead of a source that waited (more
//! than a millisecond, and not at work) when it was asked last. A serial stage further on needs no
//! such rule: early items wait there, and as many may be under way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::registry::Registry;
use crate::worker::Worker;

/// A source that answers within this time counts as one that has not waited.
const SOON: Duration = Duration::from_millis(1);

/// Decides if items are taken from the source ahead.
pub struct Prefetch {
    /// Slow are the workers from this one on. Too high for any: all are alike, or kinds do not
    /// count.
    first_slow: usize,
    /// How many of them are in a stage.
    slow_at_work: AtomicUsize,
    /// True if the source took longer than [`SOON`] when it was asked last.
    took_long: AtomicBool,
    /// True if it waited then, rather than work.
    waited: AtomicBool,
}

impl Prefetch {
    /// For the workers of a pool.
    pub fn new(registry: &Registry) -> Self {
        let places = &registry.team.places;
        let kinds_count = registry.give_way.is_some();
        let first_slow =
            places.iter().position(|place| kinds_count && place.kind != places[0].kind);
        Self {
            first_slow: first_slow.unwrap_or(usize::MAX),
            slow_at_work: AtomicUsize::new(0),
            took_long: AtomicBool::new(false),
            waited: AtomicBool::new(false),
        }
    }

    /// Asks the source, by the worker that has the baton.
    pub fn watch<T>(&self, ask: impl FnOnce() -> T) -> T {
        if self.first_slow == usize::MAX {
            return ask();
        }
        // The time at work costs a call of the kernel, which is little only beside a source that
        // takes long.
        let worked_before = self.took_long.load(Ordering::Relaxed).then(time_at_work);
        let began = Instant::now();
        let item = ask();
        let took = began.elapsed();
        self.took_long.store(took > SOON, Ordering::Relaxed);
        let has_worked =
            || worked_before.is_some_and(|before| time_at_work().saturating_sub(before) > took / 2);
        self.waited.store(took > SOON && !has_worked(), Ordering::Relaxed);
        item
    }

    /// True if so many items may be taken ahead, and this worker is one to take them.
    pub fn may_have(&self, items: usize, registry: &Registry) -> bool {
        items <= self.slow_at_work.load(Ordering::Relaxed)
            && !self.waited.load(Ordering::Relaxed)
            && Worker::with_current_in(registry, |worker| {
                worker.is_some_and(|it| it.index < self.first_slow)
            })
    }

    /// A worker is at work in a stage until the answer is dropped.
    pub fn at_work(&self, worker: Option<&Worker>) -> Option<impl Drop> {
        let is_slow = worker.is_some_and(|it| it.index >= self.first_slow);
        is_slow.then(|| {
            self.slow_at_work.fetch_add(1, Ordering::Relaxed);
            AtWork(&self.slow_at_work)
        })
    }
}

struct AtWork<'a>(&'a AtomicUsize);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long this thread has had a processor.
fn time_at_work() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
