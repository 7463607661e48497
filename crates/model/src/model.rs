//! The model of a workload: applications, threads, programs as trees of steps, phases.

use std::sync::Arc;

use evenkeel_machine::{CoreId, Nanos, Work};

use crate::graph::TaskGraph;
use crate::ids::{
    BarrierId, ChannelId, ConditionId, DeviceId, GraphId, LockId, LoopId, PhaseId, ProgramId,
    SemaphoreId, TimerId,
};
use crate::phase::Phase;

/// A bounded queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Items that it holds. At least 1.
    pub capacity: u32,
    /// True if wake-ups by it are synchronous, as by the kernel's pipes and sockets: the waker is
    /// expected to wait itself soon (`WF_SYNC`). A queue made of a lock and a condition variable is
    /// not.
    pub synchronous: bool,
}

impl Channel {
    /// A queue that a program makes itself.
    pub const fn of(capacity: u32) -> Self {
        Self { capacity, synchronous: false }
    }

    /// A pipe or a socket.
    pub const fn pipe(capacity: u32) -> Self {
        Self { capacity, synchronous: true }
    }
}

/// An application: threads that belong together, and the objects that they synchronise by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// Name, for the result record.
    pub name: String,
    /// Phases that its steps refer to; at least one. Threads start in the first.
    pub phases: Vec<Phase>,
    /// Programs of its threads, including forked ones.
    pub programs: Vec<Program>,
    /// Threads that exist from the start (or after their delay).
    pub threads: Vec<ThreadSpec>,
    /// Threads that `Fork` steps make, as templates.
    pub templates: Vec<ThreadSpec>,
    /// By barrier, the number of threads that must arrive. At least 1.
    pub barriers: Vec<u32>,
    /// Number of locks.
    pub locks: u32,
    /// Number of condition variables.
    pub conditions: u32,
    /// By semaphore, its initial count.
    pub semaphores: Vec<u32>,
    /// Bounded queues.
    pub channels: Vec<Channel>,
    /// Number of periodic timers that its threads share: each use advances the timer for all.
    pub timers: u32,
    /// Number of periodic timers that each thread has for itself, numbered on from `timers`
    /// (rt-app's `unique`).
    pub private_timers: u32,
    /// Number of devices; requests to one device queue first come, first served.
    pub devices: u32,
    /// Parallel loops.
    pub loops: Vec<ParallelLoop>,
    /// Task graphs.
    pub graphs: Vec<Arc<TaskGraph>>,
    /// What happens when the application ends (until the run's rule for the end is met).
    pub repeat: Repeat,
    /// The run ends this long after its start, whatever still runs; `None`: when all have ended.
    pub duration: Option<Nanos>,
    /// Input that was accepted but has no meaning in the simulator; reported once on stderr.
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

/// The description of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSpec {
    /// Name for people, unique in its application where possible.
    pub name: String,
    /// Its program.
    pub program: ProgramId,
    /// Thread group within the application: threads with the same role.
    pub group: u32,
    /// Linux nice value, -20 to 19.
    pub nice: i8,
    /// Scheduling class.
    pub class: Class,
    /// Cores that it may run on; `None`: all.
    pub affinity: Option<Vec<CoreId>>,
    /// Time from the application's start to the thread's. A thread that is forked later than that
    /// starts at once.
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

/// Scheduling class of a thread. Mechanisms serve a higher class first; policies place threads of
/// the normal classes and take the others as given.
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

/// A step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Work in a phase: takes longer on a slow core.
    Compute {
        /// Amount, in instructions.
        work: Work,
        /// Its character.
        phase: PhaseId,
    },
    /// Busy for this long on any core (rt-app's `runtime`).
    Busy {
        /// Time on a core of any speed.
        time: Nanos,
        /// Its activity counts for power.
        phase: PhaseId,
    },
    /// Off the core for this long.
    Sleep(Nanos),
    /// Waits for the next multiple of the period, without drift; no sleep if that is past. The
    /// first use of a timer counts from the start of its thread (after its delay); for a forked
    /// thread, from the start of the application plus the thread's delay.
    Timer {
        /// The timer.
        timer: TimerId,
        /// Period.
        period: Nanos,
        /// What the next expiry counts from.
        mode: TimerMode,
    },
    /// Waits until as many threads have arrived as the barrier requires. A milestone.
    Barrier(BarrierId),
    /// Takes a lock, waiting in line.
    Lock(LockId),
    /// Releases a lock; the first in line gets it. Any thread may do so: a plain mutex does not
    /// check its owner.
    Unlock(LockId),
    /// Releases the lock, waits for a signal, takes the lock again.
    Wait {
        /// Condition waited for.
        condition: ConditionId,
        /// Lock held before and after; `None`: wait without one (rt-app allows it).
        lock: Option<LockId>,
    },
    /// Wakes the first waiting thread, if there is one.
    Signal(ConditionId),
    /// Wakes all waiting threads.
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
    /// Takes one from a semaphore, waiting while it is 0.
    SemaphoreWait(SemaphoreId),
    /// Puts an item into a bounded queue, waiting while it is full.
    Send(ChannelId),
    /// Takes an item out of a bounded queue, waiting while it is empty. If the queue is closed and
    /// empty, the thread leaves its innermost loop instead.
    Receive(ChannelId),
    /// Declares that this thread sends no more. Once `senders` threads have declared so, the queue
    /// is closed: a thread that waits to receive, or tries to receive from it when it is empty,
    /// leaves its innermost loop.
    Close {
        /// The queue.
        channel: ChannelId,
        /// Number of threads that must declare so.
        senders: u32,
    },
    /// A request to a device that takes this long; requests queue. The thread is off the core.
    Io {
        /// The device.
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
    /// Resumes the first thread of this name in the application. Has no effect if that is not
    /// suspended.
    Resume(String),
    /// Lets other threads of the same queue go first.
    Yield,
    /// Repeats its body.
    Loop {
        /// Number of times; `None`: for ever.
        times: Option<u64>,
        /// The body.
        body: Vec<Step>,
    },
    /// Takes part in a parallel loop until no iteration is left for it. No barrier at the end.
    ParallelFor(LoopId),
    /// Runs tasks of a graph until all are done; waits while none is ready.
    RunTasks(GraphId),
    /// Declares a milestone: a point where the thread would wait for its peers.
    Milestone,
    /// Reports the begin or end of an iteration to the listener of a run; nothing else.
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
        /// Number of phases.
        of: u32,
        /// Number of iterations of the phase; `None`: it never ends.
        loops: Option<u64>,
    },
}

/// What a timer's next expiry counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerMode {
    /// From the last expiry, or from now if the thread was late (rt-app's default).
    #[default]
    Relative,
    /// From the first use, always: a thread that is late catches up.
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
    /// Number of threads that take part: an execution is over when all have found no more to do.
    pub workers: u32,
    /// Loop policy by name and chunk: `static`, `static,64`, `dynamic,1`, `guided,1`.
    pub schedule: String,
    /// Work of taking a chunk (a lock and a counter).
    pub take_cost: Work,
}
