//! A core for a worker that has work in hand and no core to do it on, from one that has nothing to do. README.md, "Cores that are lent".

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use evenkeel_machine::Nanos;
use rustix::thread::CpuSet;

use crate::os_thread::OsThread;
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use crate::team::Team;
use crate::trace::What;
use crate::worker::Worker;

/// Who has waited for so long looks whether those that it may be waiting for run. Most waits are shorter.
const WAITED: Duration = Duration::from_micros(5);
/// A thread that has not run for so long does not run: it was preempted, or it waits for the system.
const STILL: Duration = Duration::from_micros(4);
/// How long a lock is tried, which others have for moments only, before its waiter sleeps. Long enough to find out that one of them does not run.
const TRYING: Duration = Duration::from_micros(20);
/// Tries between two looks at the clock.
const TRIES: u32 = 16;

/// By worker, whether its thread may be lent a core, and is.
pub struct Lending(Box<[CachePadded<Seat>]>);

struct Seat {
    /// None: it is not lent anything, or has not begun.
    home: OnceLock<Home>,
    has_own_core: bool,
    /// Neither looking nor asleep.
    is_at_work: AtomicBool,
    loan: Loan,
}

/// A thread, the core that it keeps to, and where it could run before it did.
struct Home {
    thread: OsThread,
    cpu: u32,
    before: CpuSet,
}

/// Where a thread is, or goes to; and which worker lent it its core.
struct Loan(AtomicU32);

const HOME: u32 = 0;
/// A lender has it moved to its core.
const MOVING: u32 = 1;
/// Its lender sends it home; or will, for it went there by itself while it was being moved, which may have come after that.
const RETURNING: u32 = 2;
/// It ends.
const GONE: u32 = 3;
/// Until it has nothing to do.
const LENT: u32 = 4;
/// Until it has no lock.
const LENT_FOR_LOCK: u32 = 5;
/// Of the word; above them is the lender.
const STATES: u32 = 8;

const fn lent_by(lender: usize, how: u32) -> u32 {
    lender as u32 * STATES + how
}

const fn is_lent(word: u32) -> bool {
    matches!(word % STATES, LENT | LENT_FOR_LOCK)
}

impl Loan {
    fn new() -> Self {
        Self(AtomicU32::new(HOME))
    }

    fn is_home(&self) -> bool {
        self.word() == HOME
    }

    fn word(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn goes(&self, from: u32, to: u32) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Moves the thread, by what says whether it did, and says by whom it is `lent` a core and how. False: it stays.
    fn lend(&self, lent: u32, moves: impl FnOnce() -> bool, home: impl FnOnce()) -> bool {
        if !self.goes(HOME, MOVING) {
            return false;
        }
        let has_moved = moves();
        if has_moved && self.goes(MOVING, lent) {
            return true;
        }
        home();
        self.0.store(HOME, Ordering::Release);
        false
    }

    /// The thread itself goes home, if it is not there.
    fn goes_home(&self, home: impl FnOnce()) {
        loop {
            match self.word() {
                // First the state: who lends again from here on moves it after this, or is undone by this, which does no harm.
                lent if is_lent(lent) && self.goes(lent, HOME) => return home(),
                // It may have been moved already, onto the core of a lender that has not had the time to say so, and cannot have it before this leaves.
                MOVING if self.goes(MOVING, RETURNING) => return home(),
                word if is_lent(word) || word == MOVING => {}
                _ => return,
            }
        }
    }

    /// A lender wants its core back, if it is that one's still.
    fn take_back(&self, lender: usize, home: impl FnOnce()) {
        let word = self.word();
        // Its thread may end as soon as it is said to be home.
        if is_lent(word) && word / STATES == lender as u32 && self.goes(word, RETURNING) {
            home();
            self.0.store(HOME, Ordering::Release);
        }
    }

    /// The thread is about to end: it is lent no more, and nobody touches it when this has returned.
    fn close(&self, home: impl Fn()) {
        while !self.goes(HOME, GONE) {
            self.goes_home(&home);
            crate::sync::yield_now();
        }
    }
}

impl Lending {
    /// Of a team, none of whom has begun.
    pub fn new(team: &Team) -> Self {
        let seat = |worker| Seat {
            home: OnceLock::new(),
            has_own_core: team.has_own_core(worker),
            is_at_work: AtomicBool::new(false),
            loan: Loan::new(),
        };
        Self((0..team.places.len()).map(|worker| CachePadded::new(seat(worker))).collect())
    }

    /// This thread is this worker, and keeps to this core, where it could run elsewhere before.
    pub fn take_seat(&self, worker: usize, cpu: u32, before: CpuSet) {
        let seat = &self.0[worker];
        // Where its clock says nothing, nor do those of others.
        let thread = OsThread::current().filter(|thread| seat.has_own_core && thread.tells_that_it_runs(STILL));
        if let Some(thread) = thread {
            // Each worker comes once: there is nobody else's to overwrite.
            let _ = seat.home.set(Home { thread, cpu, before });
        }
    }

