//! Pools: calls from outside, join, scopes, panics, the end.

use std::collections::HashSet;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;

use evenkeel_runtime::{Handle, Pool, PoolError, Spawner};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

fn fib(pool: &Pool, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = pool.join(|| fib(pool, n - 1), || fib(pool, n - 2));
    a + b
}

fn message(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    payload.downcast_ref::<&str>().map_or_else(String::new, |it| (*it).into())
}

#[test]
fn a_call_from_outside_runs_on_a_worker_and_one_from_inside_on_the_same() {
    let pool = pool(2);
    let outside = std::thread::current().id();
    let (outer, inner) =
        pool.run(|| (std::thread::current().id(), pool.run(|| std::thread::current().id())));
    assert!(outer == inner && outer != outside);
}

#[test]
fn join_computes_fibonacci_whatever_the_number_of_workers() {
    for workers in [1, 2, 3, 16] {
        let pool = pool(workers);
        assert_eq!(fib(&pool, 20), 6765, "{workers} workers");
    }
}

#[test]
fn a_panic_in_either_half_of_a_join_reaches_the_caller_and_the_pool_works_on() {
    let pool = pool(2);
    for _ in 0..100 {
        assert_eq!(message(|| _ = pool.join(|| panic!("left"), || fib(&pool, 5))), "left");
        assert_eq!(message(|| _ = pool.join(|| fib(&pool, 5), || panic!("right"))), "right");
        assert_eq!(message(|| _ = pool.join(|| panic!("left"), || panic!("right"))), "left");
    }
    assert_eq!(fib(&pool, 10), 55);
}

#[test]
fn all_tasks_of_a_scope_have_ended_when_it_returns() {
    let pool = pool(2);
    let done = AtomicUsize::new(0);
    for tasks in [0, 1, 2, 63, 64, 65, 10_000] {
        done.store(0, Ordering::Relaxed);
        let result = pool.scope(|s| {
            for _ in 0..tasks {
                s.spawn(|| _ = done.fetch_add(1, Ordering::Relaxed));
            }
            "result"
        });
        assert_eq!((done.load(Ordering::Relaxed), result), (tasks, "result"));
    }
}

#[test]
fn tasks_borrow_what_outlives_the_scope() {
    let mut parts = vec![0; 50];
    pool(2)
        .scope(|s| parts.iter_mut().enumerate().for_each(|(i, part)| s.spawn(move || *part = i)));
    assert!(parts.into_iter().eq(0..50));
}

#[test]
fn tasks_create_tasks_of_the_same_scope() {
    fn tree<'scope>(
        spawner: evenkeel_runtime::Spawner<'scope>,
        leaves: &'scope AtomicUsize,
        depth: u32,
    ) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
        } else {
            (0..3).for_each(|_| spawner.spawn(move || tree(spawner, leaves, depth - 1)));
        }
    }
    let leaves = AtomicUsize::new(0);
    for workers in [1, 2, 7] {
        leaves.store(0, Ordering::Relaxed);
        pool(workers).scope(|s| tree(s.spawner(), &leaves, 8));
        assert_eq!(leaves.load(Ordering::Relaxed), 3_usize.pow(8));
    }
}

#[test]
fn a_spawner_works_from_a_thread_that_is_no_worker() {
    let (pool, done) = (pool(2), AtomicUsize::new(0));
    pool.scope(|s| {
        let (spawner, done) = (s.spawner(), &done);
        std::thread::scope(|threads| {
            threads.spawn(move || {
                (0..1_000)
                    .for_each(|_| spawner.spawn(move || _ = done.fetch_add(1, Ordering::Relaxed)));
                spawner.spawn({
                    let large = [1_u8; 1_000];
                    move || {
                        _ = done.fetch_add(large.map(usize::from).iter().sum(), Ordering::Relaxed)
                    }
                });
            });
        });
    });
    assert_eq!(done.load(Ordering::Relaxed), 2_000);
}

