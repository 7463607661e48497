//! What a policy sees: events, and statistics per thread, as plain data.

use evenkeel_machine::{CoreId, KindId, Machine, Nanos, PerKind, Work};

use super::{AppId, QueueId, ThreadId};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread started; it waits until the policy has assigned it, or, where the policy is late,
    /// in queue 0.
    Started(ThreadId),
    /// It ended, or left the normal classes: from now on the mechanism places it. If it comes back
    /// to them, it starts anew under the same number.
    Exited(ThreadId),
    /// It became runnable again, woken by a thread or by time. Its assignment, if it comes in time,
    /// counts for this wake-up.
    Woke(ThreadId),
    /// It waits for something that is not a core.
    Blocked(ThreadId),
    /// It reached a milestone: barrier, join, end.
    Milestone(ThreadId),
    /// It left a critical section (took a lock, and has given it up).
    CriticalSection(ThreadId),
    /// A core that was not running it took it up.
    Picked(ThreadId, CoreId),
    /// It has used up its slice on this core.
    SliceUsed(ThreadId, CoreId),
    /// A core found nothing to run.
    CoreIdle(CoreId),
    /// A core came.
    CoreOnline(CoreId),
    /// A core left; its thread waits in its queue.
    CoreOffline(CoreId),
    /// The timer that the policy asked for. Told apart from the other events of its instant and
    /// after them: cores have taken their threads up, so that nobody is between two places.
    Timer,
}

/// Which events a policy wants to be told. What nobody wants costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest(u16);

impl Interest {
    /// Nothing but starts, ends, timers, and cores that come and go, which everybody is told.
    pub const NONE: Self = Self(0);
    /// [`Event::Woke`].
    pub const WOKE: Self = Self(1);
    /// [`Event::Blocked`].
    pub const BLOCKED: Self = Self(1 << 1);
    /// [`Event::Milestone`].
    pub const MILESTONE: Self = Self(1 << 2);
    /// [`Event::CriticalSection`]; [`ThreadStats::since_milestone`] then starts anew there, too.
    /// Mechanisms of real threads do not see them, and refuse.
    pub const CRITICAL_SECTION: Self = Self(1 << 3);
    /// [`Event::Picked`].
    pub const PICKED: Self = Self(1 << 4);
    /// [`Event::SliceUsed`].
    pub const SLICE_USED: Self = Self(1 << 5);
    /// [`Event::CoreIdle`].
    pub const CORE_IDLE: Self = Self(1 << 6);
    /// Not an event: [`ThreadStats::load`] must be kept.
    pub const LOAD: Self = Self(1 << 7);
    /// Not an event: with [`Interest::LOAD`], loads are scaled by the clock, too, as far as the
    /// mechanism knows it. The simulator does; the live mechanisms take every core to run at its
    /// highest clock.
    pub const CLOCK: Self = Self(1 << 8);
    /// Not an event: [`ThreadStats::to_milestone`] must be told. Mechanisms of real threads cannot,
    /// and refuse.
    pub const DISTANCE: Self = Self(1 << 9);
    /// Not an event: [`ThreadStats::stalled`] is welcome, where the mechanism can tell it.
    pub const STALLED: Self = Self(1 << 10);
    /// Not an event: with [`Interest::DISTANCE`], [`ThreadStats::to_milestone`] is to be what a
    /// profile says, where there is one.
    pub const PROFILE: Self = Self(1 << 11);
    /// Not an event: what threads that run have had and done so far (their times, virtual time and
    /// work) is read, and must be up to date.
    pub const PROGRESS: Self = Self(1 << 12);
    /// Not an event: [`View::ran`] is read. Where few threads of many have had a core, nobody need
    /// look at all of them.
    pub const RAN: Self = Self(1 << 13);
    /// Not an event: [`CoreStats::utilisation`] must be kept.
    pub const UTILISATION: Self = Self(1 << 14);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is wanted.
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

/// Statistics of one thread, up to date when the policy is asked, with one exception: what threads
/// that run have had and done since they were last looked at may be missing without
/// [`Interest::PROGRESS`]; and with it, too, where the policy is asked about nothing but threads
/// that leave their cores or take one up ([`Event::Picked`], [`Event::SliceUsed`],
/// [`Event::Blocked`], [`Event::Exited`]), of all but those.
///
/// In the order in which a context switch needs them, a cache line's worth at a time: with ten
/// thousand threads, what is slow about a switch is fetching the thread.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadStats {
    /// Virtual time.
    pub virtual_time: u64,
    /// Work retired.
    pub retired: Work,
    /// Work retired since its last milestone; with [`Interest::CRITICAL_SECTION`] also since it
    /// last left a critical section.
    pub since_milestone: Work,
    /// Since when it has been in its present state.
    pub since: Nanos,
    /// Time waiting for a core.
    pub waiting: Nanos,
    /// How often it has been picked.
    pub runs: u64,
    /// Core that it runs on, or ran on last; core 0 before it first ran (`runs` tells).
    pub core: CoreId,
    /// Queue that it is assigned to; `None` before the first assignment.
    pub queue: Option<QueueId>,
    /// What it is doing.
    pub state: State,
    /// Whether it may run on some cores only; [`View::allowed`] tells which.
    pub restricted: bool,
    /// PELT load average, 0 to 1024: runnable time, scaled by the capacity of the core where it ran
    /// at its highest clock, or, with [`Interest::CLOCK`], at the clock of then; only with
    /// [`Interest::LOAD`].
    pub load: u16,
    /// Time on each kind of core.
    pub time_on: PerKind<Nanos>,
    /// Work until its next milestone, as far as the estimator knows it; `None`: it does not. Only
    /// with [`Interest::DISTANCE`].
    pub to_milestone: Option<Work>,
    /// Weight: nice 0 is 1024, Linux's table.
    pub weight: u32,
    /// Its application.
    pub app: AppId,
    /// Time blocked. The present stretch counts when it ends, if not before.
    pub blocked: Nanos,
    /// Time on cores (part of `time_on`) spent waiting for memory. Only with [`Interest::STALLED`],
    /// and zero where the mechanism has no counters for it.
    pub stalled: Nanos,
    /// When it started.
    pub started: Nanos,
    /// Speedup factor on each kind relative to the slowest (so 1 there), by the estimator.
    pub speedup: PerKind<f32>,
    /// The same for the thread's whole run, measured beforehand; like `speedup` where the mechanism
    /// has no such measurement.
    pub speedup_offline: PerKind<f32>,
    /// Thread group in the application.
    pub group: u32,
    /// Index among the threads of its application, in order of start.
    pub index_in_app: u32,
    /// The thread that forked it, by the number that it had then.
    pub parent: Option<ThreadId>,
}

