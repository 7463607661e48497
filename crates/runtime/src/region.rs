//! Regions: isolated waits ([`crate::Pool::isolate`]).
//!
//! A waiting worker takes up other work, which may want what its own thread holds: a lock. A
//! *region* is a small pool within the pool. Its registry has deques, open batches, task sources
//! and sleep states of its own for the same workers; costs, blocks and counts are the pool's. On
//! the thread that opened it another [`Worker`] stands in place of its own, so all that is begun
//! goes into the region's deques, and a wait there finds nothing else. Of a region a worker knows
//! the pool that it belongs to (`root`), so calls on that pool from within are not taken for calls
//! from outside.
//!
//! Other workers help. The region is a task source of the pool ([`RegionSource`]). A worker that
//! asks it, and finds work, is given a *visit*: a job in which it stands in for itself in the
//! region until nothing is left to be taken. Then it leaves, with an empty deque and without
//! credits. A visit has a reference of its own to the region, so a region that is closed meanwhile
//! does no harm. Regions are kept until the pool ends, and opened again.
//!
//! Sleep and wake are those of a pool, with one addition. The region's counters have the pool
//! outside as one sleeper more, which is woken if no other sleeps within, by telling the pool that
//! work has appeared. A worker that leaves looks around outside before it sleeps there, and a
//! region with work counts as work.
//!
//! Waits are not isolated unless asked to be: most hold nothing, and an isolated waiter idles while
//! another worker has its last task. docs/decisions/0002-isolation.md has figures.
#![expect(unsafe_code, reason = "the right to visit a region is in a job, which is a pointer")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_deque::Worker as Deque;

use crate::central::{CentralScheduler, TaskSource};
use crate::job::{Head, JobRef};
use crate::registry::Registry;
use crate::stack;
use crate::sync::{AtomicBool, Ordering};
use crate::worker::Worker;

/// A worker of the pool, as the region knows it.
enum RegionWorker {
    /// It has not been there.
    New(Deque<JobRef>),
    /// It is there.
    Inside,
    /// It has left, without jobs.
    Left(Box<Worker>),
}

// SAFETY: a worker that has left a region has no job, no batch and no credits. The state is one
// thread's, which comes back to it.
unsafe impl Send for RegionWorker {}

/// A small pool within a pool, and its state for each worker of that pool.
#[repr(C)]
pub struct Region {
    /// The beginning of a visit.
    head: Head,
    registry: Arc<Registry>,
    /// Indexed by worker of the pool.
    workers: Box<[Mutex<RegionWorker>]>,
    is_open: AtomicBool,
}

/// All regions that a pool has had. Some are not open.
#[derive(Default)]
pub struct Regions(Mutex<Vec<Arc<Region>>>);

impl Regions {
    /// A region that was not open.
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
    let source: Arc<dyn TaskSource> = Arc::new(RegionSource(Arc::clone(&region)));
    outer.central.open(Arc::clone(&source));
    let result = region.enter(worker, |_| catch_unwind(AssertUnwindSafe(f)));
    outer.central.close(&source);
    region.is_open.store(false, Ordering::Relaxed);
    let Some(result) = result else {
        unreachable!("no worker is inside a region that was not open")
    };
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

impl Region {
    fn new(outer: Arc<Registry>) -> Self {
        let (registry, deques) = Registry::within(outer);
        Self {
            head: Head { run: Self::run },
            registry: Arc::new(registry),
            workers: deques.into_iter().map(|deque| Mutex::new(RegionWorker::New(deque))).collect(),
            is_open: AtomicBool::new(false),
        }
    }

    fn worker(&self, index: usize) -> MutexGuard<'_, RegionWorker> {
        self.workers[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f`, which does not panic, with what this worker is in here. None: it is here already.
    fn enter<R>(&self, outer: &Worker, f: impl FnOnce(&Worker) -> R) -> Option<R> {
        let state = std::mem::replace(&mut *self.worker(outer.index), RegionWorker::Inside);
        let inside = match state {
            RegionWorker::New(deque) => {
                Box::new(Worker::within(Arc::clone(&self.registry), deque, outer))
            }
            RegionWorker::Left(inside) => inside,
            RegionWorker::Inside => return None,
        };
        let result = inside.in_place_of(outer, f);
        *self.worker(outer.index) = RegionWorker::Left(inside);
        Some(result)
    }

    /// True if there is work for this worker of the pool.
    fn has_work_for(&self, worker: usize) -> bool {
        self.is_open.load(Ordering::Relaxed)
            && (self.registry.has_work() || self.registry.central.would_give(worker))
            && !matches!(*self.worker(worker), RegionWorker::Inside)
    }

    /// # Safety
    /// The head is that of a region, and comes with a reference to it.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        worker.credits.give_back(worker);
        // SAFETY: `take` has made it of an `Arc`, once for each visit.
        let this = unsafe { Arc::from_raw(head.cast::<Self>().as_ptr()) };
        let visit = || {
            let _ = this.enter(worker, |inside| inside.help_out(|| false));
        };
        if stack::is_short() { stack::on_another(&visit) } else { visit() }
    }
}

/// How workers of the pool find their way into a region.
struct RegionSource(Arc<Region>);

impl TaskSource for RegionSource {
    fn take(&self, worker: &Worker) -> Option<JobRef> {
        if !self.0.has_work_for(worker.index) {
            return None;
        }
        let region = Arc::into_raw(Arc::clone(&self.0));
        NonNull::new(region.cast_mut().cast()).map(JobRef::new)
    }

    fn with_scheduler(&self, _: &mut dyn FnMut(&mut CentralScheduler)) {}

    fn would_give(&self, worker: usize) -> bool {
        self.0.has_work_for(worker)
    }
}
