//! A region: its loops, by trip count, and what its threads measure of them.
#![expect(unsafe_code, reason = "instances of a region order what threads write")]

use std::cell::UnsafeCell;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::chunks::Chunked;
use crate::costs::{Cost, Costs, Sample};
use crate::layout::{
    CostRow, KnownRow, LoopRow, MAX_DYNAMIC, MAX_KINDS, MAX_KNOWN, MAX_LOOPS, MAX_STATIC,
    RegionRow, name_digest,
};
use crate::learn::Loop;
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

/// Loops of a region with one trip count; what is learned of them is a `T`.
struct Slot<T> {
    /// Iterations; zero where the slot is free.
    trip: AtomicU64,
    phase: AtomicU32,
    /// In the order of the team.
    timed: Box<[Timed]>,
    /// Written between instances, by the thread that forks alone.
    learned: UnsafeCell<T>,
}

/// What is learned of static loops.
struct Shares {
    of: Loop,
    /// First iteration of each thread, and the number of iterations at the end.
    bounds: Vec<u64>,
    counts: Vec<u64>,
}

/// One outlined function, run by teams of one size.
pub struct Region {
    pub threads: u32,
    /// Kinds of core of the threads, as they said when they first came.
    kinds: Box<[AtomicU32]>,
    scratch: UnsafeCell<Scratch>,
    statics: [Slot<Shares>; MAX_STATIC],
    dynamics: [Slot<Chunked>; MAX_DYNAMIC],
    /// The region from its beginning to its end, where it divides its loops itself.
    whole: Slot<Costs>,
    instances: AtomicU64,
    is_idle: AtomicBool,
    by_capacity: bool,
    /// Measured from the first instance on, for a profile.
    learns: bool,
    /// Of a profile: the loops of this region.
    known: Vec<&'static KnownRow>,
    row: &'static RegionRow,
}

/// Room for what is handed on after an instance, so that nothing is allocated then.
struct Scratch {
    kinds: Vec<u8>,
    samples: Vec<Sample>,
}

// SAFETY: what is in an `UnsafeCell` is written by the thread that forks, when no other thread is
// in the region; threads of the team read it after the fork, which orders the two.
unsafe impl Sync for Region {}

const NO_KIND: u32 = u32::MAX;
/// Instances after which a region without loops is no longer looked at, and one that divides its
/// loops itself is no longer measured. Ours.
const LOOKED_AT: u64 = 16;
const MEASURED: u64 = 1000;

impl Region {
    pub fn new(threads: u32, row: &'static RegionRow) -> Self {
        let size = threads as usize;
        let shares = || Shares {
            of: Loop::new(0, 2),
            bounds: Vec::with_capacity(size + 1),
            counts: vec![0; size],
        };
        Self {
            threads,
            kinds: (0..size).map(|_| AtomicU32::new(NO_KIND)).collect(),
            scratch: UnsafeCell::new(Scratch {
                kinds: Vec::with_capacity(size),
                samples: Vec::with_capacity(size),
            }),
            statics: std::array::from_fn(|_| Slot::new(size, shares())),
            dynamics: std::array::from_fn(|_| Slot::new(size, Chunked::new(0))),
            whole: Slot::new(size, Costs::new(2)),
            instances: AtomicU64::new(0),
            is_idle: AtomicBool::new(false),
            by_capacity: process::setup().by_capacity != 0,
            learns: process::setup().learns != 0,
            known: known(row),
            row,
        }
    }

