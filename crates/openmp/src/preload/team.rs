//! The team that runs a region.
//!
//! **An instance.** The thread that forks enters a [`Package`] into the runtime in place of the
//! outlined function. Each thread of the team comes to [`run`] with it, and has the region in
//! [`CURRENT`] while the outlined function runs. When the fork returns, all threads have left, and
//! [`Region::learn`] moves its loops on. So shares change between instances alone, and loops of one
//! instance with equal trip counts are divided alike, as OpenMP 5.2 has it for static schedules.
//!
//! One instance is at work at a time. What a second thread forks meanwhile, or a thread inside of a
//! region, is left to the runtime.
#![expect(unsafe_code, reason = "instances of a region order what threads write")]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::layout::{MAX_REGIONS, Note, RegionRow, Text};
use crate::region::{NOT_TIMED, Region, Timed};
use crate::runtime::{self, Name, Runtime};
use crate::{place, process, sys};

/// Where this thread is.
#[derive(Clone, Copy)]
pub struct Current {
    /// The region whose loops are divided; null elsewhere.
    pub region: *const Region,
    /// The number of this thread in the team.
    pub thread: u32,
    /// That of the team; none outside of regions.
    pub runtime: Option<&'static Runtime>,
    /// The loop that is measured, since when, and how many iterations it has here.
    pub timed: *const Timed,
    pub since_ns: u64,
    pub iterations: u64,
}

impl Current {
    pub const NOWHERE: Self = Self {
        region: null(),
        thread: 0,
        runtime: None,
        timed: NOT_TIMED,
        since_ns: 0,
        iterations: 0,
    };
}

thread_local! {
    pub static CURRENT: Cell<Current> = const { Cell::new(Current::NOWHERE) };
    /// Whether this thread is in a region of ours or of another's: a fork here is a nested one.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Serialised regions in this instance, one in the other.
    static SERIALISED: Cell<u32> = const { Cell::new(0) };
    /// Where this thread was before the first of them.
    static AROUND: Cell<Current> = const { Cell::new(Current::NOWHERE) };
}

/// A loop ends in this thread.
#[inline]
pub fn end_loop() {
    let mut at = CURRENT.get();
    if at.timed.is_null() {
        return;
    }
    // SAFETY: of a region, which lives for good.
    unsafe { &*at.timed }.add(sys::now_ns() - at.since_ns, at.iterations);
    at.timed = NOT_TIMED;
    CURRENT.set(at);
}

/// What each thread of a team is handed in place of the outlined function.
pub struct Package {
    pub function: *const c_void,
    pub runtime: &'static Runtime,
    /// Whether its threads are put where they belong.
    is_placed: bool,
    /// None where the region is left to the runtime.
    entry: Option<&'static Entry>,
    /// Threads of the team, as the first of them counted.
    threads: AtomicU32,
}

/// A region as compiled.
pub struct Outlined {
    pub function: *const c_void,
    /// Where it is, as compilers write it, or null.
    pub source: *const c_char,
    /// Whether its static loops ask the runtime for their bounds.
    pub asks: bool,
}

/// Around a fork: what `fork` hands to the runtime, and what is learned after it.
pub fn fork<R>(of: &Outlined, fork: impl FnOnce(&Package) -> R) -> R {
    static IS_BUSY: AtomicBool = AtomicBool::new(false);

    let runtime = runtime::of(of.function);
    let mut package = Package {
        function: of.function,
        runtime,
        is_placed: false,
        entry: None,
        threads: AtomicU32::new(0),
    };
    runtime::begins(runtime);
    let outer = CURRENT.replace(Current::NOWHERE);
    let was_inside = INSIDE.replace(true);
    let mut is_counted = false;
    if process::begin() {
        if was_inside {
            process::note(Note::Nested);
        } else if runtime.count(Name::NumTeams) > 1 {
            process::note(Note::Teams);
        } else if IS_BUSY.swap(true, Ordering::Acquire) {
            process::note(Note::SeveralRoots);
        } else {
            is_counted = true;
        }
    }
    if is_counted {
        package.entry = Entry::of(of.function, of.source).filter(|entry| !entry.is_idle());
        package.is_placed = of.asks || process::setup().more_threads != 0;
    }
    let result = fork(&package);
    place::leave();
    if let Some(entry) = package.entry {
        entry.after(package.threads.load(Ordering::Relaxed));
    }
    if is_counted {
        IS_BUSY.store(false, Ordering::Release);
    }
    INSIDE.set(was_inside);
    CURRENT.set(outer);
    result
}

