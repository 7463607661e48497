//! A pool of workers, and the ways into it.

use std::io::Write as _;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_deque::Worker as Deque;
use evenkeel_machine::{KINDS_VARIABLE, KindList};
use evenkeel_policy::graph;

use crate::costs::{Cost, Label};
use crate::error::PoolError;
use crate::fork;
use crate::latch::{CrossPoolLatch, ExternalLatch};
use crate::loops::Schedule;
use crate::region;
use crate::registry::Registry;
use crate::scope::{self, Scope};
use crate::stack;
use crate::stack_job::StackJob;
use crate::summary::Summary;
use crate::task::Declared;
use crate::team::{KindOfCore, Place, Team};
use crate::trace::Trace;
use crate::worker::Worker;

/// Environment variable: the machine, by a preset's name or a file, in place of what the system
/// says about its kinds. Takes the feature `machine-files`; without it [`KINDS_VARIABLE`] counts.
pub const MACHINE_VARIABLE: &str = "EVENKEEL_MACHINE";
/// Environment variable: the policy for tasks.
pub const POLICY_VARIABLE: &str = "EVENKEEL_POLICY";
/// Environment variable: 1: a summary is written to stderr when a pool is dropped; see
/// [`Builder::summary`].
pub const SUMMARY_VARIABLE: &str = "EVENKEEL_SUMMARY";
/// Environment variable: the file that a trace is written to; see [`Builder::trace`].
pub const TRACE_VARIABLE: &str = "EVENKEEL_TRACE";
/// Environment variable: 0: no worker lends its core; see [`Builder::lend`].
pub const LEND_VARIABLE: &str = "EVENKEEL_LEND";
/// Environment variable: the schedule of loops that do not say theirs.
pub const SCHEDULE_VARIABLE: &str = "EVENKEEL_SCHEDULE";

/// A call that takes longer is worth another worker's attention.
const LONG: Duration = Duration::from_millis(1);

/// The most workers that a pool may have.
pub const MAX_WORKERS: usize = 4096;

/// Workers that run tasks and loops: one per core that this process may use, each kept on its core,
/// except while it is lent another's ([`Builder::lend`]). Dropping the pool joins its threads.
///
/// A pool belongs to the process that made it. In a forked child a scope or a loop on it panics,
/// and dropping it does nothing; a pool that the child makes works.
pub struct Pool {
    pub(crate) registry: Arc<Registry>,
    threads: Vec<JoinHandle<()>>,
    /// True if it prints a summary at its end.
    prints_summary: bool,
    /// [`fork::forks`] when it was made.
    forks: u32,
}

/// What a pool reports about itself.
struct Reporting {
    trace: Option<Trace>,
    prints_summary: bool,
}

/// The settings of a pool. Each that is not set comes from the environment, else from the machine.
#[derive(Clone, Debug)]
pub struct Builder {
    workers: Option<usize>,
    machine: Option<String>,
    policy: Option<String>,
    schedule: Option<String>,
    trace: Option<String>,
    summary: Option<bool>,
    pins: bool,
    lends: Option<bool>,
}

impl Builder {
    /// The number of workers: on the fastest cores, and round again if there are more workers than
    /// cores. Else one per core, but no more than the CPUs' worth of time that a control group lets
    /// the process have (`cpu.max`, or `cpu.cfs_quota_us`).
    #[must_use]
    pub const fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The machine, by a preset's name or a file (feature `machine-files`). Else
    /// `EVENKEEL_MACHINE`, else `EVENKEEL_KINDS`, which lists kinds as `P:0-7=1024 E:8-15=512`,
    /// else what the system says.
    #[must_use]
    pub fn machine(mut self, name_or_path: &str) -> Self {
        self.machine = Some(name_or_path.into());
        self
    }

