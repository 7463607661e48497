//! Pools and forks. A child process has the thread that forked and no workers, so work on a pool of
//! its parent would wait for ever.
//!
//! Each pool knows after how many forks it was made, and compares that with the number of forks
//! when a scope or a loop begins. A fork by the system call alone (`clone`, `vfork`) is not seen.
#![expect(unsafe_code, reason = "libc is told what to call after a fork")]

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Forks that lie between this process and the first one that made a pool.
#[inline]
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// The same, for a pool that is being made.
pub fn begin_to_count() -> u32 {
    static ONCE: Once = Once::new();
    extern "C" fn forked() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the function only changes an atomic number, which a child may do before it executes
    // a program. Where there is no room for it, forks are not seen.
    ONCE.call_once(|| _ = unsafe { libc::pthread_atfork(None, None, Some(forked)) });
    forks()
}

/// Panics: the pool belongs to another process.
#[cold]
pub fn refuse() -> ! {
    panic!(
        "this pool was made before a fork, and its workers are threads of the parent process: \
         make a pool of its own in the child"
    )
}
