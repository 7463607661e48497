//! Idle workers and sleepers, and which of them to wake. README.md in this folder has the rules by
//! number, and the argument for them.

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::atomic::compiler_fence;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
#[cfg(not(loom))]
use rustix::thread::{MembarrierCommand, membarrier};

use crate::registry::Registry;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, Thread, current, fence, park_until};
use crate::trace::What;
use crate::worker::Worker;

/// One idle worker, one sleeper, in the counters. Half a word each: more threads than any system
/// has.
const ONE_IDLE: usize = 1;
const ONE_SLEEPING: usize = 1 << (usize::BITS / 2);

/// The longest sleep after a failed fence: something may have escaped the last look.
const MAX_UNORDERED_SLEEP: Duration = Duration::from_millis(1);

/// How many workers are idle, and how many sleep.
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

/// Counts idle and sleeping workers, and wakes them.
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

    /// Counts a worker as idle.
    pub fn start_looking(&self) {
        self.counters.fetch_add(ONE_IDLE, Ordering::SeqCst);
    }

    /// Counts a worker as idle no more: it has found work. `more`: true if there is work for
    /// another (rule 2).
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

    /// Wakes all: the pool ends.
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

    /// Unparks a worker that has been taken from sleep. `since`: when the wake-up was begun, before
    /// the woken worker can have seen any of it.
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

/// A fence in two halves: a light one for threads that pass often, and a heavy one for threads that
/// pass seldom. The heavy half does the others' part for them.
///
/// ```text
/// one thread      store x;  light;  load y        at least one of them
/// another         store y;  heavy;  load x        sees the other's store
/// ```
///
/// Linux can have every running thread of a process pass a fence (membarrier(2),
/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`; the others passed one when they were switched out). With
/// that the light half need only keep the compiler from changing the order. Two light halves order
/// nothing; two heavy halves are fences to each other (kernel/sched/membarrier.c, the table of
/// scenarios at its head).
///
/// Without `membarrier` both halves are full fences.
pub struct AsymmetricFence {
    is_asymmetric: bool,
}

impl AsymmetricFence {
    /// For all threads of this process.
    pub fn new() -> Self {
        // Each process has to register. The first time, if it has other threads by then, that takes
        // the kernel an RCU grace period (some 10 ms). A process that may register is not always
        // allowed to use it.
        #[cfg(not(loom))]
        let is_asymmetric = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
            && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
        // Loom knows of fences only.
        #[cfg(loom)]
        let is_asymmetric = false;
        Self { is_asymmetric }
    }

    /// The half that costs next to nothing.
    #[inline]
    pub fn light(&self) {
        if self.is_asymmetric {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// The half that costs a system call, and every running thread of this process an interrupt.
    /// False: the system failed, and nothing has been ordered.
    #[must_use]
    pub fn heavy(&self) -> bool {
        #[cfg(not(loom))]
        if self.is_asymmetric {
            return membarrier(MembarrierCommand::PrivateExpedited).is_ok();
        }
        fence(Ordering::SeqCst);
        true
    }
}
