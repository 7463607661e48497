//! Core lending: an idle worker gives its core to a worker that has work and does not run.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "a thread's scheduling class is libc's to set")]

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use evenkeel_runtime::Pool;
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use support::{by_kind, here};

/// Long for an idle worker, which lends its core after some ten microseconds.
const AWAY: Duration = Duration::from_millis(20);

/// Tests that are on the cores at once would take them from each other.
fn alone() -> MutexGuard<'static, ()> {
    static CORES: Mutex<()> = Mutex::new(());
    CORES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Other programs may take cores away, too, now and then.
fn sometimes(mut holds: impl FnMut() -> bool) -> bool {
    (0..20).any(|_| holds())
}

fn spin(span: Duration) {
    let since = Instant::now();
    while since.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// Whatever the environment says.
fn builder() -> evenkeel_runtime::Builder {
    Pool::builder().workers(2).lend(true)
}

/// Threads that want a core all the time, until they are stopped.
fn take<'scope>(threads: &'scope Scope<'scope, '_>, core: usize, is_over: &'scope AtomicBool) {
    for _ in 0..3 {
        threads.spawn(move || {
            let mut set = CpuSet::new();
            set.set(core);
            sched_setaffinity(None, &set).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
}

fn lent(pool: &Pool) -> u64 {
    pool.summary().workers.iter().map(|work| work.lent).sum()
}

/// A task that another worker than its creator has, and does `within` there while that one has
/// nothing to do.
fn elsewhere<R: Send>(pool: &Pool, within: impl FnOnce() -> R + Send) -> (usize, R) {
    let both = Barrier::new(2);
    let result = Mutex::new(None);
    let creator = pool.scope(|s| {
        s.spawn(|| {
            both.wait();
            *result.lock().unwrap() = Some(within());
        });
        let creator = sched_getcpu();
        both.wait();
        creator
    });
    (creator, result.into_inner().unwrap().unwrap())
}

#[test]
fn a_worker_with_work_that_does_not_run_gets_the_core_of_its_waiter_and_goes_home_afterwards() {
    let _alone = alone();
    let is_lent = || {
        let pool = builder().build().unwrap();
        let (creator, cpu) = elsewhere(&pool, || {
            std::thread::sleep(AWAY);
            sched_getcpu()
        });
        // The worker with the next task has been idle since, and is lent no other core before it
        // says where it may run.
        std::thread::sleep(AWAY);
        let is_home = || {
            let (creator, cpus) = elsewhere(&pool, || may_run_on(None));
            cpus.len() == 1 && cpus != [creator]
        };
        cpu == creator && lent(&pool) > 0 && sometimes(is_home)
    };
    assert!(sometimes(is_lent));
}

/// The cores that a thread may run on.
fn may_run_on(thread: Option<Pid>) -> Vec<usize> {
    let set = sched_getaffinity(thread).unwrap();
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Runs `within` on a worker that has lost its core for a while, with that core and if it has the
/// lender's now; the lender sleeps.
fn lent_without_a_waiter<R: Send>(pool: &Pool, within: impl FnOnce(usize, bool) -> R + Send) -> R {
    let both = Barrier::new(2);
    std::thread::scope(|threads| {
        // A worker that has just had work looks for more, and so sees others that do not run.
        threads.spawn(|| pool.run(|| both.wait()));
        pool.run(|| {
            let own = sched_getcpu();
            both.wait();
            std::thread::sleep(AWAY);
            within(own, sched_getcpu() != own)
        })
    })
}

#[test]
fn a_worker_that_has_nothing_left_to_do_goes_home_though_its_lender_sleeps_on() {
    let _alone = alone();
    let pool = builder().build().unwrap();
    let was_lent = || {
        let (thread, own, is_away) =
            lent_without_a_waiter(&pool, |own, is_away| (gettid(), own, is_away));
        let since = Instant::now();
        while is_away && may_run_on(Some(thread)) != [own] {
            assert!(
                since.elapsed() < Duration::from_secs(10),
                "{:?}, not {own}",
                may_run_on(Some(thread))
            );
            std::thread::sleep(AWAY);
        }
        is_away
    };
    assert!(sometimes(was_lent));
}

#[test]
fn a_worker_that_loses_its_core_is_lent_that_of_one_that_has_been_asleep_for_long() {
    let _alone = alone();
    let pool = builder().build().unwrap();
    let is_lent = || {
        let (creator, cpu) = elsewhere(&pool, || {
            spin(AWAY);
            std::thread::sleep(AWAY);
            sched_getcpu()
        });
        cpu == creator
    };
    assert!(sometimes(is_lent));
    // And where all have been since before it began.
    let is_lent = || {
        std::thread::sleep(AWAY);
        pool.run(|| {
            let own = sched_getcpu();
            std::thread::sleep(AWAY);
            sched_getcpu() != own
        })
    };
    assert!(sometimes(is_lent));
}

/// A task that the worker of this kind has, while there is nothing for the other to do: how many
/// cores it has been on in turn.
fn alone_on(kind: usize) -> usize {
    let pool = by_kind("steal-kind", true);
    let cpus = pool.places().iter().map(|place| place.cpu.unwrap() as usize).collect::<Vec<_>>();
    let both = Barrier::new(2);
    let seen = Mutex::new(vec![]);
    pool.scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                both.wait();
                if here() == kind {
                    let since = Instant::now();
                    let mut seen = seen.lock().unwrap();
                    while since.elapsed() < AWAY {
                        seen.push(sched_getcpu());
                        seen.dedup();
                    }
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen[0], cpus[kind]);
    seen.len()
}

#[test]
fn what_takes_long_on_a_slow_core_goes_to_a_fast_one_that_has_nothing_to_do_and_not_the_other_way_round()
 {
    let _alone = alone();
    assert!(sometimes(|| alone_on(1) == 2));
    assert_eq!(alone_on(0), 1);
}

#[test]
fn a_worker_that_was_lent_a_contended_core_gets_its_own_back() {
    let _alone = alone();
    let pool = builder().build().unwrap();
    let goes_back = || {
        let is_over = &AtomicBool::new(false);
        std::thread::scope(|threads| {
            let (_, went) = elsewhere(&pool, || {
                let own = sched_getcpu();
                std::thread::sleep(AWAY);
                let lent = sched_getcpu();
                take(threads, lent, is_over);
                let since = Instant::now();
                while sched_getcpu() != own && since.elapsed() < 20 * AWAY {
                    std::hint::spin_loop();
                }
                (lent != own, sched_getcpu() == own)
            });
            is_over.store(true, Ordering::Relaxed);
            went == (true, true)
        })
    };
    assert!(sometimes(goes_back));
}

#[test]
fn a_worker_that_wakes_its_lender_leaves_that_ones_core_first() {
    let _alone = alone();
    let pool = builder().build().unwrap();
    // A thread that is woken does not preempt the thread on its core, and so sends no other home.
    let (both, batch) = (Barrier::new(2), libc::sched_param { sched_priority: 0 });
    pool.scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                both.wait();
                // SAFETY: 0 is the thread that calls, and the parameters are there.
                let set =
                    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const batch) };
                assert_eq!(set, 0);
            });
        }
    });
    let was_lent = || {
        lent_without_a_waiter(&pool, |own, is_away| {
            pool.scope(|s| {
                s.spawn(|| ());
                is_away.then(|| may_run_on(None) == [own])
            })
        })
    };
    // A worker that has been woken may lend it the same core again, if it loses its own.
    assert!(sometimes(|| was_lent() == Some(true)));
}

