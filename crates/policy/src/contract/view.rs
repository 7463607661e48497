//! What a policy sees: events, and statistics of threads and cores, as plain data.

use evenkeel_machine::{CoreId, KindId, Machine, Nanos, PerKind, Work};

use super::{AppId, QueueId, ThreadId};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread started. It waits until the policy has assigned it or, if the policy is late, in
    /// queue 0.
    Started(ThreadId),
    /// A thread ended, or left the normal scheduling classes: from now on the mechanism places it.
    /// If it returns to them, it starts anew under the same number.
    Exited(ThreadId),
    /// A thread became runnable again, woken by a thread or by time. An assignment that comes in
    /// time counts for this wake-up.
    Woke(ThreadId),
    /// A thread waits for something that is not a core.
    Blocked(ThreadId),
    /// A thread reached a milestone: barrier, join, end.
    Milestone(ThreadId),
    /// A thread left a critical section: it took a lock and released it.
    CriticalSection(ThreadId),
    /// A core started to run a thread that it was not running before.
    Picked(ThreadId, CoreId),
    /// A thread used up its slice on this core.
    SliceUsed(ThreadId, CoreId),
    /// A core found no thread to run.
    CoreIdle(CoreId),
    /// A core came online.
    CoreOnline(CoreId),
    /// A core went offline; its thread waits in its queue.
    CoreOffline(CoreId),
    /// The timer that the policy asked for. It comes after all other events of its instant, when
    /// cores have picked their threads, so no thread is between two places.
    Timer,
}

/// The events and statistics that a policy needs. What it does not need costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest(u16);

impl Interest {
    /// Only starts, ends, timers, and cores that come and go, which every policy receives.
    pub const NONE: Self = Self(0);
    /// [`Event::Woke`].
    pub const WOKE: Self = Self(1);
    /// [`Event::Blocked`].
    pub const BLOCKED: Self = Self(1 << 1);
    /// [`Event::Milestone`].
    pub const MILESTONE: Self = Self(1 << 2);
    /// [`Event::CriticalSection`]; [`ThreadStats::since_milestone`] then restarts there, too.
    /// Mechanisms of real threads do not see critical sections, and refuse.
    pub const CRITICAL_SECTION: Self = Self(1 << 3);
    /// [`Event::Picked`].
    pub const PICKED: Self = Self(1 << 4);
    /// [`Event::SliceUsed`].
    pub const SLICE_USED: Self = Self(1 << 5);
    /// [`Event::CoreIdle`].
    pub const CORE_IDLE: Self = Self(1 << 6);
    /// Not an event: keep [`ThreadStats::load`].
    pub const LOAD: Self = Self(1 << 7);
    /// Not an event: with [`Interest::LOAD`], scale loads by the clock, too, if the mechanism knows
    /// it. The simulator does; the live mechanisms assume that every core runs at its highest
    /// clock.
    pub const CLOCK: Self = Self(1 << 8);
    /// Not an event: provide [`ThreadStats::to_milestone`]. Mechanisms of real threads cannot, and
    /// refuse.
    pub const DISTANCE: Self = Self(1 << 9);
    /// Not an event: provide [`ThreadStats::stalled`] if the mechanism can.
    pub const STALLED: Self = Self(1 << 10);
    /// Not an event: with [`Interest::DISTANCE`], take [`ThreadStats::to_milestone`] from a profile
    /// if there is one.
    pub const PROFILE: Self = Self(1 << 11);
    /// Not an event: keep the times, virtual time and work of running threads up to date.
    pub const PROGRESS: Self = Self(1 << 12);
    /// Not an event: provide [`View::ran`], so that the policy need not look at all threads when
    /// few of them have run.
    pub const RAN: Self = Self(1 << 13);
    /// Not an event: keep [`CoreStats::utilisation`].
    pub const UTILISATION: Self = Self(1 << 14);

