//! Regions: README.md, "Isolation".
//!
//! A region is a small pool within a pool. Its workers are those of the pool: the one that opened
//! it, and those that have nothing to do. Each is another [`Worker`] in it, with another deque, so
//! whoever waits in a region finds nothing but what belongs there.
#![expect(unsafe_code, reason = "the right to visit a region is in a job, which is a pointer")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_deque::Worker as Deque;

use crate::central::{Board, Desk};
use crate::job::{Head, JobRef};
use crate::registry::Registry;
use crate::stack;
use crate::sync::{AtomicBool, Ordering};
use crate::worker::Worker;

/// What a worker of the pool is in a region.
enum Seat {
    /// It has not been there.
    New(Deque<JobRef>),
    /// It is there.
    Taken,
    /// It has left, with nothing in hand.
    Left(Box<Worker>),
}

// SAFETY: whoever has left a region has no job, no batch and no credits, and a seat is one
// thread's, which comes back to it.
unsafe impl Send for Seat {}

/// See the file's head.
#[repr(C)]
pub struct Region {
    /// What a visit begins with.
    head: Head,
    registry: Arc<Registry>,
    /// By worker of the pool.
    seats: Box<[Mutex<Seat>]>,
    is_open: AtomicBool,
}

/// Regions of a pool: all that there have been, and which of them nobody has open.
#[derive(Default)]
pub struct Regions(Mutex<Vec<Arc<Region>>>);

impl Regions {
    /// One that nobody has open.
    fn open(&self, worker: &Worker) -> Arc<Region> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = all.iter().find(|region| !region.is_open.load(Ordering::Relaxed)).cloned();
        let region = free.unwrap_or_else(|| {
            let region = Arc::new(Region::new(worker.shared()));
            all.push(Arc::clone(&region));
            region
        });
        region.is_open.store(true, Ordering::Relaxed);
        region
    }

    /// The pool is at its end. Regions refer to it, and it to them.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        all.iter().for_each(|region| region.registry.regions.clear());
    }
}

/// Calls `f` on this worker, in a region of its own.
pub fn isolate<R>(worker: &Worker, f: impl FnOnce() -> R) -> R {
    let outer = worker.registry();
    let region = outer.regions.open(worker);
    let way: Arc<dyn Board> = Arc::new(Way(Arc::clone(&region)));
    outer.central.open(Arc::clone(&way));
    let result = region.sit(worker, |_| catch_unwind(AssertUnwindSafe(f)));
    outer.central.close(&way);
    region.is_open.store(false, Ordering::Relaxed);
    let Some(result) = result else {
        unreachable!("a region that nobody had open has nobody's seat taken by its opener")
    };
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

impl Region {
    fn new(outer: Arc<Registry>) -> Self {
        let (registry, deques) = Registry::within(outer);
        Self {
            head: Head { run: Self::run },
            registry: Arc::new(registry),
            seats: deques.into_iter().map(|deque| Mutex::new(Seat::New(deque))).collect(),
            is_open: AtomicBool::new(false),
        }
    }

    fn seat(&self, index: usize) -> MutexGuard<'_, Seat> {
        self.seats[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f`, which does not panic, with what this worker is in here. None: it is here already.
    fn sit<R>(&self, outer: &Worker, f: impl FnOnce(&Worker) -> R) -> Option<R> {
        let seat = std::mem::replace(&mut *self.seat(outer.index), Seat::Taken);
        let inside = match seat {
            Seat::New(deque) => Box::new(Worker::within(Arc::clone(&self.registry), deque, outer)),
            Seat::Left(inside) => inside,
            Seat::Taken => return None,
        };
        let result = inside.in_place_of(outer, f);
        *self.seat(outer.index) = Seat::Left(inside);
        Some(result)
    }

    /// Whether there is something to do for this worker of the pool.
    fn has_work_for(&self, worker: usize) -> bool {
        self.is_open.load(Ordering::Relaxed)
            && (self.registry.has_work() || self.registry.central.would_give(worker))
            && !matches!(*self.seat(worker), Seat::Taken)
    }

    /// # Safety
    /// The head is that of a region, and comes with a reference to it.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        worker.credits.give_back(worker);
        // SAFETY: `take` has made it of an `Arc`, once for each visit.
        let this = unsafe { Arc::from_raw(head.cast::<Self>().as_ptr()) };
        let visit = || {
            let _ = this.sit(worker, |inside| inside.help_out(|| false));
        };
        if stack::is_short() { stack::on_another(&visit) } else { visit() }
    }
}

/// How workers of the pool find their way into a region.
struct Way(Arc<Region>);

impl Board for Way {
    fn take(&self, worker: &Worker) -> Option<JobRef> {
        if !self.0.has_work_for(worker.index) {
            return None;
        }
        let region = Arc::into_raw(Arc::clone(&self.0));
        NonNull::new(region.cast_mut().cast()).map(JobRef::new)
    }

    fn at_desk(&self, _: &mut dyn FnMut(&mut Desk)) {}

    fn would_give(&self, worker: usize) -> bool {
        self.0.has_work_for(worker)
    }
}
