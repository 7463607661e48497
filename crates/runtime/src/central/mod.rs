//! Ready tasks in one place for all workers, for policies that are more than an order of victims.
//! See README.md in this folder.
//!
//! A [`CentralScheduler`] is a policy of crates/policy and its view; a [`TaskSource`] is that
//! scheduler behind a lock, with the tasks themselves. A pool whose policy needs one has one source
//! for the tasks of all scopes. Each run of a recorded graph with such a policy has its own.

mod online;
mod scheduler;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use crate::job::JobRef;
use crate::registry::Registry;
use crate::sync::{AtomicUsize, Ordering};
use crate::worker::Worker;

pub use online::OnlineTasks;
pub use scheduler::CentralScheduler;

/// Where workers ask for tasks, besides deques.
pub trait TaskSource: Send + Sync {
    /// A task for this worker, which then runs it.
    fn take(&self, worker: &Worker) -> Option<JobRef>;

    /// Calls `f` with the scheduler, under its lock; not at all if the source has none.
    fn with_scheduler(&self, f: &mut dyn FnMut(&mut CentralScheduler));

    /// True if a worker would be given a task.
    fn would_give(&self, worker: usize) -> bool {
        let mut would = false;
        self.with_scheduler(&mut |scheduler| would = scheduler.would_give(worker));
        would
    }
}

/// Wakes workers for so many tasks that became ready, or for one that was taken: at most as many,
/// and only those that would be given one. `by`: the worker that caused it, if any.
pub fn wake_for_tasks(
    source: &dyn TaskSource,
    registry: &Registry,
    by: Option<usize>,
    tasks: usize,
) {
    for _ in 0..tasks {
        let mut asleep = registry.sleep.asleep().peekable();
        if asleep.peek().is_none() {
            return;
        }
        let mut chosen = None;
        source.with_scheduler(&mut |scheduler| chosen = scheduler.worker_to_wake(&mut asleep, by));
        let Some(chosen) = chosen else { return };
        registry.sleep.wake(chosen);
    }
}

/// The task sources of a pool.
#[derive(Default)]
pub struct Central {
    count: AtomicUsize,
    sources: RwLock<Vec<Arc<dyn TaskSource>>>,
}

impl Central {
    /// One more, until it is closed.
    pub fn open(&self, source: Arc<dyn TaskSource>) {
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        sources.push(source);
        self.count.store(sources.len(), Ordering::Relaxed);
    }

    /// Nothing is left on this one.
    pub fn close(&self, source: &Arc<dyn TaskSource>) {
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        sources.retain(|other| !Arc::ptr_eq(other, source));
        self.count.store(sources.len(), Ordering::Relaxed);
    }

    /// The first that `f` finds something at.
    fn find<R>(&self, f: impl FnMut(&Arc<dyn TaskSource>) -> Option<R>) -> Option<R> {
        // A source that opens wakes workers after that: so a worker that is awake, or goes to sleep
        // later, sees it here.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.sources.read().unwrap_or_else(PoisonError::into_inner).iter().find_map(f)
    }

    /// A task for this worker.
    #[inline]
    pub fn take(&self, worker: &Worker) -> Option<JobRef> {
        self.find(|source| source.take(worker))
    }

    /// True if a worker would be given a task.
    pub fn would_give(&self, worker: usize) -> bool {
        self.find(|source| source.would_give(worker).then_some(())).is_some()
    }

    /// When a worker that sleeps is to look again, for others may not have come by then.
    pub fn due(&self, worker: usize) -> Option<Instant> {
        let mut due: Option<Instant> = None;
        self.find(|source| -> Option<()> {
            let here = &mut due;
            source.with_scheduler(&mut |scheduler| {
                *here = scheduler.due(worker).into_iter().chain(*here).min()
            });
            None
        });
        due
    }

    /// A worker that was idle has something to do: it does not watch any more, and others are woken
    /// for what it leaves.
    pub fn leave(&self, registry: &Registry, worker: usize) {
        self.find(|source| -> Option<()> {
            source.with_scheduler(&mut |scheduler| scheduler.leave(worker));
            wake_for_tasks(&**source, registry, Some(worker), 1);
            None
        });
    }
}