    /// Union of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if all of `other` is included.
    pub const fn wants(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Waits for a core.
    #[default]
    Ready,
    /// Has one.
    Running,
    /// Waits for something else.
    Blocked,
    /// Ended.
    Exited,
}

/// Statistics of one thread, up to date when the policy is called, with one exception. Without
/// [`Interest::PROGRESS`], times and work of running threads may date from when the mechanism last
/// looked at them. Even with it, a call for nothing but threads that leave or take cores
/// ([`Event::Picked`], [`Event::SliceUsed`], [`Event::Blocked`], [`Event::Exited`]) is up to date
/// for those threads only.
///
/// The fields are in the order in which a context switch needs them, one cache line after another:
/// with ten thousand threads, fetching the thread is the slow part of a switch.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadStats {
    /// Virtual time.
    pub virtual_time: u64,
    /// Work retired.
    pub retired: Work,
    /// Work retired since the last milestone; with [`Interest::CRITICAL_SECTION`] also since the
    /// thread last left a critical section.
    pub since_milestone: Work,
    /// Time at which it entered its present state.
    pub since: Nanos,
    /// Time waiting for a core.
    pub waiting: Nanos,
    /// Number of times it was picked.
    pub runs: u64,
    /// Core that it runs on or ran on last; core 0 before it first ran (then `runs` is 0).
    pub core: CoreId,
    /// Queue that it is assigned to; `None` before the first assignment.
    pub queue: Option<QueueId>,
    /// What it is doing.
    pub state: State,
    /// True if it may run on some cores only; [`View::allowed`] says on which.
    pub restricted: bool,
    /// PELT load average, 0 to 1024: runnable time, scaled by the capacity of the core at its
    /// highest clock or, with [`Interest::CLOCK`], at its clock at that time. Only with
    /// [`Interest::LOAD`].
    pub load: u16,
    /// Time on each kind of core.
    pub time_on: PerKind<Nanos>,
    /// Work until its next milestone; `None` if the estimator does not know. Only with
    /// [`Interest::DISTANCE`].
    pub to_milestone: Option<Work>,
    /// Weight: nice 0 is 1024, Linux's table.
    pub weight: u32,
    /// Its application.
    pub app: AppId,
    /// Time blocked. The present stretch may not be counted before it ends.
    pub blocked: Nanos,
    /// Time on cores (part of `time_on`) spent waiting for memory. Only with [`Interest::STALLED`];
    /// zero if the mechanism has no counters for it.
    pub stalled: Nanos,
    /// When it started.
    pub started: Nanos,
    /// Speedup factor on each kind relative to the slowest (where it is 1), by the estimator.
    pub speedup: PerKind<f32>,
    /// The same for the thread's whole run, measured beforehand; equal to `speedup` if the
    /// mechanism has no such measurement.
    pub speedup_offline: PerKind<f32>,
    /// Thread group in the application.
    pub group: u32,
    /// Index among the threads of its application, in order of start.
    pub index_in_app: u32,
    /// The thread that forked it, by its number at that time.
    pub parent: Option<ThreadId>,
}

// With ten thousand threads, one more cache line each costs a simulation memory and speed.
const _: () = assert!(size_of::<ThreadStats>() == 4 * 64);

impl ThreadStats {
    /// True if it runs or waits for a core.
    pub fn runnable(&self) -> bool {
        matches!(self.state, State::Ready | State::Running)
    }
}

/// What a policy sees of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoreStats {
    /// True if it can run threads.
    pub online: bool,
    /// The thread that it runs.
    pub running: Option<ThreadId>,
    /// Utilisation, 0 to 1024, in its own time (PELT). Only with [`Interest::UTILISATION`].
    pub utilisation: u32,
}

/// Everything that a policy sees when it is called.
pub struct View<'a> {
    /// Time since the start of the run.
    pub now: Nanos,
    /// Number of the present answer, from 0.
    pub answer: u64,
    /// Number of answers carried out: all before this one, unless decisions are late. The view
    /// reflects answer `n` once this is greater than `n`.
    pub carried_out: u64,
    /// The machine: kinds are ranked, 0 the fastest.
    pub machine: &'a Machine,
    /// True if all clocks follow utilisation as under Linux's governor schedutil.
    pub schedutil: bool,
    /// By core.
    pub cores: &'a [CoreStats],
    /// By thread. Threads that ended stay, with [`State::Exited`], until their number is reused
    /// ([`ThreadId`]).
    pub threads: &'a [ThreadStats],
    /// Threads that have not ended, by number.
    pub live: &'a [ThreadId],
    /// Threads that have had a core since the last [`Event::Timer`], in no order, and maybe others:
    /// the times and work of all threads that are not here are unchanged since. Equal to `live`
    /// without [`Interest::RAN`] or if the mechanism does not record it; then a thread that has
    /// just ended, of which the policy has not been told yet, is missing.
    pub ran: &'a [ThreadId],
    /// Number of waiting threads, by queue.
    pub waiting: &'a [u32],
    /// Cores that a thread with [`ThreadStats::restricted`] may run on, by thread; may be shorter
    /// than `threads`.
    pub affinity: &'a [Option<Box<[CoreId]>>],
}

impl View<'_> {
    /// Statistics of a thread.
    pub fn thread(&self, thread: ThreadId) -> &ThreadStats {
        &self.threads[thread.index()]
    }

    /// The kind of a core.
    pub fn kind(&self, core: CoreId) -> KindId {
        self.machine.cores[core.index()].kind
    }

    /// True if a thread may run on a core.
    pub fn allowed(&self, thread: ThreadId, core: CoreId) -> bool {
        !self.thread(thread).restricted
            || self.affinity[thread.index()].as_ref().is_none_or(|cores| cores.contains(&core))
    }

    /// Live threads that run or wait for a core, by number.
    pub fn runnable(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.live.iter().copied().filter(|&thread| self.thread(thread).runnable())
    }

    /// Cores that can run threads, by number.
    pub fn online(&self) -> impl Iterator<Item = CoreId> + '_ {
        self.machine
            .cores
            .iter()
            .map(|core| core.id)
            .filter(|&core| self.cores[core.index()].online)
    }
}