    /// The policy by which tasks find their workers: `steal-kind`, `steal`, `fifo`, `cats`. Else
    /// `EVENKEEL_POLICY`, else `steal-kind`.
    ///
    /// The first two suit all programs; the others keep ready tasks behind one lock, for tasks of
    /// 10 us or more. Policies that plan whole graphs are for recorded ones: [`Pool::record_with`].
    #[must_use]
    pub fn policy(mut self, name: &str) -> Self {
        self.policy = Some(name.into());
        self
    }

    /// How loops are shared out that do not say, as [`Schedule`] reads it. Else
    /// `EVENKEEL_SCHEDULE`, else `aid-affinity`.
    #[must_use]
    pub fn schedule(mut self, schedule: &str) -> Self {
        self.schedule = Some(schedule.into());
        self
    }

    /// The file that a trace is written to when the pool has been dropped (feature `trace`), for
    /// ui.perfetto.dev. `%p` in its name stands for the process's number. Pools of one process that
    /// name the same file are all in it. Else `EVENKEEL_TRACE`, else there is none.
    ///
    /// A file that cannot be written is reported on stderr, and is no error. A worker records up to
    /// 1,048,576 events (40 MiB); later ones are left out and counted.
    #[must_use]
    pub fn trace(mut self, file: &str) -> Self {
        self.trace = Some(file.into());
        self
    }

    /// True: a summary is written to stderr when the pool is dropped ([`Pool::summary`]); costs of
    /// tasks with names are then learnt on cores of one kind, too. Else `EVENKEEL_SUMMARY` (1 or
    /// 0), else false.
    #[must_use]
    pub const fn summary(mut self, wanted: bool) -> Self {
        self.summary = Some(wanted);
        self
    }

    /// True: each worker is kept on its core (except for [`Builder::lend`]). False: none is, and
    /// none lends another its core. True unless it is set.
    #[must_use]
    pub const fn pin(mut self, pins: bool) -> Self {
        self.pins = pins;
        self
    }

    /// True: a worker that loses its core to another program while it has work is lent the core of
    /// an idle worker until it has done that work. So is a worker on a slower core, once a worker
    /// on a faster one has been idle for a millisecond; slower or shared cores are never lent. Else
    /// `EVENKEEL_LEND` (1 or 0), else true.
    #[must_use]
    pub const fn lend(mut self, lends: bool) -> Self {
        self.lends = Some(lends);
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// A machine, policy or schedule that is not there; no core that may be used; no threads to be
    /// had.
    pub fn build(self) -> Result<Pool, PoolError> {
        let mut team = Team::here(stated(self.machine)?)?;
        if let Some(workers) = self.workers {
            if !(1..=MAX_WORKERS).contains(&workers) {
                return Err(PoolError::Workers { found: workers.to_string(), most: MAX_WORKERS });
            }
            team = team.with_workers(workers);
        } else {
            team =
                team.within(std::thread::available_parallelism().map_or(usize::MAX, usize::from));
        }
        if !self.pins {
            team = team.unpinned();
        }
        team.lends = flag(self.lends, LEND_VARIABLE, true)?;
        let discipline = asked(self.policy, POLICY_VARIABLE, Discipline::named)?
            .unwrap_or(Discipline::StealKind);
        let schedule =
            asked(self.schedule, SCHEDULE_VARIABLE, |it| Ok(it.parse()?))?.unwrap_or_default();
        let trace =
            self.trace.or(from_environment(TRACE_VARIABLE)?).filter(|file| !file.is_empty());
        let prints_summary = flag(self.summary, SUMMARY_VARIABLE, false)?;
        let trace = trace.and_then(|file| Trace::begin(&file));
        Pool::start(team, discipline, schedule, Reporting { trace, prints_summary })
    }
}

/// The kinds of the machine that was asked for, else those that the environment states, and what a
/// message calls them.
#[cfg(feature = "machine-files")]
fn stated(machine: Option<String>) -> Result<Option<(String, KindList)>, PoolError> {
    let load = |it: &str| {
        let machine = evenkeel_files::machines::load(it)?;
        Ok((format!("machine '{}'", machine.name), KindList::from(&machine)))
    };
    match asked(machine, MACHINE_VARIABLE, load)? {
        Some(machine) => Ok(Some(machine)),
        None => stated_kinds(),
    }
}

/// The same without machine files. A program that names a machine in the environment may state its
/// kinds there, too.
#[cfg(not(feature = "machine-files"))]
fn stated(machine: Option<String>) -> Result<Option<(String, KindList)>, PoolError> {
    let refuse = |it: &str| Err(PoolError::NoMachineFiles(it.into()));
    match stated_kinds()? {
        Some(kinds) if machine.is_none() => Ok(Some(kinds)),
        _ => asked(machine, MACHINE_VARIABLE, refuse),
    }
}

fn stated_kinds() -> Result<Option<(String, KindList)>, PoolError> {
    asked(None, KINDS_VARIABLE, |it| Ok((KINDS_VARIABLE.into(), it.parse()?)))
}

/// The value that was asked for, else that of the environment, as `read` understands it.
fn asked<T>(
    asked: Option<String>,
    variable: &'static str,
    read: impl FnOnce(&str) -> Result<T, PoolError>,
) -> Result<Option<T>, PoolError> {
    if let Some(asked) = asked {
        return read(&asked).map(Some);
    }
    let Some(found) = from_environment(variable)? else { return Ok(None) };
    let in_variable = |source| PoolError::Variable { variable, source: Box::new(source) };
    read(&found).map(Some).map_err(in_variable)
}

/// The value that was asked for, else that of the environment, else `unless_said`.
fn flag(asked: Option<bool>, variable: &'static str, unless_said: bool) -> Result<bool, PoolError> {
    if let Some(asked) = asked {
        return Ok(asked);
    }
    match from_environment(variable)?.as_deref() {
        None => Ok(unless_said),
        Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(found) => Err(PoolError::Flag { variable, found: found.into() }),
    }
}

/// An empty variable says nothing.
fn from_environment(variable: &'static str) -> Result<Option<String>, PoolError> {
    match std::env::var(variable) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(PoolError::NoText(variable)),
    }
}

