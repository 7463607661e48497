//! A machine of two kinds of core, for tests on whatever machine there is.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses what it needs of it")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_runtime::Pool;

/// The slow kind has a fifth of the fast one's speed.
pub const MACHINE: &str = r#"
name = "two-kinds"
description = "one fast and one slow core"
source = "a test"

[[kinds]]
name = "fast"
source = "a test"
dmips_mhz = 5
max_mhz = 1000

[[kinds]]
name = "slow"
source = "a test"
dmips_mhz = 1
max_mhz = 1000

[[clusters]]
kind = "fast"
cores = 1

[[clusters]]
kind = "slow"
cores = 1
"#;

/// A worker on a fast core and one on a slow one. `pins`: whether they keep to two cores, so that
/// none takes the other's from it when it is woken.
pub fn by_kind(policy: &str, pins: bool) -> Pool {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir()
        .join(format!("evenkeel-two-kinds-{}-{number}.toml", std::process::id()));
    std::fs::write(&file, MACHINE).unwrap();
    let pool =
        Pool::builder().machine(file.to_str().unwrap()).policy(policy).pin(pins).lend(true).build();
    std::fs::remove_file(file).unwrap();
    let pool = pool.unwrap();
    assert_eq!(pool.places().iter().map(|place| place.kind.0).collect::<Vec<_>>(), [0, 1]);
    pool
}

/// The kind of the worker that this is called on: workers are called by their number, and here
/// worker 0 is fast and worker 1 slow.
pub fn here() -> usize {
    let thread = std::thread::current();
    thread.name().unwrap().strip_prefix("evenkeel-").unwrap().parse().unwrap()
}

/// Sleeps for so many microseconds on each kind.
pub fn sleep_by_kind(micros: &[u64; 2]) {
    std::thread::sleep(Duration::from_micros(micros[here()]));
}
