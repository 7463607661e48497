//! Data that a task touches without having declared them are found in debug builds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use evenkeel_runtime::{Data, Pool, Scope};

fn two_workers() -> Pool {
    Pool::builder().workers(2).pin(false).build().unwrap()
}

/// What the panic says that comes of a scope.
fn panic_of<'env>(
    pool: &Pool,
    f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) + Send,
) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| pool.scope(f))).unwrap_err();
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref().cloned())
        .unwrap()
}

#[test]
fn a_task_that_has_not_declared_what_it_touches_panics() {
    let (pool, said, unsaid) = (two_workers(), Data::new(1), Data::new(1));
    let reads = panic_of(&pool, |s| s.task().writes(&said).run(|| assert_eq!(*unsaid.read(), 1)));
    assert!(reads.starts_with("a task reads data that it has not declared"), "{reads}");
    let writes = panic_of(&pool, |s| s.spawn(|| *unsaid.write() = 2));
    assert!(writes.starts_with("a task writes data that it has not declared"), "{writes}");
    let reads_only = panic_of(&pool, |s| s.task().reads(&unsaid).run(|| *unsaid.write() = 2));
    assert!(reads_only.starts_with("a task writes data that it has not declared"), "{reads_only}");
    // It has not been touched, and others may.
    pool.scope(|s| s.task().updates(&unsaid).run(|| *unsaid.write() += 1));
    assert_eq!(unsaid.into_inner(), 2);
}

#[test]
fn what_a_task_has_declared_holds_for_the_tasks_within_it() {
    let (pool, outer, inner) = (two_workers(), Data::new(0), Data::new(0));
    pool.scope(|s| {
        s.task().updates(&outer).run(|| {
            pool.scope(|s| {
                s.spawn(|| *outer.write() += 1);
                s.task().updates(&inner).run(|| *inner.write() += 1);
            });
            pool.scope(|s| s.task().updates(&inner).run(|| *inner.write() += *outer.read()));
        });
    });
    assert_eq!((outer.into_inner(), inner.into_inner()), (1, 2));
}

#[test]
fn one_that_a_waiting_task_takes_up_is_not_taken_for_a_part_of_it() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let (first, second) = (Data::new(0), Data::new(0));
    pool.scope(|s| {
        s.task().updates(&first).run(|| {
            pool.scope(|s| s.spawn(|| ()));
            *first.write() += 1;
        });
        s.task().updates(&second).run(|| *second.write() += 1);
    });
    let waits = panic_of(&pool, |s| {
        s.spawn(|| *second.write() += 1);
        s.task().updates(&second).run(|| pool.scope(|s| s.spawn(|| ())));
    });
    assert!(waits.starts_with("a task writes"), "{waits}");
}

#[test]
fn nothing_has_to_be_declared_outside_of_tasks_nor_in_stages_and_loops() {
    let (pool, data) = (two_workers(), Data::new(0_u64));
    *data.write() += 1;
    pool.run(|| *data.write() += 1);
    pool.scope(|_| *data.write() += 1);
    pool.join(|| assert_eq!(*data.read(), 3), || assert_eq!(*data.read(), 3));
    pool.for_each(0..100, |_| assert_eq!(*data.read(), 3));
    pool.pipeline(0..10).serial(|i| *data.write() += i).run();
    assert_eq!(*data.read(), 48);
    pool.scope(|s| {
        s.task().reads(&data).run(|| pool.for_each(0..100, |_| assert_eq!(*data.read(), 48)));
    });
    pool.isolate(|| pool.scope(|s| s.task().updates(&data).run(|| *data.write() += 1)));
    assert_eq!(data.into_inner(), 49);
}

#[test]
fn tasks_of_recorded_graphs_are_checked_too() {
    let (pool, said, unsaid) = (two_workers(), Data::new(0), Data::new(0));
    let mut graph = pool.record(|g| g.task().updates(&said).run(|| *said.write() += 1));
    graph.run();
    pool.scope(|s| s.task().updates(&unsaid).run(|| graph.run()));
    drop(graph);
    let mut graph = pool.record(|g| g.task().updates(&said).run(|| *unsaid.write() += 1));
    assert!(catch_unwind(AssertUnwindSafe(|| graph.run())).is_err());
    drop(graph);
    assert_eq!((said.into_inner(), unsaid.into_inner()), (2, 0));
}

#[test]
fn a_task_may_use_data_that_it_has_made_and_tasks_within_it_declare_them() {
    let (pool, other) = (two_workers(), two_workers());
    pool.scope(|s| {
        s.spawn(|| {
            let made = Data::new(1);
            other.scope(|s| s.task().updates(&made).run(|| *made.write() += 1));
            assert_eq!(*made.read(), 2);
        });
    });
    let undeclared = panic_of(&pool, |s| {
        s.spawn(|| {
            let made = Data::new(1);
            pool.scope(|s| s.spawn(|| *made.write() += 1));
        });
    });
    assert!(undeclared.starts_with("a task writes data that it has not declared"), "{undeclared}");
}

#[test]
fn a_call_into_another_pool_is_a_part_of_the_task() {
    let (pool, other, said, unsaid) = (two_workers(), two_workers(), Data::new(1), Data::new(1));
    pool.scope(|s| s.task().reads(&said).run(|| assert_eq!(other.run(|| *said.read()), 1)));
    let reads = panic_of(&pool, |s| s.spawn(|| assert_eq!(other.run(|| *unsaid.read()), 1)));
    assert!(reads.starts_with("a task reads data that it has not declared"), "{reads}");
}

/// One task waits, and its worker takes the half of a join of another task meanwhile, which touches
/// what that one declared.
#[test]
fn half_of_another_tasks_join_is_not_judged_by_what_a_waiting_task_has_declared() {
    let (pool, other) = (two_workers(), two_workers());
    // Which worker takes the half is chance.
    (0..50).for_each(|_| join_beside_one_that_waits(&pool, &other));
}

fn join_beside_one_that_waits(pool: &Pool, other: &Pool) {
    let (first, second, taken) = (Data::new(1), Data::new(1), AtomicBool::new(false));
    let until_taken = || {
        while !taken.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    };
    pool.scope(|s| {
        s.task().reads(&first).run(|| {
            pool.join(until_taken, || {
                // First, so that a failure does not hang.
                taken.store(true, Ordering::Release);
                assert_eq!(*first.read(), 1);
            });
        });
        s.task().updates(&second).run(|| other.run(until_taken));
    });
}
