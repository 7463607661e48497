//! Tasks with dependences: their order, and that it gives what one thread would have given.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::support::by_kind;
use evenkeel_runtime::{Data, Handle, Pool, Regions};
use proptest::prelude::*;

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

#[test]
fn a_chain_runs_in_the_order_of_its_creation() {
    let (pool, handle, order) = (pool(2), Handle::new(), Mutex::new(Vec::new()));
    pool.scope(|s| {
        for i in 0..10_000 {
            let order = &order;
            s.task().updates(&handle).run(move || order.lock().unwrap().push(i));
        }
    });
    assert!(order.into_inner().unwrap().into_iter().eq(0..10_000));
}

#[test]
fn a_writer_waits_for_all_readers_and_they_for_the_writer_before() {
    for readers in [1, 2, 3, 4, 5, 100] {
        let (pool, a, done) = (pool(3), Handle::new(), AtomicUsize::new(0));
        pool.scope(|s| {
            for round in 0..50 {
                let (done, before) = (&done, round * (readers + 1));
                s.task()
                    .writes(&a)
                    .run(move || assert_eq!(done.fetch_add(1, Ordering::Relaxed), before));
                for _ in 0..readers {
                    s.task().reads(&a).run(move || {
                        let now = done.fetch_add(1, Ordering::Relaxed);
                        assert!((before + 1..=before + readers).contains(&now));
                    });
                }
            }
        });
        assert_eq!(done.into_inner(), 50 * (readers + 1));
    }
}

#[test]
fn a_task_that_reads_and_writes_the_same_does_not_wait_for_itself() {
    let (a, done) = (Handle::new(), AtomicUsize::new(0));
    pool(2).scope(|s| {
        for _ in 0..100 {
            let count = || _ = done.fetch_add(1, Ordering::Relaxed);
            s.task().reads(&a).updates(&a).run(count);
            s.task().updates(&a).reads(&a).writes(&a).reads(&a).reads(&a).reads(&a).run(count);
        }
    });
    assert_eq!(done.into_inner(), 200);
}

#[test]
fn parts_of_an_array_conflict_where_they_share_a_block() {
    let (array, regions) = (Data::new(vec![0_u64; 100]), Regions::new(100, 10));
    let cells: Vec<_> = (0..100).map(|_| AtomicU64::new(0)).collect();
    // Each sweep adds to a cell what its left neighbour had after the sweep: Gauss and Seidel's
    // order, wave after wave.
    let sweep = |first: usize| {
        for i in first..first + 10 {
            let left = if i == 0 { 1 } else { cells[i - 1].load(Ordering::Relaxed) };
            cells[i].store(cells[i].load(Ordering::Relaxed).wrapping_add(left), Ordering::Relaxed);
        }
    };
    pool(2).scope(|s| {
        for first in (0..50).flat_map(|_| (0..10).map(|block| 10 * block)) {
            let sweep = &sweep;
            let (own, left) =
                (regions.part(first..first + 10), regions.part(first.saturating_sub(1)..first));
            s.task().updates(&own).reads(&left).run(move || sweep(first));
        }
    });
    let mut serial = array.into_inner();
    for _ in 0..50 {
        (0..100).for_each(|i| {
            serial[i] = serial[i].wrapping_add(if i == 0 { 1 } else { serial[i - 1] })
        });
    }
    assert!(cells.into_iter().map(AtomicU64::into_inner).eq(serial));
    assert!(format!("{:?}", regions.part(100..200)).contains("[]"));
}

#[test]
fn a_nested_scope_over_the_same_handles_has_an_order_of_its_own() {
    let (pool, a) = (pool(2), Data::new(Vec::new()));
    pool.scope(|s| {
        for outer in 0..100 {
            let (pool, a) = (&pool, &a);
            s.task().updates(a).run(move || {
                pool.scope(|inner| {
                    for i in 0..10 {
                        inner.task().updates(a).run(move || a.write().push(10 * outer + i));
                    }
                });
            });
        }
    });
    assert!(a.into_inner().into_iter().eq(0..1_000));
}

#[test]
fn scopes_at_the_same_time_keep_their_records_of_a_handle_apart() {
    let (pool, shared) = (pool(4), Handle::new());
    let done = AtomicUsize::new(0);
    pool.for_each(0..200_u32, |_| {
        let order = Mutex::new(Vec::new());
        pool.scope(|s| {
            for i in 0..20 {
                let order = &order;
                s.task().updates(&shared).run(move || order.lock().unwrap().push(i));
            }
        });
        assert!(order.into_inner().unwrap().into_iter().eq(0..20));
        done.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(done.into_inner(), 200);
}

#[test]
fn what_waits_for_a_task_that_panicked_is_dropped_and_the_panic_arrives() {
    let (pool, a, done) = (pool(2), Handle::new(), AtomicUsize::new(0));
    for _ in 0..100 {
        let payload = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|s| {
                s.task().updates(&a).run(|| panic!("first"));
                (0..50).for_each(|_| {
                    s.task().updates(&a).run(|| _ = done.fetch_add(1, Ordering::Relaxed))
                });
            });
        }));
        assert_eq!(payload.unwrap_err().downcast_ref(), Some(&"first"));
    }
    assert_eq!(done.into_inner(), 0);
    pool.scope(|s| s.task().updates(&a).run(|| ()));
}

