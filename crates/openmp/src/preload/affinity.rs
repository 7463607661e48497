//! Masks as the program sees them: those that it would have without us.
#![expect(unsafe_code, reason = "an interface of C")]

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use crate::place;
use crate::sys::{self, Mask};

type Affinity = unsafe extern "C" fn(isize, usize, *mut c_void) -> c_int;

fn next(name: &std::ffi::CStr) -> Affinity {
    // SAFETY: the four functions have this form; a process id and a handle of a thread both fit.
    unsafe { transmute::<*mut c_void, Affinity>(sys::next(name)) }
}

/// Over what the kernel said, the mask from before.
///
/// # Safety
///
/// `mask` has `size` bytes.
unsafe fn replace(mask: *mut c_void, size: usize, before: &Mask) {
    let length = size.min(size_of::<Mask>());
    // SAFETY: as promised.
    unsafe { std::ptr::copy_nonoverlapping(before.as_ptr().cast::<u8>(), mask.cast(), length) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(process: c_int, size: usize, mask: *mut c_void) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        let result = next(c"sched_getaffinity")(process as isize, size, mask);
        if result == 0
            && let Some(before) = place::before(process)
        {
            replace(mask, size, &before);
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getaffinity_np(
    thread: usize,
    size: usize,
    mask: *mut c_void,
) -> c_int {
    unsafe extern "C" {
        fn pthread_self() -> usize;
    }
    // SAFETY: the caller's arguments.
    unsafe {
        let result = next(c"pthread_getaffinity_np")(thread as isize, size, mask);
        if result == 0
            && thread == pthread_self()
            && let Some(before) = place::before(0)
        {
            replace(mask, size, &before);
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_setaffinity(process: c_int, size: usize, mask: *mut c_void) -> c_int {
    place::give_up();
    // SAFETY: the caller's arguments.
    unsafe { next(c"sched_setaffinity")(process as isize, size, mask) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setaffinity_np(
    thread: usize,
    size: usize,
    mask: *mut c_void,
) -> c_int {
    place::give_up();
    // SAFETY: the caller's arguments.
    unsafe { next(c"pthread_setaffinity_np")(thread as isize, size, mask) }
}
