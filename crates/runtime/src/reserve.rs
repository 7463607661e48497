//! The reserve: a second thread of a pool of one worker, for when that worker is blocked.
//! README.md, "A pool of one".

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::os_thread::OsThread;
use crate::registry::Registry;
use crate::sync::{AtomicBool, Ordering, Thread, current, fence, park, park_until};
use crate::worker::Worker;

/// A worker is blocked that has not run between two looks, so far apart: many times as long as it
/// waits for a lock or a page. Longer, up to so long, where it was not.
const SOONEST: Duration = Duration::from_millis(10);
const LATEST: Duration = Duration::from_millis(80);
/// The reserve goes on for so long before it looks whether the worker is back.
const TURN: Duration = Duration::from_millis(10);

/// The second thread of a pool of one worker, and what it looks after.
#[derive(Default)]
pub struct Reserve {
    /// The worker that it looks after.
    worker: OnceLock<OsThread>,
    /// Its own thread.
    thread: OnceLock<Thread>,
    /// Nothing has come in since the worker fell asleep.
    is_parked: AtomicBool,
}

impl Reserve {
    /// This thread is the worker's.
    pub fn look_after_this_thread(&self) {
        // On a system that does not say how long a thread has run, no worker is looked after.
        let _ = OsThread::current().map(|thread| self.worker.set(thread));
    }

    /// Something has come in from outside, or the end.
    #[inline]
    pub fn call(&self) {
        fence(Ordering::SeqCst);
        if self.is_parked.load(Ordering::Relaxed)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Stands by until the pool ends, and works while its only worker is blocked.
    pub fn stand_by(&self, me: &Worker) {
        let _ = self.thread.set(current());
        let registry = me.registry();
        let (mut ran, mut wait) = (None, SOONEST);
        while !registry.is_ending() {
            if self.park_while_idle(registry) {
                (ran, wait) = (None, SOONEST);
            }
            let until = Instant::now() + wait;
            while !registry.is_ending() && !park_until(Some(until)) {}
            let now = self.worker.get().and_then(|worker| worker.ran());
            if now == ran && self.is_blocked() && has_work(registry) {
                self.turn(me);
                wait = SOONEST;
            } else {
                wait = LATEST.min(2 * wait);
            }
            ran = now;
        }
    }

    /// Parks until a job comes in, if the worker sleeps for want of work. True: it did.
    fn park_while_idle(&self, registry: &Registry) -> bool {
        let is_idle =
            || registry.sleep.is_asleep(WORKER) && !has_work(registry) && !registry.is_ending();
        self.is_parked.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let was_idle = is_idle();
        while is_idle() {
            park();
        }
        self.is_parked.store(false, Ordering::Relaxed);
        was_idle
    }

    /// Works until nothing is left, or the worker is back.
    fn turn(&self, me: &Worker) {
        let until = Cell::new(Instant::now() + TURN);
        let is_back = || {
            if Instant::now() < until.get() {
                return false;
            }
            until.set(Instant::now() + TURN);
            !self.is_blocked()
        };
        // A batch is stolen from at the second look, once its owner has been seen to be stuck.
        while has_work(me.registry()) && !is_back() {
            me.help_out(is_back);
        }
    }

    fn is_blocked(&self) -> bool {
        self.worker.get().is_some_and(|worker| worker.is_blocked())
    }
}

/// The only worker's number.
const WORKER: usize = 0;
/// The reserve's.
pub const RESERVE: usize = 1;

fn has_work(registry: &Registry) -> bool {
    registry.has_work() || registry.central.would_give(RESERVE)
}