// A line more for each of ten thousand threads is seen in the memory and in the speed of a
// simulation.
const _: () = assert!(size_of::<ThreadStats>() == 4 * 64);

impl ThreadStats {
    /// Whether it runs or waits for a core.
    pub fn runnable(&self) -> bool {
        matches!(self.state, State::Ready | State::Running)
    }
}

/// What a policy sees of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoreStats {
    /// Whether it can run threads.
    pub online: bool,
    /// What it runs.
    pub running: Option<ThreadId>,
    /// Utilisation, 0 to 1024 of its own time (PELT); only with [`Interest::UTILISATION`].
    pub utilisation: u32,
}

/// What a policy sees.
pub struct View<'a> {
    /// Time since the start of the run.
    pub now: Nanos,
    /// Number of the answer that is being given, from 0.
    pub answer: u64,
    /// How many answers have been carried out: all before this one, unless decisions are late. What
    /// was said in answer `n` shows in the view once this is greater than `n`.
    pub carried_out: u64,
    /// The machine: kinds are ranked, 0 the fastest.
    pub machine: &'a Machine,
    /// Whether clocks follow utilisation as Linux's governor schedutil has them, on all cores.
    pub schedutil: bool,
    /// By core.
    pub cores: &'a [CoreStats],
    /// By thread; those that ended stay, with [`State::Exited`], until their number is given again
    /// ([`ThreadId`]).
    pub threads: &'a [ThreadStats],
    /// Threads that have not ended, by number.
    pub live: &'a [ThreadId],
    /// Threads that have had a core since the last [`Event::Timer`], in no order, and maybe others:
    /// whatever the rest have had and done has not changed since. Without [`Interest::RAN`], and
    /// where the mechanism does not note who ran, the same as `live`: somebody who has just ended,
    /// of which the policy has not been told yet, is not among them then.
    pub ran: &'a [ThreadId],
    /// Number of waiting threads, by queue.
    pub waiting: &'a [u32],
    /// For threads with [`ThreadStats::restricted`]: the cores that they may run on, by thread; it
    /// may end before the last thread.
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

    /// Whether a thread may run on a core.
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
