//! Idle workers and sleepers, and which of them to wake. README.md in this folder has the rules by
//! number, and the argument for them.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::asymmetric_fence::AsymmetricFence;
use crate::registry::Registry;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, Thread, current, fence, park_until};
use crate::trace::What;
use crate::worker::Worker;

/// One idle worker, one sleeper, in the counters. Half a word each: more threads than any system
/// has.
const ONE_IDLE: usize = 1;
const ONE_SLEEPING: usize = 1 << (usize::BITS / 2);

/// How long a sleeper sleeps at most that something may have escaped: the barrier failed it.
const MAX_UNORDERED_SLEEP: Duration = Duration::from_millis(1);

/// How many look, and how many sleep.
#[derive(Clone, Copy)]
struct Counters(usize);

impl Counters {
    fn idle(self) -> usize {
        self.0 % ONE_SLEEPING
    }

    fn sleeping(self) -> usize {
        self.0 / ONE_SLEEPING
    }
}

/// The sleep state of a worker.
#[derive(Default)]
struct WorkerSleepState {
    state: AtomicU32,
    thread: OnceLock<Thread>,
}

/// States of a worker. WAKING: it has been chosen, and has not been moved in the counters yet.
const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const WAKING: u32 = 2;

impl WorkerSleepState {
    fn is_asleep(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ASLEEP
    }
}

/// See the file's head.
pub struct Sleep {
    counters: CachePadded<AtomicUsize>,
    /// Between threads that make work visible, which is often, and threads that go to sleep.
    fence: AsymmetricFence,
    /// Indexed by worker, fastest kind first: the order in which they are woken.
    workers: Box<[CachePadded<WorkerSleepState>]>,
    /// In a region: the pool around it, which is told of work while no worker sleeps within. The
    /// counters have it as a sleeper that is never woken.
    outer: Option<Arc<Registry>>,
}

impl Sleep {
    /// So many workers, all awake.
    pub fn new(workers: usize) -> Self {
        let states = (0..workers).map(|_| CachePadded::new(WorkerSleepState::default()));
        let states = states.collect();
        Self {
            counters: CachePadded::new(AtomicUsize::new(0)),
            fence: AsymmetricFence::new(),
            workers: states,
            outer: None,
        }
    }

    /// The same, in a region.
    pub fn within(workers: usize, outer: Arc<Registry>) -> Self {
        let counters = CachePadded::new(AtomicUsize::new(ONE_SLEEPING));
        Self { counters, outer: Some(outer), ..Self::new(workers) }
    }

    /// This thread is worker `me` from now on.
    pub fn register_current_thread(&self, me: usize) {
        // Each worker registers once.
        let _ = self.workers[me].thread.set(current());
    }

    /// The fence between a frequent store and a rare look at it.
    #[inline]
    pub const fn asymmetric_fence(&self) -> &AsymmetricFence {
        &self.fence
    }

    /// Work has been made visible (rule 1).
    #[inline]
    pub fn work_appeared(&self) {
        self.fence.light();
        if Counters(self.counters.load(Ordering::Relaxed)).sleeping() > 0 {
            self.work_appeared_while_some_sleep();
        }
    }

    #[cold]
    fn work_appeared_while_some_sleep(&self) {
        // Against an idle worker that leaves: it does not pass the heavy half.
        fence(Ordering::SeqCst);
        let counters = Counters(self.counters.load(Ordering::Relaxed));
        if counters.sleeping() > 0 && counters.idle() == 0 {
            self.wake_one();
        }
    }

