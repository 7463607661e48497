//! A region: its loops, by trip count, and what its threads measure of them.
#![expect(unsafe_code, reason = "instances of a region order what threads write")]

use std::cell::UnsafeCell;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::layout::{CostRow, LoopRow, MAX_KINDS, MAX_LOOPS, RegionRow};
use crate::learn::{Cost, Loop, Sample};
use crate::phase::Phase;
use crate::shares::divide;
use crate::team::Current;
use crate::{place, process, sys};

/// What one thread has done in a loop since its region was last looked at. A cache line each.
#[repr(align(64))]
#[derive(Default)]
pub struct Timed {
    ns: AtomicU64,
    iterations: AtomicU64,
    executions: AtomicU64,
}

impl Timed {
    /// One more execution. Only its own thread writes.
    #[inline]
    pub fn add(&self, ns: u64, iterations: u64) {
        let add = |count: &AtomicU64, more: u64| {
            count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        };
        add(&self.ns, ns);
        add(&self.iterations, iterations);
        add(&self.executions, 1);
    }

    fn take(&self) -> Sample {
        let take = |count: &AtomicU64| {
            let value = count.load(Ordering::Relaxed);
            count.store(0, Ordering::Relaxed);
            value
        };
        Sample {
            ns: take(&self.ns),
            iterations: take(&self.iterations),
            executions: take(&self.executions),
        }
    }
}

/// Loops of a region with one trip count.
struct Slot {
    /// Iterations; zero where the slot is free.
    trip: AtomicU64,
    phase: AtomicU32,
    /// In the order of the team.
    timed: Box<[Timed]>,
    learned: UnsafeCell<Learned>,
}

/// What only the thread that forks writes, between instances.
struct Learned {
    of: Loop,
    /// First iteration of each thread, and the number of iterations at the end.
    bounds: Vec<u64>,
    /// Room for [`Loop::observe`]: nothing is allocated after an instance.
    samples: Vec<Sample>,
    counts: Vec<u64>,
}

/// One outlined function, run by teams of one size.
pub struct Region {
    pub threads: u32,
    /// Kinds of core of the threads, as they said when they first came.
    kinds: Box<[AtomicU32]>,
    /// The same for [`Loop::observe`].
    known_kinds: UnsafeCell<Vec<u8>>,
    slots: [Slot; MAX_LOOPS],
    instances: AtomicU64,
    is_idle: AtomicBool,
    by_capacity: bool,
    row: &'static RegionRow,
}

// SAFETY: what is in an `UnsafeCell` is written by the thread that forks, when no other thread is
// in the region; threads of the team read it after the fork, which orders the two.
unsafe impl Sync for Region {}

const NO_KIND: u32 = u32::MAX;
/// Instances after which a region without a static loop is no longer looked at. Ours.
const LOOKED_AT: u64 = 16;

impl Region {
    pub fn new(threads: u32, row: &'static RegionRow) -> Self {
        let size = threads as usize;
        let slot = || Slot {
            trip: AtomicU64::new(0),
            phase: AtomicU32::new(Phase::Watched as u32),
            timed: (0..size).map(|_| Timed::default()).collect(),
            learned: UnsafeCell::new(Learned {
                of: Loop::new(0),
                bounds: Vec::with_capacity(size + 1),
                samples: Vec::with_capacity(size),
                counts: vec![0; size],
            }),
        };
        Self {
            threads,
            kinds: (0..size).map(|_| AtomicU32::new(NO_KIND)).collect(),
            known_kinds: UnsafeCell::new(Vec::with_capacity(size)),
            slots: std::array::from_fn(|_| slot()),
            instances: AtomicU64::new(0),
            is_idle: AtomicBool::new(false),
            by_capacity: process::setup().by_capacity != 0,
            row,
        }
    }

