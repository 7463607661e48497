//! Many tasks created one after the other, which lie together (batch/README.md): each runs
//! once, and none is kept from others.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use evenkeel_runtime::Pool;
use proptest::prelude::*;

/// Far more than it takes, and far less than for ever.
const SOON: Duration = Duration::from_secs(60);

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).pin(false).build().unwrap()
}

fn wait_for(count: &AtomicUsize, expected: usize) {
    let since = Instant::now();
    while count.load(Ordering::Acquire) < expected {
        assert!(since.elapsed() < SOON, "{count:?} of {expected}");
        std::thread::yield_now();
    }
}

#[test]
fn what_an_opener_creates_is_done_by_others_while_it_goes_on() {
    let (pool, done) = (pool(2), AtomicUsize::new(0));
    for tasks in [1, 17, 80, 81, 300] {
        done.store(0, Ordering::Relaxed);
        pool.scope(|s| {
            for _ in 0..tasks {
                s.spawn(|| _ = done.fetch_add(1, Ordering::Release));
            }
            // The last batch is not full, and nothing more comes into it.
            wait_for(&done, tasks);
        });
    }
}

#[test]
fn a_worker_that_waits_for_another_task_of_its_batch_does_not_wait_for_ever() {
    for wide in [false, true] {
        let (pool, done) = (pool(2), AtomicUsize::new(0));
        pool.scope(|s| {
            for _ in 0..500 {
                s.spawn(|| _ = done.fetch_add(1, Ordering::Release));
            }
            let (send, receive) = channel();
            let room = [u8::from(wide); 40];
            s.spawn(move || {
                let _ = room;
                receive.recv_timeout(SOON).unwrap();
            });
            s.spawn(move || send.send(()).unwrap());
            for _ in 0..500 {
                s.spawn(|| _ = done.fetch_add(1, Ordering::Release));
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 1_000);
    }
}

#[test]
fn what_is_left_of_a_batch_is_there_for_a_scope_inside_one_of_its_tasks() {
    let (pool, done) = (pool(2), AtomicUsize::new(0));
    let (pool, done) = (&pool, &done);
    pool.scope(|s| {
        for _ in 0..200 {
            s.spawn(move || {
                pool.scope(|s| {
                    (0..100).for_each(|_| s.spawn(move || _ = done.fetch_add(1, Ordering::Relaxed)))
                });
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 20_000);
}

#[test]
fn a_panic_in_a_batch_drops_the_tasks_behind_it_and_the_pool_works_on() {
    /// Says that it has been dropped.
    struct Dropped<'a>(&'a AtomicUsize);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (pool, dropped, ran) = (pool(2), AtomicUsize::new(0), AtomicUsize::new(0));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.scope(|s| {
            for i in 0..10_000 {
                let (kept, ran) = (Dropped(&dropped), &ran);
                s.spawn(move || {
                    let _kept = kept;
                    ran.fetch_add(1, Ordering::Relaxed);
                    assert!(i != 9_000, "this one");
                });
            }
        });
    }));
    assert!(caught.is_err());
    assert_eq!(dropped.load(Ordering::Relaxed), 10_000, "each closure once, run or not");
    assert!(ran.load(Ordering::Relaxed) <= 10_000);
    let sum = AtomicUsize::new(0);
    pool.scope(|s| {
        (0..1_000).for_each(|i| {
            s.spawn({
                let sum = &sum;
                move || _ = sum.fetch_add(i, Ordering::Relaxed)
            })
        })
    });
    assert_eq!(sum.load(Ordering::Relaxed), 499_500);
}

#[test]
fn few_long_tasks_behind_many_short_ones_are_shared_out() {
    let pool = pool(2);
    let (count, running, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    pool.scope(|s| {
        for i in 0..3_000 {
            let (count, running, most) = (&count, &running, &most);
            s.spawn(move || {
                if i % 100 == 99 {
                    most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(2));
                    running.fetch_sub(1, Ordering::Relaxed);
                }
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 3_000);
    assert_eq!(most.load(Ordering::Relaxed), 2, "both workers at once");
}

/// A task of so many words, which must come out as they went in.
fn spawn_of<'s, const WORDS: usize>(
    s: evenkeel_runtime::Spawner<'s>,
    seed: u64,
    sum: &'s AtomicUsize,
) {
    let words: [u64; WORDS] = std::array::from_fn(|at| seed.wrapping_mul(at as u64 + 1));
    s.spawn(move || {
        let expected: [u64; WORDS] = std::array::from_fn(|at| seed.wrapping_mul(at as u64 + 1));
        assert_eq!(words, expected);
        sum.fetch_add(1, Ordering::Relaxed);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Lengths change within a batch and between them; some tasks create more, in their scope or in
    /// one of their own.
    #[test]
    fn tasks_of_all_lengths_run_once_each(
        workers in 1..=4_usize,
        tasks in proptest::collection::vec((0..6_usize, 0..40_u64), 1..1_500),
    ) {
        let (pool, sum) = (pool(workers), AtomicUsize::new(0));
        let (pool, sum) = (&pool, &sum);
        let mut expected = 0;
        pool.scope(|scope| {
            let s = scope.spawner();
            for &(kind, seed) in &tasks {
                expected += 1;
                match kind {
                    0 => spawn_of::<0>(s, seed, sum),
                    1 => spawn_of::<2>(s, seed, sum),
                    2 => spawn_of::<5>(s, seed, sum),
                    3 => spawn_of::<9>(s, seed, sum),
                    4 => {
                        expected += seed as usize;
                        s.spawn(move || {
                            (0..seed).for_each(|seed| spawn_of::<1>(s, seed, sum));
                            sum.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    _ => {
                        expected += seed as usize;
                        s.spawn(move || {
                            pool.scope(|inner| (0..seed).for_each(|seed| spawn_of::<3>(inner.spawner(), seed, sum)));
                            sum.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                }
            }
        });
        prop_assert_eq!(sum.load(Ordering::Relaxed), expected);
    }
}
