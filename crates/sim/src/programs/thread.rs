//! A thread as the mechanism keeps it: what the policy does not see of it.

use std::rc::Rc;

use evenkeel_machine::{CoreId, FULL_CAPACITY, KindId, Nanos, PerKind, Work};
use evenkeel_model::{Class, TaskId};
use evenkeel_policy::{AppId, Order, Slice, Start, State, ThreadId, ThreadStats};

use crate::programs::program::Row;

/// Where a thread stands that has no core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In no queue: it runs, is blocked, or has ended.
    #[default]
    Nowhere,
    /// Ready, but not placed yet in this instant.
    Arriving,
    /// In a queue of the policy. `by_time`: its key is its virtual time and nothing else, in
    /// whichever queue it waits; so it is not for one that has woken, and is brought forward to the
    /// floor of its queue. `fresh`: it has woken or started, and has not run since.
    Queue { queue: u32, by_time: bool, fresh: bool },
    /// In the queue of a core for threads that no core serves that they may run on.
    Local(u32),
    /// Among those of a higher class.
    Urgent,
    /// Next on this core.
    Reserved(u32),
}

/// What the present work is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// A step of its own.
    #[default]
    Step,
    /// A chunk of a shared loop: worker and iterations, taken up at `since`.
    Chunk { shared: u32, worker: u32, iterations: u64, since: Nanos },
    /// A task of a graph, taken up at `since`.
    Task { shared: u32, task: TaskId, since: Nanos },
    /// Creating the next task of a graph.
    Create { shared: u32 },
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitsFor {
    #[default]
    Nothing,
    Time,
    Start,
    Barrier(u32),
    Lock(u32),
    Condition(u32),
    Semaphore(u32),
    Room(u32),
    Item(u32),
    Children,
    Resume,
    Task(u32),
    Budget,
}

/// Virtual time per nanosecond is kept in units of 2^-16.
pub const CHARGE_SHIFT: u32 = 16;

/// What a context switch needs comes first, in as few cache lines as it takes: see
/// [`evenkeel_policy::ThreadStats`].
#[repr(C)]
#[derive(Debug)]
pub struct Thread {
    /// What is left to do before the next op: work, or, where `wall`, nanoseconds.
    pub remaining: u64,
    /// Part of a unit of work that has been done beyond `remaining`.
    pub fraction: f64,
    /// Nanoseconds to lose before anything else.
    pub overhead: u64,
    /// Nanoseconds of lost progress still to be suffered, at half speed.
    pub refill: u64,
    pub row: Row,
    pub wall: bool,
    pub started: bool,
    pub in_critical_section: bool,
    /// True if it became ready by a wake-up and has not run since.
    pub woken: bool,
    /// True if its waker said that it is about to wait itself.
    pub synchronously: bool,
    pub nice: i8,
    /// Share of a carried slice that is left, of [`WHOLE_SLICE`]; 0: a new one is due.
    pub slice_left: u64,
    pub order: Order,
    pub class: Class,
    pub charge: PerKind<u32>,
    /// Most threads share theirs.
    pub slice: Rc<Slice>,
    pub migrations: u64,
    /// Index into the ops of the run.
    pub pc: u32,
    pub children: u32,
    /// Rounds left of the loops around `pc`, by depth.
    pub rounds: Box<[u64]>,
    pub part: Part,
    pub waits_for: WaitsFor,
    pub parent: Option<u32>,
    /// Worker number in the graph that it is in.
    pub worker: Option<u32>,
    /// Which of the application's first threads, or, where `forked`, of its templates it is.
    pub spec: u32,
    /// Number among the forked threads of its application.
    pub forked: Option<u32>,
    /// Sum of the squares of its distances between milestones so far, work.
    pub squares: f64,
    /// What few threads need; made when first needed.
    rare: Option<Box<Rare>>,
}

/// What few threads need: timers of their own, rounds of shared work, deadlines.
#[derive(Debug)]
pub struct Rare {
    /// Rounds of shared loops and graphs that it has been through; made when first needed.
    pub loop_rounds: Vec<u32>,
    pub graph_rounds: Vec<u32>,
    /// By shared loop, which of its workers it is, from the first time on.
    pub loop_workers: Vec<Option<u32>>,
    /// True if it has waited for a task, and has not asked for one since.
    pub waited_for_task: bool,
    /// The task that it has taken, and whose data are on their way to it.
    pub waits_for_data: Option<TaskId>,
    /// Next expiry of each timer of its own, once used.
    pub timers: Vec<Option<Nanos>>,
    /// Speeds last seen, by kind (0: never), for the sampling estimator.
    pub seen: PerKind<f32>,
    pub util_min: u32,
    pub util_max: u32,
    /// Deadline class: end of the present period, deadline and budget left in it, and from when on
    /// time counts against it.
    pub period_end: Nanos,
    pub due: Nanos,
    pub budget: Nanos,
    pub charged_from: Nanos,
}

