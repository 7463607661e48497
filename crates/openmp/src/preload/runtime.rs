//! The OpenMP runtimes of the process: what calls are passed on to.
//!
//! There may be several, one a library that brings its own. Which is meant is known from the team
//! that a thread is in, and outside of teams from an address in the calling object.
#![expect(unsafe_code, reason = "functions found by name")]

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::sys;

pub type Count = unsafe extern "C" fn() -> c_int;

/// What a function of a runtime is called.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Name {
    ForkCall,
    ForkCallIf,
    SerializedParallel,
    EndSerializedParallel,
    ForStaticInit4,
    ForStaticInit4u,
    ForStaticInit8,
    ForStaticInit8u,
    ForStaticFini,
    NumThreads,
    NumTeams,
    ThreadNum,
    DispatchInit4,
    DispatchInit4u,
    DispatchInit8,
    DispatchInit8u,
    DispatchNext4,
    DispatchNext4u,
    DispatchNext8,
    DispatchNext8u,
    GompBarrier,
    GompParallel,
    GompParallelDynamic,
    GompParallelNonmonotonicDynamic,
    GompDynamicStart,
    GompNonmonotonicDynamicStart,
    GompUllDynamicStart,
    GompUllNonmonotonicDynamicStart,
    GompDynamicNext,
    GompNonmonotonicDynamicNext,
    GompUllDynamicNext,
    GompUllNonmonotonicDynamicNext,
}

const NAMES: [&CStr; 32] = [
    c"__kmpc_fork_call",
    c"__kmpc_fork_call_if",
    c"__kmpc_serialized_parallel",
    c"__kmpc_end_serialized_parallel",
    c"__kmpc_for_static_init_4",
    c"__kmpc_for_static_init_4u",
    c"__kmpc_for_static_init_8",
    c"__kmpc_for_static_init_8u",
    c"__kmpc_for_static_fini",
    c"omp_get_num_threads",
    c"omp_get_num_teams",
    c"omp_get_thread_num",
    c"__kmpc_dispatch_init_4",
    c"__kmpc_dispatch_init_4u",
    c"__kmpc_dispatch_init_8",
    c"__kmpc_dispatch_init_8u",
    c"__kmpc_dispatch_next_4",
    c"__kmpc_dispatch_next_4u",
    c"__kmpc_dispatch_next_8",
    c"__kmpc_dispatch_next_8u",
    c"GOMP_barrier",
    c"GOMP_parallel",
    c"GOMP_parallel_loop_dynamic",
    c"GOMP_parallel_loop_nonmonotonic_dynamic",
    c"GOMP_loop_dynamic_start",
    c"GOMP_loop_nonmonotonic_dynamic_start",
    c"GOMP_loop_ull_dynamic_start",
    c"GOMP_loop_ull_nonmonotonic_dynamic_start",
    c"GOMP_loop_dynamic_next",
    c"GOMP_loop_nonmonotonic_dynamic_next",
    c"GOMP_loop_ull_dynamic_next",
    c"GOMP_loop_ull_nonmonotonic_dynamic_next",
];

/// Functions of one runtime, as one object sees them. Looked up all at once, by a thread that is in
/// no region: a look-up takes the loader's lock, which may be held by a thread that waits for this
/// team in a constructor.
pub struct Runtime {
    functions: [AtomicPtr<c_void>; NAMES.len()],
}

impl Runtime {
    const fn new() -> Self {
        Self { functions: [const { AtomicPtr::new(null_mut()) }; NAMES.len()] }
    }

    /// The function of that name. Ends the process where there is none: an object calls what
    /// nothing defines, which the loader would have said.
    #[inline]
    pub fn function(&self, name: Name) -> *mut c_void {
        let known = self.functions[name as usize].load(Ordering::Relaxed);
        if !known.is_null() { known } else { missing(name) }
    }

    /// As the loader does: what all objects see, then what this one is linked with.
    fn look_up(&self, caller: *const c_void) {
        for (function, symbol) in self.functions.iter().zip(NAMES) {
            let mut found = sys::next(symbol);
            if found.is_null() {
                found = sys::seen_from(caller, symbol);
            }
            function.store(found, Ordering::Relaxed);
        }
    }

