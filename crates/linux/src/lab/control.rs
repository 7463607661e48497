//! Between a calibration, or a measurement, and its waiter.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Ends a calibration before its time, and knows how far it is. The two fields are independent of
/// each other: no order is needed between them.
#[derive(Debug, Default)]
pub struct Control {
    is_ending: AtomicBool,
    windows: AtomicUsize,
}

impl Control {
    /// Has it end at once: within a slice of some tens of milliseconds where every CPU is taken.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// How many windows have been measured so far.
    pub fn windows(&self) -> usize {
        self.windows.load(Ordering::Relaxed)
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    pub(super) fn count_window(&self) {
        self.windows.fetch_add(1, Ordering::Relaxed);
    }
}
