//! Jobs, which lie in deques: a pointer to something that can be run once.
#![expect(unsafe_code, reason = "jobs are called through a pointer, whatever their type")]

use std::ptr::NonNull;

use crate::batch::BatchRef;
use crate::worker::Worker;

/// Runs the job that begins with this head.
///
/// # Safety
/// The function was put into this head, and the job has not been run.
pub type Run = unsafe fn(NonNull<Head>, &Worker);

/// The beginning of every job.
#[repr(C)]
pub struct Head {
    /// The function that runs the job.
    pub run: Run,
}

/// In the address of a job: it is a batch.
const BATCH: usize = 1;

/// The right to run a job, once. The address of its head, with a bit in it that says whether it is
/// a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct JobRef(NonNull<Head>);

// SAFETY: jobs are made of closures that are Send: in join, run, tasks and loops.
unsafe impl Send for JobRef {}

impl JobRef {
    /// The job that begins with this head.
    pub const fn new(head: NonNull<Head>) -> Self {
        Self(head)
    }

    /// The job that is this batch of tasks.
    pub fn batch(head: NonNull<Head>) -> Self {
        Self(head.map_addr(|address| address | BATCH))
    }

    /// Which batch it is. None: it is none.
    #[inline]
    pub fn as_batch(self) -> Option<BatchRef> {
        // SAFETY: only batches have the bit.
        (self.0.addr().get() & BATCH != 0).then(|| unsafe { BatchRef::of(self.head()) })
    }

    #[inline]
    fn head(self) -> NonNull<Head> {
        // SAFETY: an address of a head without the bit is not 0, for heads begin at multiples of 8.
        unsafe { NonNull::new_unchecked(self.0.as_ptr().map_addr(|address| address & !BATCH)) }
    }

    /// Runs it.
    ///
    /// # Safety
    /// The job is still there, and this is the one time that it is run (or one of as many as its
    /// maker pushed it).
    #[inline]
    pub unsafe fn run(self, worker: &Worker) {
        // SAFETY: a head is at the start of its job and knows what runs it; the rest is promised by
        // the caller.
        unsafe { (self.head().as_ref().run)(self.head(), worker) }
    }
}
