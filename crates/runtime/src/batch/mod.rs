//! Batches: independent tasks that lie together in one block, if one worker creates many of them.
//! See README.md in this folder.
//!
//! A task by itself takes a block, a place in its worker's deque, and a fence to be taken out
//! again. In a batch it takes a slot of some words, and no fence.
#![expect(unsafe_code, reason = "tasks are in blocks, and are called through a pointer")]

mod shared;
mod split;

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::arena::{ALIGN, Class, prefetch};
use crate::job::{Head, JobRef};
use crate::scope::ScopeCore;
use crate::worker::Worker;

pub use shared::SharedBatches;
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

/// A worker's own state about its batches.
#[derive(Default)]
pub struct Batches {
    filling: Cell<Option<BatchRef>>,
    is_running: Cell<bool>,
    /// How many tasks of batches it runs one by one, because the last batch was stolen from.
    runs_singly: Cell<usize>,
    /// The batch that was filled last: earlier ones are run after it.
    last: Cell<Option<BatchRef>>,
    /// How many tasks it has created since it ran one, and how many it had run by then.
    streak: Cell<usize>,
    ran: Cell<u64>,
    /// How many jobs are in its deque before tasks go into batches.
    min_queued: usize,
}

impl Batches {
    /// State of a worker in a pool of so many. `has_deques`: ready tasks go into deques, not to a
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

    /// Makes the task that was written where [`Worker::slot`] said visible to thieves.
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
            // As if it had just begun to create tasks: two scopes in turns would have a batch for
            // each task.
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

    /// Ends the batch that is being filled.
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
        // The batch was taken out of a deque, where idle workers saw it.
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

/// Bytes of the slots together.
const SLOTS: usize = 1024;
/// Bytes of a slot at most: the longest closure, and one word.
pub const LONGEST: usize = 64;

/// Runs the task in a slot, once.
pub type RunSlot = unsafe fn(NonNull<u8>, &ScopeCore, &Worker);

/// A batch, as it lies in a block. Its holder reads and writes the head.
#[repr(C, align(64))]
pub struct Batch {
    head: Head,
    /// The scope of all of its tasks.
    scope: NonNull<ScopeCore>,
    /// The batch that is run after this one, presumably: only to be brought into the cache.
    after: Option<NonNull<Self>>,
    /// Bytes of a slot.
    stride: usize,
    /// The tasks that are left, while it lies in a deque.
    next: usize,
    end: usize,
    slots: Slots,
}

/// On cache lines of their own: a slot of 64 bytes is in one line.
#[repr(C, align(64))]
struct Slots([MaybeUninit<u8>; SLOTS]);

/// The right to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct BatchRef(NonNull<Batch>);

// SAFETY: batches are made of closures that are Send.
unsafe impl Send for BatchRef {}

impl BatchRef {
    /// Blocks of batches.
    pub const CLASS: Class = Class::batch(std::alloc::Layout::new::<Batch>());

    /// The batch that a job is.
    ///
    /// # Safety
    /// The job was made by [`BatchRef::job`].
    pub const unsafe fn of(head: NonNull<Head>) -> Self {
        Self(head.cast())
    }

    /// Makes one without tasks in a block of [`BatchRef::CLASS`].
    ///
    /// # Safety
    /// The block is the caller's.
    pub unsafe fn make(
        block: NonNull<u8>,
        scope: NonNull<ScopeCore>,
        stride: usize,
        after: Option<Self>,
    ) -> Self {
        let this = block.cast::<Batch>();
        let batch = this.as_ptr();
        // SAFETY: the block is large enough, and the caller's.
        unsafe {
            (&raw mut (*batch).head).write(Head { run: Self::run });
            (&raw mut (*batch).scope).write(scope);
            (&raw mut (*batch).after).write(after.map(|it| it.0));
            (&raw mut (*batch).stride).write(stride);
        }
        Self(this)
    }

    /// Its memory, for the arena.
    pub const fn block(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// How many tasks it has room for.
    pub const fn room(self) -> usize {
        SLOTS / self.stride()
    }

    pub const fn stride(self) -> usize {
        // SAFETY: the holder of the reference holds the batch.
        unsafe { (*self.0.as_ptr()).stride }
    }

    pub const fn scope(self) -> NonNull<ScopeCore> {
        // SAFETY: as above.
        unsafe { (*self.0.as_ptr()).scope }
    }

    /// How many lines of the cache its tasks are in.
    pub fn lines(self) -> usize {
        (self.part().len() * self.stride()).div_ceil(ALIGN)
    }

    /// The tasks that are left.
    pub const fn part(self) -> Part {
        // SAFETY: as above.
        unsafe { (*self.0.as_ptr()).next..(*self.0.as_ptr()).end }
    }

    /// The job of a batch with so much left.
    pub fn job(self, part: Part) -> JobRef {
        // SAFETY: as above.
        unsafe {
            (*self.0.as_ptr()).next = part.start;
            (*self.0.as_ptr()).end = part.end;
        }
        JobRef::batch(self.0.cast())
    }

    /// The address of a task's slot.
    #[inline]
    pub const fn slot(self, index: usize) -> NonNull<u8> {
        // SAFETY: no more than there is room for.
        unsafe {
            NonNull::new_unchecked(
                (&raw mut (*self.0.as_ptr()).slots).cast::<u8>().add(index * self.stride()),
            )
        }
    }

    /// Brings the next batch into this core's cache.
    pub fn prefetch_after(self) {
        // SAFETY: as above. Blocks stay as long as the pool.
        if let Some(after) = unsafe { (*self.0.as_ptr()).after } {
            prefetch(after.cast(), size_of::<Batch>());
        }
    }

    /// Moves some of its tasks into another batch, an empty one.
    ///
    /// # Safety
    /// The tasks are the caller's and fit, and no other worker takes them here any more.
    pub unsafe fn move_to(self, other: Self, part: Part) {
        let bytes = part.len() * self.stride();
        // SAFETY: as the caller promises; another block.
        unsafe { self.slot(part.start).copy_to_nonoverlapping(other.slot(0), bytes) };
    }

    /// Runs the batch as a job like any other: one task, after the rest has been pushed.
    ///
    /// # Safety
    /// The head is that of a batch that has come out of a deque.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        // SAFETY: as the caller promises.
        let this = unsafe { Self::of(head) };
        let (Part { start, end }, scope) = (this.part(), this.scope());
        let mut task = [const { MaybeUninit::<u64>::uninit() }; LONGEST / 8];
        let task = NonNull::from_mut(&mut task).cast::<u8>();
        // SAFETY: a slot is no longer than that.
        unsafe { this.slot(start).copy_to_nonoverlapping(task, this.stride()) };
        worker.push_rest(this, start + 1..end);
        // SAFETY: it has just been moved there, and is run this once; the scope waits for it.
        unsafe { Self::run_slot(task, scope.as_ref(), worker) };
    }

    /// Runs the task in a slot.
    ///
    /// # Safety
    /// It is the caller's, of this scope, and this is the one time that it is run.
    #[inline]
    pub unsafe fn run_slot(slot: NonNull<u8>, scope: &ScopeCore, worker: &Worker) {
        // SAFETY: what a slot begins with.
        let run = unsafe { slot.cast::<RunSlot>().read() };
        // SAFETY: as the caller promises.
        unsafe { run(slot, scope, worker) };
    }
}
