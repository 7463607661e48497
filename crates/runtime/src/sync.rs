//! Atomics and threads of the protocol: the standard library's, or loom's where the protocol is being checked (`--cfg loom`).

#[cfg(not(loom))]
pub use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    thread::{Thread, current, park},
};

#[cfg(loom)]
pub use loom::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    thread::{Thread, current, park},
};
