//! Loops: every iteration once, whatever the schedule, the workers and what happens inside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use evenkeel_runtime::{Pool, Schedule};
use proptest::prelude::*;

const SCHEDULES: [&str; 9] = [
    "static",
    "static,3",
    "dynamic",
    "dynamic,7",
    "guided",
    "aid-static",
    "aid-dynamic",
    "aid-dynamic,2",
    "aid-affinity",
];

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

fn schedule(text: &str) -> Schedule {
    text.parse().unwrap()
}

#[test]
fn every_iteration_is_done_once() {
    for workers in [1, 2, 5] {
        let pool = pool(workers);
        for (text, n) in
            SCHEDULES.iter().flat_map(|text| [0_usize, 1, 2, 100, 100_000].map(|n| (text, n)))
        {
            let times: Vec<_> = (0..n).map(|_| AtomicU32::new(0)).collect();
            pool.over(0..n)
                .schedule(schedule(text))
                .for_each(|i| _ = times[i].fetch_add(1, Ordering::Relaxed));
            assert!(
                times.into_iter().all(|it| it.into_inner() == 1),
                "{text}, {n} iterations, {workers} workers"
            );
        }
    }
}

#[test]
fn a_loop_that_is_run_again_is_whole_whatever_its_length_and_after_a_panic() {
    for workers in [2, 5] {
        let pool = pool(workers);
        let times: Vec<_> = (0..50_000).map(|_| AtomicU32::new(0)).collect();
        // One body, and one worker that calls it: what it was like before counts.
        let each = |n: usize, panics: bool| {
            pool.for_each(0..n, |i| {
                assert!(!(panics && i == n / 2), "in the middle");
                times[i].fetch_add(1, Ordering::Relaxed);
            });
        };
        pool.run(|| {
            for (round, n) in
                [50_000, 50_000, 100, 3, 50_000, 1, 7_000].repeat(30).into_iter().enumerate()
            {
                let panics = round % 10 == 9 && n > 1;
                let result = catch_unwind(AssertUnwindSafe(|| each(n, panics)));
                assert_eq!(result.is_err(), panics);
                let done: Vec<_> = times.iter().map(|it| it.swap(0, Ordering::Relaxed)).collect();
                let is_once = if panics {
                    done.iter().all(|&it| it <= 1)
                } else {
                    done[..n].iter().all(|&it| it == 1)
                };
                assert!(
                    is_once && done[n..].iter().all(|&it| it == 0),
                    "{workers} workers, round {round}: {n}"
                );
            }
        });
    }
}

#[test]
fn a_range_that_ends_before_it_begins_has_no_iterations() {
    #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
    pool(2).for_each(5..2_u32, |_| panic!("an iteration"));
}

#[test]
fn ranges_of_all_types_begin_where_they_say() {
    let (pool, sum) = (pool(2), AtomicU64::new(0));
    pool.for_each(-3..4_i64, |i| _ = sum.fetch_add(i.unsigned_abs(), Ordering::Relaxed));
    pool.for_each(u64::MAX - 2..u64::MAX, |i| _ = sum.fetch_add(u64::MAX - i, Ordering::Relaxed));
    pool.for_each(10..12_u32, |i| _ = sum.fetch_add(u64::from(i), Ordering::Relaxed));
    assert_eq!(sum.into_inner(), 12 + 3 + 21);
    let count = AtomicU64::new(0);
    let one = || _ = count.fetch_add(1, Ordering::Relaxed);
    pool.for_each(i8::MIN..i8::MAX, |_| one());
    pool.for_each(0..u8::MAX, |_| one());
    pool.for_each(-300..300_i16, |_| one());
    pool.for_each(0..40_000_u16, |_| one());
    pool.for_each(-500..500, |i| assert!((-500..500).contains(&i)));
    pool.for_each(-2..2_isize, |_| one());
    pool.for_each(i128::MIN..i128::MIN + 3, |_| one());
    pool.for_each(u128::MAX - 2..u128::MAX, |i| assert!(i >= u128::MAX - 2));
    assert_eq!(count.into_inner(), 255 + 255 + 600 + 40_000 + 4 + 3);
    // More than half of its type: as many as there are, not as many as the type could tell the
    // difference of.
    let chunks = AtomicU64::new(0);
    pool.over(i32::MIN..i32::MAX)
        .schedule(schedule("static,1073741824"))
        .for_each_chunk(|chunk| _ = chunks.fetch_add(chunk.len() as u64, Ordering::Relaxed));
    assert_eq!(chunks.into_inner(), u64::from(u32::MAX));
    let whole = AtomicU64::new(0);
    pool.over(i64::MIN..i64::MAX)
        .schedule(schedule("static,4611686018427387904"))
        .try_for_each(|i| {
            whole.fetch_add(1, Ordering::Relaxed);
            if i % 2 == 0 { Err(()) } else { Ok(()) }
        })
        .unwrap_err();
    assert!(whole.into_inner() > 0);
}

