//! Fork and join: two closures, perhaps at once. README.md, "Latches and stacks".

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
