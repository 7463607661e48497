//! The OpenMP runtimes of the process: what calls are passed on to.
//!
//! There may be several, one a library that brings its own. Which is meant is known from an
//! address in the calling object.
#![expect(unsafe_code, reason = "functions found by name")]

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

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

const NAMES: [&CStr; 31] = [
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

/// Functions of one runtime, each looked up when it is first needed.
pub struct Runtime {
    /// An address in the object that calls it.
    caller: AtomicPtr<c_void>,
    functions: [AtomicPtr<c_void>; NAMES.len()],
}

impl Runtime {
    const fn new() -> Self {
        let caller = AtomicPtr::new(null_mut());
        Self { caller, functions: [const { AtomicPtr::new(null_mut()) }; NAMES.len()] }
    }

    /// The function of that name, as the calling object sees it. Ends the process where there is
    /// none: the object calls what nothing defines, which the loader would have said.
    #[inline]
    pub fn function(&self, name: Name) -> *mut c_void {
        let known = self.functions[name as usize].load(Ordering::Acquire);
        if !known.is_null() { known } else { self.look_up(name) }
    }

    #[cold]
    fn look_up(&self, name: Name) -> *mut c_void {
        let symbol = NAMES[name as usize];
        let mut found = sys::seen_from(self.caller.load(Ordering::Relaxed), symbol);
        // An object that is not linked with its runtime has it from the global scope; what it finds
        // there first is this library.
        if found.is_null() || is_ours(found) {
            found = sys::next(symbol);
        }
        if found.is_null() {
            eprintln!(
                "evenkeel omp: {} is called, and no library of the process has it",
                symbol.to_string_lossy()
            );
            std::process::abort();
        }
        self.functions[name as usize].store(found, Ordering::Release);
        found
    }

    /// A function that takes nothing and gives a number.
    pub fn count(&self, name: Name) -> c_int {
        // SAFETY: those of the names that are asked for so are of this form.
        unsafe { transmute::<*mut c_void, Count>(self.function(name))() }
    }
}

fn is_ours(address: *const c_void) -> bool {
    let here = is_ours as *const c_void;
    match (sys::object_of(address), sys::object_of(here)) {
        (Some(of), Some(ours)) => of.base == ours.base,
        _ => false,
    }
}

/// Runtimes that are told apart, by the objects that call them.
const MOST: usize = 512;

struct Caller {
    /// First address of the object; zero where there is none yet.
    base: AtomicUsize,
    runtime: Runtime,
}

static CALLERS: [Caller; MOST] =
    [const { Caller { base: AtomicUsize::new(0), runtime: Runtime::new() } }; MOST];

/// Call sites seen, and whose they are: a table of addresses, each with an index into [`CALLERS`].
const SITES: usize = 4096;
static SITE: [AtomicUsize; SITES] = [const { AtomicUsize::new(0) }; SITES];
static OWNER: [AtomicUsize; SITES] = [const { AtomicUsize::new(0) }; SITES];

/// The runtime of the object that has this address in it.
pub fn of(address: *const c_void) -> &'static Runtime {
    let slot = (address as usize >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize)
        >> (usize::BITS - SITES.ilog2());
    if SITE[slot].load(Ordering::Acquire) == address as usize {
        return &CALLERS[OWNER[slot].load(Ordering::Relaxed)].runtime;
    }
    let owner = find(address);
    // One address a slot, for good: the owner is written before the address is.
    if SITE[slot].compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        OWNER[slot].store(owner, Ordering::Relaxed);
        SITE[slot].store(address as usize, Ordering::Release);
    }
    &CALLERS[owner].runtime
}

#[cold]
fn find(address: *const c_void) -> usize {
    let base = sys::object_of(address).map_or(1, |object| object.base.max(1));
    for (index, caller) in CALLERS.iter().enumerate() {
        let known = match caller.base.compare_exchange(0, base, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => base,
            Err(known) => known,
        };
        if known == base {
            caller.runtime.caller.store(address.cast_mut(), Ordering::Relaxed);
            return index;
        }
    }
    // More objects than there is room for share the last one's.
    MOST - 1
}

/// For calls that say nothing of where they come from: the runtime that last began a region.
static LAST: AtomicPtr<Runtime> = AtomicPtr::new(null_mut());

/// A region of this runtime begins.
pub fn begins(runtime: &'static Runtime) {
    LAST.store(std::ptr::from_ref(runtime).cast_mut(), Ordering::Release);
}

/// The runtime that last began a region; the program's own before there is one.
pub fn last() -> &'static Runtime {
    // SAFETY: all are static.
    unsafe { LAST.load(Ordering::Acquire).as_ref() }.unwrap_or(&CALLERS[MOST - 1].runtime)
}