#[test]
fn loops_are_nested() {
    let (pool, sum) = (pool(2), AtomicU64::new(0));
    pool.for_each(0..50_u64, |i| pool.for_each(0..i, |j| _ = sum.fetch_add(j, Ordering::Relaxed)));
    assert_eq!(sum.into_inner(), (0..50).map(|i: u64| (0..i).sum::<u64>()).sum::<u64>());
}

#[test]
fn chunks_are_the_whole_range_and_do_not_overlap() {
    for text in ["static", "dynamic,7", "guided", "aid-dynamic", "aid-affinity"] {
        let (pool, sum) = (pool(3), Mutex::new(Vec::new()));
        pool.over(-5_000..5_000_i64)
            .schedule(schedule(text))
            .for_each_chunk(|chunk| sum.lock().unwrap().push(chunk));
        let mut chunks = sum.into_inner().unwrap();
        chunks.sort_by_key(|chunk| chunk.start);
        assert!(chunks.into_iter().flatten().eq(-5_000..5_000), "{text}");
    }
}

#[test]
fn bringing_values_together_may_take_a_loop() {
    let pool = pool(4);
    let more = || pool.map_reduce(0..100_u64, || 0, |sum, i| sum + i, |a, b| a + b) - 4_950;
    for _ in 0..200 {
        let schedule = schedule("dynamic,1");
        let sum = pool.over(0..64_u64).schedule(schedule).map_reduce(
            || 0,
            |sum, i| sum + i + more(),
            |a, b| a + b + more(),
        );
        assert_eq!(sum, 2_016);
    }
}

#[test]
fn a_panic_arrives_and_the_rest_is_left_out() {
    for text in SCHEDULES {
        let (pool, done) = (pool(2), AtomicU64::new(0));
        let payload = catch_unwind(AssertUnwindSafe(|| {
            pool.over(0..1_000_000_u64).schedule(schedule(text)).for_each(|i| {
                if i == 0 {
                    panic!("first");
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }));
        assert_eq!(payload.unwrap_err().downcast_ref(), Some(&"first"), "{text}");
        assert_eq!(pool.map_reduce(0..10_u64, || 0, |a, i| a + i, |a, b| a + b), 45);
    }
}

#[test]
fn the_first_error_ends_the_loop() {
    let (pool, done) = (pool(2), AtomicU64::new(0));
    let result = pool.try_for_each(0..u64::MAX, |i| {
        done.fetch_add(1, Ordering::Relaxed);
        if i == 1_000 { Err(i) } else { Ok(()) }
    });
    assert_eq!(result, Err(1_000));
    assert_eq!(pool.try_for_each(0..10_u32, |_| Ok::<_, ()>(())), Ok(()));
}

#[test]
fn elements_and_blocks_of_a_slice_are_each_changed_once() {
    let pool = pool(2);
    let mut elements = vec![0_usize; 10_001];
    pool.for_each_mut(&mut elements, |i, it| *it += i);
    assert!(elements.iter().copied().eq(0..10_001));
    pool.for_each_block(&mut elements, 100, |block, part| {
        part.iter_mut().for_each(|it| *it = *it - *it + block)
    });
    assert!(elements.iter().enumerate().all(|(i, &it)| it == i / 100));
    pool.over(5..7).for_each_mut(&mut elements, |_, it| *it = 9);
    assert_eq!(elements[4..8], [0, 9, 9, 0]);
    pool.over(0..5).for_each_block(&mut [0_u8; 3], 2, |block, part| {
        assert_eq!(part.len(), 2_usize.saturating_sub(block))
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_sum_is_that_of_one_thread(
        workers in 1usize..6,
        text in prop::sample::select(&SCHEDULES[..]),
        values in prop::collection::vec(any::<u64>(), 0..5_000),
    ) {
        let sum = pool(workers).over(0..values.len()).schedule(schedule(text)).map_reduce(
            || 0,
            |sum: u64, i| sum.wrapping_add(values[i]),
            u64::wrapping_add,
        );
        prop_assert_eq!(sum, values.iter().copied().fold(0, u64::wrapping_add));
    }
}
