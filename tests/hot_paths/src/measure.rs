//! Runs a path, and counts what it allocates.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;

/// Bytes that are allocated now, and the most since [`greatest`] began.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn add(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    if now > MOST.load(Ordering::Relaxed) {
        MOST.store(now, Ordering::Relaxed);
    }
}

// SAFETY: the system's allocator does the work, with the arguments given.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        add(size);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Runs a path once, for what is made on first use, and once more where callgrind counts. Gives the
/// most bytes that the second run had allocated at a time, beyond those at its beginning.
///
/// # Errors
/// Those of the path.
pub fn greatest<R>(path: impl Fn() -> Result<R>) -> Result<usize> {
    black_box(path()?);
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    measured(&mut || {
        black_box(path().ok());
    });
    Ok(MOST.load(Ordering::Relaxed).saturating_sub(before))
}

/// The function that callgrind counts: `--toggle-collect` finds it by its name.
#[inline(never)]
fn measured(path: &mut dyn FnMut()) {
    path();
}