/// In each thread of a team: runs the outlined function by `call`.
pub fn run(package: &Package, thread: u32, call: impl FnOnce()) {
    let outer = CURRENT.get();
    let was_inside = INSIDE.replace(true);
    let serialised = (SERIALISED.replace(0), AROUND.get());
    let threads = package.runtime.count(Name::NumThreads) as u32;
    if thread == 0 {
        package.threads.store(threads, Ordering::Relaxed);
    }
    let mut at = Current { thread, runtime: Some(package.runtime), ..Current::NOWHERE };
    if let Some(region) = package.entry.and_then(|entry| entry.region(threads)) {
        region.enter(thread, package.is_placed);
        at.region = region;
    } else {
        place::put_nowhere();
    }
    CURRENT.set(at);
    call();
    SERIALISED.set(serialised.0);
    AROUND.set(serialised.1);
    INSIDE.set(was_inside);
    CURRENT.set(outer);
}

/// The same for a region that GCC compiled: its time as a whole is measured.
pub fn run_whole(package: &Package, thread: u32, call: impl FnOnce()) {
    run(package, thread, || {
        let since_ns = sys::now_ns();
        call();
        // SAFETY: regions live for good.
        if let Some(region) = unsafe { CURRENT.get().region.as_ref() } {
            region.add_whole(thread, sys::now_ns() - since_ns);
        }
    });
}

/// Runs `call` with this thread in no region of ours.
pub fn outside<R>(call: impl FnOnce() -> R) -> R {
    let outer = CURRENT.get();
    CURRENT.set(Current { runtime: outer.runtime, ..Current::NOWHERE });
    let was_inside = INSIDE.replace(true);
    let result = call();
    INSIDE.set(was_inside);
    CURRENT.set(outer);
    result
}

/// A region begins that this thread runs by itself, inside of another: until [`end_serialised`] its
/// loops are not those of a team.
pub fn begin_serialised() {
    let depth = SERIALISED.get();
    SERIALISED.set(depth + 1);
    if depth == 0 {
        AROUND.set(CURRENT.get());
        CURRENT.set(Current { runtime: CURRENT.get().runtime, ..Current::NOWHERE });
    }
}

pub fn end_serialised() {
    let depth = SERIALISED.get();
    SERIALISED.set(depth.saturating_sub(1));
    if depth == 1 {
        CURRENT.set(AROUND.get());
    }
}

/// A place in the table of regions.
struct Entry {
    /// Address of the outlined function; zero where the entry is free.
    function: AtomicUsize,
    region: AtomicPtr<Region>,
    /// Teams of another size than the region's, one after the other.
    others: AtomicU32,
    row: AtomicUsize,
    /// Times that the region was begun anew for a team of another size.
    resized: AtomicU32,
}

/// A power of two, and twice the most regions.
const ENTRIES: usize = 2 * MAX_REGIONS;
static TABLE: [Entry; ENTRIES] = [const {
    Entry {
        function: AtomicUsize::new(0),
        region: AtomicPtr::new(null_mut()),
        others: AtomicU32::new(0),
        row: AtomicUsize::new(0),
        resized: AtomicU32::new(0),
    }
}; ENTRIES];

/// Instances by teams of another size, after which a region is learned anew for that size; and how
/// often that is done. Ours.
const OTHERS: u32 = 3;
const MOST_RESIZED: u32 = 8;

impl Package {
    /// The chunk of the dynamic loop that this region is, where it gets one.
    pub fn chunk(&self, trip: u64) -> Option<u64> {
        // SAFETY: regions live for good.
        unsafe { self.entry?.region.load(Ordering::Acquire).as_ref() }?.chunk_ahead(trip)
    }
}

impl Entry {
    /// Only one thread at a time.
    #[inline]
    fn of(function: *const c_void, source: *const c_char) -> Option<&'static Self> {
        let hash = (function as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut index = (hash >> (64 - ENTRIES.ilog2())) as usize;
        loop {
            let entry = &TABLE[index];
            let known = entry.function.load(Ordering::Relaxed);
            if known == function as usize {
                return Some(entry);
            }
            if known == 0 {
                return entry.begin(function, source);
            }
            index = (index + 1) % ENTRIES;
        }
    }

