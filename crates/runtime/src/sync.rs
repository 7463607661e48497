//! Atomics and threads of the protocol: the standard library's, or loom's where the protocol is
//! being checked (`--cfg loom`).

use std::time::Instant;

#[cfg(not(loom))]
pub use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    sync::{Mutex, MutexGuard},
    thread::{Thread, current, park, yield_now},
};

#[cfg(loom)]
pub use loom::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    sync::{Mutex, MutexGuard},
    thread::{Thread, current, park, yield_now},
};

/// Parks this thread, until then at the latest. True: the time is over.
#[cfg(not(loom))]
pub fn park_until(until: Option<Instant>) -> bool {
    let Some(until) = until else {
        park();
        return false;
    };
    let left = until.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        std::thread::park_timeout(left);
    }
    left.is_zero()
}

/// Loom has no time: one that is given has come after others have had a turn.
#[cfg(loom)]
pub fn park_until(until: Option<Instant>) -> bool {
    match until {
        Some(_) => loom::thread::yield_now(),
        None => park(),
    }
    until.is_some()
}
