//! Running a loop: tickets for whoever is idle, chunks for whoever has come. README.md, "Loops".
#![expect(unsafe_code, reason = "tickets point to the caller's stack")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_machine::Nanos;

use crate::costs::Label;
use crate::job::{Head, JobRef};
use crate::scope::Payload;
use crate::sync::{AtomicUsize, Ordering};
use crate::timed::Timed;
use crate::trace::What;
use crate::worker::Worker;

use super::body::Body;
use super::hand::Hand;
use super::schedule::Schedule;

/// How long the caller waits for the last chunks of others before it does something else, which might take longer: as long as a
/// chunk takes, about.
const PATIENCE: Duration = Duration::from_micros(20);

/// What those who look on see of a loop: its name, and its first number.
#[derive(Clone, Copy)]
pub struct Shown {
    pub label: Label,
    pub first: i64,
}

impl Shown {
    /// Iterations are about to be done.
    #[inline]
    fn chunk<'a>(&self, worker: &'a Worker, first: u64, count: u64) -> Option<Timed<'a>> {
        worker.counts.chunks.add(1);
        worker.time(self.label, || What::Chunk(self.label, self.first.wrapping_add(first as i64), count))
    }
}

#[repr(C)]
struct Shared<'a, B> {
    head: Head,
    shown: Shown,
    body: &'a B,
    hand: Mutex<Hand>,
    /// Tickets that lie in deques.
    lying: AtomicUsize,
    /// Those, and tickets whose takers are at work.
    out: AtomicUsize,
    caller: usize,
    began: Instant,
    panic: Mutex<Option<Payload>>,
}

/// Runs `iterations` of a loop on a worker and whoever is idle.
pub fn run<B: Body>(worker: &Worker, schedule: Schedule, iterations: u64, body: &B, shown: Shown) {
    let workers = worker.registry().stealers.len();
    if workers == 1 || iterations <= 1 {
        let mut local = body.begin();
        if iterations > 0 {
            let _time = shown.chunk(worker, 0, iterations);
            body.chunk(&mut local, 0..iterations);
        }
        return body.end(local);
    }
    let shared = Shared {
        head: Head { run: Shared::<B>::run },
        shown,
        body,
        hand: Mutex::new(Hand::new(schedule, iterations, workers)),
        lying: AtomicUsize::new(0),
        out: AtomicUsize::new(0),
        caller: worker.index,
        began: Instant::now(),
        panic: Mutex::new(None),
    };
    // All tickets point to it, this thread's and others': from here on it is only shared.
    let shared = &shared;
    shared.take_part(worker);
    shared.wait(worker);
    let payload = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(payload) = payload {
        resume_unwind(payload);
    }
}

impl<B: Body> Shared<'_, B> {
    fn hand(&self) -> MutexGuard<'_, Hand> {
        // No users' code runs under it.
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since the loop began.
    fn now(&self) -> Nanos {
        Nanos(self.began.elapsed().as_nanos() as u64)
    }

    const fn ticket(&self) -> JobRef {
        JobRef::new(NonNull::from_ref(self).cast())
    }

    fn publish(&self, worker: &Worker) {
        self.lying.fetch_add(1, Ordering::Relaxed);
        self.out.fetch_add(1, Ordering::Relaxed);
        worker.push(self.ticket());
    }

    /// # Safety
    /// The head is that of a `Self`, whose caller waits until all tickets are back.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        worker.credits.give_back(worker);
        // SAFETY: the head is the first field; the caller waits for this ticket.
        let this = unsafe { head.cast::<Self>().as_ref() };
        this.lying.fetch_sub(1, Ordering::Relaxed);
        this.take_part(worker);
        let caller = this.caller;
        // From here on the loop may be gone.
        if this.out.fetch_sub(1, Ordering::AcqRel) == 1 {
            worker.registry().sleep.wake_waiter(caller);
        }
    }

    /// Does chunks until none is left.
    fn take_part(&self, worker: &Worker) {
        let mut hand = self.hand();
        let Some(mut place) = hand.place(worker.index) else { return };
        let mut next = hand.take(&mut place, worker.kind, self.now());
        let mut has_place = hand.has_place();
        drop(hand);
        let mut published = 0;
        let done = catch_unwind(AssertUnwindSafe(|| {
            if next.is_none() {
                return;
            }
            let mut local = self.body.begin();
            while let Some(chunk) = next {
                // Before the chunk, which may be a long one: whoever becomes idle meanwhile finds a way in.
                if has_place && self.lying.load(Ordering::Relaxed) == 0 {
                    self.publish(worker);
                    published += 1;
                }
                // Waiting for the hand, or waking somebody, takes longer than many a chunk: neither is counted.
                let time = self.shown.chunk(worker, chunk.first, chunk.count);
                let since = self.now();
                let going_on = self.body.chunk(&mut local, chunk.first..chunk.first + chunk.count);
                let now = self.now();
                drop(time);
                let mut hand = self.hand();
                if !going_on {
                    hand.stop();
                }
                hand.done(place, now.saturating_sub(since));
                next = hand.take(&mut place, worker.kind, now);
                has_place = hand.has_place();
                if next.is_none() && hand.has_declined(place) {
                    worker.counts.declined.add(1);
                }
            }
            self.body.end(local);
        }));
        if let Err(payload) = done {
            self.hand().stop();
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
        // Those that nobody took.
        while published > 0 && worker.take_back(self.ticket()) {
            self.lying.fetch_sub(1, Ordering::Relaxed);
            self.out.fetch_sub(1, Ordering::Relaxed);
            published -= 1;
        }
    }

    /// Waits until all tickets are back.
    fn wait(&self, worker: &Worker) {
        let is_done = || self.out.load(Ordering::Acquire) == 0;
        let since = Instant::now();
        while !is_done() && since.elapsed() < PATIENCE {
            std::hint::spin_loop();
        }
        worker.wait_until(is_done);
    }
}
