//! What lies in a deque: a pointer to something that can be run once.
#![expect(unsafe_code, reason = "jobs are called through a pointer, whatever their type")]

use std::ptr::NonNull;

use crate::worker::Worker;

/// Runs the job that begins with this head.
///
/// # Safety
/// The pointer is to a head that the function was put into, and nobody else has run this job.
pub type Run = unsafe fn(NonNull<Head>, &Worker);

/// What every job begins with.
#[repr(C)]
pub struct Head {
    /// What runs it.
    pub run: Run,
}

/// The right to run a job, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct JobRef(NonNull<Head>);

// SAFETY: jobs are made of closures that are Send, by those who make them (join, run, tasks, loops).
unsafe impl Send for JobRef {}

impl JobRef {
    /// Of a job that begins with this head.
    pub const fn new(head: NonNull<Head>) -> Self {
        Self(head)
    }

    /// Runs it.
    ///
    /// # Safety
    /// The job is still there, and this is the one time that it is run (or one of as many as its maker pushed it).
    #[inline]
    pub unsafe fn run(self, worker: &Worker) {
        // SAFETY: a head is at the start of its job and knows what runs it; the rest is promised by the caller.
        unsafe { (self.0.as_ref().run)(self.0, worker) }
    }
}
