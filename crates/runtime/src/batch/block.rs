//! How the tasks of a batch lie in memory: a head, then slots of one length, each with what runs it
//! and a closure.
#![expect(unsafe_code, reason = "tasks are in blocks, and are called through a pointer")]

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::arena::{ALIGN, Class, prefetch};
use crate::job::{Head, JobRef};
use crate::scope::ScopeCore;
use crate::worker::Worker;

use super::Part;

/// Bytes of the slots together.
const SLOTS: usize = 1024;
/// Bytes of a slot at most: what a closure may be long, and a word more.
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

/// On lines of their own: one of 64 bytes is in one.
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

    /// Its memory, to be given back.
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

    /// It lies in a deque, with so much left.
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