#[test]
fn scopes_are_nested_and_each_waits_for_its_own() {
    let (pool, done) = (pool(2), AtomicUsize::new(0));
    pool.scope(|s| {
        for _ in 0..20 {
            s.spawn(|| {
                let before = AtomicUsize::new(0);
                pool.scope(|inner| {
                    (0..20).for_each(|_| inner.spawn(|| _ = before.fetch_add(1, Ordering::Relaxed)))
                });
                done.fetch_add(before.into_inner(), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 400);
}

#[test]
fn closures_of_any_size_arrive_whole() {
    let (pool, sum) = (pool(2), AtomicUsize::new(0));
    fn spawn<'scope, const N: usize>(
        s: &evenkeel_runtime::Scope<'scope, '_>,
        sum: &'scope AtomicUsize,
    ) {
        let data = [1_u8; N];
        s.spawn(move || {
            _ = sum.fetch_add(data.iter().map(|&it| usize::from(it)).sum(), Ordering::Relaxed)
        });
    }
    pool.scope(|s| {
        for _ in 0..100 {
            spawn::<0>(s, &sum);
            spawn::<41>(s, &sum);
            spawn::<100>(s, &sum);
            spawn::<230>(s, &sum);
            spawn::<241>(s, &sum);
            spawn::<5_000>(s, &sum);
        }
    });
    assert_eq!(sum.into_inner(), 100 * (41 + 100 + 230 + 241 + 5_000));
}

#[test]
fn a_panicking_task_drops_those_that_have_not_begun_and_its_panic_arrives() {
    let pool = pool(1);
    let (begun, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    struct OnDrop<'a>(&'a AtomicUsize);
    impl Drop for OnDrop<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let message = message(|| {
        pool.scope(|s| {
            for _ in 0..100 {
                let guard = OnDrop(&dropped);
                s.spawn(|| {
                    let _guard = guard;
                    begun.fetch_add(1, Ordering::Relaxed);
                    panic!("once");
                });
            }
        });
    });
    assert_eq!((message.as_str(), begun.into_inner(), dropped.into_inner()), ("once", 1, 100));
    assert_eq!(pool.run(|| 1), 1);
}

#[test]
fn what_a_scopes_closure_panics_with_because_a_task_has_is_not_what_arrives() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let payload = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|s| {
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            s.spawn(move || {
                let _gone_with_it = sender;
                panic!("the cause");
            });
            while !s.is_cancelled() {
                std::thread::yield_now();
            }
            receiver.recv().expect("what follows");
        });
    }));
    assert_eq!(payload.unwrap_err().downcast_ref::<&str>(), Some(&"the cause"));
}

#[test]
fn a_panic_of_the_scopes_own_closure_arrives_after_its_tasks_have_ended() {
    let (pool, begun, ended) = (pool(2), AtomicBool::new(false), AtomicBool::new(false));
    let message = message(|| {
        pool.scope(|s| {
            s.spawn(|| {
                begun.store(true, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(20));
                ended.store(true, Ordering::SeqCst);
            });
            while !begun.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            panic!("own");
        });
    });
    assert_eq!((message.as_str(), ended.into_inner()), ("own", true));
}

#[test]
fn a_cancelled_scope_drops_what_has_not_begun() {
    let (pool, done) = (pool(1), AtomicUsize::new(0));
    pool.scope(|s| {
        (0..10).for_each(|_| s.spawn(|| _ = done.fetch_add(1, Ordering::Relaxed)));
        s.cancel();
        assert!(s.is_cancelled());
        (0..10).for_each(|_| s.spawn(|| _ = done.fetch_add(1, Ordering::Relaxed)));
    });
    assert_eq!(done.into_inner(), 0);
}

#[test]
fn what_panics_as_it_is_dropped_hangs_nothing_where_several_tasks_panic_with_it() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("as it is dropped");
        }
    }
    let (pool, begun) = (pool(2), AtomicUsize::new(0));
    let both_panic = || {
        begun.fetch_add(1, Ordering::SeqCst);
        while begun.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
        std::panic::panic_any(Loud);
    };
    let payload =
        catch_unwind(AssertUnwindSafe(|| pool.scope(|s| (0..2).for_each(|_| s.spawn(both_panic)))));
    std::mem::forget(payload.unwrap_err());
    begun.store(0, Ordering::SeqCst);
    let payload = catch_unwind(AssertUnwindSafe(|| pool.for_each(0..2_u32, |_| both_panic())));
    std::mem::forget(payload.unwrap_err());
    assert_eq!(fib(&pool, 10), 55);
}

#[test]
fn a_worker_is_kept_on_its_core() {
    let pool = pool(1);
    let cpus = pool.run(|| sched_getaffinity(None).unwrap());
    let cpu = pool.places()[0].cpu.unwrap() as usize;
    assert!((0..CpuSet::MAX_CPU).all(|other| cpus.is_set(other) == (other == cpu)));
}

#[test]
fn workers_that_are_not_pinned_have_no_core_of_their_own() {
    let pool = Pool::builder().workers(3).pin(false).build().unwrap();
    let allowed = sched_getaffinity(None).unwrap();
    assert!(pool.places().iter().all(|place| place.cpu.is_none()));
    assert_eq!(pool.run(|| sched_getaffinity(None).unwrap()), allowed);
}

#[test]
fn work_reaches_workers_that_sleep() {
    let pool = pool(2);
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(2));
        // Each half waits for the other to begin: that takes two workers.
        let begun = AtomicUsize::new(0);
        let half = || {
            begun.fetch_add(1, Ordering::SeqCst);
            while begun.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
        };
        pool.join(half, half);
    }
}

#[test]
fn two_pools_call_each_other() {
    let (one, two) = (pool(2), pool(2));
    let sum = one.run(|| {
        two.scope(|s| {
            let done = s.spawner();
            one.join(|| done.spawn(|| ()), || fib(&two, 10)).1
        })
    });
    assert_eq!(sum, 55);
}

