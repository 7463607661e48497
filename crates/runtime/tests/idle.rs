//! A pool without work: its workers do not run at all.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use evenkeel_runtime::Pool;

/// Nanoseconds that the workers of this process have been on a core, by thread.
fn on_core() -> Vec<(String, u64)> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|it| it.unwrap().path());
    let read =
        |path: &std::path::Path, file| std::fs::read_to_string(path.join(file)).unwrap_or_default();
    let workers = threads.filter(|it| read(it, "comm").starts_with("evenkeel-"));
    let time = |it: &std::path::Path| {
        read(it, "schedstat").split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0)
    };
    workers.map(|it| (it.display().to_string(), time(&it))).collect()
}

/// All are asleep some time after the last of their work: how soon depends on the load of this
/// machine.
fn falls_asleep(workers: usize) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let before = on_core();
        std::thread::sleep(Duration::from_millis(100));
        before.len() == workers && before == on_core()
    })
}

// One test: threads of another would be among those that are counted.
#[test]
fn workers_without_work_sleep_and_go_on_sleeping() {
    let pool = Pool::builder().workers(8).build().unwrap();
    for _ in 0..3 {
        pool.for_each(0..100_000_u32, |i| _ = std::hint::black_box(i));
        assert!(falls_asleep(8), "{:?}", on_core());
    }
    drop(pool);
    // One sleeps beside another that works for so long that it looks after that one now and then.
    let pool = Pool::builder().workers(2).lend(true).build().unwrap();
    let since = Instant::now();
    pool.run(|| while since.elapsed() < Duration::from_millis(50) {});
    assert!(falls_asleep(2), "{:?}", on_core());
}
