//! Atomics and threads of the protocol: the standard library's, or loom's where the protocol is being checked (`--cfg loom`).

#[cfg(not(loom))]
pub use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::{Thread, current, park},
};

#[cfg(loom)]
pub use loom::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::{Thread, current, park},
};
