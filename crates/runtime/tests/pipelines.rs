//! Pipelines: order, bounds, ends.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use evenkeel_runtime::{Pool, Stage};
use support::{by_kind, here, sleep_by_kind};

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

/// Of one kind, and of two.
fn pools() -> impl Iterator<Item = Pool> {
    [1, 2, 5].into_iter().map(pool).chain(std::iter::once_with(|| by_kind("steal-kind", true)))
}

#[test]
fn serial_stages_see_the_items_in_the_order_of_the_source() {
    for pool in pools() {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        pool.pipeline(0..5_000_u64)
            .serial(|i| {
                first.push(i);
                i
            })
            .parallel(|i| (i, i * i))
            .parallel(|(i, square)| i + square)
            .serial(|it| last.push(it))
            .run();
        assert!(
            first.into_iter().eq(0..5_000) && last.into_iter().eq((0..5_000).map(|i| i + i * i))
        );
    }
}

#[test]
fn no_more_items_are_under_way_than_may_be() {
    for (bound, pool) in
        [1, 2, 3, 7].into_iter().flat_map(|bound| pools().map(move |pool| (bound, pool)))
    {
        let (under_way, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let source = (0..1_000).inspect(|_| {
            _ = most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst)
        });
        pool.pipeline(source)
            .in_flight(bound)
            .parallel(std::hint::black_box::<i32>)
            .serial(|_| _ = under_way.fetch_sub(1, Ordering::SeqCst))
            .run();
        assert!((1..=bound).contains(&most.into_inner()), "{bound}");
    }
}

#[test]
fn a_slow_core_has_its_items_taken_from_the_source_by_a_fast_one_and_does_not_where_kinds_do_not_count()
 {
    let slow_share = |policy| {
        let [asked, worked] = [const { AtomicUsize::new(0) }; 2];
        let count =
            |it: &AtomicUsize| _ = it.fetch_add(usize::from(here() == 1), Ordering::Relaxed);
        by_kind(policy, true)
            .pipeline((0..200).inspect(|_| count(&asked)))
            .parallel(|_| {
                count(&worked);
                sleep_by_kind(&[1_000, 5_000]);
            })
            .run();
        (asked.into_inner(), worked.into_inner())
    };
    let (asked, worked) = slow_share("steal-kind");
    assert!(worked >= 10 && asked <= worked / 2, "{asked} of {worked}");
    let (asked, worked) = slow_share("steal");
    assert!(worked >= 10 && asked > worked / 2, "{asked} of {worked}");
}

#[test]
fn a_source_that_works_for_long_is_asked_by_the_fast_core_as_well() {
    let [asked, worked] = [const { AtomicUsize::new(0) }; 2];
    let count = |it: &AtomicUsize| _ = it.fetch_add(usize::from(here() == 1), Ordering::Relaxed);
    let source = (0..100).inspect(|_| {
        count(&asked);
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(2) {}
    });
    by_kind("steal-kind", true)
        .pipeline(source)
        .parallel(|_| {
            count(&worked);
            sleep_by_kind(&[3_000, 15_000]);
        })
        .run();
    let (asked, worked) = (asked.into_inner(), worked.into_inner());
    assert!(worked >= 8 && asked <= worked / 2, "{asked} of {worked}");
}

#[test]
fn a_source_may_wait_for_what_comes_out() {
    let [taken, done] = [const { AtomicUsize::new(0) }; 2];
    // Every third item comes when all before it are through.
    let source = (0..90).inspect(|i| {
        while i % 3 == 0 && done.load(Ordering::SeqCst) < taken.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        taken.fetch_add(1, Ordering::SeqCst);
    });
    by_kind("steal-kind", true)
        .pipeline(source)
        .parallel(|_| {
            sleep_by_kind(&[300, 1_500]);
            done.fetch_add(1, Ordering::SeqCst);
        })
        .run();
    assert_eq!(done.into_inner(), 90);
}

