//! Batches: independent tasks that lie together, where one worker creates many of them. README.md,
//! "Batches".
//!
//! A task by itself takes a block, a place in its worker's deque, and, to be taken out, a fence. In
//! a batch it takes a slot of some words, and no fence.
#![expect(unsafe_code, reason = "tasks are in blocks")]

mod block;
mod filling;
mod remaining;
mod running;
mod split;

use std::cell::Cell;
use std::ptr::NonNull;

use crossbeam_utils::CachePadded;

use crate::job::JobRef;
use crate::scope::ScopeCore;
use crate::worker::Worker;

pub use block::{BatchRef, LONGEST, RunSlot};
use filling::Filling;
use running::Running;
use split::IdleSeen;
pub use split::StuckWorker;

/// Some of the tasks of a batch, by number.
pub type Part = std::ops::Range<usize>;

/// A worker puts no tasks into batches before its deque has so many for others, times the workers
/// of the pool.
const MIN_QUEUED_PER_WORKER: usize = 4;
/// The least number in the deque, however few workers there are.
const MIN_QUEUED: usize = 16;

/// A batch that was stolen from has long tasks, which may as well be jobs by themselves. So many
/// are run one by one before batches are tried again.
const SINGLE_RUNS: usize = 1024;

/// The part of a worker's batches that thieves see.
#[derive(Default)]
pub struct SharedBatches {
    filling: CachePadded<Filling<BatchRef>>,
    running: CachePadded<Running<BatchRef>>,
}

impl SharedBatches {
    /// As of about now.
    pub fn is_empty(&self) -> bool {
        self.filling.is_empty() && self.running.is_empty()
    }
}

/// A worker's own state about its batches.
#[derive(Default)]
pub struct Batches {
    filling: Cell<Option<BatchRef>>,
    is_running: Cell<bool>,
    /// How many tasks of batches it runs one by one, for the last batch has been stolen from.
    runs_singly: Cell<usize>,
    /// The last that was filled: those before it are run after it.
    last: Cell<Option<BatchRef>>,
    /// How many tasks it has created since it ran one, and how many it had run by then.
    streak: Cell<usize>,
    ran: Cell<u64>,
    /// How many are to lie in the deque before any go into batches.
    min_queued: usize,
}

impl Batches {
    /// State of a worker in a pool of so many. `has_deques`: ready tasks lie in deques, not with a
    /// policy.
    pub fn new(workers: usize, has_deques: bool) -> Self {
        let min_queued =
            if has_deques { MIN_QUEUED.max(MIN_QUEUED_PER_WORKER * workers) } else { usize::MAX };
        Self { min_queued, ..Self::default() }
    }
}

impl Worker {
    fn shared_batches(&self) -> &SharedBatches {
        &self.registry().shared_batches[self.index]
    }

    /// Room for a task with a slot of so many bytes in the batch that is being filled; the caller
    /// writes it, and calls [`Worker::slot_filled`]. None: it is to be a job by itself.
    #[inline]
    pub fn slot(&self, scope: &ScopeCore, bytes: usize) -> Option<NonNull<u8>> {
        let (it, scope) = (&self.batches, NonNull::from_ref(scope));
        if let Some(batch) = it.filling.get() {
            let count = self.shared_batches().filling.count();
            if batch.scope() == scope
                && bytes <= batch.stride()
                && count < batch.room()
                && !self.has_empty_deque()
            {
                return Some(batch.slot(count));
            }
        } else {
            let ran = self.counts.tasks.get();
            // A worker that creates a few, runs them and creates more (divide and conquer) does
            // best to run the last one next: it is still in the cache.
            let streak = if it.ran.replace(ran) == ran { it.streak.get() + 1 } else { 1 };
            it.streak.set(streak);
            if streak <= it.min_queued {
                return None;
            }
        }
        self.slot_in_new_batch(scope, bytes)
    }

    /// A task has been written where [`Worker::slot`] said.
    #[inline]
    pub fn slot_filled(&self) {
        self.shared_batches().filling.put();
        self.registry().sleep.work_appeared();
    }

