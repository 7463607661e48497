//! Pools that come and go leave nothing behind.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_runtime::{Handle, Pool};

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Memory of this process that is in use, pages.
fn pages() -> u64 {
    std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

fn come_and_go(pools: u32) {
    for _ in 0..pools {
        let (pool, a) = (Pool::builder().workers(2).build().unwrap(), Handle::new());
        pool.scope(|s| (0..10).for_each(|_| s.task().updates(&a).run(|| ())));
    }
}

#[test]
fn pools_made_and_dropped_leave_no_threads_and_no_memory() {
    let pools = std::env::var("EVENKEEL_POOLS").map_or(300, |text| text.parse().unwrap());
    let before = threads();
    come_and_go(100);
    let warm = pages();
    come_and_go(pools);
    assert_eq!(threads(), before);
    // A leak of one block of tasks per pool would be 64 pages each.
    assert!(pages() < warm + 1_000, "{} pages, {warm} before", pages());
}
