//! What a summary says is what the pool did.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;
use std::time::Duration;

use evenkeel_runtime::{Handle, Pool, Work};

#[test]
fn tasks_and_chunks_of_all_workers_are_counted() {
    let (pool, a) = (Pool::builder().workers(2).summary(true).build().unwrap(), Handle::new());
    pool.scope(|s| {
        (0..100).for_each(|_| s.spawn(|| ()));
        (0..50).for_each(|_| s.task().updates(&a).label("step").run(|| ()));
    });
    let mut graph =
        pool.record(|g| (0..10).for_each(|_| g.task().updates(&a).label("recorded").run(|| ())));
    (0..3).for_each(|_| graph.run());
    drop(graph);
    pool.over(0..1_000)
        .schedule("dynamic,100".parse().unwrap())
        .label("loop")
        .for_each(|i: u32| _ = i);
    pool.pipeline(0..10).serial(|_| ()).label("stage").run();

    let summary = pool.summary();
    assert_eq!((summary.workers.len(), summary.kinds.len()), (2, pool.kinds().len()));
    let sum = |of: fn(&Work) -> u64| summary.workers.iter().map(of).sum::<u64>();
    assert_eq!(sum(|it| it.chunks), 10);
    assert!(sum(|it| it.tasks) >= 180, "a pipeline's items are tasks, too: {summary}");
    let kinds: u64 = summary.kinds.iter().map(|(_, work)| work.tasks).sum();
    assert_eq!(kinds, sum(|it| it.tasks));
    for worker in &summary.workers {
        assert!(worker.steals_got <= worker.steals_tried);
        assert!(worker.busy + worker.looking + worker.asleep <= summary.age, "{summary}");
    }
    // Asked for, costs are learnt even on cores of one kind.
    let mut learnt: Vec<_> = summary.costs.iter().map(|cost| cost.label).collect();
    learnt.dedup();
    assert_eq!(learnt, ["step", "recorded", "loop", "stage"]);
    if pool.kinds().len() == 1 {
        let factors: Vec<_> = pool.speedups().iter().map(|it| (it.label, it.factor)).collect();
        assert_eq!(factors, ["step", "recorded", "loop", "stage"].map(|name| (name, 1.0)));
    }
}

#[test]
fn names_that_begin_in_the_same_place_are_told_apart() {
    const LONG: &str = "a name, and sixteen more";
    let pool = Pool::builder().workers(1).summary(true).build().unwrap();
    let names = [&LONG[..LONG.len() - 16], LONG];
    pool.scope(|s| names.into_iter().for_each(|name| s.task().label(name).run(|| ())));
    assert!(pool.costs().iter().map(|cost| cost.label).eq(names));
}

#[test]
fn a_worker_that_has_nothing_to_do_is_asleep() {
    let pool = Pool::builder().workers(2).build().unwrap();
    // How soon they are depends on the load of this machine.
    let slept = (0..100).any(|_| {
        let before = pool.summary();
        std::thread::sleep(Duration::from_millis(50));
        let after = pool.summary();
        let slept =
            |(before, after): (&Work, &Work)| after.asleep.0 >= before.asleep.0 + 40_000_000;
        before.workers.iter().zip(&after.workers).all(slept)
    });
    assert!(slept, "{}", pool.summary());
}

/// Runs this test program again with `EVENKEEL_SUMMARY`, and in it the test below alone: stderr.
fn said(value: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_pool_that_says_what_it_did", "--nocapture"]);
    let output =
        command.env("EVENKEEL_SUMMARY", value).env("EVENKEEL_AGAIN", "1").output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

/// Only of interest when `said` runs it.
#[test]
fn a_pool_that_says_what_it_did() {
    if std::env::var_os("EVENKEEL_AGAIN").is_some() {
        match Pool::builder().workers(2).build() {
            Ok(pool) => pool.scope(|s| (0..5).for_each(|_| s.spawn(|| ()))),
            Err(error) => eprintln!("{error}"),
        }
    }
}

#[test]
fn a_variable_asks_for_a_summary_on_stderr_when_the_pool_is_dropped() {
    assert!(
        said("1").contains("evenkeel: 2 workers, ") && said("1").contains("worker 1"),
        "{}",
        said("1")
    );
    assert!(!said("0").contains("worker"), "{}", said("0"));
    assert!(
        said("yes").contains("EVENKEEL_SUMMARY: 'yes' found, expected 0 or 1"),
        "{}",
        said("yes")
    );
}
