//! The model of what runs: applications, threads, programs as trees of steps, phases.

use std::sync::Arc;

use evenkeel_machine::{CoreId, Nanos, Work};

use crate::graph::TaskGraph;
use crate::phase::Phase;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// As an index.
            pub const fn index(self) -> usize { self.0 as usize }
        }
    };
}
index!(/// A phase of its application.
    PhaseId);
index!(/// A program of its application.
    ProgramId);
index!(/// A barrier of its application.
    BarrierId);
index!(/// A lock (mutex) of its application.
    LockId);
index!(/// A condition variable of its application.
    ConditionId);
index!(/// A counting semaphore of its application.
    SemaphoreId);
index!(/// A bounded queue of its application.
    ChannelId);
index!(/// A periodic timer of its application.
    TimerId);
index!(/// A device for I/O of its application.
    DeviceId);
index!(/// A parallel loop of its application.
    LoopId);
index!(/// A task graph of its application.
    GraphId);

/// A bounded queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Items that it holds. At least 1.
    pub capacity: u32,
    /// Whether who is woken by it is woken synchronously, as by a pipe or a socket of the kernel's:
    /// the waker is taken to wait itself soon (`WF_SYNC`). A queue that a program makes of a lock
    /// and a condition variable does not.
    pub synchronous: bool,
}

impl Channel {
    /// A queue of a program's own.
    pub const fn of(capacity: u32) -> Self {
        Self { capacity, synchronous: false }
    }

    /// A pipe or a socket.
    pub const fn pipe(capacity: u32) -> Self {
        Self { capacity, synchronous: true }
    }
}

/// One application: threads that belong together, and the objects that they meet at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// Name, as the result record gives it.
    pub name: String,
    /// Phases that its steps refer to; at least one. Threads start in the first.
    pub phases: Vec<Phase>,
    /// Programs that its threads run. A thread that is forked runs one, too.
    pub programs: Vec<Program>,
    /// Threads that exist from the start (or after their delay).
    pub threads: Vec<ThreadSpec>,
    /// Threads that `Fork` steps make, as templates.
    pub templates: Vec<ThreadSpec>,
    /// Per barrier, how many threads must arrive. At least 1.
    pub barriers: Vec<u32>,
    /// Number of locks.
    pub locks: u32,
    /// Number of condition variables.
    pub conditions: u32,
    /// Per semaphore, its initial count.
    pub semaphores: Vec<u32>,
    /// Bounded queues.
    pub channels: Vec<Channel>,
    /// Number of periodic timers that its threads share: who uses one moves it on for all.
    pub timers: u32,
    /// Number of periodic timers that each thread has of its own, numbered on from `timers`
    /// (rt-app's `unique`).
    pub private_timers: u32,
    /// Number of devices; requests to one device queue first come, first served.
    pub devices: u32,
    /// Parallel loops.
    pub loops: Vec<ParallelLoop>,
    /// Task graphs.
    pub graphs: Vec<Arc<TaskGraph>>,
    /// Whether the application starts again when it ends (until the run's rule for the end is met).
    pub repeat: Repeat,
    /// The run ends this long after its start, whatever still runs; `None`: when all has ended.
    pub duration: Option<Nanos>,
    /// What was accepted but has no meaning in the simulator; said once on stderr.
    pub notes: Vec<String>,
}

/// What an application does when all its threads have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// It has ended.
    #[default]
    Once,
    /// It starts again until the longest of the applications that run together has ended this
    /// many times (three in the fairness studies). The geometric mean of its completions counts.
    UntilLongestEnded(u32),
}

/// A thread to be.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSpec {
    /// Name for people, unique in its application where possible.
    pub name: String,
    /// What it runs.
    pub program: ProgramId,
    /// Thread group within the application: threads with the same role.
    pub group: u32,
    /// Linux nice value, -20 to 19.
    pub nice: i8,
    /// Scheduling class.
    pub class: Class,
    /// Cores that it may run on; `None`: all.
    pub affinity: Option<Vec<CoreId>>,
    /// When it starts, after its application did. A thread that is forked later than that starts at
    /// once.
    pub delay: Nanos,
    /// Utilisation clamps (uclamp), 0 to 1024.
    pub util_min: u32,
    /// Utilisation clamps (uclamp), 0 to 1024.
    pub util_max: u32,
}

impl ThreadSpec {
    /// A normal thread of nice 0 that may run anywhere and starts at once.
    pub fn new(name: impl Into<String>, program: ProgramId) -> Self {
        Self {
            name: name.into(),
            program,
            group: 0,
            nice: 0,
            class: Class::Normal,
            affinity: None,
            delay: Nanos::ZERO,
            util_min: 0,
            util_max: 1024,
        }
    }
}

/// Scheduling class of a thread. Mechanisms serve a higher class first; policies see normal threads
/// only as theirs to place, and the others as given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// SCHED_OTHER and SCHED_BATCH.
    #[default]
    Normal,
    /// SCHED_IDLE: weight 3.
    Idle,
    /// SCHED_FIFO and SCHED_RR with a priority of 1 to 99; 99 first. Runs before every normal
    /// thread.
    RealTime {
        /// 1 to 99, 99 first.
        priority: u8,
        /// SCHED_RR: equal priorities take turns of 100 ms.
        round_robin: bool,
    },
    /// SCHED_DEADLINE: before every real-time thread, earliest deadline first, throttled to its
    /// runtime in each period.
    Deadline {
        /// Budget per period.
        runtime: Nanos,
        /// Period.
        period: Nanos,
        /// Relative deadline.
        deadline: Nanos,
    },
}