    /// True once nothing is left to learn or to divide.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.is_idle.load(Ordering::Relaxed)
    }

    /// A thread of the team comes: it is put where it belongs.
    #[inline]
    pub fn enter(&self, thread: u32) {
        place::put(thread);
        let kind = &self.kinds[thread as usize];
        if kind.load(Ordering::Relaxed) == NO_KIND {
            kind.store(u32::from(place::kind(thread)), Ordering::Relaxed);
        }
    }

    /// A thread comes to a loop of `trip` iterations: its first iteration and how many, where they
    /// are other than the runtime's own, of which it would have `own`.
    #[inline]
    pub fn begin(&self, at: &mut Current, trip: u64, own: u64) -> Option<(u64, u64)> {
        const WATCHED: u32 = Phase::Watched as u32;
        const APPLIED: u32 = Phase::Applied as u32;
        const FROZEN: u32 = Phase::Frozen as u32;
        const GIVEN: u32 = Phase::Given as u32;

        let slot = self.slot(trip)?;
        let range = match slot.phase.load(Ordering::Relaxed) {
            APPLIED | FROZEN | GIVEN => {
                // SAFETY: see `Sync`.
                let bounds = unsafe { &(*slot.learned.get()).bounds };
                let (from, to) = (bounds[at.thread as usize], bounds[at.thread as usize + 1]);
                Some((from, to - from))
            }
            WATCHED if self.by_capacity => Some(self.given(at.thread, trip)?),
            // The first instance touches memory for the first time: it is not measured.
            WATCHED if self.instances.load(Ordering::Relaxed) > 0 => None,
            _ => return None,
        };
        at.timed = &raw const slot.timed[at.thread as usize];
        at.iterations = range.map_or(own, |(_, count)| count);
        at.since_ns = sys::now_ns();
        range
    }

    /// The slot of loops with this many iterations; none where there is no more room.
    #[inline]
    fn slot(&self, trip: u64) -> Option<&Slot> {
        self.slots.iter().find(|slot| {
            let known = slot.trip.load(Ordering::Relaxed);
            known == trip || known == 0 && slot.claim(trip)
        })
    }

    /// The range of a thread by the capacities of the CPUs that threads are placed on; none where
    /// there are too few iterations. In the first instance alone: each thread computes the same.
    #[cold]
    fn given(&self, thread: u32, trip: u64) -> Option<(u64, u64)> {
        if trip < 2 * u64::from(self.threads) {
            return None;
        }
        let mut counts = vec![0; self.threads as usize];
        self.divide_by_capacity(trip, &mut counts);
        let thread = thread as usize;
        Some((counts[..thread].iter().sum(), counts[thread]))
    }

    fn divide_by_capacity(&self, trip: u64, counts: &mut [u64]) {
        let cpus = &process::setup().cpu[..self.threads as usize];
        let speeds: Vec<f64> = cpus.iter().map(|cpu| f64::from(cpu.capacity)).collect();
        divide(trip, &speeds, counts);
    }

    /// After an instance, in the thread that forked: moves the loops on.
    pub fn learn(&self) {
        self.instances.fetch_add(1, Ordering::Relaxed);
        self.row.instances.fetch_add(1, Ordering::Relaxed);
        // SAFETY: see `Sync`: no thread is in the region.
        let kinds = unsafe { &mut *self.known_kinds.get() };
        if kinds.is_empty() {
            kinds.extend(self.kinds.iter().map(|kind| kind.load(Ordering::Relaxed) as u8));
        }
        let mut is_idle = true;
        for (slot, row) in self.slots.iter().zip(&self.row.loops) {
            let trip = slot.trip.load(Ordering::Relaxed);
            if trip == 0 {
                break;
            }
            // SAFETY: as above.
            let learned = unsafe { &mut *slot.learned.get() };
            if learned.of.trip == 0 {
                self.begin_loop(learned, trip, kinds);
            }
            slot.learn(learned, kinds, row);
            is_idle &= !learned.of.phase.is_measured();
        }
        let has_loops = self.slots[0].trip.load(Ordering::Relaxed) != 0;
        if is_idle && (has_loops || self.instances.load(Ordering::Relaxed) > LOOKED_AT) {
            self.is_idle.store(true, Ordering::Relaxed);
        }
    }

    #[cold]
    fn begin_loop(&self, learned: &mut Learned, trip: u64, kinds: &[u8]) {
        learned.of = Loop::new(trip);
        if self.by_capacity {
            if trip < 2 * u64::from(self.threads) {
                learned.of.phase = Phase::Few;
                return;
            }
            learned.of.phase = Phase::Given;
            self.divide_by_capacity(trip, &mut learned.counts);
            learned.bound();
        } else if kinds.iter().any(|&kind| usize::from(kind) >= MAX_KINDS) {
            learned.of.phase = Phase::Unplaced;
        }
    }
}

impl Slot {
    #[cold]
    fn claim(&self, trip: u64) -> bool {
        let claimed = self.trip.compare_exchange(0, trip, Ordering::Relaxed, Ordering::Relaxed);
        claimed.is_ok() || claimed == Err(trip)
    }

    fn learn(&self, learned: &mut Learned, kinds: &[u8], row: &LoopRow) {
        if learned.of.phase.is_measured() {
            learned.samples.clear();
            learned.samples.extend(self.timed.iter().map(Timed::take));
            if learned.of.observe(&learned.samples, kinds, &mut learned.counts) {
                learned.bound();
            }
        }
        self.phase.store(learned.of.phase as u32, Ordering::Relaxed);
        row.tell(&learned.of, kinds, &learned.counts);
    }
}

impl Learned {
    /// New counts become new bounds.
    fn bound(&mut self) {
        self.bounds.clear();
        self.bounds.push(0);
        let mut end = 0;
        self.bounds.extend(self.counts.iter().map(|count| {
            end += count;
            end
        }));
    }
}

impl LoopRow {
    fn tell(&self, learned: &Loop, kinds: &[u8], counts: &[u64]) {
        self.trip.store(learned.trip, Ordering::Relaxed);
        self.phase.store(learned.phase as u32, Ordering::Relaxed);
        self.windows.store(learned.windows, Ordering::Relaxed);
        self.stock.tell(&learned.stock);
        self.ours.tell(&learned.ours);
        // The first thread of a kind stands for all.
        for (kind, share) in self.shares.iter().enumerate() {
            if let Some(thread) = kinds.iter().position(|&of| usize::from(of) == kind) {
                let part = counts[thread] as f64 / learned.trip as f64;
                share.store((part * 1e6) as u32, Ordering::Relaxed);
            }
        }
    }
}

impl CostRow {
    fn tell(&self, cost: &Cost) {
        self.executions.store(cost.executions, Ordering::Relaxed);
        self.makespan_ns.store(cost.makespan_ns, Ordering::Relaxed);
        self.waiting_ns.store(cost.waiting_ns, Ordering::Relaxed);
    }
}

/// No loop is measured.
pub const NOT_TIMED: *const Timed = null();