    /// True once nothing is left to learn or to divide.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.is_idle.load(Ordering::Relaxed)
    }

    /// A thread of the team comes: it is put where it belongs. In the first instance only where it
    /// is known already how loops are divided: a region that is run once would have threads on slow
    /// cores, and nothing for it.
    #[inline]
    pub fn enter(&self, thread: u32, is_placed: bool) {
        let is_first = self.instances.load(Ordering::Relaxed) == 0;
        let is_known = self.by_capacity || !self.known.is_empty() || self.learns;
        if is_placed && (!is_first || is_known || process::setup().more_threads != 0) {
            place::put(thread);
        }
        let kind = &self.kinds[thread as usize];
        if kind.load(Ordering::Relaxed) == NO_KIND && (!is_first || is_known) {
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

        let slot = slot_of(&self.statics, trip)?;
        let range = match slot.phase.load(Ordering::Relaxed) {
            APPLIED | FROZEN | GIVEN => {
                // SAFETY: see `Sync`.
                let bounds = unsafe { &(*slot.learned.get()).bounds };
                let (from, to) = (bounds[at.thread as usize], bounds[at.thread as usize + 1]);
                Some((from, to - from))
            }
            WATCHED if self.by_capacity || !self.known.is_empty() => self.given(at.thread, trip),
            WATCHED => None,
            _ => return None,
        };
        // The first instance touches memory for the first time: it is not measured.
        if range.is_some() || self.is_measured() {
            at.timed = &raw const slot.timed[at.thread as usize];
            at.iterations = range.map_or(own, |(_, count)| count);
            at.since_ns = sys::now_ns();
        }
        range
    }

    #[inline]
    fn is_measured(&self) -> bool {
        self.instances.load(Ordering::Relaxed) > 0 || self.learns
    }

    /// A thread comes to a dynamic loop of `trip` iterations that has no chunk of its own: the
    /// chunk, where it gets one.
    #[inline]
    pub fn begin_dynamic(&self, at: &mut Current, trip: u64) -> Option<u64> {
        let (slot, chunk) = self.chunk(trip)?;
        at.timed = &raw const slot.timed[at.thread as usize];
        at.iterations = trip / u64::from(self.threads);
        at.since_ns = sys::now_ns();
        chunk
    }

    /// The chunk of dynamic loops of so many iterations, where they get one; none where they are
    /// left alone.
    fn chunk(&self, trip: u64) -> Option<(&Slot<Chunked>, Option<u64>)> {
        const WATCHED: u32 = Phase::Watched as u32;
        const APPLIED: u32 = Phase::Applied as u32;
        const FROZEN: u32 = Phase::Frozen as u32;

        let slot = slot_of(&self.dynamics, trip)?;
        match slot.phase.load(Ordering::Relaxed) {
            // SAFETY: see `Sync`.
            APPLIED | FROZEN => Some((slot, Some(unsafe { (*slot.learned.get()).chunk }))),
            WATCHED if self.instances.load(Ordering::Relaxed) > 0 => Some((slot, None)),
            _ => None,
        }
    }

    /// The same before the region is begun, for constructs that are a region and its loop.
    pub fn chunk_ahead(&self, trip: u64) -> Option<u64> {
        self.chunk(trip)?.1
    }

    /// The team meets at a barrier of a region that divides its loops itself.
    #[inline]
    pub fn add_barrier(&self) {
        self.row.barriers.fetch_add(1, Ordering::Relaxed);
    }

    /// A thread has run a region that divides its loops itself.
    #[inline]
    pub fn add_whole(&self, thread: u32, ns: u64) {
        if self.instances.load(Ordering::Relaxed) > 0 {
            self.whole.timed[thread as usize].add(ns, 1);
        }
    }

    /// The range of a thread by speeds that were given: its first iteration and how many. None
    /// where there are none for this loop. In the first instance alone: each thread computes the
    /// same.
    #[cold]
    fn given(&self, thread: u32, trip: u64) -> Option<(u64, u64)> {
        let mut counts = vec![0; self.threads as usize];
        if !place::places() || !self.divide_by_given(trip, None, &mut counts) {
            return None;
        }
        let thread = thread as usize;
        Some((counts[..thread].iter().sum(), counts[thread]))
    }

    /// By the profile, or by capacity. Kinds are those that threads said, or where they are not
    /// known yet those of the CPUs that they are placed on. Says whether this loop is known, and
    /// has enough iterations.
    fn divide_by_given(&self, trip: u64, kinds: Option<&[u8]>, counts: &mut [u64]) -> bool {
        if trip < 2 * u64::from(self.threads) {
            return false;
        }
        let setup = process::setup();
        let known = self.known.iter().find(|known| known.trip == trip);
        let capacity = |kind: u32| {
            let of_kind = setup.cpu[..setup.cpus as usize].iter().find(|cpu| cpu.kind == kind);
            of_kind.map_or(0, |cpu| cpu.capacity)
        };
        let speed = |thread: usize| {
            let kind = kinds.map_or(setup.cpu[thread].kind, |kinds| kinds[thread].into());
            let speed = match known {
                Some(known) => known.speeds.get(kind as usize).copied().unwrap_or(0),
                None => capacity(kind),
            };
            f64::from(speed)
        };
        let speeds: Vec<f64> = (0..self.threads as usize).map(speed).collect();
        if known.is_none() && !self.by_capacity || speeds.contains(&0.0) {
            return false;
        }
        divide(trip, &speeds, counts);
        true
    }

    /// After an instance, in the thread that forked: moves the loops on.
    pub fn learn(&self) {
        let instances = self.instances.fetch_add(1, Ordering::Relaxed) + 1;
        self.row.instances.store(instances, Ordering::Relaxed);
        // SAFETY: see `Sync`: no thread is in the region.
        let Scratch { kinds, samples } = unsafe { &mut *self.scratch.get() };
        if instances == 1 && self.kinds[0].load(Ordering::Relaxed) == NO_KIND {
            return;
        }
        if kinds.is_empty() {
            kinds.extend(self.kinds.iter().map(|kind| kind.load(Ordering::Relaxed) as u8));
        }
        let (static_rows, rows) = self.row.loops.split_at(MAX_STATIC);
        let (dynamic_rows, whole_row) = rows.split_at(MAX_DYNAMIC);
        let mut has_loops = false;
        let mut is_idle = true;
        for (slot, row) in self.statics.iter().zip(static_rows) {
            let Some(trip) = slot.trip() else { break };
            has_loops = true;
            // SAFETY: as above.
            let shares = unsafe { &mut *slot.learned.get() };
            if shares.of.trip == 0 {
                self.begin_static(shares, trip, kinds);
            }
            if shares.of.phase.is_measured() {
                slot.take(samples);
                if shares.of.observe(samples, kinds, &mut shares.counts) {
                    shares.bound();
                }
            }
            slot.phase.store(shares.of.phase as u32, Ordering::Relaxed);
            row.tell_static(&shares.of, kinds, &shares.counts);
            is_idle &= !shares.of.phase.is_measured();
        }
        for (slot, row) in self.dynamics.iter().zip(dynamic_rows) {
            let Some(trip) = slot.trip() else { break };
            has_loops = true;
            // SAFETY: as above.
            let chunked = unsafe { &mut *slot.learned.get() };
            if chunked.trip == 0 {
                *chunked = Chunked::new(trip);
            }
            if chunked.phase.is_measured() {
                slot.take(samples);
                chunked.observe(samples);
            }
            slot.phase.store(chunked.phase as u32, Ordering::Relaxed);
            row.tell(chunked.trip, chunked.phase, &chunked.costs);
            row.chunk.store(chunked.chunk, Ordering::Relaxed);
            is_idle &= !chunked.phase.is_measured();
        }
        // SAFETY: as above.
        let whole = unsafe { &mut *self.whole.learned.get() };
        self.whole.take(samples);
        if samples.iter().any(|sample| sample.executions > 0) {
            whole.add(samples, Phase::Own);
            whole_row[0].tell(1, Phase::Own, whole);
        }
        if is_idle && (has_loops || whole.stock.executions == 0) && instances > LOOKED_AT
            || instances > MEASURED && !has_loops
        {
            self.is_idle.store(true, Ordering::Relaxed);
        }
    }

    #[cold]
    fn begin_static(&self, shares: &mut Shares, trip: u64, kinds: &[u8]) {
        shares.of = Loop::new(trip, if self.learns { 1 } else { 2 });
        if self.divide_by_given(trip, Some(kinds), &mut shares.counts) {
            shares.of.phase = Phase::Given;
            shares.bound();
        } else if self.by_capacity && kinds.iter().all(|&kind| usize::from(kind) < MAX_KINDS) {
            shares.of.phase = Phase::Few;
        } else if kinds.iter().any(|&kind| usize::from(kind) >= MAX_KINDS) {
            shares.of.phase = Phase::Unplaced;
        }
    }
}

