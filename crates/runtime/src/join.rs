//! Fork and join: two closures, perhaps at once.
//!
//! `join(a, b)` pushes b, runs a, and pops. It gets b back (the usual case: no other worker has
//! seen it, and it is called in place), or another job that a left behind (it runs that and pops
//! again), or nothing: b was stolen, and it waits. If a panics, b must be accounted for before the
//! frame goes: it is popped and dropped unrun, or waited for.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::job::JobRef;
use crate::latch::Latch;
use crate::scope::Payload;
use crate::stack_job::StackJob;
use crate::worker::Worker;

/// Calls `a` here, and `b` here afterwards unless another worker takes it first.
#[inline]
pub fn join<A, B, RA, RB>(worker: &Worker, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(&Worker) -> RA,
    B: FnOnce(&Worker) -> RB + Send,
    RB: Send,
{
    let b = StackJob::new(Latch::new(worker.index), b);
    let job = b.job();
    worker.push(job);
    let a = match catch_unwind(AssertUnwindSafe(|| a(worker))) {
        Ok(result) => result,
        Err(payload) => return abandon(worker, &b.signal, job, payload),
    };
    if worker.take_back(job) {
        return (a, b.call(worker));
    }
    worker.wait_until(|| b.signal.is_set());
    (a, b.into_result())
}

/// `a` panicked: `b` must not be run after this frame is gone.
#[cold]
fn abandon<T>(worker: &Worker, signal: &Latch, job: JobRef, payload: Payload) -> T {
    if !worker.take_back(job) {
        worker.wait_until(|| signal.is_set());
    }
    resume_unwind(payload)
}