    /// It ends.
    pub fn leave_seat(&self, worker: usize) {
        let seat = &self.0[worker];
        seat.loan.close(|| seat.go_home());
    }

    /// It has something to do.
    pub fn works(&self, worker: usize) {
        self.0[worker].is_at_work.store(true, Ordering::Relaxed);
    }

    /// It has nothing to do, or waits for what it cannot help with.
    pub fn idles(&self, worker: usize) {
        self.0[worker].is_at_work.store(false, Ordering::Relaxed);
    }

    /// It has no lock any more. By its own thread.
    #[inline]
    pub fn has_unlocked(&self, worker: usize) {
        // Whoever waits for that on the same core cannot have it before this one leaves.
        if self.0[worker].loan.word() % STATES == LENT_FOR_LOCK {
            self.goes_home(worker);
        }
    }

    /// It has woken another. By its own thread.
    pub fn has_woken(&self, worker: usize, other: usize) {
        // Who counts as awake, and as looking, is to be so: not queued behind the one that has its core.
        let word = self.0[worker].loan.word();
        if is_lent(word) && word / STATES == other as u32 {
            self.goes_home(worker);
        }
    }

    /// It goes home if it is elsewhere. By its own thread.
    #[inline]
    pub fn goes_home(&self, worker: usize) {
        let seat = &self.0[worker];
        if !seat.loan.is_home() {
            seat.loan.goes_home(|| seat.go_home());
        }
    }
}

impl Seat {
    fn go_home(&self) {
        if let Some(home) = self.home.get()
            && !home.thread.keep_to(home.cpu)
        {
            // That core may not be used any more. Better anywhere than on somebody else's.
            home.thread.let_run_on(&home.before);
        }
    }

    /// How long it has run, if it may be lent a core.
    fn ran(&self) -> Option<Nanos> {
        let may_be = self.is_at_work.load(Ordering::Relaxed) && self.loan.is_home();
        self.home.get().filter(|_| may_be)?.thread.ran()
    }
}

/// What somebody who waits has seen of others.
pub struct Watch {
    /// How it lends its core.
    how: u32,
    /// When it looks again: after it has waited for so long.
    next: Duration,
    /// Whom, and how long that one had run.
    seen: Option<(usize, Nanos)>,
}

impl Watch {
    /// Of whoever waits for work, or for others to have done theirs.
    pub const fn for_work() -> Self {
        Self { how: LENT, next: WAITED, seen: None }
    }

    const fn for_lock() -> Self {
        Self { how: LENT_FOR_LOCK, next: WAITED, seen: None }
    }
}

/// To whom a worker is going to lend its core, or has.
#[derive(Default)]
pub struct Borrower {
    next: Cell<Option<usize>>,
    has: Cell<Option<usize>>,
    /// Whether the system did not want a thread to be moved.
    is_refused: Cell<bool>,
}

impl Worker {
    /// Looks for a worker that is on no faster core, has work in hand, and does not run; now and then asked while this one has nothing to do. True: there is one,
    /// and this worker is to sleep, and to lend its core as the last thing before that ([`Worker::lend_core`]).
    #[inline]
    pub fn finds_borrower(&self, watch: &mut Watch, waited: Duration) -> bool {
        waited >= watch.next && self.looks_for_borrower(watch, waited)
    }

    #[cold]
    fn looks_for_borrower(&self, watch: &mut Watch, waited: Duration) -> bool {
        let registry = self.registry();
        let (seats, places) = (&registry.lending.0, &registry.team.places);
        watch.next = waited + STILL;
        if seats[self.index].home.get().is_none() || self.borrower.is_refused.get() {
            return false;
        }
        if !seats[self.index].loan.is_home() {
            // Its own core is the one that it lost.
            registry.lending.goes_home(self.index);
            return false;
        }
        let seen = watch.seen.take();
        if let Some((borrower, ran)) = seen
            && seats[borrower].ran() == Some(ran)
            && (watch.how == LENT_FOR_LOCK || !registry.has_work())
        {
            self.borrower.next.set(Some(borrower));
            return true;
        }
        // Those on faster cores would be slower here, once they run again. Each begins with the one after itself: so not all look at the same.
        let slower = places.partition_point(|place| place.kind < self.kind)..seats.len();
        let after = seen.map_or(self.index, |(last, _)| last) + 1;
        let mut round = (after..slower.end).chain(slower.start..after).filter(|&other| other != self.index);
        watch.seen = round.find_map(|other| Some((other, seats[other].ran()?)));
        false
    }