/// The policies of crates/policy that place tasks as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// `steal`.
    Steal,
    /// `steal-kind`.
    StealKind,
    /// `fifo`, `cats`: ready tasks are in one place, in the policy's order.
    Central(&'static str),
}

impl Discipline {
    fn named(name: &str) -> Result<Self, PoolError> {
        const HAS: &str = "fifo, steal, steal-kind, cats";
        let owned = || name.to_owned();
        match name {
            "steal" => Ok(Self::Steal),
            "steal-kind" => Ok(Self::StealKind),
            "fifo" => Ok(Self::Central("fifo")),
            "cats" => Ok(Self::Central("cats")),
            _ if graph::find(name).is_some() => {
                Err(PoolError::PlansGraphs { name: owned(), has: HAS })
            }
            _ => Err(PoolError::NoPolicy { name: owned(), has: HAS }),
        }
    }
}

impl Pool {
    /// One worker per core that this process may use, pinned, core kinds detected.
    ///
    /// # Errors
    /// `EVENKEEL_MACHINE`, `EVENKEEL_POLICY` or `EVENKEEL_SCHEDULE` name something that is not
    /// there, `EVENKEEL_LEND` or `EVENKEEL_SUMMARY` is neither 0 nor 1; no threads to be had.
    pub fn new() -> Result<Self, PoolError> {
        Self::builder().build()
    }

    /// A pool that differs from [`Pool::new`]'s.
    pub const fn builder() -> Builder {
        Builder {
            workers: None,
            machine: None,
            policy: None,
            schedule: None,
            trace: None,
            summary: None,
            pins: true,
            lends: None,
        }
    }

