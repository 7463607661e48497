//! Whose threads may be lent a core, and which cores they have. README.md, "Cores that are lent".

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use evenkeel_machine::{FULL_CAPACITY, KindId, Nanos, PerKind};
use rustix::thread::CpuSet;

use super::loan::{Loan, Until};
use crate::os_thread::{OsThread, Turns};
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use crate::team::Team;

/// A thread that has not run for so long does not run: it was preempted, or it waits for the
/// system.
pub const STILL: Duration = Duration::from_micros(4);

/// By worker, whether its thread may be lent a core, and is.
pub struct Lending {
    seats: Box<[CachePadded<Seat>]>,
    /// By kind, how fast it is.
    capacities: PerKind<u32>,
    /// By kind, the worker that looks after the others while it sleeps.
    sentries: PerKind<CachePadded<AtomicUsize>>,
}

/// No worker's number.
const NOBODY: usize = usize::MAX;

struct Seat {
    /// None: it is not lent anything, or has not begun.
    home: OnceLock<Home>,
    may_lend: bool,
    kind: KindId,
    /// Those on no faster cores are from this one on.
    no_faster: usize,
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

/// What has come of a core that a worker was to be lent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lent {
    /// It has another's.
    NotAtHome,
    /// The system does not want it to be moved.
    Refused,
    /// It has the lender's.
    HasIt,
    /// It had it, and was done.
    WentHome,
}

impl Lending {
    /// Of a team, none of whom has begun.
    pub fn new(team: &Team) -> Self {
        let seat = |worker| Seat {
            home: OnceLock::new(),
            may_lend: team.lends && team.has_own_core(worker),
            kind: team.place(worker).kind,
            no_faster: team.places.partition_point(|place| place.kind < team.place(worker).kind),
            is_at_work: AtomicBool::new(false),
            loan: Loan::new(),
        };
        let seats = (0..team.seats()).map(|worker| CachePadded::new(seat(worker))).collect();
        let nobody = |_| CachePadded::new(AtomicUsize::new(NOBODY));
        let mut capacities = PerKind::all(FULL_CAPACITY);
        team.kinds.iter().for_each(|kind| capacities[kind.id] = kind.capacity);
        Self { seats, capacities, sentries: PerKind(std::array::from_fn(nobody)) }
    }

    /// This thread is this worker, and keeps to this core, where it could run elsewhere before.
    pub fn take_seat(&self, worker: usize, cpu: u32, before: CpuSet) {
        let seat = &self.seats[worker];
        // Where its clock says nothing, nor do those of others.
        let thread =
            OsThread::current().filter(|thread| seat.may_lend && thread.tells_that_it_runs(STILL));
        if let Some(thread) = thread {
            // Each worker comes once: there is nobody else's to overwrite.
            let _ = seat.home.set(Home { thread, cpu, before });
        }
    }

    /// It ends.
    pub fn leave_seat(&self, worker: usize) {
        let seat = &self.seats[worker];
        seat.loan.close(|| seat.go_home());
    }

    /// It has something to do.
    pub fn works(&self, worker: usize) {
        self.seats[worker].is_at_work.store(true, Ordering::Relaxed);
    }

    /// It has nothing to do, or waits for what it cannot help with.
    pub fn idles(&self, worker: usize) {
        self.seats[worker].is_at_work.store(false, Ordering::Relaxed);
    }

    /// It has no lock any more. By its own thread.
    #[inline]
    pub fn has_unlocked(&self, worker: usize) {
        // Whoever waits for that on the same core cannot have it before this one leaves.
        if self.seats[worker].loan.is_until_unlocked() {
            self.goes_home(worker);
        }
    }

    /// Whether it may lend its core, and be lent another's.
    pub fn takes_part(&self, worker: usize) -> bool {
        self.seats[worker].home.get().is_some()
    }

    /// Whether it has its own core.
    pub fn is_home(&self, worker: usize) -> bool {
        self.seats[worker].loan.is_home()
    }

    /// Whom it may lend its core to: those on faster ones would be slower there, once they run
    /// again.
    pub fn borrowers(&self, lender: usize) -> Range<usize> {
        self.seats[lender].no_faster..self.seats.len()
    }