impl Rare {
    const NONE: Self = Self {
        loop_rounds: Vec::new(),
        graph_rounds: Vec::new(),
        loop_workers: Vec::new(),
        waited_for_task: false,
        waits_for_data: None,
        timers: Vec::new(),
        seen: PerKind::all(0.0),
        util_min: 0,
        util_max: FULL_CAPACITY,
        period_end: Nanos::ZERO,
        due: Nanos::ZERO,
        budget: Nanos::ZERO,
        charged_from: Nanos::ZERO,
    };
}

static NONE: Rare = Rare::NONE;

impl Thread {
    /// What few threads need, as it is where it has not been needed yet.
    pub fn rare(&self) -> &Rare {
        self.rare.as_deref().unwrap_or(&NONE)
    }

    /// The same, to be changed.
    pub fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(|| Box::new(Rare::NONE))
    }

    /// Forgets it.
    pub fn drop_rare(&mut self) {
        self.rare = None;
    }

    pub fn new(
        spec: u32,
        forked: Option<u32>,
        pc: u32,
        depth: u8,
        class: Class,
        slice: Rc<Slice>,
    ) -> Self {
        Self {
            spec,
            forked,
            pc,
            rounds: vec![0; depth as usize].into_boxed_slice(),
            remaining: 0,
            wall: false,
            row: 0,
            part: Part::Step,
            overhead: 0,
            refill: 0,
            order: Order::VirtualTime { weight: 1024, start: Start::Keep },
            charge: PerKind::all(FULL_CAPACITY),
            slice,
            slice_left: 0,
            class,
            nice: 0,
            waits_for: WaitsFor::Start,
            woken: false,
            synchronously: false,
            started: false,
            migrations: 0,
            parent: None,
            children: 0,
            worker: None,
            fraction: 0.0,
            squares: 0.0,
            rare: None,
            in_critical_section: false,
        }
    }

    /// True if its key is its virtual time and nothing else, in whichever queue it waits.
    pub fn is_by_time(&self) -> bool {
        matches!(self.order, Order::VirtualTime { start: Start::Keep, .. }) && !self.woken
    }

    /// True if the policy places it.
    pub fn normal(&self) -> bool {
        matches!(self.class, Class::Normal | Class::Idle)
    }
}

/// A whole slice, as carried slices are counted: shares, because a slice lasts differently on each
/// kind.
pub const WHOLE_SLICE: u64 = 1 << 32;

/// Slice of a thread for which the policy has not set one.
pub const DEFAULT_SLICE: Nanos = Nanos(3_000_000);

/// A slice of SCHED_RR (`RR_TIMESLICE`, 100 ms).
pub const ROUND_ROBIN_SLICE: Nanos = Nanos(100_000_000);

/// Statistics of a thread that has not started.
pub fn fresh_stats(
    app: AppId,
    group: u32,
    index_in_app: u32,
    parent: Option<ThreadId>,
    weight: u32,
) -> ThreadStats {
    ThreadStats {
        app,
        group,
        index_in_app,
        parent,
        weight,
        state: State::Blocked,
        core: CoreId(0),
        runs: 0,
        queue: None,
        virtual_time: 0,
        started: Nanos::ZERO,
        time_on: PerKind::all(Nanos::ZERO),
        blocked: Nanos::ZERO,
        stalled: Nanos::ZERO,
        waiting: Nanos::ZERO,
        since: Nanos::ZERO,
        retired: Work::ZERO,
        since_milestone: Work::ZERO,
        to_milestone: None,
        speedup: PerKind::all(1.0),
        speedup_offline: PerKind::all(1.0),
        load: 0,
        restricted: false,
    }
}

/// How long a slice lasts on a kind, with so many runnable in the queue.
pub fn slice_length(slice: &Slice, kind: KindId, runnable: usize) -> Nanos {
    let time = slice.time[kind];
    match slice.divided_to {
        Some(least) if runnable > 1 => Nanos((time.0 / runnable as u64).max(least.0)),
        _ => time,
    }
}

/// Weight of a class and a nice value.
pub fn weight_of(class: Class, nice: i8) -> u32 {
    match class {
        Class::Idle => evenkeel_policy::IDLE_WEIGHT,
        _ => evenkeel_policy::weight_of(nice),
    }
}