#[test]
fn a_call_that_comes_back_into_a_pool_finds_its_only_worker() {
    let (one, two) = (pool(1), pool(1));
    assert_eq!(one.run(|| two.run(|| one.run(|| two.run(|| 1)))), 1);
    let sum = std::sync::atomic::AtomicU32::new(0);
    one.for_each(0..8_u32, |i| _ = sum.fetch_add(two.run(|| one.run(|| i)), Ordering::Relaxed));
    assert_eq!(sum.into_inner(), 28);
    // And a panic finds its way through both.
    let text = message(|| one.run(|| two.run(|| one.run(|| panic!("through both")))));
    assert_eq!(text, "through both");
}

#[test]
fn many_threads_call_at_once() {
    let pool = pool(2);
    std::thread::scope(|threads| {
        for n in 0..16 {
            let pool = &pool;
            threads.spawn(move || assert_eq!(fib(pool, 12) + n, 144 + n));
        }
    });
}

#[test]
fn a_pool_keeps_to_as_many_threads_as_it_has_workers() {
    let (pool, seen) = (pool(3), Mutex::new(HashSet::<ThreadId>::new()));
    pool.for_each(0..10_000_u32, |_| _ = seen.lock().unwrap().insert(std::thread::current().id()));
    assert!(seen.into_inner().unwrap().len() <= 3);
}

#[test]
fn what_cannot_be_had_is_named() {
    let message = |result: Result<Pool, PoolError>| {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(
        message(Pool::builder().workers(0).build()),
        "0 workers asked for, expected 1 to 4096"
    );
    let expected = "no policy 'lifo' for tasks; there are fifo, steal, steal-kind, cats";
    assert_eq!(message(Pool::builder().policy("lifo").build()), expected);
    // What a `main` ends with that returns it.
    assert_eq!(format!("{:?}", Pool::builder().policy("lifo").build().err().unwrap()), expected);
    let expected = "'heft' plans whole graphs: record one and name it there (Pool::record_with); \
                    for tasks as they come expected one of \
                    fifo, steal, steal-kind, cats";
    assert_eq!(message(Pool::builder().policy("heft").build()), expected);
    assert!(message(Pool::builder().schedule("dynamic,0").build()).contains("'0' is not a chunk"));
    assert!(
        message(Pool::builder().machine("no-such-machine").build()).contains("no-such-machine")
    );
}

#[test]
fn sixteen_workers_on_two_cores_finish_whatever_they_do() {
    // Workers go where the thread may be that makes the pool.
    let (allowed, mut two) = (sched_getaffinity(None).unwrap(), CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).take(2).for_each(|cpu| two.set(cpu));
    sched_setaffinity(None, &two).unwrap();
    let (pool, a, done, mut items) = (pool(16), Handle::new(), AtomicUsize::new(0), 0);
    let count = || _ = done.fetch_add(1, Ordering::Relaxed);
    let mut graph = pool.record(|g| (0..100).for_each(|_| g.task().updates(&a).run(count)));
    for _ in 0..20 {
        pool.for_each(0..100, |_: u32| pool.for_each(0..10, |_: u32| count()));
        pool.scope(|s| {
            (0..100).for_each(|_| s.spawn(count));
            (0..100).for_each(|_| s.task().updates(&a).run(count));
        });
        pool.pipeline(0..100).parallel(|_| count()).serial(|()| items += 1).run();
        graph.run();
        assert_eq!(fib(&pool, 12), 144);
    }
    drop(graph);
    assert_eq!((done.into_inner(), items), (20 * 1_400, 2_000));
}

#[test]
fn a_nested_scope_ends_with_its_own_tasks_and_does_not_wait_for_what_else_there_is() {
    let pool = pool(1);
    let has_returned = AtomicBool::new(false);
    let (pool, has_returned) = (&pool, &has_returned);
    pool.scope(|s| {
        // One worker begins with the last of them.
        s.spawn(|| assert!(has_returned.load(Ordering::Relaxed)));
        s.spawn(|| {
            pool.scope(|s| (0..2).for_each(|_| s.spawn(|| ())));
            has_returned.store(true, Ordering::Relaxed);
        });
    });
}

/// Each leaves the next one behind while it joins: so that is run on top of that join, and what it
/// leaves behind on top of both. Its closure is too large for a batch, which is run when the join
/// is over.
fn on_top<'scope>(
    pool: &'scope Pool,
    s: Spawner<'scope>,
    count: &'scope AtomicUsize,
    most: usize,
    hand: [usize; 6],
) {
    let needs_much_of_the_stack = black_box([0_u8; 16 << 10]);
    let number = count.fetch_add(1, Ordering::Relaxed) + 1;
    assert!(hand[0] + 1 == number && number <= most, "the last");
    let next = [number; 6];
    pool.join(|| s.spawn(move || on_top(pool, s, count, most, next)), || ());
    black_box(needs_much_of_the_stack);
}

#[test]
fn waits_on_top_of_waits_do_not_overflow_the_stack_and_a_panic_passes_from_one_to_the_other() {
    for workers in [1, 2] {
        let (pool, count) = (pool(workers), AtomicUsize::new(0));
        let said = message(|| pool.scope(|s| on_top(&pool, s.spawner(), &count, 2_000, [0; 6])));
        assert_eq!((said.as_str(), count.into_inner()), ("the last", 2_001), "{workers} workers");
        assert_eq!(fib(&pool, 10), 55);
    }
}
