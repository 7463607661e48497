//! Running a loop: tickets for idle workers, chunks for those that have come. See README.md in this
//! folder.
#![expect(unsafe_code, reason = "tickets point to the caller's stack")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_machine::Nanos;

use crate::costs::Label;
use crate::job::{Head, JobRef};
use crate::scope::{Payload, keep_first};
use crate::sync::{AtomicUsize, Ordering};
use crate::timed::Timed;
use crate::trace::What;
use crate::worker::Worker;

use super::body::Body;
use super::dispenser::ChunkDispenser;
use super::history::{LoopTimes, RunMode};
use super::schedule::Schedule;

/// How long the caller waits for the last chunks of others before it does something else, which
/// might take longer: as long as such a chunk takes, but at least so long.
const LAST_CHUNK_WAIT: Duration = Duration::from_micros(25);
/// A loop that its caller does alone is shared after all if it takes so many times as long as it
/// should,
const OVERDUE: f64 = 2.0;
/// which is looked at after each of so many parts of it.
const PARTS: u64 = 8;

/// A loop as traces show it: its name, and its first number.
#[derive(Clone, Copy)]
pub struct Shown {
    pub label: Label,
    pub first: i64,
}

impl Shown {
    /// Counts and times a chunk that is about to be done.
    #[inline]
    fn chunk<'a>(&self, worker: &'a Worker, first: u64, count: u64) -> Option<Timed<'a>> {
        worker.counts.chunks.add(1);
        worker.time(self.label, || {
            What::Chunk(self.label, self.first.wrapping_add(first as i64), count)
        })
    }
}

#[repr(C)]
struct Shared<'a, B> {
    head: Head,
    shown: Shown,
    body: &'a B,
    dispenser: Mutex<ChunkDispenser>,
    /// Tickets that lie in deques.
    lying: AtomicUsize,
    /// Those, and tickets with a worker that takes part.
    out: AtomicUsize,
    caller: usize,
    began: Instant,
    /// Iterations that were done before it was shared.
    before: u64,
    panic: Mutex<Option<Payload>>,
}

/// Runs `iterations` of a loop on a worker, with the help of idle ones. The loop is remembered
/// under `code`, or under the address of its body's code.
pub fn run<B: Body>(
    worker: &Worker,
    schedule: Schedule,
    iterations: u64,
    body: &B,
    (shown, code): (Shown, Option<usize>),
) {
    let workers = worker.registry().stealers.len();
    if workers == 1 || iterations <= 1 {
        return run_in_one_chunk(worker, iterations, body, shown);
    }
    let code = code.unwrap_or(Shared::<B>::run as *const () as usize);
    let began = Instant::now();
    // A stated schedule is a wish to share the loop. On cores of one kind no worker has the last
    // chunk for longer than the caller would.
    let may_be_alone = schedule.needs_unit() && worker.registry().give_way.is_some();
    let alone = worker.loop_history.alone(code, iterations).filter(|_| may_be_alone);
    let mut before = 0;
    if let Some(iteration_ns) = alone {
        let Some(done) = run_alone(worker, began, iteration_ns, iterations, body, shown) else {
            return;
        };
        before = done;
    }
    if before == iterations {
        let alone = began.elapsed().as_nanos() as f64 / iterations as f64;
        return worker.loop_history.learn(
            code,
            LoopTimes { iteration_ns: None, alone: Some(alone), mode: RunMode::Alone, iterations },
        );
    }
    let dispenser = worker.loop_history.past_runs(code, |known| {
        ChunkDispenser::new(schedule, iterations - before, workers, known)
    });
    let shared = Shared {
        head: Head { run: Shared::<B>::run },
        shown,
        body,
        dispenser: Mutex::new(dispenser),
        lying: AtomicUsize::new(0),
        out: AtomicUsize::new(0),
        caller: worker.index,
        began,
        before,
        panic: Mutex::new(None),
    };
    // All tickets point to it, this thread's and others': from here on it is only shared.
    let shared = &shared;
    shared.take_part(worker);
    shared.wait(worker);
    let (took, dispenser) = (shared.now(), shared.dispenser());
    let is_whole = before == 0 && !dispenser.is_over();
    let mode = if is_whole {
        RunMode::Shared(took.0 as f64 / iterations as f64)
    } else {
        RunMode::Otherwise
    };
    let (iteration_ns, alone) =
        (dispenser.fastest_iteration_ns(), dispenser.iteration_ns(worker.kind));
    worker.loop_history.learn(code, LoopTimes { iteration_ns, alone, mode, iterations });
    if is_whole {
        worker.loop_history.learn_shares(code, dispenser.speeds(), took);
    }
    drop(dispenser);
    let payload = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(payload) = payload {
        resume_unwind(payload);
    }
}

