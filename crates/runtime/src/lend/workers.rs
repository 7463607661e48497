//! Each worker's own core, and whether its thread may be lent another. See README.md in this
//! folder.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use evenkeel_machine::{FULL_CAPACITY, KindId, Nanos, PerKind};
use rustix::thread::CpuSet;

use super::state::{LendState, Until};
use crate::os_thread::{OsThread, SchedTimes};
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use crate::team::Team;

/// A thread that has not run for so long does not run: it was preempted, or it waits for the
/// system.
pub const STALLED_AFTER: Duration = Duration::from_micros(4);

/// The lending state of all workers.
pub struct CoreLending {
    workers: Box<[CachePadded<WorkerCore>]>,
    /// Indexed by kind: its capacity.
    capacities: PerKind<u32>,
    /// Indexed by kind: the worker that polls the others while it sleeps.
    monitors: PerKind<CachePadded<AtomicUsize>>,
}

/// No worker's number.
const NO_WORKER: usize = usize::MAX;

struct WorkerCore {
    /// None: it is not lent anything, or has not begun.
    home: OnceLock<Home>,
    may_lend: bool,
    kind: KindId,
    /// The first worker on a core that is no faster.
    no_faster: usize,
    /// Neither looking nor asleep.
    is_at_work: AtomicBool,
    state: LendState,
}

/// A thread, the core that it keeps to, and where it could run before it did.
struct Home {
    thread: OsThread,
    cpu: u32,
    before: CpuSet,
}

/// What came of lending a core.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LendOutcome {
    /// It has another's.
    NotAtHome,
    /// The system does not want it to be moved.
    Refused,
    /// It has the lender's.
    HasIt,
    /// It had it, and was done.
    WentHome,
}

impl CoreLending {
    /// The state of a team before its threads begin.
    pub fn new(team: &Team) -> Self {
        let core = |worker| WorkerCore {
            home: OnceLock::new(),
            may_lend: team.lends && team.has_own_core(worker),
            kind: team.place(worker).kind,
            no_faster: team.places.partition_point(|place| place.kind < team.place(worker).kind),
            is_at_work: AtomicBool::new(false),
            state: LendState::new(),
        };
        let workers = (0..team.threads()).map(|worker| CachePadded::new(core(worker))).collect();
        let no_worker = |_| CachePadded::new(AtomicUsize::new(NO_WORKER));
        let mut capacities = PerKind::all(FULL_CAPACITY);
        team.kinds.iter().for_each(|kind| capacities[kind.id] = kind.capacity);
        Self { workers, capacities, monitors: PerKind(std::array::from_fn(no_worker)) }
    }

    /// This thread is this worker, and keeps to this core, where it could run elsewhere before.
    pub fn register_current_thread(&self, worker: usize, cpu: u32, before: CpuSet) {
        let core = &self.workers[worker];
        // A thread whose clock ticks too seldom takes no part.
        let thread = OsThread::current()
            .filter(|thread| core.may_lend && thread.tells_that_it_runs(STALLED_AFTER));
        if let Some(thread) = thread {
            // Each worker registers once.
            let _ = core.home.set(Home { thread, cpu, before });
        }
    }

    /// It ends.
    pub fn unregister(&self, worker: usize) {
        let core = &self.workers[worker];
        core.state.close(|| core.go_home());
    }

    /// It has something to do.
    pub fn works(&self, worker: usize) {
        self.workers[worker].is_at_work.store(true, Ordering::Relaxed);
    }

    /// It has nothing to do, or waits for what it cannot help with.
    pub fn idles(&self, worker: usize) {
        self.workers[worker].is_at_work.store(false, Ordering::Relaxed);
    }

    /// It has no lock any more. By its own thread.
    #[inline]
    pub fn has_unlocked(&self, worker: usize) {
        // The lender waits for the lock on the same core, and cannot have it before this thread
        // leaves.
        if self.workers[worker].state.is_until_unlocked() {
            self.goes_home(worker);
        }
    }

    /// True if it may lend its core and be lent another.
    pub fn takes_part(&self, worker: usize) -> bool {
        self.workers[worker].home.get().is_some()
    }

    /// True if it has its own core.
    pub fn is_home(&self, worker: usize) -> bool {
        self.workers[worker].state.is_home()
    }

    /// The workers that it may lend its core to. Those on faster cores would be slower here, once
    /// they run again.
    pub fn borrowers(&self, lender: usize) -> Range<usize> {
        self.workers[lender].no_faster..self.workers.len()
    }

