//! Masks that the program sets: it then knows where its threads belong.
#![expect(unsafe_code, reason = "an interface of C")]

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::{place, sys};

type SetAffinity = unsafe extern "C" fn(isize, usize, *const c_void) -> c_int;

/// The C library's own functions. Looked up when this library is loaded: later a thread may hold
/// the loader's lock, and wait for the one that calls.
static OF_PROCESS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static OF_THREAD: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = look_up;

extern "C" fn look_up() {
    OF_PROCESS.store(sys::next(c"sched_setaffinity"), Ordering::Relaxed);
    OF_THREAD.store(sys::next(c"pthread_setaffinity_np"), Ordering::Relaxed);
}

fn function(known: &AtomicPtr<c_void>, name: &CStr) -> SetAffinity {
    let mut function = known.load(Ordering::Relaxed);
    if function.is_null() {
        // Called from a constructor that came before ours.
        function = sys::next(name);
    }
    // SAFETY: both functions have this form; a process id and a handle of a thread both fit.
    unsafe { transmute::<*mut c_void, SetAffinity>(function) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_setaffinity(process: c_int, size: usize, mask: *const c_void) -> c_int {
    place::give_up();
    // SAFETY: the caller's arguments.
    unsafe { function(&OF_PROCESS, c"sched_setaffinity")(process as isize, size, mask) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setaffinity_np(
    thread: usize,
    size: usize,
    mask: *const c_void,
) -> c_int {
    place::give_up();
    // SAFETY: the caller's arguments.
    unsafe { function(&OF_THREAD, c"pthread_setaffinity_np")(thread as isize, size, mask) }
}