/// The loops of a region in the profile.
fn known(row: &RegionRow) -> Vec<&'static KnownRow> {
    let setup = process::setup();
    let rows = &setup.known_loop[..(setup.known as usize).min(MAX_KNOWN)];
    if rows.is_empty() {
        return Vec::new();
    }
    let path: Vec<u8> = row.object.0.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
    let end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
    let object = name_digest(&path[..end]);
    let offset = row.offset.load(Ordering::Relaxed);
    rows.iter().filter(|known| known.object == object && known.offset == offset).collect()
}

const _: () = assert!(MAX_LOOPS == MAX_STATIC + MAX_DYNAMIC + 1);

/// The slot of loops with this many iterations; none where there is no more room.
#[inline]
fn slot_of<T>(slots: &[Slot<T>], trip: u64) -> Option<&Slot<T>> {
    slots.iter().find(|slot| {
        let known = slot.trip.load(Ordering::Relaxed);
        known == trip || known == 0 && slot.claim(trip)
    })
}

impl<T> Slot<T> {
    fn new(threads: usize, learned: T) -> Self {
        Self {
            trip: AtomicU64::new(0),
            phase: AtomicU32::new(Phase::Watched as u32),
            timed: (0..threads).map(|_| Timed::default()).collect(),
            learned: UnsafeCell::new(learned),
        }
    }

    #[cold]
    fn claim(&self, trip: u64) -> bool {
        let claimed = self.trip.compare_exchange(0, trip, Ordering::Relaxed, Ordering::Relaxed);
        claimed.is_ok() || claimed == Err(trip)
    }

    /// Iterations, where the slot is in use.
    fn trip(&self) -> Option<u64> {
        Some(self.trip.load(Ordering::Relaxed)).filter(|&trip| trip != 0)
    }

    /// What threads did since the last time.
    fn take(&self, samples: &mut Vec<Sample>) {
        samples.clear();
        samples.extend(self.timed.iter().map(Timed::take));
    }
}

impl Shares {
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
    fn tell(&self, trip: u64, phase: Phase, costs: &Costs) {
        self.trip.store(trip, Ordering::Relaxed);
        self.phase.store(phase as u32, Ordering::Relaxed);
        self.stock.tell(&costs.stock);
        self.ours.tell(&costs.ours);
        self.equal_ns.store(costs.equal_ns as u64, Ordering::Relaxed);
        self.instead_ns.store(costs.instead_ns as u64, Ordering::Relaxed);
    }

    fn tell_static(&self, learned: &Loop, kinds: &[u8], counts: &[u64]) {
        self.tell(learned.trip, learned.phase, &learned.costs);
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