/// Does a loop of a single worker or iteration.
#[inline(always)]
fn run_in_one_chunk<B: Body>(worker: &Worker, iterations: u64, body: &B, shown: Shown) {
    let mut local = body.begin();
    if iterations > 0 {
        let _time = shown.chunk(worker, 0, iterations);
        body.chunk(&mut local, 0..iterations);
    }
    body.end(local);
}

/// Does a loop that should take so many nanoseconds per iteration, by itself. How many iterations
/// have been done: all, unless it is overdue. None: the rest is not to be done.
fn run_alone<B: Body>(
    worker: &Worker,
    began: Instant,
    iteration_ns: f64,
    iterations: u64,
    body: &B,
    shown: Shown,
) -> Option<u64> {
    let overdue = Duration::from_nanos((OVERDUE * iteration_ns * iterations as f64) as u64);
    let (mut local, mut next, mut going_on) = (body.begin(), 0, true);
    while going_on && next < iterations && began.elapsed() < overdue {
        let count = iterations.div_ceil(PARTS).min(iterations - next);
        let _time = shown.chunk(worker, next, count);
        going_on = body.chunk(&mut local, next..next + count);
        next += count;
    }
    body.end(local);
    going_on.then_some(next)
}

impl<B: Body> Shared<'_, B> {
    fn dispenser(&self) -> MutexGuard<'_, ChunkDispenser> {
        // No users' code runs under it.
        self.dispenser.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// The head is that of a `Self` with a caller that waits until all tickets are back.
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
        let mut dispenser = worker.lock(&self.dispenser);
        let Some(mut place) = dispenser.place(worker.index) else {
            drop(dispenser);
            return worker.registry().lending.has_unlocked(worker.index);
        };
        let mut next = dispenser.take(&mut place, worker.kind, self.now());
        let (mut has_place, has_declined) = (dispenser.has_place(), dispenser.has_declined(place));
        drop(dispenser);
        worker.registry().lending.has_unlocked(worker.index);
        let mut published = 0;
        let done = catch_unwind(AssertUnwindSafe(|| {
            if next.is_none() {
                return worker.counts.declined.add(u64::from(has_declined));
            }
            let mut local = self.body.begin();
            while let Some(chunk) = next {
                // Before the chunk, which may be a long one: a worker that becomes idle meanwhile
                // finds a way in.
                if has_place && self.lying.load(Ordering::Relaxed) == 0 {
                    self.publish(worker);
                    published += 1;
                }
                // Waiting for the dispenser, and waking a worker, take longer than many a chunk:
                // neither is counted.
                let first = self.before + chunk.first;
                let time = self.shown.chunk(worker, first, chunk.count);
                let since = self.now();
                let going_on = self.body.chunk(&mut local, first..first + chunk.count);
                let now = self.now();
                drop(time);
                let mut dispenser = worker.lock(&self.dispenser);
                if !going_on {
                    dispenser.stop();
                }
                dispenser.done(place, worker.index, now.saturating_sub(since));
                next = dispenser.take(&mut place, worker.kind, now);
                has_place = dispenser.has_place();
                if next.is_none() && dispenser.has_declined(place) {
                    worker.counts.declined.add(1);
                }
                drop(dispenser);
                worker.registry().lending.has_unlocked(worker.index);
            }
            self.body.end(local);
        }));
        if let Err(payload) = done {
            self.dispenser().stop();
            keep_first(&self.panic, payload);
        }
        // Tickets that no worker took.
        while published > 0 && worker.take_back(self.ticket()) {
            self.lying.fetch_sub(1, Ordering::Relaxed);
            self.out.fetch_sub(1, Ordering::Relaxed);
            published -= 1;
        }
    }

    /// Waits until all tickets are back.
    fn wait(&self, worker: &Worker) {
        let is_done = || self.out.load(Ordering::Acquire) == 0;
        if !is_done() {
            let timeout =
                LAST_CHUNK_WAIT.max(Duration::from_nanos(self.dispenser().longest_chunk_time().0));
            worker.wait_for_others(timeout, is_done);
        }
        worker.wait_until(is_done);
    }
}
