//! The interface of LLVM's and Intel's runtime: clang, flang, icx, ifx.
//!
//! A static loop asks for its bounds by `__kmpc_for_static_init_*` and says that it is through by
//! `__kmpc_for_static_fini`. The runtime is always asked, so that its tools and checks see what
//! they would. Where a loop is divided by speed, the bounds are then replaced.
#![expect(unsafe_code, reason = "an interface of C")]

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null;

use crate::runtime::{self, Name, Runtime};
use crate::team::{self, CURRENT, Outlined, Package};
use crate::trampoline::{Arguments, call_outlined};

/// A static schedule without a chunk, and bits beside it.
const STATIC: i32 = 34;
const MONOTONIC: i32 = 1 << 29;
const NONMONOTONIC: i32 = 1 << 30;
const MODIFIERS: i32 = MONOTONIC | NONMONOTONIC;

type Body = unsafe extern "C" fn(*mut c_int, *mut c_int, *const Forked);
type ForkCall = unsafe extern "C" fn(*mut c_void, c_int, Body, ...);
type ForkCallIf = unsafe extern "C" fn(*mut c_void, c_int, *const c_void, c_int, *mut c_void);
type OfThread = unsafe extern "C" fn(*mut c_void, i32);

/// A place in the source: `ident_t`.
#[repr(C)]
struct Location {
    flags: [i32; 4],
    source: *const c_char,
}

/// What a team is handed.
#[repr(C)]
struct Forked {
    package: *const Package,
    arguments: Arguments,
}

/// `__kmpc_fork_call`, with where its arguments are.
pub unsafe extern "C" fn fork_call(
    location: *mut c_void,
    count: c_int,
    function: *const c_void,
    registers: *const *mut c_void,
    stack: *const *mut c_void,
) {
    let arguments = Arguments { count: count as usize, registers, stack };
    // SAFETY: the caller is compiled code, which keeps to the interface.
    unsafe { fork(location, function, arguments) }
}

/// # Safety
///
/// As `__kmpc_fork_call`.
unsafe fn fork(location: *mut c_void, function: *const c_void, arguments: Arguments) {
    // SAFETY: the text is the last field of what compilers describe a place by, if they do.
    let source = unsafe { location.cast::<Location>().as_ref() }.map_or(null(), |of| of.source);
    let of = Outlined { function, source, asks: true };
    team::fork(&of, |package| {
        let forked = Forked { package, arguments };
        // SAFETY: the runtime's own function; `forked` lives until the team has joined.
        unsafe {
            let call: ForkCall = transmute(package.runtime.function(Name::ForkCall));
            call(location, 1, outlined, &raw const forked);
        }
    });
}

unsafe extern "C" fn outlined(gtid: *mut c_int, tid: *mut c_int, forked: *const Forked) {
    // SAFETY: see `fork`; the runtime hands over valid numbers.
    unsafe {
        let forked = &*forked;
        let package = &*forked.package;
        team::run(package, *tid as u32, || {
            call_outlined(package.function, gtid, tid, &forked.arguments);
        });
    }
}

/// `parallel if(...)` of clang 16 and later: one argument, which is a structure or nothing.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_fork_call_if(
    location: *mut c_void,
    count: c_int,
    function: *const c_void,
    condition: c_int,
    argument: *mut c_void,
) {
    // SAFETY: compiled code keeps to the interface, and so do we.
    unsafe {
        if condition == 0 {
            let call: ForkCallIf = transmute(runtime::of(function).function(Name::ForkCallIf));
            return team::outside(|| call(location, count, function, condition, argument));
        }
        // Only the first is read, but three may be loaded.
        let registers = [argument; 5];
        let count = usize::from(!argument.is_null());
        let stack = registers.as_ptr();
        fork(location, function, Arguments { count, registers: registers.as_ptr(), stack });
    }
}

/// The runtime of this thread's team; outside of teams that of the object with this place in it.
#[inline]
fn here(location: *const c_void) -> &'static Runtime {
    CURRENT.get().runtime.unwrap_or_else(|| runtime::of(location))
}