    #[inline(never)]
    fn slot_in_new_batch(&self, scope: NonNull<ScopeCore>, bytes: usize) -> Option<NonNull<u8>> {
        let it = &self.batches;
        let full = it.filling.get().map(|batch| (batch.scope(), batch.stride()));
        self.close().into_iter().for_each(|job| self.push(job));
        if full.is_some_and(|(last, _)| last != scope) {
            // As if it had just begun to create tasks: two scopes by turns would have a batch for
            // each.
            it.streak.set(0);
        }
        if it.streak.get() < it.min_queued || self.jobs() < it.min_queued {
            return None;
        }
        // A batch with slots that are too short is followed by one with longer slots, and all later
        // ones are like that.
        let stride = full.map_or(bytes, |(_, stride)| stride.max(bytes));
        let block = self.arena.take(BatchRef::CLASS, &self.registry().shared_blocks);
        // SAFETY: the block has just been taken.
        let batch = unsafe { BatchRef::make(block, scope, stride, it.last.get()) };
        it.last.set(Some(batch));
        it.filling.set(Some(batch));
        self.shared_batches().filling.begin(batch);
        Some(batch.slot(0))
    }

    /// The batch that is being filled is no more.
    fn close(&self) -> Option<JobRef> {
        let batch = self.batches.filling.take()?;
        let part = self.shared_batches().filling.stop();
        self.job_or_free(batch, part)
    }

    /// The newest job of its own.
    #[inline]
    pub fn pop_newest(&self) -> Option<JobRef> {
        if self.batches.filling.get().is_some()
            && let Some(job) = self.close()
        {
            return Some(job);
        }
        self.pop()
    }

    /// The rest of a batch, as a job. None: nothing is left, and the block has been given back.
    fn job_or_free(&self, batch: BatchRef, part: Part) -> Option<JobRef> {
        if part.is_empty() {
            // SAFETY: all of its tasks have been moved out.
            unsafe {
                self.arena.give(BatchRef::CLASS, batch.block(), &self.registry().shared_blocks)
            };
            return None;
        }
        Some(batch.job(part))
    }

    /// Pushes what is left of a batch, for all to see.
    pub fn push_rest(&self, batch: BatchRef, part: Part) {
        self.job_or_free(batch, part).into_iter().for_each(|job| self.push(job));
    }

    /// Runs a batch until `done`, without a fence for each task.
    pub fn run_batch(&self, batch: BatchRef, done: impl Fn() -> bool) {
        let (registry, running, scope) =
            (self.registry(), &self.shared_batches().running, batch.scope());
        self.batches.is_running.set(true);
        running.begin(batch, batch.part());
        // It was taken out of where others saw it.
        registry.sleep.work_appeared();
        batch.prefetch_after();
        let (mut ran, mut all, mut seen) = (0, batch.part().len(), IdleSeen::default());
        let left = loop {
            let Some(index) = running.take(registry.sleep.asymmetric_fence()) else {
                self.batches.runs_singly.set(if ran < all { SINGLE_RUNS } else { 0 });
                break 0..0;
            };
            ran += 1;
            // SAFETY: taken by us; its scope waits for it.
            unsafe { BatchRef::run_slot(batch.slot(index), scope.as_ref(), self) };
            if done() {
                break running.stop();
            }
            if registry.sleep.any_idle() && self.has_empty_deque() {
                all -= self.offer(&mut seen, ran);
            }
        };
        self.batches.is_running.set(false);
        self.push_rest(batch, left);
    }

    /// True if it is to run one task of its batch and push the rest.
    #[inline]
    pub fn runs_singly(&self) -> bool {
        let more = self.batches.runs_singly.get();
        self.batches.runs_singly.set(more.saturating_sub(1));
        more > 0 || self.runs_batch()
    }

    /// True if it runs a batch, further down its stack.
    pub const fn runs_batch(&self) -> bool {
        self.batches.is_running.get()
    }
}