#[test]
fn a_worker_that_runs_is_lent_nothing() {
    let _alone = alone();
    let is_lent_none = || {
        let pool = builder().build().unwrap();
        elsewhere(&pool, || spin(AWAY));
        lent(&pool) == 0
    };
    assert!(sometimes(is_lent_none));
}

#[test]
fn a_worker_that_has_something_to_do_again_takes_its_core_back() {
    let _alone = alone();
    let pool = builder().build().unwrap();
    let (is_elsewhere, has_begun, is_over) =
        (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let since = Instant::now();
            while !(is_elsewhere.load(Ordering::Acquire) && lent(&pool) > 0)
                && since.elapsed() < Duration::from_secs(60)
            {
                std::thread::yield_now();
            }
            pool.run(|| {
                has_begun.store(true, Ordering::Release);
                while !is_over.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            });
        });
        let (creator, cpu) = elsewhere(&pool, || {
            is_elsewhere.store(true, Ordering::Release);
            while !has_begun.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let cpu = sched_getcpu();
            is_over.store(true, Ordering::Release);
            cpu
        });
        assert!(lent(&pool) > 0);
        assert_ne!(cpu, creator);
    });
}

#[test]
fn none_are_lent_by_workers_that_share_them_or_are_not_kept_to_any_or_are_told_not_to() {
    let _alone = alone();
    let cpus = sched_getaffinity(None).unwrap().count() as usize;

    for pool in [builder().workers(2 * cpus), builder().pin(false), builder().lend(false)] {
        let pool = pool.build().unwrap();
        elsewhere(&pool, || std::thread::sleep(AWAY));
        assert_eq!(lent(&pool), 0);
    }
}

/// Only of interest where the test below runs it.
#[test]
fn a_pool_that_says_how_many_it_lent() {
    if std::env::var_os("EVENKEEL_AGAIN").is_some() {
        match Pool::builder().workers(2).build() {
            Ok(pool) => {
                elsewhere(&pool, || std::thread::sleep(AWAY));
                eprintln!("lent {}", lent(&pool));
            }
            Err(error) => eprintln!("{error}"),
        }
    }
}

#[test]
fn a_variable_tells_workers_not_to() {
    let _alone = alone();
    let lent = |value: &str| {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", "a_pool_that_says_how_many_it_lent", "--nocapture"])
            .env("EVENKEEL_AGAIN", "1");
        let said =
            String::from_utf8(again.env("EVENKEEL_LEND", value).output().unwrap().stderr).unwrap();
        let lent = said.lines().find_map(|line| line.strip_prefix("lent ")?.parse::<u64>().ok());
        lent.ok_or(said)
    };
    assert!(sometimes(|| lent("1").unwrap() > 0));
    assert_eq!(lent("0"), Ok(0));
    let said = lent("no").unwrap_err();
    assert!(said.contains("EVENKEEL_LEND: 'no' found, expected 0 or 1"), "{said}");
}

#[test]
fn loops_go_on_while_another_program_has_a_core() {
    let _alone = alone();
    let pool = builder().build().unwrap();
    let core = pool.places()[1].cpu.unwrap() as usize;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        take(threads, core, &is_over);
        let (since, mut loops, sum) = (Instant::now(), 0, AtomicU64::new(0));
        pool.run(|| {
            while lent(&pool) < 10 && since.elapsed() < Duration::from_secs(60) {
                pool.for_each(0..64_u64, |i| {
                    let mut it = i;
                    for _ in 0..2_000 {
                        it = std::hint::black_box(it);
                    }
                    sum.fetch_add(it, Ordering::Relaxed);
                });
                loops += 1;
            }
        });
        is_over.store(true, Ordering::Relaxed);
        assert!(lent(&pool) >= 10, "{} loops", loops);
        assert_eq!(sum.into_inner(), loops * (0..64).sum::<u64>());
    });
}