    /// True if the core of the first is slower than that of the second.
    pub fn is_slower(&self, worker: usize, than: usize) -> bool {
        self.workers[worker].kind > self.workers[than].kind
    }

    /// Called by a worker that is about to sleep. True: it is now the monitor of its kind. No
    /// monitor is needed while no worker is at work.
    pub fn becomes_monitor(&self, worker: usize) -> bool {
        let monitor = &self.monitors[self.workers[worker].kind];
        self.takes_part(worker)
            && self.at_work(worker).next().is_some()
            && monitor.load(Ordering::Relaxed) == NO_WORKER
            && monitor
                .compare_exchange(NO_WORKER, worker, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// The workers that it could lend its core to and that are at work on their own cores.
    pub fn at_work(&self, worker: usize) -> impl Iterator<Item = usize> + '_ {
        let is_at_work =
            |core: &WorkerCore| core.is_at_work.load(Ordering::Relaxed) && core.state.is_home();
        self.borrowers(worker)
            .filter(move |&other| other != worker && is_at_work(&self.workers[other]))
    }

    /// It looks after them no more, if it did.
    pub fn stops_monitoring(&self, worker: usize) {
        let monitor = &self.monitors[self.workers[worker].kind];
        if monitor.load(Ordering::Relaxed) == worker {
            monitor.store(NO_WORKER, Ordering::Relaxed);
        }
    }

    /// True if there is a monitor.
    pub fn has_monitor(&self) -> bool {
        self.monitors.0.iter().any(|monitor| monitor.load(Ordering::Relaxed) != NO_WORKER)
    }

    /// Its scheduling times so far, on its own core and on others'.
    pub fn sched_times(&self, worker: usize) -> Option<SchedTimes> {
        self.workers[worker].home.get()?.thread.sched_times()
    }

    /// True if it has the core of that lender.
    pub fn is_lent_by(&self, worker: usize, lender: usize) -> bool {
        self.workers[worker].state.lender() == Some(lender)
    }

    /// True if the borrowed core did at least 75 % of the work that the worker's own core would
    /// have done in the same time.
    pub fn pays_off(&self, lender: usize, borrower: usize, had: SchedTimes) -> bool {
        let [there, at_home] =
            [lender, borrower].map(|worker| u128::from(self.capacities[self.workers[worker].kind]));
        let wanted = u128::from(had.ran.0) + u128::from(had.waited.0);
        u128::from(had.ran.0) * there * 4 >= wanted * at_home * 3
    }

    /// How long it has run, if it may be lent a core.
    pub fn ran(&self, worker: usize) -> Option<Nanos> {
        let core = &self.workers[worker];
        let may_be = core.is_at_work.load(Ordering::Relaxed) && core.state.is_home();
        core.home.get().filter(|_| may_be)?.thread.ran()
    }

    /// Lends a worker's core to another. By the lender's thread, which has it for as long as the
    /// borrower does not run only.
    pub fn lend(&self, lender: usize, borrower: usize, until: Until) -> LendOutcome {
        let (own, core) = (&self.workers[lender].home, &self.workers[borrower]);
        let mut has_moved = None;
        let moves = || {
            let homes = own.get().zip(core.home.get());
            *has_moved.insert(homes.is_some_and(|(own, home)| home.thread.keep_to(own.cpu)))
        };
        let has_it = core.state.lend(lender, until, moves, || core.go_home());
        match has_moved {
            None => LendOutcome::NotAtHome,
            Some(false) => LendOutcome::Refused,
            Some(true) if has_it => LendOutcome::HasIt,
            Some(true) => LendOutcome::WentHome,
        }
    }

    /// A lender wants its core back, if it is that one that the borrower has.
    pub fn take_back(&self, lender: usize, borrower: usize) {
        let core = &self.workers[borrower];
        core.state.take_back(lender, || core.go_home());
    }

    /// It has woken another. By its own thread.
    pub fn has_woken(&self, worker: usize, other: usize) {
        // A woken worker counts as awake and idle: it must not be queued behind the thread that has
        // its core.
        if self.is_lent_by(worker, other) {
            self.goes_home(worker);
        }
    }

    /// It goes home if it is elsewhere. By its own thread.
    #[inline]
    pub fn goes_home(&self, worker: usize) {
        let core = &self.workers[worker];
        if !core.state.is_home() {
            core.state.goes_home(|| core.go_home());
        }
    }
}

impl WorkerCore {
    fn go_home(&self) {
        if let Some(home) = self.home.get()
            && !home.thread.keep_to(home.cpu)
        {
            // The core may not be used any more. Any core is better than a borrowed one.
            home.thread.let_run_on(&home.before);
        }
    }
}
