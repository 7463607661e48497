//! A core for a worker that has work in hand and no core to do it on, from one that has nothing to do. README.md, "Cores that are lent".

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use evenkeel_machine::Nanos;

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
    /// None: it has no core to itself, or has not begun.
    home: OnceLock<(OsThread, u32)>,
    has_own_core: bool,
    /// Neither looking nor asleep.
    is_at_work: AtomicBool,
    loan: Loan,
}

/// Where a thread is, or goes to. MOVING: a lender has it moved to its core. RETURNING: its lender sends it home; or will, for it went there by itself while it was
/// being moved, which may have come after that. GONE: it ends. LENT: until it has nothing to do. LENT_FOR_LOCK: until it has no lock.
struct Loan(AtomicU32);

const HOME: u32 = 0;
const MOVING: u32 = 1;
const LENT: u32 = 2;
const RETURNING: u32 = 3;
const GONE: u32 = 4;
const LENT_FOR_LOCK: u32 = 5;

impl Loan {
    fn new() -> Self {
        Self(AtomicU32::new(HOME))
    }

    fn is_home(&self) -> bool {
        self.0.load(Ordering::Relaxed) == HOME
    }

    fn goes(&self, from: u32, to: u32) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Moves the thread, by what says whether it did, and says that it is `lent`, in which way. False: it stays.
    fn lend(&self, lent: u32, lender: impl FnOnce() -> bool, home: impl FnOnce()) -> bool {
        if !self.goes(HOME, MOVING) {
            return false;
        }
        let has_moved = lender();
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
            match self.0.load(Ordering::Relaxed) {
                // First the state: who lends again from here on moves it after this, or is undone by this, which does no harm.
                lent @ (LENT | LENT_FOR_LOCK) if self.goes(lent, HOME) => return home(),
                // It may have been moved already, onto the core of a lender that has not had the time to say so, and cannot have it before this leaves.
                // That lender learns that it need not sleep.
                MOVING if self.goes(MOVING, RETURNING) => return home(),
                LENT | LENT_FOR_LOCK | MOVING => {}
                _ => return,
            }
        }
    }

    /// A lender wants its core back.
    fn take_back(&self, home: impl FnOnce()) {
        // Its thread may end as soon as it is said to be home.
        if self.goes(LENT, RETURNING) || self.goes(LENT_FOR_LOCK, RETURNING) {
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

    /// This thread is this worker, and keeps to this core.
    pub fn take_seat(&self, worker: usize, cpu: Option<u32>) {
        let seat = &self.0[worker];
        if let Some(home) = OsThread::current().zip(cpu).filter(|_| seat.has_own_core) {
            // Each worker comes once: there is nobody else's to overwrite.
            let _ = seat.home.set(home);
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

    /// It has nothing to do.
    pub fn idles(&self, worker: usize) {
        self.0[worker].is_at_work.store(false, Ordering::Relaxed);
    }

    /// It has no lock any more. By its own thread.
    #[inline]
    pub fn has_unlocked(&self, worker: usize) {
        // Whoever waits for that on the same core cannot have it before this one leaves.
        if self.0[worker].loan.0.load(Ordering::Relaxed) == LENT_FOR_LOCK {
            self.goes_home(worker);
        }
    }

    /// It goes home if it is elsewhere. By its own thread.
    #[inline]
    pub fn goes_home(&self, worker: usize) {
        let seat = &self.0[worker];
        if !seat.is_home() {
            seat.loan.goes_home(|| seat.go_home());
        }
    }
}

impl Seat {
    fn go_home(&self) {
        if let Some((thread, cpu)) = self.home.get() {
            thread.keep_to(*cpu);
        }
    }

    fn is_home(&self) -> bool {
        self.loan.is_home()
    }

    /// How long it has run, if it may be lent a core.
    fn ran(&self) -> Option<Nanos> {
        let may_be = self.is_at_work.load(Ordering::Relaxed) && self.is_home();
        self.home.get().filter(|_| may_be)?.0.ran()
    }
}

/// What somebody who waits has seen of others.
pub struct Watch {
    /// How it lends its core.
    lent: u32,
    /// When it looks again: after it has waited for so long.
    next: Duration,
    /// Whom, and how long that one had run.
    seen: Option<(usize, Nanos)>,
}

impl Watch {
    /// Of whoever waits for work, or for others to have done theirs.
    pub const fn for_work() -> Self {
        Self { lent: LENT, next: WAITED, seen: None }
    }

    const fn for_lock() -> Self {
        Self { lent: LENT_FOR_LOCK, next: WAITED, seen: None }
    }
}

impl Worker {
    /// Lends its core to a worker that is on no faster one, has work in hand, and does not run; now and then asked while it has nothing to do. True: it has to leave
    /// its core, for good until it has something to do.
    #[inline]
    pub fn lends(&self, watch: &mut Watch, waited: Duration) -> bool {
        waited >= watch.next && self.looks_for_borrower(watch, waited)
    }

    #[cold]
    fn looks_for_borrower(&self, watch: &mut Watch, waited: Duration) -> bool {
        let registry = self.registry();
        let (seats, places) = (&registry.lending.0, &registry.team.places);
        watch.next = waited + STILL;
        let Some(&(_, cpu)) = seats[self.index].home.get() else { return false };
        let seen = watch.seen.take();
        if let Some((borrower, ran)) = seen
            && seats[borrower].ran() == Some(ran)
            && (watch.lent == LENT_FOR_LOCK || !registry.has_work())
        {
            let seat = &seats[borrower];
            let moves = || seat.home.get().is_some_and(|(thread, _)| thread.keep_to(cpu));
            let lends = seat.loan.lend(watch.lent, moves, || seat.go_home());
            if lends {
                self.lent_to.set(Some(borrower));
                self.counts.lent.add(1);
                if let Some(recorder) = self.recorder() {
                    recorder.happened(What::Lent(borrower as u32), Instant::now());
                }
            }
            return lends;
        }
        // Those on faster cores would be slower here, once they run again.
        let slower = places.partition_point(|place| place.kind < self.kind)..seats.len();
        let after = seen.map_or(slower.start, |(last, _)| last + 1);
        let mut round = (after..slower.end).chain(slower.start..after).filter(|&other| other != self.index);
        watch.seen = round.find_map(|other| Some((other, seats[other].ran()?)));
        false
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
            if waited >= TRYING || self.lends(&mut watch, waited) {
                break;
            }
        }
        let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.takes_core_back();
        guard
    }

    /// Whether it has lent its core, and has to sleep.
    pub fn has_lent(&self) -> bool {
        self.lent_to.get().is_some()
    }

    /// It has something to do itself.
    pub fn takes_core_back(&self) {
        if let Some(borrower) = self.lent_to.take() {
            let seat = &self.registry().lending.0[borrower];
            seat.loan.take_back(|| seat.go_home());
        }
    }
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
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
            self.loan.lend(LENT, moves, || self.move_to(Self::OWN))
        }

        fn take_back(&self) {
            self.loan.take_back(|| self.move_to(Self::OWN));
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
                            thread.take_back();
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
                    if thread.loan.lend(LENT_FOR_LOCK, lends, || moves(Thread::OWN)) {
                        thread.loan.take_back(|| moves(Thread::OWN));
                    }
                })
            };
            thread.loan.close(|| thread.move_to(Thread::OWN));
            has_ended.store(true, Ordering::SeqCst);
            lender.join().unwrap();
        });
    }
}