#[test]
fn a_source_is_not_asked_again_once_a_stage_has_failed_and_what_it_gave_is_dropped() {
    for pool in pools() {
        let (asked, given) = (AtomicUsize::new(0), Arc::new(()));
        let source = (0..1_000).map(|i| {
            asked.fetch_add(1, Ordering::SeqCst);
            (i, Arc::clone(&given))
        });
        let by_then = Mutex::new(0);
        let stage = |(i, _given): (i32, Arc<()>)| {
            std::thread::sleep(Duration::from_micros(200));
            if i == 50 {
                *by_then.lock().unwrap() = asked.load(Ordering::SeqCst);
                return Err(i);
            }
            Ok(())
        };
        assert_eq!(pool.try_pipeline(source).try_parallel(stage).try_run(), Err(50));
        // One may be asking, and has not seen that yet, and ask again before it has.
        assert!(asked.load(Ordering::SeqCst) <= *by_then.lock().unwrap() + 2);
        assert_eq!(Arc::strong_count(&given), 1);
    }
}

#[test]
fn no_item_waits_for_a_source_that_waits_itself_on_cores_of_two_kinds() {
    let [taken, begun, kept_waiting] = [const { AtomicUsize::new(0) }; 3];
    let source = (0..60).inspect(|_| {
        sleep_by_kind(&[4_000, 4_000]);
        let waiting = taken.fetch_add(1, Ordering::SeqCst) > begun.load(Ordering::SeqCst);
        kept_waiting.fetch_add(usize::from(waiting), Ordering::SeqCst);
    });
    by_kind("steal-kind", true)
        .pipeline(source)
        .parallel(|_| {
            begun.fetch_add(1, Ordering::SeqCst);
            sleep_by_kind(&[500, 20_000]);
        })
        .run();
    // A worker that has taken an item has begun with it 4 ms later, unless this machine had no core
    // for it.
    assert!(kept_waiting.into_inner() <= 15);
}

#[test]
fn a_pipeline_may_have_no_items_or_no_stages() {
    pool(2).pipeline(std::iter::empty::<u8>()).serial(|_| panic!("an item")).run();
    let taken = AtomicUsize::new(0);
    pool(2).pipeline((0..100).inspect(|_| _ = taken.fetch_add(1, Ordering::Relaxed))).run();
    assert_eq!(taken.into_inner(), 100);
}

#[test]
fn stages_known_at_run_time_are_gone_through_in_order() {
    for stages in 0..6 {
        let (seen, mut last) = (Mutex::new(Vec::new()), Vec::new());
        let mut all: Vec<_> =
            (0..stages).map(|n| Stage::parallel(move |it: u64| it * 10 + n)).collect();
        let first = Stage::serial(|it| {
            seen.lock().unwrap().push(it);
            it
        });
        all.insert(0, first);
        all.push(Stage::serial(|it| {
            last.push(it);
            it
        }));
        pool(3).pipeline(1..=1_000_u64).run_through(all);
        assert!(seen.into_inner().unwrap().into_iter().eq(1..=1_000));
        assert!(
            last.into_iter().eq((1..=1_000).map(|it| (0..stages).fold(it, |it, n| it * 10 + n))),
            "{stages}"
        );
    }
}

#[test]
fn a_panic_anywhere_arrives() {
    let pool = pool(2);
    let message = |at: &str| {
        let panic_at = |place: &str, i: i32| assert!(at != place || i != 50, "{at}");
        let source = (0..100).inspect(|&i| panic_at("source", i));
        let line = pool.pipeline(source).parallel(|i| (i, panic_at("parallel", i)).0);
        let payload =
            catch_unwind(AssertUnwindSafe(|| line.serial(|i| panic_at("serial", i)).run()))
                .unwrap_err();
        payload.downcast_ref::<String>().cloned()
    };
    for at in ["source", "parallel", "serial"] {
        assert_eq!(message(at).as_deref(), Some(at));
    }
}

#[test]
fn items_may_borrow() {
    let text = String::from("one two three");
    let mut lengths = Vec::new();
    pool(2).pipeline(text.split(' ')).parallel(str::len).serial(|len| lengths.push(len)).run();
    assert_eq!(lengths, [3, 3, 5]);
}
