//! Recorded graphs: each run gives what one thread gives.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_runtime::{Data, Handle, Pool};
use proptest::prelude::*;

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

#[test]
fn every_task_runs_once_in_each_run() {
    for (tasks, workers) in
        [0, 1, 63, 64, 65, 1_000].into_iter().flat_map(|tasks| [1, 2, 3].map(|it| (tasks, it)))
    {
        let (pool, done) = (pool(workers), AtomicUsize::new(0));
        let mut graph = pool.record(|g| {
            (0..tasks).for_each(|_| g.task().run(|| _ = done.fetch_add(1, Ordering::Relaxed)));
        });
        assert_eq!((graph.len(), graph.is_empty()), (tasks, tasks == 0));
        for run in 1..20 {
            graph.run();
            assert_eq!(done.load(Ordering::Relaxed), run * tasks);
        }
    }
}

#[test]
fn a_chain_runs_in_the_order_in_which_it_was_recorded() {
    let (pool, a, order) = (pool(2), Handle::new(), Mutex::new(Vec::new()));
    let mut graph = pool.record(|g| {
        let order = &order;
        (0..1_000).for_each(|i| g.task().updates(&a).run(move || order.lock().unwrap().push(i)));
    });
    graph.run();
    graph.run();
    drop(graph);
    assert!(order.into_inner().unwrap().into_iter().eq((0..1_000).chain(0..1_000)));
}

#[test]
fn two_roots_run_at_the_same_time() {
    let (pool, begun) = (pool(2), AtomicUsize::new(0));
    let mut graph = pool.record(|g| {
        (0..2).for_each(|_| {
            g.task().run(|| {
                // Each waits for the other to begin: that takes two workers.
                begun.fetch_add(1, Ordering::SeqCst);
                while begun.load(Ordering::SeqCst) % 2 != 0 {
                    std::thread::yield_now();
                }
            });
        });
    });
    (0..20).for_each(|_| graph.run());
}

#[test]
fn a_graph_runs_again_after_a_panic() {
    let (pool, a, panics, done) =
        (pool(2), Handle::new(), AtomicBool::new(true), AtomicUsize::new(0));
    let mut graph = pool.record(|g| {
        g.task().writes(&a).run(|| assert!(!panics.load(Ordering::Relaxed), "as told"));
        (0..10).for_each(|_| g.task().reads(&a).run(|| _ = done.fetch_add(1, Ordering::Relaxed)));
        g.task().writes(&a).run(|| _ = done.fetch_add(1, Ordering::Relaxed));
    });
    for _ in 0..50 {
        panics.store(true, Ordering::Relaxed);
        assert!(catch_unwind(AssertUnwindSafe(|| graph.run())).is_err());
        assert_eq!(done.swap(0, Ordering::Relaxed), 0);
        panics.store(false, Ordering::Relaxed);
        graph.run();
        assert_eq!(done.swap(0, Ordering::Relaxed), 11);
    }
}

/// All that there are, those that plan whole graphs included.
fn policies() -> Vec<&'static str> {
    evenkeel_policy::graph::names().collect()
}

#[test]
fn a_policy_that_is_not_there_is_named() {
    let error = pool(1).record_with("lifo", |_| ()).err().unwrap().to_string();
    assert!(error.starts_with("no graph policy 'lifo'; there are fifo"), "{error}");
}

#[test]
fn a_graph_runs_again_after_a_panic_under_every_policy() {
    let pool = pool(2);
    for policy in policies() {
        let (a, panics, done) = (Handle::new(), AtomicBool::new(true), AtomicUsize::new(0));
        let graph = pool.record_with(policy, |g| {
            g.task().writes(&a).run(|| assert!(!panics.load(Ordering::Relaxed), "as told"));
            (0..10)
                .for_each(|_| g.task().reads(&a).run(|| _ = done.fetch_add(1, Ordering::Relaxed)));
            g.task().writes(&a).run(|| _ = done.fetch_add(1, Ordering::Relaxed));
        });
        let mut graph = graph.unwrap();
        for _ in 0..10 {
            panics.store(true, Ordering::Relaxed);
            assert!(catch_unwind(AssertUnwindSafe(|| graph.run())).is_err(), "{policy}");
            assert_eq!(done.swap(0, Ordering::Relaxed), 0);
            panics.store(false, Ordering::Relaxed);
            graph.run();
            assert_eq!(done.swap(0, Ordering::Relaxed), 11, "{policy}");
        }
    }
}

#[test]
fn one_worker_is_enough_whatever_the_plan() {
    let pool = pool(2);
    for policy in policies() {
        let (held, done, begun) = (Mutex::new(()), AtomicUsize::new(0), AtomicBool::new(false));
        let lock = held.lock().unwrap();
        std::thread::scope(|threads| {
            let (pool, begun, held) = (&pool, &begun, &held);
            // One worker waits for the lock, which is held until the graph is done.
            let stuck = threads.spawn(move || {
                pool.run(|| {
                    begun.store(true, Ordering::SeqCst);
                    drop(held.lock().unwrap());
                });
            });
            while !begun.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            let mut graph = pool.record_with(policy, |g| {
                (0..8).for_each(|_| g.task().run(|| _ = done.fetch_add(1, Ordering::Relaxed)))
            });
            graph.as_mut().unwrap().run();
            drop(lock);
            stuck.join().unwrap();
        });
        assert_eq!(done.into_inner(), 8, "{policy}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn random_graphs_give_what_one_thread_gives_in_each_run(
        workers in 1usize..4,
        policy in prop::sample::select(policies()),
        tasks in prop::collection::vec((prop::collection::vec(0usize..8, 0..5), 0usize..8), 0..60),
    ) {
        let (pool, data) = (pool(workers), (0..8).map(|_| Data::new(0_u64)).collect::<Vec<_>>());
        let mut serial = vec![0_u64; 8];
        let mix = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let graph = pool.record_with(policy, |g| {
            for ((reads, write), number) in tasks.iter().zip(1..) {
                let task = reads.iter().fold(g.task(), |task, &i| task.reads(&data[i])).updates(&data[*write]);
                let task = if number % 3 == 0 { task.label("third") } else { task };
                let data = &data;
                task.run(move || {
                    let hash = reads.iter().filter(|i| *i != write).fold(number, |hash, &i| mix(hash, *data[i].read()));
                    let mut own = data[*write].write();
                    *own = mix(hash, *own);
                });
            }
        });
        let mut graph = graph.unwrap();
        for _ in 0..3 {
            graph.run();
            for ((reads, write), number) in tasks.iter().zip(1..) {
                let hash = reads.iter().filter(|i| *i != write).fold(number, |hash, &i| mix(hash, serial[i]));
                serial[*write] = mix(hash, serial[*write]);
            }
        }
        drop(graph);
        prop_assert_eq!(data.into_iter().map(Data::into_inner).collect::<Vec<_>>(), serial);
    }
}
