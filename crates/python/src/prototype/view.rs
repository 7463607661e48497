//! What a policy in Python sees: copies, which stay as they are when time goes on.

use evenkeel_machine::{CoreId, Kind, Machine, PerKind, Work};
use evenkeel_policy::{self as contract, CoreStats, State, ThreadStats};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// What never changes of a machine.
struct Shape {
    name: String,
    /// Name and capacity, fastest first.
    kinds: Vec<(String, u32)>,
    kind_of_core: Vec<u8>,
}

impl Shape {
    fn of(machine: &Machine) -> Self {
        let kind = |kind: &Kind| (kind.name.clone(), kind.capacity);
        Self {
            name: machine.name.clone(),
            kinds: machine.kinds.iter().map(kind).collect(),
            kind_of_core: machine.cores.iter().map(|core| core.kind.0).collect(),
        }
    }
}

/// An event: its `kind`, and the thread and the core that it is about.
#[pyclass(frozen, get_all, module = "evenkeel")]
pub struct Event {
    /// "started", "exited", "woke", "blocked", "milestone", "critical_section", "picked",
    /// "slice_used", "core_idle", "core_online", "core_offline", "timer".
    kind: &'static str,
    /// Number of the thread, or None.
    thread: Option<u32>,
    /// Number of the core, or None.
    core: Option<u32>,
}

impl Event {
    /// Of the contract's.
    pub fn of(event: contract::Event) -> Self {
        use contract::Event as E;
        let (kind, thread, core) = match event {
            E::Started(thread) => ("started", Some(thread), None),
            E::Exited(thread) => ("exited", Some(thread), None),
            E::Woke(thread) => ("woke", Some(thread), None),
            E::Blocked(thread) => ("blocked", Some(thread), None),
            E::Milestone(thread) => ("milestone", Some(thread), None),
            E::CriticalSection(thread) => ("critical_section", Some(thread), None),
            E::Picked(thread, core) => ("picked", Some(thread), Some(core)),
            E::SliceUsed(thread, core) => ("slice_used", Some(thread), Some(core)),
            E::CoreIdle(core) => ("core_idle", None, Some(core)),
            E::CoreOnline(core) => ("core_online", None, Some(core)),
            E::CoreOffline(core) => ("core_offline", None, Some(core)),
            E::Timer => ("timer", None, None),
        };
        Self { kind, thread: thread.map(|it| it.0), core: core.map(|it| it.0) }
    }
}

#[pymethods]
impl Event {
    fn __repr__(&self) -> String {
        let of = |what: &str, number: Option<u32>| {
            number.map_or(String::new(), |number| format!(", {what} {number}"))
        };
        format!("<Event {}{}{}>", self.kind, of("thread", self.thread), of("core", self.core))
    }
}

/// What a policy sees of one core.
#[pyclass(frozen, get_all, module = "evenkeel")]
pub struct Core {
    /// Its number.
    id: u32,
    /// Number of its kind, 0 the fastest.
    kind: u8,
    /// True if it can run threads.
    online: bool,
    /// The thread that it runs, or None.
    running: Option<u32>,
    /// Utilisation, 0 to 1024; only with the interest "utilisation".
    utilisation: u32,
}

/// What a policy sees of one thread: times in nanoseconds, lists by kind, fastest first.
#[pyclass(frozen, module = "evenkeel")]
pub struct Thread {
    id: u32,
    /// In a box: objects of Python are not aligned as it is.
    stats: Box<ThreadStats>,
    kinds: usize,
}

impl Thread {
    fn by_kind<T: Copy, U>(&self, all: &PerKind<T>, of: impl Fn(T) -> U) -> Vec<U> {
        all.0.iter().take(self.kinds).map(|&value| of(value)).collect()
    }
}

