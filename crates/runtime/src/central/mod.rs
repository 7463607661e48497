//! Ready tasks in one place for all workers, for policies that are more than an order of victims.
//! README.md, "Policies behind a lock".
//!
//! A [`Desk`] is a policy of crates/policy and what it may know; a [`Board`] is a desk behind a
//! lock, and what there is to be run. There is one board for the tasks of all scopes where the
//! pool's policy is such a one, and one for each run of a recorded graph that has such a policy.

mod desk;
mod online;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use crate::job::JobRef;
use crate::registry::Registry;
use crate::sync::{AtomicUsize, Ordering};
use crate::worker::Worker;

pub use desk::Desk;
pub use online::Online;

/// Where workers ask for tasks.
pub trait Board: Send + Sync {
    /// A task for this worker. Whoever is given one runs it.
    fn take(&self, worker: &Worker) -> Option<JobRef>;

    /// With the desk, under its lock; not at all where there is none.
    fn at_desk(&self, f: &mut dyn FnMut(&mut Desk));

    /// Whether a worker would be given a task.
    fn would_give(&self, worker: usize) -> bool {
        let mut would = false;
        self.at_desk(&mut |desk| would = desk.would_give(worker));
        would
    }
}

/// So many tasks have become ready, or one has been taken: wakes workers that would be given some,
/// as many at most. `by`: who says so, if a worker.
pub fn summon(board: &dyn Board, registry: &Registry, by: Option<usize>, tasks: usize) {
    for _ in 0..tasks {
        let mut asleep = registry.sleep.asleep().peekable();
        if asleep.peek().is_none() {
            return;
        }
        let mut chosen = None;
        board.at_desk(&mut |desk| chosen = desk.whom_to_wake(&mut asleep, by));
        let Some(chosen) = chosen else { return };
        registry.sleep.wake(chosen);
    }
}

/// The boards that there are.
#[derive(Default)]
pub struct Central {
    count: AtomicUsize,
    boards: RwLock<Vec<Arc<dyn Board>>>,
}

impl Central {
    /// One more, until it is closed.
    pub fn open(&self, board: Arc<dyn Board>) {
        let mut boards = self.boards.write().unwrap_or_else(PoisonError::into_inner);
        boards.push(board);
        self.count.store(boards.len(), Ordering::Relaxed);
    }

    /// Nothing is left on this one.
    pub fn close(&self, board: &Arc<dyn Board>) {
        let mut boards = self.boards.write().unwrap_or_else(PoisonError::into_inner);
        boards.retain(|other| !Arc::ptr_eq(other, board));
        self.count.store(boards.len(), Ordering::Relaxed);
    }

    /// The first that `f` finds something at.
    fn find<R>(&self, f: impl FnMut(&Arc<dyn Board>) -> Option<R>) -> Option<R> {
        // Who opens a board wakes for it after that: so it is seen here by whoever is awake or goes
        // to sleep later.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.boards.read().unwrap_or_else(PoisonError::into_inner).iter().find_map(f)
    }

    /// A task for this worker.
    #[inline]
    pub fn take(&self, worker: &Worker) -> Option<JobRef> {
        self.find(|board| board.take(worker))
    }

    /// Whether a worker would be given a task.
    pub fn would_give(&self, worker: usize) -> bool {
        self.find(|board| board.would_give(worker).then_some(())).is_some()
    }

    /// When a worker that sleeps is to look again, for others may not have come by then.
    pub fn due(&self, worker: usize) -> Option<Instant> {
        let mut due: Option<Instant> = None;
        self.find(|board| -> Option<()> {
            let here = &mut due;
            board.at_desk(&mut |desk| *here = desk.due(worker).into_iter().chain(*here).min());
            None
        });
        due
    }

    /// A worker that was idle has something to do: it does not watch any more, and others are woken
    /// for what it leaves.
    pub fn leave(&self, registry: &Registry, worker: usize) {
        self.find(|board| -> Option<()> {
            board.at_desk(&mut |desk| desk.leave(worker));
            summon(&**board, registry, Some(worker), 1);
            None
        });
    }
}