/// A region that one thread runs by itself, inside of another.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_serialized_parallel(location: *mut c_void, gtid: i32) {
    team::begin_serialised();
    // SAFETY: as above.
    unsafe {
        let function = here(location).function(Name::SerializedParallel);
        transmute::<*mut c_void, OfThread>(function)(location, gtid);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_end_serialized_parallel(location: *mut c_void, gtid: i32) {
    // SAFETY: as above.
    unsafe {
        let function = here(location).function(Name::EndSerializedParallel);
        transmute::<*mut c_void, OfThread>(function)(location, gtid);
    }
    team::end_serialised();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_for_static_fini(location: *mut c_void, gtid: i32) {
    team::end_loop();
    // SAFETY: as above.
    unsafe {
        let function = here(location).function(Name::ForStaticFini);
        transmute::<*mut c_void, OfThread>(function)(location, gtid);
    }
}

/// Whether a place is that of sections, whose division into threads is left as it is.
fn is_of_sections(location: *const c_void) -> bool {
    const SECTIONS: i32 = 0x400;
    // SAFETY: what compilers describe a place by, if they do.
    unsafe { location.cast::<Location>().as_ref() }.is_some_and(|of| of.flags[1] & SECTIONS != 0)
}

macro_rules! for_static_init {
    ($export:literal, $function:ident, $name:ident, $bound:ty, $unsigned:ty, $step:ty) => {
        #[unsafe(export_name = $export)]
        #[allow(clippy::too_many_arguments, reason = "as the interface has it")]
        unsafe extern "C" fn $function(
            location: *mut c_void,
            gtid: i32,
            schedule: i32,
            last: *mut i32,
            lower: *mut $bound,
            upper: *mut $bound,
            stride: *mut $step,
            increment: $step,
            chunk: $step,
        ) {
            type Init = unsafe extern "C" fn(
                *mut c_void,
                i32,
                i32,
                *mut i32,
                *mut $bound,
                *mut $bound,
                *mut $step,
                $step,
                $step,
            );
            // SAFETY: compiled code keeps to the interface; regions live for good.
            unsafe {
                let whole = (*lower, *upper);
                let init: Init = transmute(here(location).function(Name::$name));
                init(location, gtid, schedule, last, lower, upper, stride, increment, chunk);
                let mut at = CURRENT.get();
                let Some(region) = at.region.as_ref() else { return };
                if schedule & !MODIFIERS != STATIC || is_of_sections(location) {
                    return;
                }
                // Zero where there is nothing to do, and where the count does not fit the type.
                let trip = |from: $bound, to: $bound| -> u64 {
                    let (distance, step) = if increment > 0 {
                        if from > to {
                            return 0;
                        }
                        (to.wrapping_sub(from) as $unsigned, increment as $unsigned)
                    } else {
                        if from < to {
                            return 0;
                        }
                        (from.wrapping_sub(to) as $unsigned, increment.wrapping_neg() as $unsigned)
                    };
                    (distance / step).wrapping_add(1) as u64
                };
                let all = trip(whole.0, whole.1);
                if all < 2 {
                    return;
                }
                if let Some((first, count)) = region.begin(&mut at, all, trip(*lower, *upper)) {
                    let nth = |n: u64| {
                        whole.0.wrapping_add((n as $bound).wrapping_mul(increment as $bound))
                    };
                    *lower = nth(first);
                    *upper = nth(first + count - 1);
                    if !last.is_null() {
                        *last = i32::from(first + count == all);
                    }
                }
                CURRENT.set(at);
            }
        }
    };
}

for_static_init!("__kmpc_for_static_init_4", init_4, ForStaticInit4, i32, u32, i32);
for_static_init!("__kmpc_for_static_init_4u", init_4u, ForStaticInit4u, u32, u32, i32);
for_static_init!("__kmpc_for_static_init_8", init_8, ForStaticInit8, i64, u64, i64);
for_static_init!("__kmpc_for_static_init_8u", init_8u, ForStaticInit8u, u64, u64, i64);

/// A dynamic schedule, which has the chunk 1 where the program says none. An ordered one has
/// another number.
const DYNAMIC: i32 = 35;

macro_rules! dispatch {
    ($init:literal, $next:literal, $init_function:ident, $next_function:ident,
     $init_name:ident, $next_name:ident, $bound:ty, $unsigned:ty, $step:ty) => {
        #[unsafe(export_name = $init)]
        unsafe extern "C" fn $init_function(
            location: *mut c_void,
            gtid: i32,
            schedule: i32,
            lower: $bound,
            upper: $bound,
            step: $step,
            chunk: $step,
        ) {
            type Init = unsafe extern "C" fn(*mut c_void, i32, i32, $bound, $bound, $step, $step);
            let (mut schedule, mut chunk) = (schedule, chunk);
            let mut at = CURRENT.get();
            // SAFETY: regions live for good.
            if let Some(region) = unsafe { at.region.as_ref() }
                && schedule & !MODIFIERS == DYNAMIC
                && chunk <= 1
                && step != 0
            {
                let (first, last) = if step > 0 { (lower, upper) } else { (upper, lower) };
                let size = step.unsigned_abs() as $unsigned;
                // Far from the ends of the type, where LLVM's runtime loses or repeats chunks.
                let is_inside = first > <$bound>::MIN / 2 && last < <$bound>::MAX / 2
                    || <$bound>::MIN == 0 && last < <$bound>::MAX / 2;
                if first <= last && is_inside && size < <$unsigned>::MAX / 1024 {
                    let trip = (last.wrapping_sub(first) as $unsigned / size) as u64 + 1;
                    let new = region.begin_dynamic(&mut at, trip);
                    if let Some(new) = new.and_then(|new| <$step>::try_from(new).ok()) {
                        chunk = new;
                        // From one counter: where threads steal chunks that do not come out even,
                        // LLVM's runtime stops at an assertion of its own.
                        schedule = DYNAMIC | MONOTONIC;
                    }
                    CURRENT.set(at);
                }
            }
            // SAFETY: compiled code keeps to the interface.
            unsafe {
                let init: Init = transmute(here(location).function(Name::$init_name));
                init(location, gtid, schedule, lower, upper, step, chunk);
            }
        }

        #[unsafe(export_name = $next)]
        unsafe extern "C" fn $next_function(
            location: *mut c_void,
            gtid: i32,
            last: *mut i32,
            lower: *mut $bound,
            upper: *mut $bound,
            stride: *mut $step,
        ) -> i32 {
            type Next = unsafe extern "C" fn(
                *mut c_void,
                i32,
                *mut i32,
                *mut $bound,
                *mut $bound,
                *mut $step,
            ) -> i32;
            // SAFETY: compiled code keeps to the interface.
            let more = unsafe {
                let next: Next = transmute(here(location).function(Name::$next_name));
                next(location, gtid, last, lower, upper, stride)
            };
            if more == 0 {
                team::end_loop();
            }
            more
        }
    };
}

dispatch!(
    "__kmpc_dispatch_init_4",
    "__kmpc_dispatch_next_4",
    dispatch_init_4,
    dispatch_next_4,
    DispatchInit4,
    DispatchNext4,
    i32,
    u32,
    i32
);
dispatch!(
    "__kmpc_dispatch_init_4u",
    "__kmpc_dispatch_next_4u",
    dispatch_init_4u,
    dispatch_next_4u,
    DispatchInit4u,
    DispatchNext4u,
    u32,
    u32,
    i32
);
dispatch!(
    "__kmpc_dispatch_init_8",
    "__kmpc_dispatch_next_8",
    dispatch_init_8,
    dispatch_next_8,
    DispatchInit8,
    DispatchNext8,
    i64,
    u64,
    i64
);
dispatch!(
    "__kmpc_dispatch_init_8u",
    "__kmpc_dispatch_next_8u",
    dispatch_init_8u,
    dispatch_next_8u,
    DispatchInit8u,
    DispatchNext8u,
    u64,
    u64,
    i64
);
