//! Tasks on two kinds of core. Two workers on two kinds of core, as a machine file says; what takes
//! longer on the slow one is sleep, so that it takes as long whatever else the machine does.

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_runtime::Handle;
use support::{by_kind, here, sleep_by_kind};

#[test]
fn a_slow_core_leaves_the_last_tasks_to_a_fast_one_and_does_not_where_it_does_not_know_kinds() {
    let slow_share = |policy| {
        // A worker that is woken by a push could take the core of the pushing thread, and look for
        // work before that one has begun what it keeps.
        let (pool, done) = (by_kind(policy, true), [const { AtomicUsize::new(0) }; 2]);
        for round in 0..15 {
            pool.scope(|s| {
                for _ in 0..2 {
                    s.task().label("coarse").run(|| {
                        // Costs have been learnt on both kinds after some rounds.
                        done[here()].fetch_add(usize::from(round >= 5), Ordering::Relaxed);
                        sleep_by_kind(&[5_000, 50_000]);
                    });
                }
            });
        }
        let [fast, slow] = done.map(AtomicUsize::into_inner);
        assert_eq!(fast + slow, 20);
        let [fast, slow_left] = [0, 1].map(|worker: usize| pool.summary().workers[worker].declined);
        assert_eq!((fast, slow_left > 0), (0, policy == "steal-kind"), "{}", pool.summary());
        slow
    };
    // Two on the fast core take 10 ms, one on the slow core 50.
    let slow = slow_share("steal-kind");
    assert!(slow <= 4, "{slow} of 20");
    let slow = slow_share("steal");
    assert!(slow >= 5, "{slow} of 20");
}

#[test]
fn a_task_that_was_left_is_taken_after_all_where_the_fast_core_does_not_come() {
    let (pool, slow) = (by_kind("steal-kind", false), AtomicUsize::new(0));
    for _ in 0..4 {
        pool.scope(|s| {
            (0..4).for_each(|_| s.task().label("step").run(|| sleep_by_kind(&[1_000, 3_000])));
        });
    }
    // "step" takes 1 ms on the fast core, as far as is known; now it waits there for one that the
    // slow core has to do.
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

#[test]
fn under_cats_the_path_is_the_fast_cores() {
    let (pool, root, path, slow) =
        (by_kind("cats", false), Handle::new(), Handle::new(), AtomicUsize::new(0));
    let singles: Vec<_> = (0..30).map(|_| Handle::new()).collect();
    pool.scope(|s| {
        let slow = &slow;
        // All is created before the first ends: so the path is known.
        s.task().writes(&root).run(|| sleep_by_kind(&[20_000, 20_000]));
        singles.iter().for_each(|it| {
            s.task().reads(&root).updates(it).run(|| sleep_by_kind(&[1_000, 2_000]))
        });
        for _ in 0..20 {
            s.task().reads(&root).updates(&path).run(move || {
                slow.fetch_add(here(), Ordering::Relaxed);
                sleep_by_kind(&[1_000, 2_000]);
            });
        }
    });
    let slow = slow.into_inner();
    assert!(slow <= 5, "{slow} of 20");
}

#[test]
fn what_a_policy_keeps_for_a_core_that_does_not_come_is_done_by_another() {
    let (pool, path, held, begun) =
        (by_kind("cats", false), Handle::new(), Mutex::new(()), AtomicUsize::new(0));
    let lock = held.lock().unwrap();
    std::thread::scope(|threads| {
        // One worker waits for the lock, which is held until the path is done.
        let (begun, pool, held) = (&begun, &pool, &held);
        let stuck = threads.spawn(move || {
            pool.scope(|s| {
                s.task().label("stuck").run(move || {
                    begun.store(1 + here(), Ordering::SeqCst);
                    drop(held.lock().unwrap());
                });
            });
        });
        while begun.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        pool.scope(|s| (0..10).for_each(|_| s.task().updates(&path).run(|| ())));
        drop(lock);
        stuck.join().unwrap();
    });
}

#[test]
fn kinds_in_a_line_count_where_no_machine_is_named() {
    let name = "kinds_in_a_line_count_where_no_machine_is_named";
    if std::env::var_os("EVENKEEL_KINDS").is_some() {
        let pool = evenkeel_runtime::Pool::new();
        match std::env::var("EVENKEEL_KINDS").unwrap().as_str() {
            "0=no" => assert_eq!(
                pool.unwrap_err().to_string(),
                "EVENKEEL_KINDS: capacity 'no' found, expected a whole number from 1 to 1024"
            ),
            _ => {
                let pool = pool.unwrap();
                assert_eq!((pool.kinds()[0].name.as_str(), pool.kinds()[0].capacity), ("big", 700));
            }
        }
        return;
    }
    for line in ["big:0-63=700", "0=no"] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let status = child
            .args(["--exact", name])
            .env("EVENKEEL_KINDS", line)
            .env_remove("EVENKEEL_MACHINE")
            .status();
        assert!(status.unwrap().success(), "{line}");
    }
}

#[test]
fn speedup_factors_are_over_the_slowest_kind_that_has_a_worker() {
    let name = "speedup_factors_are_over_the_slowest_kind_that_has_a_worker";
    if std::env::var_os("EVENKEEL_KINDS").is_some() {
        let pool = evenkeel_runtime::Pool::builder().workers(1).summary(true).build().unwrap();
        assert_eq!(pool.kinds()[0].name, "middle");
        pool.scope(|s| s.task().label("step").run(|| ()));
        let factors: Vec<_> = pool.speedups().iter().map(|it| (it.label, it.factor)).collect();
        assert_eq!(factors, [("step", 1.0)]);
        return;
    }
    // No CPU of this machine is of the first kind, nor of the last.
    let line = "big:1000=1024 middle:0-63=700 little:1001=300";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", name]).env("EVENKEEL_KINDS", line);
    assert!(child.env_remove("EVENKEEL_MACHINE").status().unwrap().success());
}