    /// Lends its core to whom it has found. From here on it is not sure to have it.
    pub fn lend_core(&self, watch: &Watch) {
        let Some(borrower) = self.borrower.next.take() else { return };
        let seats = &self.registry().lending.0;
        let Some(own) = seats[self.index].home.get() else { return };
        let seat = &seats[borrower];
        let since = Instant::now();
        let mut has_moved = None;
        let moves = || *has_moved.insert(seat.home.get().is_some_and(|home| home.thread.keep_to(own.cpu)));
        if seat.loan.lend(lent_by(self.index, watch.how), moves, || seat.go_home()) {
            self.borrower.has.set(Some(borrower));
        }
        let Some(has_moved) = has_moved else { return };
        self.borrower.is_refused.set(!has_moved);
        self.counts.lent.add(u64::from(has_moved));
        if let Some(recorder) = self.recorder().filter(|_| has_moved) {
            recorder.happened(What::Lent(borrower as u32), since);
        }
    }

    /// Locks what others have for moments only, unless they lose their core meanwhile.
    #[inline]
    pub fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        try_lock(mutex).unwrap_or_else(|| self.lock_later(mutex))
    }

    #[cold]
    fn lock_later<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        let (since, mut watch) = (Instant::now(), Watch::for_lock());
        loop {
            for _ in 0..TRIES {
                if let Some(guard) = try_lock(mutex) {
                    return guard;
                }
                std::hint::spin_loop();
            }
            let waited = since.elapsed();
            if waited >= TRYING || self.finds_borrower(&mut watch, waited) {
                break;
            }
        }
        // Who sleeps here has lost no core.
        let lending = &self.registry().lending;
        lending.idles(self.index);
        self.lend_core(&watch);
        let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
        lending.works(self.index);
        self.takes_core_back();
        guard
    }

    /// Whether it has found somebody to lend its core to.
    pub fn is_to_lend(&self) -> bool {
        self.borrower.next.get().is_some()
    }

    /// It has something to do itself.
    pub fn takes_core_back(&self) {
        self.borrower.next.set(None);
        let Some(borrower) = self.borrower.has.take() else { return };
        let seat = &self.registry().lending.0[borrower];
        seat.loan.take_back(self.index, || seat.go_home());
    }
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_wants_its_core_back_from_a_thread_that_has_another_ones_now_leaves_it_there() {
        let loan = Loan::new();
        assert!(loan.lend(lent_by(1, LENT), || true, || ()));
        loan.goes_home(|| ());
        assert!(loan.lend(lent_by(2, LENT), || true, || ()));
        loan.take_back(1, || unreachable!());
        assert_eq!(loan.word(), lent_by(2, LENT));
        loan.take_back(2, || ());
        assert!(loan.is_home());
    }

    #[test]
    fn who_cannot_be_moved_stays() {
        let loan = Loan::new();
        assert!(!loan.lend(lent_by(1, LENT), || false, || ()));
        assert!(loan.is_home());
    }
}

/// Every interleaving, within bounds: `make race` runs them.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use loom::thread;

    use super::*;
    use crate::sync::AtomicUsize;

    /// A thread's core. As the system has it, one move after the other.
    struct Thread {
        loan: Loan,
        core: AtomicUsize,
    }

    impl Thread {
        const OWN: usize = 0;

        fn new() -> Self {
            Self { loan: Loan::new(), core: AtomicUsize::new(Self::OWN) }
        }

        fn move_to(&self, core: usize) {
            self.core.store(core, Ordering::SeqCst);
        }

        fn lend(&self, core: usize) -> bool {
            let moves = || {
                self.move_to(core);
                true
            };
            self.loan.lend(lent_by(core, LENT), moves, || self.move_to(Self::OWN))
        }

        fn take_back(&self, core: usize) {
            self.loan.take_back(core, || self.move_to(Self::OWN));
        }

        fn goes_home(&self) {
            self.loan.goes_home(|| self.move_to(Self::OWN));
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
                        if thread.lend(core) {
                            thread.take_back(core);
                        }
                    })
                })
                .collect();
            thread.goes_home();
            lenders.into_iter().for_each(|lender| lender.join().unwrap());
            assert!(thread.loan.is_home());
            assert_eq!(thread.core.load(Ordering::SeqCst), Thread::OWN);
        });
    }

    #[test]
    fn whoever_was_lent_a_core_is_home_in_the_end() {
        lenders(1);
    }

    #[test]
    fn and_so_is_who_was_lent_one_by_two() {
        lenders(2);
    }

    #[test]
    fn nobody_moves_a_thread_that_has_ended() {
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
                    if thread.loan.lend(lent_by(1, LENT_FOR_LOCK), lends, || moves(Thread::OWN)) {
                        thread.loan.take_back(1, || moves(Thread::OWN));
                    }
                })
            };
            thread.loan.close(|| thread.move_to(Thread::OWN));
            has_ended.store(true, Ordering::SeqCst);
            lender.join().unwrap();
        });
    }
}
