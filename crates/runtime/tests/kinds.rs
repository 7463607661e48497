//! Slow cores leave what fast ones would end sooner. Two workers on two kinds of core, as a machine file says; what takes longer on the
//! slow one is sleep, so that it takes as long whatever else the machine does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use support::{by_kind, here, sleep_by_kind};

#[test]
fn a_slow_core_leaves_the_last_tasks_to_a_fast_one_and_does_not_where_it_does_not_know_kinds() {
    let slow_share = |policy| {
        let (pool, done) = (by_kind(policy), [const { AtomicUsize::new(0) }; 2]);
        for round in 0..20 {
            pool.scope(|s| {
                for _ in 0..2 {
                    s.task().label("coarse").run(|| {
                        // What it costs has been learnt on both after some rounds.
                        done[here()].fetch_add(usize::from(round >= 5), Ordering::Relaxed);
                        sleep_by_kind(&[2_000, 20_000]);
                    });
                }
            });
        }
        let [fast, slow] = done.map(AtomicUsize::into_inner);
        assert_eq!(fast + slow, 30);
        slow
    };
    // Two on the fast core take 4 ms, one on the slow core 20.
    let slow = slow_share("steal-kind");
    assert!(slow <= 5, "{slow} of 30");
    let slow = slow_share("steal");
    assert!(slow >= 10, "{slow} of 30");
}

#[test]
fn a_task_that_was_left_is_taken_after_all_where_the_fast_core_does_not_come() {
    let (pool, slow) = (by_kind("steal-kind"), AtomicUsize::new(0));
    for _ in 0..4 {
        pool.scope(|s| {
            (0..4).for_each(|_| s.task().label("step").run(|| sleep_by_kind(&[1_000, 3_000])));
        });
    }
    // "step" takes 1 ms on the fast core, as far as is known; now it waits there for one that the slow core has to do.
    pool.scope(|s| {
        for _ in 0..2 {
            s.task().label("step").run(|| {
                if here() == 1 {
                    slow.fetch_add(1, Ordering::SeqCst);
                }
                while slow.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
            });
        }
    });
    assert!(slow.into_inner() >= 1);
}