    /// The sleepers, for work that only some workers may have: the caller chooses one of them for
    /// [`Sleep::wake`].
    pub fn asleep(&self) -> impl Iterator<Item = usize> + '_ {
        fence(Ordering::SeqCst);
        let sleeping = Counters(self.counters.load(Ordering::Relaxed)).sleeping();
        let states = if sleeping > 0 { self.workers.len() } else { 0 };
        (0..states).filter(|&index| self.workers[index].is_asleep())
    }

    /// What worker `waiter` may be waiting for has come.
    #[inline]
    pub fn wake_waiter(&self, waiter: usize) {
        fence(Ordering::SeqCst);
        if self.workers[waiter].is_asleep() {
            self.wake(waiter);
        }
    }

    /// True if this worker sleeps, as of about now. Asked by its own thread: it has not been woken.
    #[inline]
    pub fn is_asleep(&self, index: usize) -> bool {
        self.workers[index].is_asleep()
    }

    /// Wakes a worker, unless one is idle and awake.
    pub fn wake_one_unless_any_idle(&self) {
        self.work_appeared_while_some_sleep();
    }

    /// True if a worker is idle and awake, as of about now.
    #[inline]
    pub fn any_idle(&self) -> bool {
        Counters(self.counters.load(Ordering::Relaxed)).idle() > 0
    }

    /// Begins to look for work.
    pub fn start_looking(&self) {
        self.counters.fetch_add(ONE_IDLE, Ordering::SeqCst);
    }

    /// Looks no more: there is something to do. `more`: whether there is work for another (rule 2).
    pub fn stop_looking(&self, more: impl FnOnce() -> bool) {
        let before = Counters(self.counters.fetch_sub(ONE_IDLE, Ordering::SeqCst));
        if before.idle() == 1 && before.sleeping() > 0 {
            fence(Ordering::SeqCst);
            if more() {
                self.wake_one();
            }
        }
    }

    /// An idle worker sleeps until it is woken or a time has come, and is idle again then.
    /// `anything`: true if there is work after all (rule 3). `until`: that time, asked behind the
    /// fence, too: work that came before it may have woken no worker. `asleep`: called once all see
    /// that it sleeps, unless there is work, and again at the time that it returns.
    pub fn sleep(
        &self,
        me: usize,
        until: impl FnOnce() -> Option<Instant>,
        anything: impl Fn() -> bool,
        mut asleep: impl FnMut() -> Option<Instant>,
    ) {
        let state = &self.workers[me].state;
        // Release: the thread that wakes this one finds the handle that was registered.
        state.store(ASLEEP, Ordering::Release);
        self.counters.fetch_add(ONE_SLEEPING - ONE_IDLE, Ordering::SeqCst);
        // Asked before, too: a worker that need not sleep interrupts no other.
        let mut is_over = anything();
        let is_ordered = is_over || self.fence.heavy();
        is_over = is_over || anything();
        let until = if is_over { None } else { until() };
        let until =
            if is_ordered { until } else { sooner(until, Instant::now() + MAX_UNORDERED_SLEEP) };
        let mut again = if is_over { None } else { asleep() };
        loop {
            if is_over && self.take_from_sleep(me) {
                return;
            }
            if state.load(Ordering::Acquire) == AWAKE {
                return;
            }
            // Another thread was faster and is waking this one: wait for that.
            let next = [until, again].into_iter().flatten().min().filter(|_| !is_over);
            if park_until(next) {
                if until == next { is_over = true } else { again = asleep() }
            }
        }
    }

    /// Wakes all, that they may see the end.
    pub fn wake_all(&self) {
        fence(Ordering::SeqCst);
        (0..self.workers.len()).for_each(|index| self.wake(index));
    }

    #[cold]
    fn wake_one(&self) {
        let since = Instant::now();
        if let Some(index) = (0..self.workers.len()).find(|&index| self.take_from_sleep(index)) {
            self.unpark(index, since);
        } else if let Some(outer) = &self.outer {
            outer.sleep.work_appeared();
        }
    }

    /// Wakes this one, if it sleeps still.
    #[cold]
    pub fn wake(&self, index: usize) {
        let since = Instant::now();
        if self.take_from_sleep(index) {
            self.unpark(index, since);
        }
    }

    /// Rule 4: of all threads that try, one succeeds.
    fn take_from_sleep(&self, index: usize) -> bool {
        let worker = &self.workers[index];
        let taken = worker.is_asleep()
            && worker
                .state
                .compare_exchange(ASLEEP, WAKING, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        if taken {
            self.counters.fetch_sub(ONE_SLEEPING - ONE_IDLE, Ordering::SeqCst);
            // Not before: the worker would leave the counters as idle before it is counted so.
            worker.state.store(AWAKE, Ordering::Release);
        }
        taken
    }

    /// `since`: when this was begun, which is before the woken worker can have seen anything of it.
    fn unpark(&self, index: usize, since: Instant) {
        if let Some(thread) = self.workers[index].thread.get() {
            thread.unpark();
        }
        Worker::with_current(|worker| {
            let worker =
                worker.filter(|worker| std::ptr::eq(&raw const worker.registry().sleep, self));
            let Some(worker) = worker else { return };
            if let Some(recorder) = worker.recorder() {
                recorder.happened(What::Woke(index as u32), since);
            }
            worker.registry().lending.has_woken(worker.index, index);
        });
    }
}

fn sooner(until: Option<Instant>, other: Instant) -> Option<Instant> {
    Some(until.map_or(other, |until| until.min(other)))
}

/// Every interleaving, within bounds: `make race` runs them.
#[cfg(all(test, loom))]
mod models {
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
    fn who_takes_one_job_of_two_pushed_at_once_has_another_sleeper_woken_for_the_second() {
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
    fn who_waits_for_something_is_woken_by_it() {
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
    fn whose_time_has_come_while_somebody_wakes_it_is_awake_once() {
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
}