    fn start(
        team: Team,
        discipline: Discipline,
        schedule: Schedule,
        reporting: Reporting,
    ) -> Result<Self, PoolError> {
        let deques: Vec<_> = (0..team.threads()).map(|_| Deque::new_lifo()).collect();
        let stealers = deques.iter().map(Deque::stealer).collect();
        let mut registry = Registry::new(team, discipline, stealers, schedule)?;
        registry.learns |= reporting.prints_summary || reporting.trace.is_some();
        registry.is_traced = reporting.trace.is_some();
        registry.trace = reporting.trace;
        // From here on dropping it ends those threads that there are.
        let forks = fork::begin_to_count();
        let mut pool = Self {
            registry: Arc::new(registry),
            threads: Vec::new(),
            prints_summary: reporting.prints_summary,
            forks,
        };
        for (worker, deque) in deques.into_iter().enumerate() {
            let registry = Arc::clone(&pool.registry);
            let is_reserve = worker >= registry.team.places.len();
            let name =
                if is_reserve { "evenkeel-reserve".into() } else { format!("evenkeel-{worker}") };
            let thread = std::thread::Builder::new().name(name).stack_size(stack::BYTES);
            let thread = thread.spawn(move || {
                if is_reserve {
                    Worker::stand_by(registry, deque)
                } else {
                    Worker::work(registry, worker, deque)
                }
            });
            pool.threads.push(thread.map_err(|source| PoolError::Thread { worker, source })?);
        }
        Ok(pool)
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.registry.team.places.len()
    }

    /// The core of each worker, fastest kind first.
    pub fn places(&self) -> &[Place] {
        &self.registry.team.places
    }

    /// The kinds of core that workers are on, fastest first.
    pub fn kinds(&self) -> &[KindOfCore] {
        &self.registry.team.kinds
    }