macro_rules! fields {
    ($($(#[doc = $about:literal])* $name:ident: $type:ty = $of:expr;)* { $($more:tt)* }) => {
        #[pymethods]
        impl Thread {
            $($more)*

            $($(#[doc = $about])* #[getter] fn $name(&self) -> $type {
                let of: fn(&Self) -> $type = $of;
                of(self)
            })*
        }
    };
}

fields! {
    /// Its number.
    id: u32 = |it| it.id;
    /// "ready", "running", "blocked" or "exited".
    state: &'static str = |it| match it.stats.state {
        State::Ready => "ready",
        State::Running => "running",
        State::Blocked => "blocked",
        State::Exited => "exited",
    };
    /// True if it runs or waits for a core.
    runnable: bool = |it| it.stats.runnable();
    /// Core that it runs on or ran on last; 0 before it first ran.
    core: u32 = |it| it.stats.core.0;
    /// Queue that it is assigned to, or None.
    queue: Option<u32> = |it| it.stats.queue.map(|queue| queue.0);
    /// True if it may run on some cores only.
    restricted: bool = |it| it.stats.restricted;
    /// Virtual time.
    virtual_time: u64 = |it| it.stats.virtual_time;
    /// Work retired.
    retired: u64 = |it| it.stats.retired.0;
    /// Work retired since the last milestone.
    since_milestone: u64 = |it| it.stats.since_milestone.0;
    /// Work until its next milestone, or None; only with the interest "distance".
    to_milestone: Option<u64> = |it| it.stats.to_milestone.map(|Work(work)| work);
    /// When it entered its present state.
    since: u64 = |it| it.stats.since.0;
    /// When it started.
    started: u64 = |it| it.stats.started.0;
    /// Time waiting for a core.
    waiting: u64 = |it| it.stats.waiting.0;
    /// Time blocked.
    blocked: u64 = |it| it.stats.blocked.0;
    /// Time on cores spent waiting for memory; only with the interest "stalled".
    stalled: u64 = |it| it.stats.stalled.0;
    /// Times that it was picked.
    runs: u64 = |it| it.stats.runs;
    /// PELT load average, 0 to 1024; only with the interest "load".
    load: u16 = |it| it.stats.load;
    /// Weight: nice 0 is 1024.
    weight: u32 = |it| it.stats.weight;
    /// Number of its application.
    app: u32 = |it| it.stats.app.0;
    /// Thread group in the application.
    group: u32 = |it| it.stats.group;
    /// Index among the threads of its application.
    index_in_app: u32 = |it| it.stats.index_in_app;
    /// The thread that forked it, or None.
    parent: Option<u32> = |it| it.stats.parent.map(|parent| parent.0);
    /// Time on each kind of core.
    time_on: Vec<u64> = |it| it.by_kind(&it.stats.time_on, |time| time.0);
    /// Speedup factor on each kind over the slowest, by the estimator.
    speedup: Vec<f32> = |it| it.by_kind(&it.stats.speedup, |factor| factor);
    /// The same for the thread's whole run.
    speedup_offline: Vec<f32> = |it| it.by_kind(&it.stats.speedup_offline, |factor| factor);
    {
        fn __repr__(&self) -> String {
            format!("<Thread {} {}, core {}>", self.id, self.state(), self.stats.core.0)
        }
    }
}

/// All that a policy sees when it is called.
#[pyclass(frozen, module = "evenkeel")]
pub struct View {
    now: u64,
    shape: Shape,
    schedutil: bool,
    cores: Vec<CoreStats>,
    threads: Vec<ThreadStats>,
    live: Vec<u32>,
    ran: Vec<u32>,
    waiting: Vec<u32>,
    /// Cores that a thread may run on; empty where none is restricted.
    affinity: Vec<Option<Vec<u32>>>,
}

impl View {
    /// A copy of the contract's.
    pub fn new(view: &contract::View<'_>) -> Self {
        let is_restricted = view.threads.iter().any(|thread| thread.restricted);
        let affinity = if is_restricted { view.affinity } else { &[] };
        let cores = |cores: &[CoreId]| cores.iter().map(|core| core.0).collect();
        Self {
            now: view.now.0,
            shape: Shape::of(view.machine),
            schedutil: view.schedutil,
            cores: view.cores.to_vec(),
            threads: view.threads.to_vec(),
            live: view.live.iter().map(|thread| thread.0).collect(),
            ran: view.ran.iter().map(|thread| thread.0).collect(),
            waiting: view.waiting.to_vec(),
            affinity: affinity.iter().map(|of| of.as_deref().map(cores)).collect(),
        }
    }
}

#[pymethods]
impl View {
    /// Time since the start of the run, nanoseconds.
    #[getter]
    fn now(&self) -> u64 {
        self.now
    }

    /// Name of the machine.
    #[getter]
    fn machine(&self) -> &str {
        &self.shape.name
    }

    /// True if clocks follow utilisation as under Linux's governor schedutil.
    #[getter]
    fn schedutil(&self) -> bool {
        self.schedutil
    }

    /// Names of the kinds of core, fastest first.
    #[getter]
    fn kinds(&self) -> Vec<String> {
        self.shape.kinds.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Capacities of the kinds, of 1024.
    #[getter]
    fn capacities(&self) -> Vec<u32> {
        self.shape.kinds.iter().map(|(_, capacity)| *capacity).collect()
    }

    /// Cores, by number.
    #[getter]
    fn cores(&self) -> Vec<Core> {
        let pairs = self.cores.iter().zip(&self.shape.kind_of_core).enumerate();
        let core = |(id, (stats, kind)): (usize, (&CoreStats, &u8))| Core {
            id: id as u32,
            kind: *kind,
            online: stats.online,
            running: stats.running.map(|thread| thread.0),
            utilisation: stats.utilisation,
        };
        pairs.map(core).collect()
    }

    /// Numbers of the cores that can run threads.
    fn online(&self) -> Vec<u32> {
        let pairs = self.cores.iter().enumerate();
        pairs.filter(|(_, core)| core.online).map(|(id, _)| id as u32).collect()
    }

    /// Numbers of the cores of a kind, 0 the fastest.
    fn cores_of(&self, kind: u8) -> Vec<u32> {
        let pairs = self.shape.kind_of_core.iter().enumerate();
        pairs.filter(|(_, of)| **of == kind).map(|(id, _)| id as u32).collect()
    }

    /// A thread, by its number.
    fn thread(&self, id: u32) -> PyResult<Thread> {
        let stats = self.threads.get(id as usize);
        let stats = stats.ok_or_else(|| PyIndexError::new_err(format!("no thread {id}")))?;
        Ok(Thread { id, stats: Box::new(*stats), kinds: self.shape.kinds.len() })
    }

    /// Threads, by number; those that ended stay.
    #[getter]
    fn threads(&self) -> PyResult<Vec<Thread>> {
        (0..self.threads.len() as u32).map(|id| self.thread(id)).collect()
    }

    /// Numbers of the threads that have not ended.
    #[getter]
    fn live(&self) -> Vec<u32> {
        self.live.clone()
    }

    /// Numbers of the threads that had a core since the last timer; with the interest "ran".
    #[getter]
    fn ran(&self) -> Vec<u32> {
        self.ran.clone()
    }

    /// Numbers of the live threads that run or wait for a core.
    fn runnable(&self) -> Vec<u32> {
        let is_runnable = |id: &u32| self.threads[*id as usize].runnable();
        self.live.iter().copied().filter(is_runnable).collect()
    }

    /// Number of waiting threads, by queue.
    #[getter]
    fn waiting(&self) -> Vec<u32> {
        self.waiting.clone()
    }

    /// True if a thread may run on a core.
    fn allowed(&self, thread: u32, core: u32) -> PyResult<bool> {
        let restricted = self.thread(thread)?.stats.restricted;
        let cores = self.affinity.get(thread as usize).and_then(Option::as_ref);
        Ok(!restricted || cores.is_none_or(|cores| cores.contains(&core)))
    }
}
