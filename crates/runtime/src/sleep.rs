//! Who is idle, who sleeps, whom to wake. README.md, "Sleep and wake", has the rules by number and the argument for them.

use std::sync::OnceLock;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicUsize, Ordering, Thread, current, fence, park};

/// One looker, one sleeper, in the census. Half a word each: more threads than any system has.
const LOOKER: usize = 1;
const SLEEPER: usize = 1 << (usize::BITS / 2);

/// How many look, and how many sleep.
#[derive(Clone, Copy)]
struct Census(usize);

impl Census {
    fn lookers(self) -> usize {
        self.0 % SLEEPER
    }

    fn sleepers(self) -> usize {
        self.0 / SLEEPER
    }
}

/// Where a worker sleeps.
#[derive(Default)]
struct Seat {
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// See the file's head.
pub struct Sleep {
    census: CachePadded<AtomicUsize>,
    /// By worker, fastest kind first: the order in which they are woken.
    seats: Box<[CachePadded<Seat>]>,
}

impl Sleep {
    /// So many seats, nobody asleep.
    pub fn new(workers: usize) -> Self {
        let seats = (0..workers).map(|_| CachePadded::new(Seat::default()));
        Self { census: CachePadded::new(AtomicUsize::new(0)), seats: seats.collect() }
    }

    /// This thread is worker `me` from now on.
    pub fn take_seat(&self, me: usize) {
        // Each worker comes once: there is nobody else's to overwrite.
        let _ = self.seats[me].thread.set(current());
    }

    /// Workers that have nothing to do, roughly: for how many it may be worth while to publish work.
    pub fn idle(&self) -> usize {
        let census = Census(self.census.load(Ordering::Relaxed));
        census.lookers() + census.sleepers()
    }

    /// Work has been made visible (rule 1).
    #[inline]
    pub fn work_appeared(&self) {
        fence(Ordering::SeqCst);
        let census = Census(self.census.load(Ordering::Relaxed));
        if census.sleepers() > 0 && census.lookers() == 0 {
            self.wake_one();
        }
    }

    /// What worker `waiter` may be waiting for has come.
    #[inline]
    pub fn wake_waiter(&self, waiter: usize) {
        fence(Ordering::SeqCst);
        if self.seats[waiter].asleep.load(Ordering::Relaxed) {
            self.wake(waiter);
        }
    }

    /// Begins to look for work.
    pub fn start_looking(&self) {
        self.census.fetch_add(LOOKER, Ordering::SeqCst);
    }

    /// Looks no more: there is something to do. `more`: whether there is work for another (rule 2).
    pub fn stop_looking(&self, more: impl FnOnce() -> bool) {
        let before = Census(self.census.fetch_sub(LOOKER, Ordering::SeqCst));
        if before.lookers() == 1 && before.sleepers() > 0 {
            fence(Ordering::SeqCst);
            if more() {
                self.wake_one();
            }
        }
    }

    /// A looker sleeps until it is woken, and looks again then. `anything`: whether there is something to be done after all (rule 3).
    pub fn sleep(&self, me: usize, anything: impl FnOnce() -> bool) {
        let asleep = &self.seats[me].asleep;
        asleep.store(true, Ordering::Relaxed);
        self.census.fetch_add(SLEEPER - LOOKER, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if anything() {
            // Where somebody is faster and wakes us, this finds that there is nothing left to undo.
            self.take_from_sleep(me);
            return;
        }
        while asleep.load(Ordering::Acquire) {
            park();
        }
    }

    /// Wakes all, that they may see the end.
    pub fn wake_all(&self) {
        fence(Ordering::SeqCst);
        (0..self.seats.len()).for_each(|index| self.wake(index));
    }

    #[cold]
    fn wake_one(&self) {
        if let Some(index) = (0..self.seats.len()).find(|&index| self.take_from_sleep(index)) {
            self.unpark(index);
        }
    }

    #[cold]
    fn wake(&self, index: usize) {
        if self.take_from_sleep(index) {
            self.unpark(index);
        }
    }

    /// Rule 4: of all who try, one succeeds.
    fn take_from_sleep(&self, index: usize) -> bool {
        let asleep = &self.seats[index].asleep;
        let taken = asleep.load(Ordering::Relaxed)
            && asleep.compare_exchange(true, false, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if taken {
            self.census.fetch_sub(SLEEPER - LOOKER, Ordering::SeqCst);
        }
        taken
    }

    fn unpark(&self, index: usize) {
        if let Some(thread) = self.seats[index].thread.get() {
            thread.unpark();
        }
    }
}
