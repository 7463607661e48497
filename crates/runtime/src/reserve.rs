//! The reserve: a second thread of a pool of one worker, for when that worker is blocked.
//!
//! With two workers one may wait for what the other does, by whatever means: a channel, a barrier,
//! a condition. A program that does so by chance would hang on a machine with one core. So a pool
//! of one worker has a second thread. It is a worker as others are, with a deque, open batches and
//! a sleep state, but it neither looks for work nor sleeps among them. It stands by:
//!
//! - While the worker sleeps for want of work, the reserve is parked until something comes from
//!   outside.
//! - Else it looks at the worker after 10 ms, and after longer each time, up to 80, if all is well.
//!   All is well unless the worker has not run since the last look, waits in the kernel, and there
//!   is work.
//! - Then it works, as a visitor in a region does, until nothing is left. Every 10 ms it looks if
//!   the worker is still blocked, and stands by again if not.
//!
//! `Pool::workers` says one, and so do loops, plans and summaries: what the reserve does counts as
//! the worker's, and a policy behind a lock takes it for the worker. The price is a thread, and one
//! more deque to look into for a worker without work.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::os_thread::OsThread;
use crate::registry::Registry;
use crate::sync::{AtomicBool, Ordering, Thread, current, fence, park, park_until};
use crate::worker::Worker;

/// A worker that has not run between two looks is blocked: they are many times as far apart as it
/// waits for a lock or a page. They move apart, up to the latest, if it was not.
const SOONEST: Duration = Duration::from_millis(10);
const LATEST: Duration = Duration::from_millis(80);
/// The reserve works for so long before it looks if the worker is back.
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