#[test]
fn closures_too_large_for_a_block_run_in_order_too() {
    let (a, sum) = (Handle::new(), Mutex::new(0));
    pool(2).scope(|s| {
        for i in 0..100_u8 {
            let (data, sum) = ([i; 1_000], &sum);
            s.task().updates(&a).run(move || {
                let mut sum = sum.lock().unwrap();
                assert_eq!(*sum, usize::from(i));
                *sum += data.iter().filter(|&&it| it == i).count() / 1_000;
            });
        }
    });
    assert_eq!(sum.into_inner().unwrap(), 100);
}

#[test]
fn borrowing_what_was_not_declared_panics_where_another_task_has_it() {
    let data = Data::new(1);
    let writing = data.write();
    assert!(catch_unwind(AssertUnwindSafe(|| *data.read())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| *data.write())).is_err());
    drop(writing);
    let reading = (data.read(), data.read());
    assert!(catch_unwind(AssertUnwindSafe(|| *data.write())).is_err());
    drop(reading);
    *data.write() += 1;
    assert_eq!(data.into_inner(), 2);
}

/// A task: what it reads, what it writes.
type Accesses = (Vec<usize>, Vec<usize>);

/// What a task makes of what it reads, for each that it writes.
fn mix(number: u64, seen: impl Iterator<Item = u64>) -> u64 {
    seen.fold(number, |hash, value| {
        (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
    })
}

fn serial(tasks: &[Accesses], handles: usize) -> Vec<u64> {
    let mut values = vec![0; handles];
    for ((reads, writes), number) in tasks.iter().zip(1..) {
        let hash = mix(number, reads.iter().chain(writes).map(|&i| values[i]));
        writes.iter().for_each(|&i| values[i] = hash);
    }
    values
}

fn parallel(pool: &Pool, tasks: &[Accesses], handles: usize) -> Vec<u64> {
    let data: Vec<_> = (0..handles).map(|_| Data::new(0)).collect();
    pool.scope(|s| {
        for ((reads, writes), number) in tasks.iter().zip(1..) {
            let task = reads.iter().fold(s.task(), |task, &i| task.reads(&data[i]));
            let task = writes.iter().fold(task, |task, &i| task.updates(&data[i]));
            let data = &data;
            // A slow worker leaves a task with a name to a fast one now and then.
            let task = if number % 3 == 0 { task.label("third") } else { task };
            task.run(move || {
                let hash = mix(number, reads.iter().chain(writes).map(|&i| *data[i].read()));
                writes.iter().for_each(|&i| *data[i].write() = hash);
            });
        }
    });
    data.into_iter().map(Data::into_inner).collect()
}

const POLICIES: [&str; 4] = ["steal-kind", "steal", "fifo", "cats"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn random_graphs_give_what_one_thread_gives(
        workers in 1usize..5,
        policy in 0..POLICIES.len(),
        tasks in (1usize..12).prop_flat_map(|handles| prop::collection::vec(
            (prop::collection::vec(0..handles, 0..6), prop::collection::vec(0..handles, 0..3)), 0..80)),
    ) {
        thread_local! {
            static POOLS: Vec<Vec<Pool>> = POLICIES
                .map(|policy| (1..5).map(|workers| Pool::builder().workers(workers).policy(policy).build().unwrap()).collect())
                .into();
        }
        let parallel = POOLS.with(|pools| parallel(&pools[policy][workers - 1], &tasks, 12));
        prop_assert_eq!(parallel, serial(&tasks, 12));
    }
}

/// The same law over as many graphs as `EVENKEEL_GRAPHS` says: `make race` has a million.
#[test]
fn many_random_graphs_give_what_one_thread_gives() {
    let graphs = std::env::var("EVENKEEL_GRAPHS").map_or(2_000, |text| text.parse().unwrap());
    let (pools, mut random) = ([pool(2), pool(3), by_kind("steal-kind", true)], 1_u64);
    let mut draw = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % bound as u64) as usize
    };
    for graph in 0..graphs {
        let handles = 1 + draw(10);
        let mut some = |most| (0..draw(most)).map(|_| draw(handles)).collect::<Vec<_>>();
        let tasks: Vec<_> = (0..40).map(|_| (some(6), some(3))).collect();
        assert_eq!(
            parallel(&pools[graph % pools.len()], &tasks, handles),
            serial(&tasks, handles),
            "graph {graph}"
        );
    }
}