    /// A function that takes nothing and gives a number; 1 where the runtime has none.
    pub fn count(&self, name: Name) -> c_int {
        let function = self.functions[name as usize].load(Ordering::Relaxed);
        if function.is_null() {
            return 1;
        }
        // SAFETY: those of the names that are asked for so are of this form.
        unsafe { transmute::<*mut c_void, Count>(function)() }
    }
}

#[cold]
fn missing(name: Name) -> ! {
    let symbol = NAMES[name as usize].to_string_lossy();
    eprintln!("evenkeel omp: {symbol} is called, and no library of the process has it");
    std::process::abort();
}

/// Objects that are told apart.
const MOST: usize = 512;

struct Caller {
    /// First address of the object; zero where there is none yet.
    base: AtomicUsize,
    /// True once its functions have been looked up.
    is_ready: AtomicBool,
    runtime: Runtime,
}

static CALLERS: [Caller; MOST] = [const {
    Caller { base: AtomicUsize::new(0), is_ready: AtomicBool::new(false), runtime: Runtime::new() }
}; MOST];

/// Addresses seen, each with one more than an index into [`CALLERS`].
const SITES: usize = 1 << 14;
const PROBES: usize = 16;
static SITE: [AtomicUsize; SITES] = [const { AtomicUsize::new(0) }; SITES];
static OWNER: [AtomicU32; SITES] = [const { AtomicU32::new(0) }; SITES];

/// The runtime of the object that has this address in it.
pub fn of(address: *const c_void) -> &'static Runtime {
    if address.is_null() {
        return last();
    }
    let first = (address as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SITES.ilog2());
    for slot in (0..PROBES).map(|probe| (first as usize + probe) % SITES) {
        let known = SITE[slot].load(Ordering::Relaxed);
        if known == address as usize {
            let owner = OWNER[slot].load(Ordering::Acquire);
            if owner != 0 {
                return &CALLERS[owner as usize - 1].runtime;
            }
            break;
        }
        if known == 0 {
            let owner = find(address);
            let claimed = SITE[slot].compare_exchange(
                0,
                address as usize,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if claimed.is_ok() {
                OWNER[slot].store(owner as u32 + 1, Ordering::Release);
            }
            return &CALLERS[owner].runtime;
        }
    }
    &CALLERS[find(address)].runtime
}

#[cold]
fn find(address: *const c_void) -> usize {
    let base = sys::object_of(address).map_or(1, |object| object.base.max(1));
    let is_own = |caller: &Caller| {
        let claimed = caller.base.compare_exchange(0, base, Ordering::Relaxed, Ordering::Relaxed);
        claimed.is_ok() || claimed == Err(base)
    };
    // More objects than there is room for share the last one's.
    let index = CALLERS.iter().position(is_own).unwrap_or(MOST - 1);
    let caller = &CALLERS[index];
    if !caller.is_ready.load(Ordering::Acquire) {
        // Twice is no harm: both find the same.
        caller.runtime.look_up(address);
        caller.is_ready.store(true, Ordering::Release);
    }
    index
}

/// For calls that say nothing of where they come from: the runtime that last began a region.
static LAST: AtomicPtr<Runtime> = AtomicPtr::new(null_mut());

/// A region of this runtime begins.
pub fn begins(runtime: &'static Runtime) {
    let runtime = std::ptr::from_ref(runtime).cast_mut();
    // Nested regions of all threads come here.
    if LAST.load(Ordering::Relaxed) != runtime {
        LAST.store(runtime, Ordering::Release);
    }
}

/// The runtime that last began a region; what all objects see before there is one.
pub fn last() -> &'static Runtime {
    // SAFETY: all are static.
    let last = unsafe { LAST.load(Ordering::Acquire).as_ref() };
    last.unwrap_or_else(|| &CALLERS[find(of as *const c_void)].runtime)
}
