//! A pool of workers, and the ways into it.

use std::io::Write as _;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_deque::Worker as Deque;
use evenkeel_machine::KindId;

use crate::builder::{Builder, Discipline, Reporting};
use crate::costs::{Cost, Label, Speedup};
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
use crate::worker::Worker;

/// A call that takes longer is worth another worker's attention.
const LONG: Duration = Duration::from_millis(1);

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
        Builder::new()
    }

    pub(crate) fn start(
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

    /// Speedup factors of tasks with names, of loops and of stages, by [`Pool::costs`]: how much
    /// faster they were on each kind of core than on the slowest that workers are on. Names that
    /// have not run there have none.
    pub fn speedups(&self) -> Vec<Speedup> {
        let slowest = self.registry.team.kinds.last().map_or(KindId(0), |kind| kind.id);
        self.registry.costs.speedups(slowest)
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
