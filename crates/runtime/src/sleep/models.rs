//! Models of the protocol by loom: every interleaving, within bounds. `make race` runs them.

use std::sync::Arc;

use loom::thread;

use super::*;
use crate::sync::AtomicBool;

/// Jobs without any ordering of their own, so that the protocol has to have it.
#[derive(Default)]
struct Jobs(AtomicUsize);

impl Jobs {
    fn push(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn take(&self) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |jobs| jobs.checked_sub(1))
            .is_ok()
    }
}

/// A worker without work, as in `worker/idle.rs`, but it looks once before it sleeps.
fn look(sleep: &Sleep, me: usize, jobs: &Jobs, done: &dyn Fn() -> bool) -> bool {
    sleep.start_looking();
    loop {
        let found = jobs.take();
        if found || done() {
            sleep.stop_looking(|| !jobs.is_empty());
            return found;
        }
        // Once it looks after others while it sleeps.
        let mut first = true;
        let asleep = || std::mem::take(&mut first).then(Instant::now);
        sleep.sleep(me, || None, || done() || !jobs.is_empty(), asleep);
    }
}

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(f);
}

#[test]
fn a_job_reaches_a_worker_that_goes_to_sleep() {
    model(|| {
        let shared = Arc::new((Sleep::new(1), Jobs::default()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.register_current_thread(0);
                assert!(look(&shared.0, 0, &shared.1, &|| false));
            })
        };
        shared.1.push();
        shared.0.work_appeared();
        worker.join().unwrap();
    });
}

#[test]
fn two_jobs_reach_two_workers_of_whom_each_takes_one() {
    model(|| {
        let shared = Arc::new((Sleep::new(2), Jobs::default()));
        let workers = [0, 1].map(|me| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.register_current_thread(me);
                assert!(look(&shared.0, me, &shared.1, &|| false));
            })
        });
        for _ in 0..2 {
            shared.1.push();
            shared.0.work_appeared();
        }
        // A worker that has taken one takes no other: if a wake-up were lost, the second job
        // would stay for ever.
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn a_worker_that_takes_one_job_of_two_pushed_at_once_has_another_sleeper_woken_for_the_second() {
    model(|| {
        let shared = Arc::new((Sleep::new(2), Jobs::default()));
        // The other sleeps from the start: with a thread of its own there would be too many
        // interleavings.
        shared.0.workers[1].state.store(ASLEEP, Ordering::Relaxed);
        shared.0.counters.store(ONE_SLEEPING, Ordering::SeqCst);
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.register_current_thread(0);
                assert!(look(&shared.0, 0, &shared.1, &|| false));
            })
        };
        let push = |shared: &(Sleep, Jobs)| {
            shared.1.push();
            shared.0.work_appeared();
        };
        let pusher = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || push(&shared))
        };
        push(&shared);
        pusher.join().unwrap();
        worker.join().unwrap();
        assert!(!shared.0.workers[1].is_asleep());
    });
}

#[test]
fn a_worker_that_waits_for_something_is_woken_by_it() {
    model(|| {
        let shared = Arc::new((Sleep::new(1), Jobs::default(), AtomicBool::new(false)));
        let waiter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.register_current_thread(0);
                look(&shared.0, 0, &shared.1, &|| shared.2.load(Ordering::Relaxed));
            })
        };
        shared.2.store(true, Ordering::Relaxed);
        shared.0.wake_waiter(0);
        waiter.join().unwrap();
    });
}

#[test]
fn work_for_one_of_two_that_sleep_reaches_that_one() {
    model(|| {
        let shared = Arc::new((Sleep::new(2), Jobs::default(), AtomicBool::new(false)));
        let chosen = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.register_current_thread(1);
                assert!(look(&shared.0, 1, &shared.1, &|| false));
                shared.2.store(true, Ordering::Relaxed);
                shared.0.wake_all();
            })
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.register_current_thread(0);
                assert!(!look(&shared.0, 0, &Jobs::default(), &|| shared
                    .2
                    .load(Ordering::Relaxed)));
            })
        };
        shared.1.push();
        if let Some(index) = shared.0.asleep().find(|&index| index == 1) {
            shared.0.wake(index);
        }
        chosen.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_sleeper_that_is_woken_when_its_time_has_come_is_awake_once() {
    model(|| {
        let shared = Arc::new(Sleep::new(1));
        let sleeper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.register_current_thread(0);
                shared.start_looking();
                shared.sleep(0, || Some(Instant::now()), || false, || None);
                shared.stop_looking(|| false);
            })
        };
        shared.wake_waiter(0);
        sleeper.join().unwrap();
        assert_eq!(shared.counters.load(Ordering::Relaxed), 0);
        assert_eq!(shared.workers[0].state.load(Ordering::Relaxed), AWAKE);
    });
}

#[test]
fn all_see_the_end() {
    model(|| {
        let shared = Arc::new((Sleep::new(2), Jobs::default(), AtomicBool::new(false)));
        let workers = [0, 1].map(|me| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.register_current_thread(me);
                look(&shared.0, me, &shared.1, &|| shared.2.load(Ordering::Relaxed));
            })
        });
        shared.2.store(true, Ordering::Relaxed);
        shared.0.wake_all();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}
