//! A pool of one worker runs whatever a pool of two runs, though that worker is blocked.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread::sleep;
use std::time::{Duration, Instant};

use evenkeel_runtime::Pool;

/// More than the reserve waits before it looks for the first time, several times over.
const LONG: Duration = Duration::from_millis(200);

fn pools() -> impl Iterator<Item = Pool> {
    let pool = |policy: &&str| Pool::builder().workers(1).policy(policy).build().unwrap();
    ["steal-kind", "steal", "fifo", "cats"].iter().map(pool)
}

fn feed(pool: &Pool, tasks: u32) -> u32 {
    let (sender, receiver) = mpsc::sync_channel::<u32>(2);
    let (receiver, sum) = (Mutex::new(receiver), Mutex::new(0));
    pool.scope(|s| {
        for _ in 0..tasks {
            s.spawn(|| *sum.lock().unwrap() += receiver.lock().unwrap().recv().unwrap());
        }
        (0..tasks).for_each(|it| sender.send(it).unwrap());
    });
    sum.into_inner().unwrap()
}

#[test]
fn a_scopes_closure_may_feed_its_tasks_through_a_channel() {
    for pool in pools() {
        assert_eq!((feed(&pool, 20), feed(&pool, 1_000)), (190, 499_500));
    }
}

#[test]
fn a_task_may_wait_for_another_by_whatever_means() {
    for pool in pools() {
        let both = Barrier::new(2);
        pool.scope(|s| (0..2).for_each(|_| s.spawn(|| _ = both.wait())));
        pool.isolate(|| pool.scope(|s| (0..2).for_each(|_| s.spawn(|| _ = both.wait()))));
        pool.scope(|s| s.spawn(|| _ = feed(&pool, 20)));
        pool.join(|| both.wait(), || both.wait());
    }
}

#[test]
fn a_call_from_outside_is_answered_while_the_worker_is_blocked() {
    for pool in pools() {
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|threads| {
            threads.spawn(|| pool.run(move || receiver.recv().unwrap()));
            sleep(LONG);
            pool.run(move || sender.send(()).unwrap());
        });
    }
}

#[test]
fn tasks_run_one_at_a_time_while_none_is_blocked() {
    for pool in pools() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool.scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    most.fetch_max(1 + running.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
                    let until = Instant::now() + LONG / 4;
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
    }
}

#[test]
fn what_the_reserve_does_counts_as_the_workers_and_a_pool_of_one_says_one() {
    let pool = Pool::builder().workers(1).build().unwrap();
    feed(&pool, 20);
    let summary = pool.summary();
    assert_eq!((pool.workers(), summary.workers.len(), pool.places().len()), (1, 1, 1));
    assert_eq!(summary.workers[0].tasks, 20);
}

#[test]
fn an_unused_pool_of_one_ends_at_once() {
    (0..20).for_each(|_| drop(Pool::builder().workers(1).build().unwrap()));
    let pool = Pool::builder().workers(1).build().unwrap();
    pool.run(|| ());
    sleep(LONG);
    drop(pool);
}
