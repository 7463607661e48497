//! The place of a worker's thread and the lender of its core: one word, changed by lenders and by
//! the thread itself. See README.md in this folder.

use crate::sync::{AtomicU32, Ordering};

/// For how long a core is lent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Until {
    /// Its borrower has nothing to do.
    Idle,
    /// Its borrower has no lock.
    Unlocked,
}

/// States of a thread's place. The rest of the word, above these bits, is the worker whose core it
/// has or is being moved to.
const HOME: u32 = 0;
/// Its lender sends it home; or will, for it went there by itself while it was being moved, which
/// may have come after that.
const RETURNING: u32 = 1;
/// It ends.
const GONE: u32 = 3;
const UNTIL_IDLE: u32 = 4;
const UNTIL_UNLOCKED: u32 = 5;
/// Added to one of these: a lender has it moved to its core. It may be there already, with its
/// lender in the midst of that call.
const MOVING: u32 = 2;
const UNTIL_UNLOCKED_SOON: u32 = UNTIL_UNLOCKED + MOVING;
const STATES: u32 = 8;

const fn is_lent(word: u32) -> bool {
    matches!(word % STATES, UNTIL_IDLE | UNTIL_UNLOCKED)
}

const fn is_being_lent(word: u32) -> bool {
    word % STATES >= UNTIL_IDLE + MOVING
}

/// The lending state of one thread. The caller passes the functions that move the thread.
pub struct LendState(AtomicU32);

impl LendState {
    /// The state of a thread that is at home.
    pub fn new() -> Self {
        Self(AtomicU32::new(HOME))
    }

    /// True if the thread has its own core, or is about to.
    pub fn is_home(&self) -> bool {
        self.word() == HOME
    }

    /// True if it has, or may have, the core of a worker that waits for its lock.
    pub fn is_until_unlocked(&self) -> bool {
        matches!(self.word() % STATES, UNTIL_UNLOCKED | UNTIL_UNLOCKED_SOON)
    }

    /// The worker whose core it has, or may have, if not its own.
    pub fn lender(&self) -> Option<usize> {
        let word = self.word();
        (is_lent(word) || is_being_lent(word)).then_some((word / STATES) as usize)
    }