    /// Whether the core of the one is slower than the other's.
    pub fn is_slower(&self, worker: usize, than: usize) -> bool {
        self.seats[worker].kind > self.seats[than].kind
    }

    /// It is about to sleep: whether it is the one of its kind that looks after those at work
    /// meanwhile. Nobody need where nobody is.
    pub fn mounts_guard(&self, worker: usize) -> bool {
        let sentry = &self.sentries[self.seats[worker].kind];
        self.takes_part(worker)
            && self.at_work(worker).next().is_some()
            && sentry.load(Ordering::Relaxed) == NOBODY
            && sentry.compare_exchange(NOBODY, worker, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Who is at work, on its own core, of those that it could lend its to.
    pub fn at_work(&self, worker: usize) -> impl Iterator<Item = usize> + '_ {
        let is_at_work =
            |seat: &Seat| seat.is_at_work.load(Ordering::Relaxed) && seat.loan.is_home();
        self.borrowers(worker)
            .filter(move |&other| other != worker && is_at_work(&self.seats[other]))
    }

    /// It looks after them no more, if it did.
    pub fn leaves_guard(&self, worker: usize) {
        let sentry = &self.sentries[self.seats[worker].kind];
        if sentry.load(Ordering::Relaxed) == worker {
            sentry.store(NOBODY, Ordering::Relaxed);
        }
    }

    /// Whether somebody looks after those at work.
    pub fn is_guarded(&self) -> bool {
        self.sentries.0.iter().any(|sentry| sentry.load(Ordering::Relaxed) != NOBODY)
    }

    /// What it has had of cores, its own and others'.
    pub fn turns(&self, worker: usize) -> Option<Turns> {
        self.seats[worker].home.get()?.thread.turns()
    }

    /// Whether it has that one's core.
    pub fn is_lent_by(&self, worker: usize, lender: usize) -> bool {
        self.seats[worker].loan.lender() == Some(lender)
    }

    /// Whether a worker that has had this of another's core got no less done there than three
    /// quarters of what it would on its own, if it had that for itself, which it need not have.
    pub fn is_worth_it(&self, lender: usize, borrower: usize, had: Turns) -> bool {
        let [there, at_home] =
            [lender, borrower].map(|worker| u128::from(self.capacities[self.seats[worker].kind]));
        let wanted = u128::from(had.ran.0) + u128::from(had.waited.0);
        u128::from(had.ran.0) * there * 4 >= wanted * at_home * 3
    }

    /// How long it has run, if it may be lent a core.
    pub fn ran(&self, worker: usize) -> Option<Nanos> {
        let seat = &self.seats[worker];
        let may_be = seat.is_at_work.load(Ordering::Relaxed) && seat.loan.is_home();
        seat.home.get().filter(|_| may_be)?.thread.ran()
    }

    /// Lends a worker's core to another. By the lender's thread, which has it for as long as the
    /// borrower does not run only.
    pub fn lend(&self, lender: usize, borrower: usize, until: Until) -> Lent {
        let (own, seat) = (&self.seats[lender].home, &self.seats[borrower]);
        let mut has_moved = None;
        let moves = || {
            let homes = own.get().zip(seat.home.get());
            *has_moved.insert(homes.is_some_and(|(own, home)| home.thread.keep_to(own.cpu)))
        };
        let has_it = seat.loan.lend(lender, until, moves, || seat.go_home());
        match has_moved {
            None => Lent::NotAtHome,
            Some(false) => Lent::Refused,
            Some(true) if has_it => Lent::HasIt,
            Some(true) => Lent::WentHome,
        }
    }

    /// A lender wants its core back, if it is that one that the borrower has.
    pub fn take_back(&self, lender: usize, borrower: usize) {
        let seat = &self.seats[borrower];
        seat.loan.take_back(lender, || seat.go_home());
    }

    /// It has woken another. By its own thread.
    pub fn has_woken(&self, worker: usize, other: usize) {
        // Who counts as awake, and as looking, is to be so: not queued behind the one that has its
        // core.
        if self.is_lent_by(worker, other) {
            self.goes_home(worker);
        }
    }

    /// It goes home if it is elsewhere. By its own thread.
    #[inline]
    pub fn goes_home(&self, worker: usize) {
        let seat = &self.seats[worker];
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
}