    #[cold]
    fn begin(
        &'static self,
        function: *const c_void,
        source: *const c_char,
    ) -> Option<&'static Self> {
        let told = process::told();
        let row = told.regions.load(Ordering::Relaxed);
        if row as usize == MAX_REGIONS {
            process::note(Note::TooManyRegions);
            return None;
        }
        self.function.store(function as usize, Ordering::Relaxed);
        self.row.store(row as usize, Ordering::Relaxed);
        told.region[row as usize].name(function, source);
        told.regions.store(row + 1, Ordering::Release);
        Some(self)
    }

    /// Whether nothing is left to do for its loops.
    #[inline]
    fn is_idle(&self) -> bool {
        // SAFETY: regions live for good.
        let region = unsafe { self.region.load(Ordering::Acquire).as_ref() };
        region.is_some_and(Region::is_idle)
    }

    /// The region, for a thread of a team of this size; begun by the first that comes. None where
    /// it is known with another size.
    #[inline]
    fn region(&self, threads: u32) -> Option<&'static Region> {
        let known = self.region.load(Ordering::Acquire);
        // SAFETY: regions live for good.
        match unsafe { known.as_ref() } {
            Some(region) if region.threads == threads => Some(region),
            Some(_) => None,
            None => self.first(threads),
        }
    }

    #[cold]
    fn first(&self, threads: u32) -> Option<&'static Region> {
        if threads < 2 {
            return None;
        }
        if threads > process::setup().cpus {
            process::note(Note::TooManyThreads);
            return None;
        }
        let row = &process::told().region[self.row.load(Ordering::Relaxed)];
        row.threads.store(threads, Ordering::Relaxed);
        let new = Box::into_raw(Box::new(Region::new(threads, row)));
        match self.region.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it is never freed.
            Ok(_) => Some(unsafe { &*new }),
            Err(known) => {
                // SAFETY: nobody else has seen it; the other one is never freed.
                unsafe {
                    drop(Box::from_raw(new));
                    Some(&*known)
                }
            }
        }
    }

    /// After an instance by a team of this size.
    #[inline]
    fn after(&self, threads: u32) {
        // SAFETY: regions live for good.
        let region = unsafe { self.region.load(Ordering::Acquire).as_ref() };
        match region {
            Some(region) if region.threads == threads => {
                self.others.store(0, Ordering::Relaxed);
                region.learn();
            }
            Some(_) => self.resize(threads),
            None => {}
        }
    }

    /// The team has another size: after some in a row the region is begun anew.
    #[cold]
    fn resize(&self, threads: u32) {
        let others = self.others.load(Ordering::Relaxed) + 1;
        self.others.store(others, Ordering::Relaxed);
        let resized = self.resized.load(Ordering::Relaxed);
        if threads < 2 || others < OTHERS || resized >= MOST_RESIZED {
            return;
        }
        self.others.store(0, Ordering::Relaxed);
        self.resized.store(resized + 1, Ordering::Relaxed);
        let row = &process::told().region[self.row.load(Ordering::Relaxed)];
        row.loops.iter().for_each(|of| of.trip.store(0, Ordering::Relaxed));
        // The old one is not freed: it is small, and threads may still have its address.
        self.region.store(null_mut(), Ordering::Release);
    }
}

impl RegionRow {
    fn name(&self, function: *const c_void, source: *const c_char) {
        self.function.store(function as u64, Ordering::Relaxed);
        if let Some(object) = sys::object_of(function) {
            self.object.set(object.file.to_bytes());
            self.offset.store((function as usize - object.base) as u64, Ordering::Relaxed);
        }
        if !source.is_null() {
            // SAFETY: a text of the compiler's, which lives as long as its object.
            self.source.set(unsafe { CStr::from_ptr(source) }.to_bytes());
        }
    }
}

impl<const N: usize> Text<N> {
    pub fn set(&self, text: &[u8]) {
        for (to, from) in self.0.iter().zip(text) {
            to.store(*from, Ordering::Relaxed);
        }
    }
}
