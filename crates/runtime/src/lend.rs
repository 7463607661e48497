//! A core for a worker that has work in hand and no core to do it on, from one that has nothing to do. README.md, "Cores that are lent".

use std::sync::OnceLock;
use std::time::Duration;

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

/// Where a thread is, or goes to. MOVING: a lender has it moved to its core. RETURNING: it has nothing to do any more, and that lender is to send it home again.
/// GONE: it ends.
struct Loan(AtomicU32);

const HOME: u32 = 0;
const MOVING: u32 = 1;
const LENT: u32 = 2;
const RETURNING: u32 = 3;
const GONE: u32 = 4;

impl Loan {
    const fn new() -> Self {
        Self(AtomicU32::new(HOME))
    }

    fn is_home(&self) -> bool {
        self.0.load(Ordering::Relaxed) == HOME
    }

    fn goes(&self, from: u32, to: u32) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Moves the thread, by what says whether it did. False: it stays.
    fn lend(&self, lender: impl FnOnce() -> bool, home: impl FnOnce()) -> bool {
        if !self.goes(HOME, MOVING) {
            return false;
        }
        let has_moved = lender();
        if has_moved && self.goes(MOVING, LENT) {
            return true;
        }
        home();
        self.0.store(HOME, Ordering::Release);
        false
    }

    /// Sees to it that it goes home, if it is not there: by its thread when that has nothing to do, or by its lender.
    fn end(&self, home: impl FnOnce()) {
        loop {
            match self.0.load(Ordering::Relaxed) {
                // First the state: who lends again from here on moves it after this, or is undone by this, which does no harm.
                LENT if self.goes(LENT, HOME) => return home(),
                MOVING if self.goes(MOVING, RETURNING) => return,
                LENT | MOVING => {}
                _ => return,
            }
        }
    }

    /// The thread is about to end: it is lent no more, and nobody touches it when this has returned.
    fn close(&self, home: impl Fn()) {
        while !self.goes(HOME, GONE) {
            self.end(&home);
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

    /// It is not where it belongs to any more, if it was elsewhere: its own thread has nothing to do, or its lender has.
    #[inline]
    pub fn end(&self, borrower: usize) {
        let seat = &self.0[borrower];
        if !seat.loan.is_home() {
            seat.loan.end(|| seat.go_home());
        }
    }
}

impl Seat {
    fn go_home(&self) {
        if let Some((thread, cpu)) = self.home.get() {
            thread.keep_to(*cpu);
        }
    }

    /// How long it has run, if it may be lent a core.
    fn ran(&self) -> Option<Nanos> {
        let may_be = self.is_at_work.load(Ordering::Relaxed) && self.loan.is_home();
        self.home.get().filter(|_| may_be)?.0.ran()
    }
}

/// What somebody who waits has seen of others.
pub struct Watch {
    /// When it looks again: after it has waited for so long.
    next: Duration,
    /// Whom, and how long that one had run.
    seen: Option<(usize, Nanos)>,
}

impl Default for Watch {
    fn default() -> Self {
        Self { next: WAITED, seen: None }
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
            && !registry.has_work()
        {
            let seat = &seats[borrower];
            let moves = || seat.home.get().is_some_and(|(thread, _)| thread.keep_to(cpu));
            let lends = seat.loan.lend(moves, || seat.go_home());
            if lends {
                self.lent_to.set(Some(borrower));
                self.counts.lent.add(1);
                if let Some(recorder) = self.recorder() {
                    recorder.happened(What::Lent(borrower as u32), std::time::Instant::now());
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

    /// Whether it has lent its core, and has to sleep.
    pub fn has_lent(&self) -> bool {
        self.lent_to.get().is_some()
    }

    /// It has something to do itself.
    pub fn takes_core_back(&self) {
        if let Some(borrower) = self.lent_to.take() {
            self.registry().lending.end(borrower);
        }
    }
}