    fn word(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn goes(&self, from: u32, to: u32) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Lends the thread a core: `moves` moves it and returns true if it did. False: it stays.
    pub fn lend(
        &self,
        lender: usize,
        until: Until,
        moves: impl FnOnce() -> bool,
        home: impl FnOnce(),
    ) -> bool {
        let how = if until == Until::Idle { UNTIL_IDLE } else { UNTIL_UNLOCKED };
        let lent = lender as u32 * STATES + how;
        if !self.goes(HOME, lent + MOVING) {
            return false;
        }
        let has_moved = moves();
        if has_moved && self.goes(lent + MOVING, lent) {
            return true;
        }
        home();
        self.0.store(HOME, Ordering::Release);
        false
    }

    /// The thread itself goes home, if it is not there.
    pub fn goes_home(&self, home: impl FnOnce()) {
        loop {
            match self.word() {
                // First the state: a lender that lends from here on moves the thread after this
                // move, or is undone by it, which does no harm.
                lent if is_lent(lent) && self.goes(lent, HOME) => return home(),
                // It may have been moved already, onto the core of a lender that has not had the
                // time to say so, and cannot have it before this leaves.
                moving if is_being_lent(moving) && self.goes(moving, RETURNING) => return home(),
                word if is_lent(word) || is_being_lent(word) => {}
                _ => return,
            }
        }
    }

    /// A lender wants its core back, if it is that one's still.
    pub fn take_back(&self, lender: usize, home: impl FnOnce()) {
        let word = self.word();
        // Its thread may end as soon as it is said to be home.
        if is_lent(word) && word / STATES == lender as u32 && self.goes(word, RETURNING) {
            home();
            self.0.store(HOME, Ordering::Release);
        }
    }

    /// The thread is about to end: it is lent nothing any more, and no lender touches it when this
    /// has returned.
    pub fn close(&self, home: impl Fn()) {
        while !self.goes(HOME, GONE) {
            self.goes_home(&home);
            crate::sync::yield_now();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_lender_does_not_take_back_a_thread_that_has_another_core_by_now() {
        let state = LendState::new();
        assert!(state.lend(1, Until::Idle, || true, || ()));
        state.goes_home(|| ());
        assert!(state.lend(2, Until::Idle, || true, || ()));
        state.take_back(1, || unreachable!());
        assert_eq!(state.lender(), Some(2));
        state.take_back(2, || ());
        assert!(state.is_home());
    }

    #[test]
    fn a_thread_that_cannot_be_moved_stays() {
        let state = LendState::new();
        assert!(!state.lend(1, Until::Idle, || false, || ()));
        assert!(state.is_home());
    }
}

/// Every interleaving, within bounds: `make race` runs them.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use loom::thread;

    use super::*;
    use crate::sync::{AtomicBool, AtomicUsize};

    /// A thread's core. As the system has it, one move after the other.
    struct Thread {
        state: LendState,
        core: AtomicUsize,
    }

    impl Thread {
        const OWN: usize = 0;

        fn new() -> Self {
            Self { state: LendState::new(), core: AtomicUsize::new(Self::OWN) }
        }

        fn move_to(&self, core: usize) {
            self.core.store(core, Ordering::SeqCst);
        }

        fn lend(&self, core: usize, until: Until) -> bool {
            let moves = || {
                self.move_to(core);
                true
            };
            self.state.lend(core, until, moves, || self.move_to(Self::OWN))
        }

        fn take_back(&self, core: usize) {
            self.state.take_back(core, || self.move_to(Self::OWN));
        }

        fn goes_home(&self) {
            self.state.goes_home(|| self.move_to(Self::OWN));
        }
    }

    /// Each lends it a core, and takes that back; its own thread goes home at any time.
    fn lenders(count: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let thread = Arc::new(Thread::new());
            let lenders: Vec<_> = (1..=count)
                .map(|core| {
                    let thread = Arc::clone(&thread);
                    thread::spawn(move || {
                        if thread.lend(core, Until::Idle) {
                            thread.take_back(core);
                        }
                    })
                })
                .collect();
            thread.goes_home();
            lenders.into_iter().for_each(|lender| lender.join().unwrap());
            assert!(thread.state.is_home());
            assert_eq!(thread.core.load(Ordering::SeqCst), Thread::OWN);
        });
    }

    #[test]
    fn a_worker_that_was_lent_a_core_is_home_in_the_end() {
        lenders(1);
    }

    #[test]
    fn a_worker_that_was_lent_cores_by_two_is_home_in_the_end() {
        lenders(2);
    }

    #[test]
    fn a_worker_that_unlocks_or_wakes_its_lender_on_that_ones_core_does_not_stay_there() {
        does_not_stay(Until::Unlocked, LendState::is_until_unlocked);
        does_not_stay(Until::Idle, |state| state.lender() == Some(1));
    }

    /// A thread that is lent a core, and goes home if it sees that it has been.
    fn does_not_stay(until: Until, sees: fn(&LendState) -> bool) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let thread = Arc::new(Thread::new());
            let lender = {
                let thread = Arc::clone(&thread);
                thread::spawn(move || _ = thread.lend(1, until))
            };
            let is_there = thread.core.load(Ordering::SeqCst) == 1;
            if sees(&thread.state) {
                thread.goes_home();
            }
            lender.join().unwrap();
            assert!(
                !is_there
                    || thread.state.is_home() && thread.core.load(Ordering::SeqCst) == Thread::OWN
            );
        });
    }

    #[test]
    fn no_lender_moves_a_thread_that_has_ended() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let (thread, has_ended) = (Arc::new(Thread::new()), Arc::new(AtomicBool::new(false)));
            let lender = {
                let (thread, has_ended) = (Arc::clone(&thread), Arc::clone(&has_ended));
                thread::spawn(move || {
                    let moves = |core| {
                        assert!(!has_ended.load(Ordering::SeqCst));
                        thread.move_to(core);
                    };
                    let lends = || {
                        moves(1);
                        true
                    };
                    if thread.state.lend(1, Until::Unlocked, lends, || moves(Thread::OWN)) {
                        thread.state.take_back(1, || moves(Thread::OWN));
                    }
                })
            };
            thread.state.close(|| thread.move_to(Thread::OWN));
            has_ended.store(true, Ordering::SeqCst);
            lender.join().unwrap();
        });
    }
}