/// A program: a tree of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Steps in order; the thread ends after the last.
    pub steps: Vec<Step>,
}

/// What a thread does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Work in a phase: takes longer on a slow core.
    Compute {
        /// How much, in instructions.
        work: Work,
        /// With which character.
        phase: PhaseId,
    },
    /// Busy for this long on whatever core (rt-app's `runtime`).
    Busy {
        /// Time on a core, whatever its speed.
        time: Nanos,
        /// Its activity counts for power.
        phase: PhaseId,
    },
    /// Off the core for this long.
    Sleep(Nanos),
    /// Waits for the next multiple of the period: drift-free. No sleep where that is in the past.
    /// The first use of a timer counts from when the thread that uses it started (after its delay);
    /// for a forked thread, from when the application did and its delay was over.
    Timer {
        /// Which.
        timer: TimerId,
        /// Period.
        period: Nanos,
        /// What the next expiry counts from.
        mode: TimerMode,
    },
    /// Waits until as many threads have arrived as the barrier asks. A milestone.
    Barrier(BarrierId),
    /// Takes a lock, waiting in line.
    Lock(LockId),
    /// Gives a lock up; the first in line gets it. Whoever does so: a plain mutex does not ask for
    /// its owner.
    Unlock(LockId),
    /// Gives the lock up, waits for a signal, takes the lock again.
    Wait {
        /// Condition waited for.
        condition: ConditionId,
        /// Lock held before and after; `None`: wait without one (rt-app allows it).
        lock: Option<LockId>,
    },
    /// Wakes the first that waits; nothing where none does.
    Signal(ConditionId),
    /// Wakes all that wait.
    Broadcast(ConditionId),
    /// Signals, then waits on the same condition (rt-app's `sync`).
    SignalAndWait {
        /// Condition.
        condition: ConditionId,
        /// Lock held before and after.
        lock: Option<LockId>,
    },
    /// Adds one to a semaphore.
    SemaphorePost(SemaphoreId),
    /// Takes one from a semaphore, waiting where it is 0.
    SemaphoreWait(SemaphoreId),
    /// Puts an item into a bounded queue, waiting while it is full.
    Send(ChannelId),
    /// Takes an item out of a bounded queue, waiting while it is empty. `or_end`: where the queue
    /// has been closed and is empty, leave the innermost loop instead.
    Receive(ChannelId),
    /// Says that this thread sends no more; when as many threads have said so as `senders`, the
    /// queue is closed and whoever waits to receive leaves its innermost loop, as whoever tries to
    /// receive from it when it is empty does.
    Close {
        /// Which queue.
        channel: ChannelId,
        /// How many threads must say so.
        senders: u32,
    },
    /// A request to a device that takes this long; requests queue. The thread is off the core.
    Io {
        /// Which.
        device: DeviceId,
        /// Service time.
        time: Nanos,
    },
    /// Starts a thread from a template (an index into [`Application::templates`]).
    Fork(u32),
    /// Waits until all threads that this thread forked have ended. A milestone.
    JoinAll,
    /// Waits until something resumes this thread.
    Suspend,
    /// Resumes the first thread of this name in the application; remembered by no one where it is
    /// not suspended.
    Resume(String),
    /// Lets others of the same queue go first.
    Yield,
    /// Repeats its body.
    Loop {
        /// How often; `None`: for ever.
        times: Option<u64>,
        /// What.
        body: Vec<Step>,
    },
    /// Takes part in a parallel loop until no iteration is left for it. No barrier at the end.
    ParallelFor(LoopId),
    /// Runs tasks of a graph until all are done; waits while none is ready.
    RunTasks(GraphId),
    /// Declares a milestone: a point where the thread would wait for its peers.
    Milestone,
    /// Tells whoever listens to a run of an iteration; nothing else.
    Iteration(Iteration),
    /// Changes the thread's scheduling class from here on.
    SetClass(Class),
    /// Changes the thread's nice value from here on, -20 to 19.
    SetNice(i8),
    /// Changes the cores that the thread may run on from here on (not empty); `None`: all.
    SetAffinity(Option<Arc<[CoreId]>>),
    /// Changes the thread's utilisation clamps from here on, 0 to 1024; `None`: stays as it is.
    SetClamps {
        /// Lower clamp.
        util_min: Option<u32>,
        /// Upper clamp.
        util_max: Option<u32>,
    },
}

/// An iteration of a phase of a periodic task, as rt-app logs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// It begins.
    Begins,
    /// It ends.
    Ends {
        /// Number of the phase.
        phase: u32,
        /// How many phases there are.
        of: u32,
        /// How many iterations the phase has; `None`: it never ends.
        loops: Option<u64>,
    },
}

/// What a timer's next expiry counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerMode {
    /// From the last expiry, or from now where the thread came late (rt-app's default).
    #[default]
    Relative,
    /// From where the first use counts, always: a thread that comes late catches up.
    Absolute,
}

/// A loop that the threads of an application share.
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelLoop {
    /// Number of iterations in one execution.
    pub iterations: u64,
    /// Work of one iteration, instructions.
    pub work: Work,
    /// Character of the iterations.
    pub phase: PhaseId,
    /// How many threads take part: an execution is over when all have found no more to do.
    pub workers: u32,
    /// Loop policy by name and chunk: `static`, `static,64`, `dynamic,1`, `guided,1`.
    pub schedule: String,
    /// Work that taking a chunk costs the taker (a lock and a counter).
    pub take_cost: Work,
}
