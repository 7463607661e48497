//! A pool without work: its workers do not run at all.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use evenkeel::Pool;

/// Nanoseconds that the workers of this process have been on a core, by thread.
fn on_core() -> Vec<(String, u64)> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|it| it.unwrap().path());
    let read = |path: &std::path::Path, file| std::fs::read_to_string(path.join(file)).unwrap_or_default();
    let workers = threads.filter(|it| read(it, "comm").starts_with("evenkeel-"));
    let time =
        |it: &std::path::Path| read(it, "schedstat").split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
    workers.map(|it| (it.display().to_string(), time(&it))).collect()
}

#[test]
fn workers_without_work_sleep_and_go_on_sleeping() {
    let pool = Pool::builder().workers(8).build().unwrap();
    for _ in 0..3 {
        pool.for_each(0..100_000_u32, |i| _ = std::hint::black_box(i));
        // All are asleep some time after the last of it: how soon depends on who else is on this machine.
        let slept = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            let before = on_core();
            std::thread::sleep(Duration::from_millis(100));
            before.len() == 8 && before == on_core()
        });
        assert!(slept, "{:?}", on_core());
    }
}
