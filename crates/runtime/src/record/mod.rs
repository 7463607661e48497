//! Graphs of tasks that are recorded once and run again and again.
//!
//! What a task waits for is found out once, when it is recorded. A run follows the edges and
//! nothing else: no handle is looked at, no block taken, no closure moved. A task that waits only
//! for the one before it comes next in memory, too.
//!
//! Recorded tasks are *steps* in place of blocks. Each step's count is set back by its runner,
//! before the run has ended, so the next run finds it as recorded. A run takes the graph
//! exclusively; its scope expects as many ends as there are steps. Steps without predecessors are
//! started by a job for 64 of them: its worker takes one, pushes the job again for the rest, and
//! then runs the one.
//!
//! Under a policy behind a lock (`record_with`, or a pool under `fifo` or `cats`) a run has a task
//! source of its own, until its scope has ended (`scheduled.rs`). All tasks are announced at its
//! start, as in the simulator, where creating costs nothing. A step reports its end and takes the
//! next under one lock. Costs are learnt by name and scaled by what was said of each task
//! (`expected.rs`); a policy that plans is asked again only if one of them has changed by more than
//! a fifth. A plan's order and the dependences run the same way in planned time and have no circle:
//! the first task in that order that is not done can always run.

mod expected;
mod run;
mod scheduled;

use std::collections::HashMap;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_machine::Nanos;
use evenkeel_policy::graph;

use crate::builder::Discipline;
use crate::costs::Label;
use crate::error::PoolError;
use crate::pool::Pool;
use crate::scope::{FirstError, ScopeCore};
use crate::task::{Accesses, Handle, Mode, Own, Record, Resource};

use expected::Note;
use run::Steps;
use scheduled::ScheduledGraph;

/// The body of a recorded task, called in the scope of each run.
pub type Action<'env> = Box<dyn Fn(&ScopeCore) + Send + Sync + 'env>;

/// Records tasks: see [`Pool::record`]. `E` is the error of tasks that may fail.
pub struct Recorder<'env, E = Infallible> {
    actions: Vec<Action<'env>>,
    /// Indexed by task: what the program said of it.
    notes: Vec<Note>,
    /// Edges: the first task runs before the second.
    edges: Vec<(u32, u32)>,
    /// Indexed by the address of a handle. Handles are borrowed for as long as the graph: no other
    /// can come to be there.
    records: HashMap<*const Handle, Record<u32>>,
    handles: PhantomData<&'env Handle>,
    errors: Arc<FirstError<E>>,
}

/// A task that has not been recorded: what it reads and writes is being said.
#[must_use = "a task is recorded by `run`"]
pub struct RecordedTask<'a, 'env, E = Infallible> {
    recorder: &'a mut Recorder<'env, E>,
    accesses: Accesses<'env>,
    note: Note,
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
    /// let (pool, a) = (evenkeel_runtime::Pool::new()?, evenkeel_runtime::Handle::new());
    /// let value = AtomicU32::new(1);
    /// let mut graph = pool.record(|g| {
    ///     g.task().updates(&a).run(|| value.store(value.load(Relaxed) * 2, Relaxed));
    ///     g.task().updates(&a).run(|| value.store(value.load(Relaxed) + 1, Relaxed));
    /// });
    /// (0..3).for_each(|_| graph.run());
    /// assert_eq!(value.load(Relaxed), 15);
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    pub fn record<'env>(&self, f: impl FnOnce(&mut Recorder<'env>)) -> Graph<'_, 'env> {
        self.try_record(f)
    }

    /// Records a graph whose tasks may fail ([`RecordedTask::try_run`]), to be run by
    /// [`Graph::try_run`].
    pub fn try_record<'env, E>(
        &self,
        f: impl FnOnce(&mut Recorder<'env, E>),
    ) -> Graph<'_, 'env, E> {
        match self.registry.discipline {
            Discipline::Steal | Discipline::StealKind => self.record_to_steal(f),
            // The pool was made with this policy: it is there.
            Discipline::Central(policy) => match self.try_record_with(policy, f) {
                Ok(graph) => graph,
                Err(error) => unreachable!("{error}"),
            },
        }
    }

    /// Records a graph that is run by this policy, whatever the pool's is: one of those for tasks
    /// as they come ([`crate::Builder::policy`]), or one that plans a whole graph: `heft`, `cpop`,
    /// `peft`, `dls`, `ldcp`, `lmt`, `hed`.
    ///
    /// Plans are made from what tasks cost: what has been learnt of their names, what was said of
    /// them ([`RecordedTask::cost`]), by kind of core. A graph is planned when it first runs, and
    /// again when a cost has changed by more than a fifth. Each worker keeps to the order of its
    /// plan; where one does not come, others do its part.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use evenkeel_runtime::{Handle, Pool};
    ///
    /// let (pool, a, b) = (Pool::new()?, Handle::new(), Handle::new());
    /// let mut graph = pool.record_with("heft", |g| {
    ///     g.task().writes(&a).label("fill").cost(Duration::from_micros(300)).run(|| ());
    ///     g.task().writes(&b).label("fill").run(|| ());
    ///     g.task().reads(&a).reads(&b).label("join").run(|| ());
    /// })?;
    /// (0..10).for_each(|_| graph.run());
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    ///
    /// # Errors
    /// There is no such policy.
    pub fn record_with<'env>(
        &self,
        policy: &str,
        f: impl FnOnce(&mut Recorder<'env>),
    ) -> Result<Graph<'_, 'env>, PoolError> {
        self.try_record_with(policy, f)
    }

    /// As [`Pool::record_with`], of tasks that may fail ([`RecordedTask::try_run`]).
    ///
    /// # Errors
    /// There is no such policy.
    pub fn try_record_with<'env, E>(
        &self,
        policy: &str,
        f: impl FnOnce(&mut Recorder<'env, E>),
    ) -> Result<Graph<'_, 'env, E>, PoolError> {
        let own = match self.registry.discipline {
            Discipline::Steal => "steal",
            Discipline::StealKind => "steal-kind",
            Discipline::Central(_) => "",
        };
        if policy == own {
            return Ok(self.record_to_steal(f));
        }
        let policy = graph::make(policy, crate::registry::SEED)?;
        let recorder = Recorder::recorded(f);
        let scheduled =
            match ScheduledGraph::new(policy, &recorder.notes, &recorder.edges, &self.registry) {
                Ok(scheduled) => scheduled,
                Err(error) => unreachable!("a task waits for earlier ones: {error}"),
            };
        // The policy needs costs, so names are learnt in any case.
        let mut graph = recorder.graph(self, |name| self.registry.costs.label(name));
        graph.steps.schedule_by(scheduled);
        Ok(graph)
    }

    fn record_to_steal<'env, E>(
        &self,
        f: impl FnOnce(&mut Recorder<'env, E>),
    ) -> Graph<'_, 'env, E> {
        Recorder::recorded(f).graph(self, |name| self.label(name))
    }
}