    /// What the pool has done so far, as of about now: up to the last task or chunk of each worker.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.registry)
    }

    /// The cost so far of tasks with names, on each kind of core (of loops: an iteration, of
    /// pipelines: a stage). On cores of one kind it is learnt only if a summary or a trace is asked
    /// for, and in recorded graphs if their policy asks ([`Pool::record_with`]).
    pub fn costs(&self) -> Vec<Cost> {
        self.registry.costs.all()
    }

    /// The number of a name. 0: the name is not needed.
    pub(crate) fn label(&self, name: &'static str) -> Label {
        self.registry.label(name)
    }

    /// Calls `f` on a worker and returns what it returns. Loops, scopes and joins inside begin
    /// without a change of threads: a program with many short ones does well to be in a `run` as a
    /// whole.
    ///
    /// A worker of another pool does its own pool's other work while it waits, so pools may call
    /// each other. Do not make such a call with a lock that the pool's tasks take.
    pub fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.on_worker(|_| f())
    }

    /// Calls `a` and `b`, perhaps at once, and returns what they return.
    #[inline]
    pub fn join<RA: Send, RB: Send>(
        &self,
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        // Not by `on_worker`: a closure that two places call is in memory, and what has just been
        // put there in parts has to be waited for.
        Worker::with_current_of(&self.registry, |worker| match worker {
            Some(worker) => crate::join::join(worker, |_| a(), |_| b()),
            None => self.call_in(|worker| crate::join::join(worker, |_| a(), |_| b())),
        })
    }

    /// Opens a scope for tasks, which may borrow what outlives the call; they have all ended when
    /// it returns.
    ///
    /// A panic of `f` or of a task is resumed here; tasks that have not begun by then are dropped.
    ///
    /// `f` has a worker while it runs. Where there is no other, tasks begin when it has returned,
    /// waits for something of the pool's, or has been blocked for 10 to 160 ms, as on a channel
    /// that they empty.
    pub fn scope<'env, F, R>(&self, f: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R + Send,
        R: Send,
    {
        self.on_worker(|worker| scope::open(worker, f))
    }

    /// Opens a scope whose tasks may fail: [`Scope::try_spawn`] and [`crate::Task::try_run`] take
    /// closures that return a `Result`. The first error, be it a task's or what `f` returns,
    /// cancels the scope: tasks that have not begun are dropped, those under way go on to their
    /// ends.
    ///
    /// ```
    /// let lines = ["1", "two", "3"];
    /// let checked = evenkeel_runtime::Pool::new()?.try_scope(|s| {
    ///     lines.iter().for_each(|line| s.try_spawn(|| line.parse::<u32>().map(drop)));
    ///     Ok(lines.len())
    /// });
    /// assert!(checked.is_err());
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    ///
    /// # Errors
    /// The first.
    pub fn try_scope<'env, F, R, E>(&self, f: F) -> Result<R, E>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, E>) -> Result<R, E> + Send,
        R: Send,
        E: Send,
    {
        self.on_worker(|worker| scope::try_open(worker, f))
    }

    /// Calls `f` on a worker, as [`Pool::run`] does, and keeps what is begun within to itself: a
    /// wait for a scope, a loop or a join in there runs only what was begun there, too. Other
    /// workers help if they are idle.
    ///
    /// For waits with a lock that other tasks want. A wait elsewhere takes up any task, also one
    /// that waits for what this thread holds:
    ///
    /// ```
    /// use std::sync::Mutex;
    /// let (pool, sum) = (evenkeel_runtime::Pool::new()?, Mutex::new(0));
    /// pool.scope(|s| {
    ///     for _ in 0..50 {
    ///         s.spawn(|| {
    ///             let mut held = sum.lock().unwrap();
    ///             *held += pool.isolate(|| {
    ///                 pool.map_reduce(0..8_u32, || 0, |sum, i| sum + i, |a, b| a + b)
    ///             });
    ///         });
    ///     }
    /// });
    /// assert_eq!(sum.into_inner().unwrap(), 50 * 28);
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    ///
    /// It takes some hundreds of nanoseconds. A policy behind a lock (`fifo`, `cats`) decides about
    /// what is begun within apart from the rest.
    pub fn isolate<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.on_worker(|worker| region::isolate(worker, f))
    }

    /// On this thread, if it is a worker of this pool; else on one that is.
    pub(crate) fn on_worker<R: Send>(&self, f: impl FnOnce(&Worker) -> R + Send) -> R {
        if self.forks != fork::forks() {
            fork::refuse();
        }
        Worker::with_current_of(&self.registry, |worker| match worker {
            Some(worker) => f(worker),
            None => self.call_in(f),
        })
    }

    /// For a thread that is no worker of this pool.
    #[cold]
    fn call_in<R: Send>(&self, f: impl FnOnce(&Worker) -> R + Send) -> R {
        Worker::with_current(|worker| match worker {
            Some(of_another) => self.call_from_other_pool(of_another, f),
            None => self.call_from_outside(f),
        })
    }

    fn call_from_other_pool<R: Send>(
        &self,
        worker: &Worker,
        f: impl FnOnce(&Worker) -> R + Send,
    ) -> R {
        let declared = Declared::here();
        let job = StackJob::new(CrossPoolLatch::new(worker), |worker: &Worker| {
            declared.during(|| f(worker))
        });
        self.registry.inject(job.job());
        worker.wait_until_cold(&|| job.signal.is_set());
        job.into_result()
    }

    fn call_from_outside<R: Send>(&self, f: impl FnOnce(&Worker) -> R + Send) -> R {
        let declared = Declared::here();
        let job =
            StackJob::new(ExternalLatch::new(), |worker: &Worker| declared.during(|| f(worker)));
        self.registry.inject(job.job());
        // It may have come to a worker that loses its core, or is slow, while all others sleep.
        let long = || {
            if !self.registry.lending.has_monitor() {
                self.registry.sleep.wake_one_unless_any_idle();
            }
        };
        job.signal.wait(LONG, long);
        job.into_result()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.forks != fork::forks() {
            // A forked child has none of the workers: there are no threads to join.
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        if self.prints_summary {
            // A write that fails is no error.
            let _ = write!(std::io::stderr(), "{}", self.summary());
        }
        self.registry.end();
        let own = std::thread::current().id();
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != own) {
            // A worker returns; it does not panic.
            let _ = thread.join();
        }
        self.registry.regions.clear();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("places", &self.places()).finish_non_exhaustive()
    }
}
