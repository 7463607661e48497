//! Tasks that fail: the first error arrives, what has not begun is dropped, nothing hangs, the pool
//! works on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_runtime::{Handle, Pool};

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

fn works(pool: &Pool) {
    assert_eq!(pool.map_reduce(0..100_u64, || 0, |sum, i| sum + i, |a, b| a + b), 4950);
}

#[test]
fn a_scope_without_errors_returns_what_its_closure_returns() {
    let done = AtomicUsize::new(0);
    let result: Result<_, String> = pool(2).try_scope(|s| {
        (0..100).for_each(|_| {
            s.try_spawn(|| {
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
        });
        s.spawn(|| _ = done.fetch_add(1, Ordering::Relaxed));
        Ok(7)
    });
    assert_eq!((result, done.into_inner()), (Ok(7), 101));
}

#[test]
fn the_error_of_a_task_arrives_and_those_that_wait_for_it_are_dropped() {
    let pool = pool(2);
    for _ in 0..100 {
        let (a, after) = (Handle::new(), AtomicUsize::new(0));
        let result = pool.try_scope(|s| {
            s.task().writes(&a).label("fails").try_run(|| Err("broken"));
            (0..10).for_each(|_| {
                s.task().updates(&a).run(|| _ = after.fetch_add(1, Ordering::Relaxed))
            });
            Ok(())
        });
        assert_eq!((result, after.load(Ordering::Relaxed)), (Err("broken"), 0));
        works(&pool);
    }
}

#[test]
fn an_error_of_a_spawner_or_of_a_nested_scope_arrives() {
    let pool = pool(3);
    let result = pool.try_scope(|s| {
        let t = s.spawner();
        s.spawn(move || t.try_spawn(|| Err(3)));
        Ok(())
    });
    assert_eq!(result, Err(3));
    let result = pool.try_scope(|s| {
        s.try_spawn(|| {
            pool.try_scope(|inner| {
                inner.try_spawn(|| Err("inner"));
                Ok(())
            })
        });
        Ok(())
    });
    assert_eq!(result, Err("inner"));
}

#[test]
fn the_error_of_the_closure_itself_cancels_the_scope() {
    let (pool, ran) = (pool(1), AtomicUsize::new(0));
    let result: Result<(), _> = pool.try_scope(|s| {
        (0..10).for_each(|_| s.spawn(|| _ = ran.fetch_add(1, Ordering::Relaxed)));
        Err("no more")
    });
    assert_eq!(
        (result, ran.load(Ordering::Relaxed)),
        (Err("no more"), 0),
        "one worker, which was busy creating them"
    );
}

#[test]
fn a_panic_counts_for_more_than_an_error() {
    let (pool, both) = (pool(2), Barrier::new(2));
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.try_scope(|s| {
            let (t, both) = (s.spawner(), &both);
            s.try_spawn(|| {
                both.wait();
                Err("an error")
            });
            s.spawn(move || {
                both.wait();
                panic_after(|| t.is_cancelled());
            });
            Ok(())
        })
    }));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&"on purpose"));
    works(&pool);
}

fn panic_after(error: impl Fn() -> bool) {
    while !error() {
        std::thread::yield_now();
    }
    panic!("on purpose");
}

#[test]
fn the_error_of_a_run_that_panicked_is_not_that_of_the_next() {
    let (pool, both, fails) = (pool(2), Barrier::new(2), AtomicBool::new(true));
    let done = || pool.summary().workers.iter().map(|it| it.tasks).sum::<u64>();
    let mut graph = pool.try_record(|g| {
        g.task().try_run(|| {
            if fails.load(Ordering::Relaxed) {
                both.wait();
                return Err("an error");
            }
            Ok(())
        });
        g.task().run(|| {
            if fails.load(Ordering::Relaxed) {
                both.wait();
                panic_after(|| done() == 1);
            }
        });
    });
    assert!(catch_unwind(AssertUnwindSafe(|| graph.try_run())).is_err());
    fails.store(false, Ordering::Relaxed);
    assert_eq!(graph.try_run(), Ok(()));
}

#[test]
fn a_recorded_graph_gives_the_error_of_a_run_and_can_be_run_again() {
    let (pool, a, runs, after) = (pool(2), Handle::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut graph = pool.try_record(|g| {
        g.task().updates(&a).label("odd").try_run(|| match runs.fetch_add(1, Ordering::Relaxed) {
            run if run % 2 == 1 => Err(format!("run {run}")),
            _ => Ok(()),
        });
        g.task().updates(&a).run(|| _ = after.fetch_add(1, Ordering::Relaxed));
    });
    for run in 0..10 {
        let expected = if run % 2 == 1 { Err(format!("run {run}")) } else { Ok(()) };
        assert_eq!(graph.try_run(), expected);
    }
    assert_eq!(after.load(Ordering::Relaxed), 5);
}

#[test]
fn a_graph_run_by_a_policy_behind_a_lock_gives_the_error_of_a_run_and_can_be_run_again() {
    for policy in ["fifo", "cats", "heft"] {
        let (pool, a, runs, after) =
            (pool(2), Handle::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        let graph = pool.try_record_with(policy, |g| {
            g.task().updates(&a).label("odd").try_run(|| {
                match runs.fetch_add(1, Ordering::Relaxed) {
                    run if run % 2 == 1 => Err(format!("run {run}")),
                    _ => Ok(()),
                }
            });
            g.task().updates(&a).run(|| _ = after.fetch_add(1, Ordering::Relaxed));
        });
        let mut graph = graph.unwrap();
        for run in 0..10 {
            let expected = if run % 2 == 1 { Err(format!("run {run}")) } else { Ok(()) };
            assert_eq!(graph.try_run(), expected, "{policy}");
        }
        assert_eq!(after.load(Ordering::Relaxed), 5, "{policy}");
    }
}

#[test]
fn a_serial_stage_has_no_item_after_one_for_which_it_failed() {
    for workers in [1, 2, 4] {
        let (pool, mut written) = (pool(workers), Vec::new());
        let write = |item: u32| {
            if item == 50 {
                return Err("disk full");
            }
            written.push(item);
            Ok(item)
        };
        let result = pool
            .try_pipeline(0..1_000)
            .parallel(|item: u32| item)
            .try_serial(write)
            .label("write")
            .try_run();
        assert_eq!(result, Err("disk full"));
        assert!(written.into_iter().eq(0..50));
        works(&pool);
    }
}

#[test]
fn an_error_of_a_parallel_stage_ends_a_pipeline_whose_source_has_no_end() {
    let pool = pool(3);
    let result = pool
        .try_pipeline(0_u64..)
        .try_parallel(|i| if i == 777 { Err(i) } else { Ok(i) })
        .serial(drop)
        .try_run();
    assert_eq!(result, Err(777));
    works(&pool);
}

#[test]
fn of_many_errors_one_arrives() {
    let pool = pool(16);
    for _ in 0..100 {
        let result: Result<(), usize> = pool.try_scope(|s| {
            (0..100).for_each(|i| s.try_spawn(move || Err(i)));
            Ok(())
        });
        assert!(result.unwrap_err() < 100);
    }
}
