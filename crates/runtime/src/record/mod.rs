//! Graphs of tasks that are recorded once and run again and again.
//!
//! What a task waits for is found out once, when it is recorded. A run follows the edges and nothing else: no handle is looked at, no block
//! taken, no closure moved. Tasks are laid out so that one that waits for nobody but the one before it comes next in memory, too.

mod run;

use std::collections::HashMap;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::Pool;
use crate::costs::Label;
use crate::scope::{FirstError, ScopeCore};
use crate::task::{Accesses, Handle, Mode, Record, Resource};

use run::Steps;

/// What a recorded task does, each time that it runs, in the scope of the run.
pub type Action<'env> = Box<dyn Fn(&ScopeCore) + Send + Sync + 'env>;

/// Where tasks are recorded: see [`Pool::record`]. `E` is what tasks return that may fail.
pub struct Recorder<'env, E = Infallible> {
    actions: Vec<(&'static str, Action<'env>)>,
    /// Who goes before whom.
    edges: Vec<(u32, u32)>,
    /// By the address of a handle. They are borrowed for as long as the graph: no other can come to be there.
    records: HashMap<*const Handle, Record<u32>>,
    handles: PhantomData<&'env Handle>,
    errors: Arc<FirstError<E>>,
}

/// A task that has not been recorded: what it reads and writes is being said.
#[must_use = "a task is recorded by `run`"]
pub struct RecordedTask<'a, 'env, E = Infallible> {
    recorder: &'a mut Recorder<'env, E>,
    accesses: Accesses<'env>,
    name: &'static str,
}

/// A graph of tasks: see [`Pool::record`].
pub struct Graph<'pool, 'env, E = Infallible> {
    pool: &'pool Pool,
    errors: Arc<FirstError<E>>,
    steps: Steps<'env>,
}

impl Pool {
    /// Records a graph: its tasks run when [`Graph::run`] is called, as often as it is called.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// let (pool, a) = (evenkeel::Pool::new()?, evenkeel::Handle::new());
    /// let value = AtomicU32::new(1);
    /// let mut graph = pool.record(|g| {
    ///     g.task().updates(&a).run(|| value.store(value.load(Relaxed) * 2, Relaxed));
    ///     g.task().updates(&a).run(|| value.store(value.load(Relaxed) + 1, Relaxed));
    /// });
    /// (0..3).for_each(|_| graph.run());
    /// assert_eq!(value.load(Relaxed), 15);
    /// # Ok::<(), evenkeel::PoolError>(())
    /// ```
    pub fn record<'env>(&self, f: impl FnOnce(&mut Recorder<'env>)) -> Graph<'_, 'env> {
        self.try_record(f)
    }

    /// Records a graph whose tasks may fail ([`RecordedTask::try_run`]), to be run by [`Graph::try_run`].
    pub fn try_record<'env, E>(&self, f: impl FnOnce(&mut Recorder<'env, E>)) -> Graph<'_, 'env, E> {
        let mut recorder = Recorder::new();
        f(&mut recorder);
        let label = |name: &'static str| if name.is_empty() { Label::default() } else { self.label(name) };
        let actions = recorder.actions.into_iter().map(|(name, action)| (label(name), action));
        Graph { pool: self, errors: recorder.errors, steps: Steps::new(actions.collect(), &recorder.edges) }
    }
}

impl<'env, E> Recorder<'env, E> {
    fn new() -> Self {
        let (actions, edges, records) = (Vec::new(), Vec::new(), HashMap::new());
        Self { actions, edges, records, handles: PhantomData, errors: Arc::default() }
    }

    /// A task that runs after those before it that conflict with it, as that of [`crate::Scope::task`].
    pub const fn task(&mut self) -> RecordedTask<'_, 'env, E> {
        RecordedTask { recorder: self, accesses: Accesses::NONE, name: "" }
    }
}

impl<'env, E> RecordedTask<'_, 'env, E> {
    fn access(mut self, resource: &'env (impl Resource + ?Sized), mode: Mode) -> Self {
        self.accesses.add(resource, mode);
        self
    }

    /// It reads this.
    pub fn reads(self, resource: &'env (impl Resource + ?Sized)) -> Self {
        self.access(resource, Mode::Reads)
    }

    /// It writes this.
    pub fn writes(self, resource: &'env (impl Resource + ?Sized)) -> Self {
        self.access(resource, Mode::Writes)
    }

    /// It reads and writes this.
    pub fn updates(self, resource: &'env (impl Resource + ?Sized)) -> Self {
        self.access(resource, Mode::Writes)
    }

    /// What it is called in traces; its cost is learnt with that of others of the same name ([`Pool::costs`]).
    pub const fn label(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Records it.
    ///
    /// # Panics
    /// It would be the 2³²nd of its graph.
    pub fn run(self, f: impl Fn() + Send + Sync + 'env) {
        self.record(Box::new(move |_| f()));
    }

    /// Records it as one that may fail. Where it does, tasks of that run that have not begun are left out.
    ///
    /// # Panics
    /// It would be the 2³²nd of its graph.
    pub fn try_run(self, f: impl Fn() -> Result<(), E> + Send + Sync + 'env)
    where
        E: Send + 'env,
    {
        let errors = Arc::clone(&self.recorder.errors);
        self.record(Box::new(move |scope| {
            if let Err(error) = f() {
                errors.keep(error);
                scope.cancel();
            }
        }));
    }

    fn record(self, action: Action<'env>) {
        let Recorder { actions, edges, records, .. } = self.recorder;
        let Ok(task) = u32::try_from(actions.len()) else { panic!("a graph has less than 2^32 tasks") };
        actions.push((self.name, action));
        let first = edges.len();
        for (handle, mode) in self.accesses.handles() {
            let record = records.entry(handle).or_default();
            edges.extend(record.before(mode).iter().filter(|&&before| before != task).map(|&before| (before, task)));
            record.add(task, mode, |_| false);
        }
        // Waiting twice for the same task is waiting once.
        let mut own = edges.split_off(first);
        own.sort_unstable();
        own.dedup();
        edges.append(&mut own);
    }
}

impl Graph<'_, '_> {
    /// Runs every task once, and returns when all have ended.
    ///
    /// A panic of a task is resumed here; tasks that have not begun by then are left out. The graph can be run again.
    pub fn run(&mut self) {
        self.steps.run(self.pool);
    }
}

impl<E> Graph<'_, '_, E> {
    /// As [`Graph::run`]; the first error ends the run: tasks that have not begun by then are left out. The graph can be run again.
    ///
    /// # Errors
    /// That of the task that failed first.
    pub fn try_run(&mut self) -> Result<(), E> {
        self.steps.run(self.pool);
        self.errors.take()
    }

    /// How many tasks it has.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
