//! A job on the stack of its waiter: half of a join, or a call from outside.
#![expect(unsafe_code, reason = "the job is called through a pointer to another thread's stack")]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use crate::costs::Label;
use crate::job::{Head, JobRef};
use crate::latch::{CrossPoolLatch, ExternalLatch, Latch};
use crate::scope::Payload;
use crate::trace::What;
use crate::worker::Worker;

/// How the waiter learns that its job is done.
pub trait Signal {
    /// The job's kind in a trace.
    const WHAT: What;

    /// From this moment the waiter may be gone, and the signal with it.
    fn signal(this: &Self, worker: &Worker);
}

impl Signal for Latch {
    const WHAT: What = What::Half;

    fn signal(this: &Self, worker: &Worker) {
        Self::set(this, worker);
    }
}

impl Signal for ExternalLatch {
    const WHAT: What = What::Call;

    fn signal(this: &Self, _worker: &Worker) {
        Self::set(this);
    }
}

impl Signal for CrossPoolLatch {
    const WHAT: What = What::Call;

    fn signal(this: &Self, _worker: &Worker) {
        Self::set(this);
    }
}

enum State<F, R> {
    /// Not begun.
    Closure(F),
    /// Begun.
    Taken,
    Done(R),
    Panicked(Payload),
}

/// A closure on the stack of its waiter, its result, and the signal between them.
#[repr(C)]
pub struct StackJob<S, F, R> {
    head: Head,
    /// Set when another thread has run it.
    pub signal: S,
    state: UnsafeCell<State<F, R>>,
}

impl<S, F, R> StackJob<S, F, R>
where
    S: Signal,
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
{
    /// A job that has not begun.
    pub const fn new(signal: S, closure: F) -> Self {
        Self {
            head: Head { run: Self::run },
            signal,
            state: UnsafeCell::new(State::Closure(closure)),
        }
    }

    /// The job for a deque. `self` must stay where it is until the job has been taken out again or
    /// its signal is given.
    pub const fn job(&self) -> JobRef {
        // The whole job is behind the pointer, not its head alone: `run` goes from one to the
        // other.
        JobRef::new(NonNull::from_ref(self).cast())
    }

    /// # Safety
    /// The head is that of a `Self` that no other thread runs, with a waiter that waits for the
    /// signal.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        worker.credits.give_back(worker);
        // SAFETY: the head is the first field; the waiter keeps the job until the signal, which is
        // the last thing here.
        let this = unsafe { head.cast::<Self>().as_ref() };
        // SAFETY: no other thread looks at the state before the signal.
        let state = unsafe { &mut *this.state.get() };
        if let State::Closure(closure) = std::mem::replace(state, State::Taken) {
            let call = || {
                let _time = worker.time(Label::default(), || S::WHAT);
                closure(worker)
            };
            *state = match catch_unwind(AssertUnwindSafe(call)) {
                Ok(result) => State::Done(result),
                Err(payload) => State::Panicked(payload),
            };
        }
        S::signal(&this.signal, worker);
    }

    /// Calls it here: it was taken out of the deque again, and no other thread has seen it.
    pub fn call(self, worker: &Worker) -> R {
        match self.state.into_inner() {
            State::Closure(closure) => closure(worker),
            State::Taken | State::Done(_) | State::Panicked(_) => {
                unreachable!("a job is in a deque only before it begins")
            }
        }
    }

    /// The result, after its signal. Resumes its panic.
    pub fn into_result(self) -> R {
        match self.state.into_inner() {
            State::Done(result) => result,
            State::Panicked(payload) => resume_unwind(payload),
            State::Closure(_) | State::Taken => unreachable!("a job's signal comes after its end"),
        }
    }
}
