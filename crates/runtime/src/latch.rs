//! Latches: done or not, for a waiter to look at.
//!
//! A job on a stack is gone the moment its waiter may see that it is done. So all that is needed
//! after that moment is read before it. The setter copies the number of the worker to wake, sets
//! the latch (release), and then touches only the pool, which it keeps alive as one of its workers.
//! The waiter reads the result after it has seen the latch (acquire).

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::registry::Registry;

use crate::sync::{AtomicBool, Ordering, Thread, current, park, park_until};
use crate::worker::Worker;

/// Set once by another worker of the same pool.
pub struct Latch {
    done: AtomicBool,
    waiter: usize,
}

impl Latch {
    /// A latch for worker `waiter`.
    pub fn new(waiter: usize) -> Self {
        Self { done: AtomicBool::new(false), waiter }
    }

    /// True if it has been set; what was written before is seen then.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Sets it. From that moment its waiter may be gone, and the latch with it.
    pub fn set(this: &Self, setter: &Worker) {
        let waiter = this.waiter;
        this.done.store(true, Ordering::Release);
        setter.registry().sleep.wake_waiter(waiter);
    }
}

/// A latch for a worker of another pool, which does other work of its own pool meanwhile.
pub struct CrossPoolLatch {
    done: AtomicBool,
    pool: Arc<Registry>,
    waiter: usize,
}

impl CrossPoolLatch {
    /// A latch for this worker.
    pub fn new(waiter: &Worker) -> Self {
        Self { done: AtomicBool::new(false), pool: waiter.shared(), waiter: waiter.index }
    }

    /// True if it has been set; what was written before is seen then.
    pub fn is_set(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Sets it. From that moment its waiter may be gone, and the latch with it.
    pub fn set(this: &Self) {
        let (pool, waiter) = (Arc::clone(&this.pool), this.waiter);
        this.done.store(true, Ordering::Release);
        pool.sleep.wake_waiter(waiter);
    }
}

/// A latch for a thread that is no worker.
pub struct ExternalLatch {
    done: AtomicBool,
    waiter: Thread,
}

impl ExternalLatch {
    /// A latch for this thread.
    pub fn new() -> Self {
        Self { done: AtomicBool::new(false), waiter: current() }
    }

    /// Sets it. From that moment its waiter may be gone, and the latch with it: the thread's handle
    /// is our own.
    pub fn set(this: &Self) {
        let waiter = this.waiter.clone();
        this.done.store(true, Ordering::Release);
        waiter.unpark();
    }

    /// Blocks this thread until it is set. `late`: what it does if that has not been so `soon`.
    pub fn wait(&self, soon: Duration, late: impl FnOnce()) {
        let until = Instant::now() + soon;
        while !self.done.load(Ordering::Acquire) {
            if park_until(Some(until)) {
                late();
                break;
            }
        }
        while !self.done.load(Ordering::Acquire) {
            park();
        }
    }
}
