//! What a task takes while it is pending, beyond its closure: at most 128 bytes.
#![expect(unsafe_code, reason = "an allocator that counts")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_runtime::{Handle, Pool, Scope};

/// Bytes that have been asked for and not been given back.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: the system's, counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// More than a power of two: a deque that has just doubled is as empty as it gets. So many that
/// `STOCK` comes to less than 2 bytes each.
const TASKS: usize = 1_120_000;
const CHAINS: usize = 1_000;
const MOST: usize = 128;
/// Bytes that a pool takes from the system at a time: so much may be there for further tasks.
const STOCK: usize = 2 << 20;

/// Bytes by task that `create` makes of a scope with its only worker busy, so that all of them are
/// pending; beyond `closure` bytes each.
fn beyond(closure: usize, create: impl FnOnce(&Scope<'_, '_>) + Send) -> usize {
    let pool = Pool::builder().workers(1).build().unwrap();
    pool.scope(|s| {
        let before = IN_USE.load(Ordering::Relaxed);
        create(s);
        let taken = IN_USE.load(Ordering::Relaxed) - before;
        s.cancel();
        ((taken - STOCK) / TASKS).saturating_sub(closure)
    })
}

fn independent<const BYTES: usize>() {
    let bytes = beyond(BYTES, |s| {
        for _ in 0..TASKS {
            let captured = black_box([1_u8; BYTES]);
            s.spawn(move || _ = black_box(captured));
        }
    });
    assert!(bytes <= MOST, "{bytes} bytes for a task whose closure has {BYTES}");
}

fn in_chains<const BYTES: usize>() {
    let handles: Vec<_> = (0..CHAINS).map(|_| Handle::new()).collect();
    let bytes = beyond(BYTES, |s| {
        for at in 0..TASKS {
            let captured = black_box([1_u8; BYTES]);
            s.task().updates(&handles[at % CHAINS]).run(move || _ = black_box(captured));
        }
    });
    assert!(bytes <= MOST, "{bytes} bytes for a task in a chain whose closure has {BYTES}");
}

/// One test: two at a time would count each other's.
#[test]
fn a_pending_task_takes_at_most_128_bytes_beyond_its_closure() {
    independent::<0>();
    independent::<8>();
    independent::<48>();
    independent::<49>();
    independent::<113>();
    independent::<177>();
    independent::<241>();
    independent::<400>();
    in_chains::<0>();
    in_chains::<8>();
    in_chains::<64>();
    in_chains::<65>();
    in_chains::<129>();
    in_chains::<193>();
    in_chains::<257>();
    in_chains::<400>();
}