impl<E> Default for Recorder<'_, E> {
    fn default() -> Self {
        let (actions, notes, edges, records) = (Vec::new(), Vec::new(), Vec::new(), HashMap::new());
        Self { actions, notes, edges, records, handles: PhantomData, errors: Arc::default() }
    }
}

impl<'env, E> Recorder<'env, E> {
    fn recorded(f: impl FnOnce(&mut Self)) -> Self {
        let mut recorder = Self::default();
        f(&mut recorder);
        recorder
    }

    /// The recorded graph. `label`: the number of a name.
    fn graph(self, pool: &Pool, label: impl Fn(&'static str) -> Label) -> Graph<'_, 'env, E> {
        let labels = self.notes.iter().map(|note| note.name.map_or_else(Label::default, &label));
        let steps = Steps::new(labels.zip(self.actions).collect(), &self.edges);
        Graph { pool, errors: self.errors, steps }
    }

    /// A task that runs after those before it that conflict with it, as that of
    /// [`crate::Scope::task`].
    pub const fn task(&mut self) -> RecordedTask<'_, 'env, E> {
        RecordedTask {
            recorder: self,
            accesses: Accesses::NONE,
            note: Note { name: None, cost: None },
        }
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

    /// Its name in traces; its cost is learnt with that of others of the same name, as that of
    /// [`crate::Task::label`].
    pub const fn label(mut self, name: &'static str) -> Self {
        self.note.name = Some(name);
        self
    }

    /// How long it takes on the fastest kind of core, for policies that plan graphs. Once its name
    /// has been learnt only the ratios between tasks of that name count.
    pub fn cost(mut self, time: Duration) -> Self {
        self.note.cost = Some(Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        self
    }

    /// Records it.
    ///
    /// # Panics
    /// It would be the 2³²nd of its graph.
    pub fn run(self, f: impl Fn() + Send + Sync + 'env) {
        self.record(Box::new(move |_| f()));
    }

    /// Records it as one that may fail. Where it does, tasks of that run that have not begun are
    /// left out.
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

    fn record(self, mut action: Action<'env>) {
        if cfg!(debug_assertions) {
            let own = Own::of(&self.accesses);
            action = Box::new(move |scope| scope.declared.and(&own).during(|| action(scope)));
        }
        let Recorder { actions, notes, edges, records, .. } = self.recorder;
        let Ok(task) = u32::try_from(actions.len()) else {
            panic!("a graph has less than 2^32 tasks")
        };
        actions.push(action);
        notes.push(self.note);
        let first = edges.len();
        for (handle, mode) in self.accesses.handles() {
            let record = records.entry(handle).or_default();
            edges.extend(
                record
                    .before(mode)
                    .iter()
                    .filter(|&&before| before != task)
                    .map(|&before| (before, task)),
            );
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
    /// A panic of a task is resumed here; tasks that have not begun by then are left out. The graph
    /// can be run again.
    pub fn run(&mut self) {
        self.steps.run(self.pool);
    }
}

impl<E> Graph<'_, '_, E> {
    /// As [`Graph::run`]; the first error ends the run: tasks that have not begun by then are left
    /// out. The graph can be run again.
    ///
    /// # Errors
    /// That of the task that failed first.
    pub fn try_run(&mut self) -> Result<(), E> {
        // A run that ended with a panic may have left one.
        drop(self.errors.take());
        self.steps.run(self.pool);
        self.errors.take()
    }

    /// How many tasks it has.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
