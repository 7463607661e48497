//! Isolated work is done while its caller holds something, and the wait for it runs nothing else.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, RwLock};
use std::thread::sleep;
use std::time::Duration;

use evenkeel_runtime::Pool;

const SHORT: Duration = Duration::from_micros(50);

fn count(ran: &AtomicUsize) {
    ran.fetch_add(1, Ordering::Relaxed);
}

fn meet(barrier: &Barrier) {
    barrier.wait();
}

fn pools() -> impl Iterator<Item = Pool> {
    let pool = |(workers, policy): (usize, &str)| {
        Pool::builder().workers(workers).policy(policy).build().unwrap()
    };
    [(1, "steal-kind"), (2, "steal"), (2, "fifo"), (3, "cats"), (4, "steal-kind")]
        .into_iter()
        .map(pool)
}

#[test]
fn a_task_may_hold_a_lock_that_others_want_while_it_waits_for_an_isolated_scope() {
    for pool in pools() {
        let sum = Mutex::new(0);
        pool.scope(|outer| {
            let (sum, pool) = (&sum, &pool);
            for _ in 0..50 {
                outer.spawn(move || {
                    let mut held = sum.lock().unwrap();
                    pool.isolate(|| {
                        pool.scope(|inner| {
                            for _ in 0..8 {
                                inner.spawn(|| sleep(SHORT));
                            }
                        });
                    });
                    *held += 1;
                });
            }
        });
        assert_eq!(sum.into_inner().unwrap(), 50);
    }
}

#[test]
fn and_so_with_a_lock_for_reading_that_is_held_over_a_loop() {
    for pool in pools() {
        let shared = RwLock::new(0_u32);
        pool.scope(|outer| {
            let (shared, pool) = (&shared, &pool);
            for task in 0..40 {
                outer.spawn(move || {
                    if task % 4 == 0 {
                        *shared.write().unwrap() += 1;
                        return;
                    }
                    let _held = shared.read().unwrap();
                    pool.isolate(|| pool.for_each(0..64, |_| sleep(SHORT / 50)));
                });
            }
        });
        assert_eq!(shared.into_inner().unwrap(), 10);
    }
}

#[test]
fn a_worker_that_waits_in_an_isolated_call_does_nothing_that_was_begun_outside() {
    thread_local! {
        static IN_HAND: Cell<bool> = const { Cell::new(false) };
    }
    for pool in pools() {
        let done = AtomicUsize::new(0);
        pool.scope(|outer| {
            for task in 0..200 {
                let (pool, done) = (&pool, &done);
                outer.spawn(move || {
                    assert!(!IN_HAND.get(), "task {task} was begun on top of one that waits");
                    done.fetch_add(1, Ordering::Relaxed);
                    if task % 3 > 0 {
                        return;
                    }
                    IN_HAND.set(true);
                    pool.isolate(|| {
                        let (a, b) = pool.join(
                            || pool.map_reduce(0..10, || 0, |a, b| a + b, |a, b| a + b),
                            || sleep(SHORT),
                        );
                        assert_eq!((a, b), (45, ()));
                    });
                    IN_HAND.set(false);
                });
            }
        });
        assert_eq!(done.into_inner(), 200);
    }
}

#[test]
fn workers_that_have_nothing_else_to_do_help_within() {
    let pool = Pool::builder().workers(3).build().unwrap();
    for _ in 0..100 {
        let (three, two) = (Barrier::new(3), Barrier::new(2));
        pool.isolate(|| {
            pool.scope(|s| (0..3).for_each(|_| s.spawn(|| meet(&three))));
            // And in one within that one.
            pool.isolate(|| pool.scope(|s| (0..2).for_each(|_| s.spawn(|| meet(&two)))));
        });
    }
}

#[test]
fn a_worker_that_sleeps_outside_is_woken_for_what_is_begun_within() {
    let pool = Pool::builder().workers(2).build().unwrap();
    for _ in 0..50 {
        let both = Barrier::new(2);
        pool.isolate(|| {
            sleep(Duration::from_millis(2));
            pool.join(|| meet(&both), || meet(&both));
        });
    }
}

#[test]
fn tasks_with_dependences_graphs_and_many_small_tasks_are_done_within() {
    for pool in pools() {
        let ran = AtomicUsize::new(0);
        let data = evenkeel_runtime::Handle::new();
        let mut graph = pool.record(|g| {
            (0..20).for_each(|_| {
                g.task().writes(&data).run(|| count(&ran));
            });
        });
        pool.scope(|outer| {
            let (pool, ran) = (&pool, &ran);
            for _ in 0..4 {
                outer.spawn(move || {
                    pool.isolate(|| {
                        pool.scope(|s| (0..5_000).for_each(|_| s.spawn(|| count(ran))))
                    });
                });
            }
        });
        pool.isolate(|| graph.run());
        assert_eq!(ran.load(Ordering::Relaxed), 20_020);
    }
}

#[test]
fn what_is_spawned_from_within_into_a_scope_outside_is_done_by_its_end() {
    for pool in pools() {
        let ran = AtomicUsize::new(0);
        pool.scope(|outer| {
            let spawner = outer.spawner();
            let (pool, ran) = (&pool, &ran);
            (0..20).for_each(|_| {
                outer.spawn(move || pool.isolate(|| spawner.spawn(|| count(ran))));
            });
        });
        assert_eq!(ran.into_inner(), 20);
    }
}

#[test]
fn a_panic_within_comes_out_and_leaves_nothing_behind() {
    let pool = Pool::builder().workers(2).build().unwrap();
    for _ in 0..20 {
        let call = || pool.isolate(|| pool.scope(|s| s.spawn(|| panic!("within"))));
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"within"));
        assert_eq!(pool.isolate(|| pool.join(|| 1, || 2)), (1, 2));
    }
}

#[test]
fn what_is_done_within_is_in_the_summary() {
    let pool = Pool::builder().workers(2).build().unwrap();
    pool.isolate(|| pool.scope(|s| (0..1_000).for_each(|_| s.spawn(|| ()))));
    let tasks: u64 = pool.summary().workers.iter().map(|worker| worker.tasks).sum();
    assert_eq!(tasks, 1_000);
}
