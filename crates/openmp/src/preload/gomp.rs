//! The interface of GNU's runtime: gcc, g++, gfortran.
//!
//! Static loops divide themselves there, so a region is measured as a whole. Dynamic loops without
//! a chunk of their own get one, as those of LLVM's interface do.
#![expect(unsafe_code, reason = "an interface of C")]

use std::ffi::{c_long, c_uint, c_void};
use std::mem::transmute;

use crate::runtime::{self, Name, Runtime};
use crate::team::{self, CURRENT, Outlined, Package};

type Body = unsafe extern "C" fn(*const Forked);
type Parallel = unsafe extern "C" fn(Body, *const Forked, c_uint, c_uint);
type ParallelLoop =
    unsafe extern "C" fn(Body, *const Forked, c_uint, c_long, c_long, c_long, c_long, c_uint);
type Function = unsafe extern "C" fn(*mut c_void);

/// What a team is handed.
struct Forked {
    package: *const Package,
    data: *mut c_void,
    /// Iterations of the dynamic loop that the region is; zero where it is none.
    trip: u64,
}

fn outlined(function: *const c_void) -> Outlined {
    Outlined { function, source: std::ptr::null(), asks: false }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_parallel(
    function: *const c_void,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
) {
    team::fork(&outlined(function), |package| {
        let forked = Forked { package, data, trip: 0 };
        // SAFETY: the runtime's own function; `forked` lives until the team has joined.
        unsafe {
            let call: Parallel = transmute(package.runtime.function(Name::GompParallel));
            call(body, &raw const forked, threads, flags);
        }
    });
}

unsafe extern "C" fn body(forked: *const Forked) {
    // SAFETY: see `GOMP_parallel`.
    unsafe {
        let forked = &*forked;
        let package = &*forked.package;
        let function: Function = transmute(package.function);
        let thread = package.runtime.count(Name::ThreadNum) as u32;
        if forked.trip == 0 {
            return team::run_whole(package, thread, || function(forked.data));
        }
        team::run(package, thread, || {
            begin(forked.trip);
            function(forked.data);
            team::end_loop();
        });
    }
}

/// This thread comes to a dynamic loop without a chunk of its own: the chunk that it gets.
fn begin(trip: u64) -> Option<u64> {
    let mut at = CURRENT.get();
    // SAFETY: regions live for good.
    let region = unsafe { at.region.as_ref() }?;
    let chunk = region.begin_dynamic(&mut at, trip);
    CURRENT.set(at);
    chunk
}

/// Iterations of a loop; zero where there are none.
fn trip(start: i128, end: i128, step: i128) -> u64 {
    if step == 0 {
        return 0;
    }
    let distance = if step > 0 { end - start } else { start - end };
    let step = step.abs();
    u64::try_from((distance + step - 1) / step).unwrap_or(0)
}

macro_rules! parallel_dynamic {
    ($function:ident, $name:ident) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "as the interface has it")]
        unsafe extern "C" fn $function(
            function: *const c_void,
            data: *mut c_void,
            threads: c_uint,
            start: c_long,
            end: c_long,
            step: c_long,
            chunk: c_long,
            flags: c_uint,
        ) {
            team::fork(&outlined(function), |package| {
                let trip = trip(start.into(), end.into(), step.into());
                let is_open = chunk <= 1 && trip > 0;
                let new = if is_open { package.chunk(trip) } else { None };
                let chunk = new.and_then(|new| c_long::try_from(new).ok()).unwrap_or(chunk);
                let trip = if is_open { trip } else { 0 };
                let forked = Forked { package, data, trip };
                // SAFETY: as in `GOMP_parallel`.
                unsafe {
                    let call: ParallelLoop = transmute(package.runtime.function(Name::$name));
                    call(body, &raw const forked, threads, start, end, step, chunk, flags);
                }
            });
        }
    };
}

parallel_dynamic!(GOMP_parallel_loop_dynamic, GompParallelDynamic);
parallel_dynamic!(GOMP_parallel_loop_nonmonotonic_dynamic, GompParallelNonmonotonicDynamic);

/// The runtime of the team that this thread is in.
fn here() -> &'static Runtime {
    CURRENT.get().runtime.unwrap_or_else(runtime::last)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_barrier() {
    let at = CURRENT.get();
    // SAFETY: regions live for good.
    let region = unsafe { at.region.as_ref() }.filter(|_| at.thread == 0);
    if let Some(region) = region {
        region.add_barrier();
    }
    // SAFETY: the runtime's own function.
    unsafe {
        transmute::<*mut c_void, unsafe extern "C" fn()>(here().function(Name::GompBarrier))()
    };
}

macro_rules! dynamic_start {
    ($function:ident, $name:ident, ($($up:ident)?), $bound:ty) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "as the interface has it")]
        unsafe extern "C" fn $function(
            $($up: bool,)?
            start: $bound,
            end: $bound,
            step: $bound,
            chunk: $bound,
            first: *mut $bound,
            last: *mut $bound,
        ) -> bool {
            type Start = unsafe extern "C" fn(
                $(dynamic_start!(@type $up),)?
                $bound,
                $bound,
                $bound,
                $bound,
                *mut $bound,
                *mut $bound,
            ) -> bool;
            let mut chunk = chunk;
            if chunk <= 1 {
                let signed_step = dynamic_start!(@step step $($up)?);
                let trip = trip(start.into(), end.into(), signed_step);
                if trip > 0 && let Some(new) = begin(trip) {
                    chunk = <$bound>::try_from(new).unwrap_or(chunk);
                }
            }
            // SAFETY: the runtime's own function, with the caller's arguments.
            let more = unsafe {
                let call: Start = transmute(here().function(Name::$name));
                call($($up,)? start, end, step, chunk, first, last)
            };
            if !more {
                team::end_loop();
            }
            more
        }
    };
    (@type $up:ident) => { bool };
    (@step $step:ident) => { i128::from($step) };
    // A step downwards is a great number here.
    (@step $step:ident $up:ident) => {
        if $up { i128::from($step) } else { i128::from($step.cast_signed()) }
    };
}

dynamic_start!(GOMP_loop_dynamic_start, GompDynamicStart, (), c_long);
dynamic_start!(GOMP_loop_nonmonotonic_dynamic_start, GompNonmonotonicDynamicStart, (), c_long);
dynamic_start!(GOMP_loop_ull_dynamic_start, GompUllDynamicStart, (up), u64);
dynamic_start!(
    GOMP_loop_ull_nonmonotonic_dynamic_start,
    GompUllNonmonotonicDynamicStart,
    (up),
    u64
);

macro_rules! dynamic_next {
    ($function:ident, $name:ident, $bound:ty) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(first: *mut $bound, last: *mut $bound) -> bool {
            type Next = unsafe extern "C" fn(*mut $bound, *mut $bound) -> bool;
            // SAFETY: the runtime's own function, with the caller's arguments.
            let more = unsafe {
                let call: Next = transmute(here().function(Name::$name));
                call(first, last)
            };
            if !more {
                team::end_loop();
            }
            more
        }
    };
}

dynamic_next!(GOMP_loop_dynamic_next, GompDynamicNext, c_long);
dynamic_next!(GOMP_loop_nonmonotonic_dynamic_next, GompNonmonotonicDynamicNext, c_long);
dynamic_next!(GOMP_loop_ull_dynamic_next, GompUllDynamicNext, u64);
dynamic_next!(GOMP_loop_ull_nonmonotonic_dynamic_next, GompUllNonmonotonicDynamicNext, u64);
