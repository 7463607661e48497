//! Graphs of tasks that are recorded once and run again and again.
//!
//! What a task waits for is found out once, when it is recorded. A run follows the edges and nothing else: no handle is looked at, no block
//! taken, no closure moved. Tasks are laid out so that one that waits for nobody but the one before it comes next in memory, too.

mod expected;
mod guided;
mod run;

use std::collections::HashMap;
use std::marker::PhantomData;
use std::time::Duration;

use evenkeel_machine::Nanos;
use evenkeel_policy::graph;

use crate::error::PoolError;
use crate::pool::{Discipline, Pool};
use crate::task::{Accesses, Handle, Mode, Record, Resource};

use expected::Note;
use guided::Guided;
use run::Steps;

/// What a recorded task does, each time that it runs.
pub type Action<'env> = Box<dyn Fn() + Send + Sync + 'env>;

/// Where tasks are recorded: see [`Pool::record`].
#[derive(Default)]
pub struct Recorder<'env> {
    actions: Vec<Action<'env>>,
    /// Who goes before whom.
    edges: Vec<(u32, u32)>,
    /// By task; none for those after the last of which something was said.
    notes: Vec<Note>,
    /// By the address of a handle. They are borrowed for as long as the graph: no other can come to be there.
    records: HashMap<*const Handle, Record<u32>>,
    handles: PhantomData<&'env Handle>,
}

/// A task that has not been recorded: what it reads and writes is being said.
#[must_use = "a task is recorded by `run`"]
pub struct RecordedTask<'a, 'env> {
    recorder: &'a mut Recorder<'env>,
    accesses: Accesses<'env>,
    note: Note,
}

/// A graph of tasks: see [`Pool::record`].
pub struct Graph<'pool, 'env> {
    pool: &'pool Pool,
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
        match self.registry.discipline {
            Discipline::Steal | Discipline::StealKind => self.record_to_steal(f),
            // The pool was made with this policy: it is there.
            Discipline::Central(policy) => match self.record_with(policy, f) {
                Ok(graph) => graph,
                Err(error) => unreachable!("{error}"),
            },
        }
    }

    /// Records a graph that is run by this policy, whatever the pool's is: one of those for tasks as they come ([`crate::Builder::policy`]),
    /// or one that plans a whole graph: `heft`, `cpop`, `peft`, `dls`, `ldcp`, `lmt`, `hed`.
    ///
    /// Plans are made from what tasks cost: what has been learnt of their names, what was said of them ([`RecordedTask::cost`]), by kind
    /// of core. A graph is planned when it first runs, and again when a cost has changed by more than a fifth. Each worker keeps to
    /// the order of its plan; where one does not come, others do its part.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let (pool, a, b) = (evenkeel::Pool::new()?, evenkeel::Handle::new(), evenkeel::Handle::new());
    /// let mut graph = pool.record_with("heft", |g| {
    ///     g.task().writes(&a).label("fill").cost(Duration::from_micros(300)).run(|| ());
    ///     g.task().writes(&b).label("fill").run(|| ());
    ///     g.task().reads(&a).reads(&b).label("join").run(|| ());
    /// })?;
    /// (0..10).for_each(|_| graph.run());
    /// # Ok::<(), evenkeel::PoolError>(())
    /// ```
    ///
    /// # Errors
    /// There is no such policy.
    pub fn record_with<'env>(
        &self,
        policy: &str,
        f: impl FnOnce(&mut Recorder<'env>),
    ) -> Result<Graph<'_, 'env>, PoolError> {
        let own = match self.registry.discipline {
            Discipline::Steal => "steal",
            Discipline::StealKind => "steal-kind",
            Discipline::Central(_) => "",
        };
        if policy == own {
            return Ok(self.record_to_steal(f));
        }
        let policy = graph::make(policy, crate::registry::SEED)?;
        let mut recorder = Recorder::recorded(f);
        recorder.notes.resize(recorder.actions.len(), Note::default());
        let guided = Guided::new(policy, &recorder.notes, &recorder.edges, &self.registry);
        let mut steps = Steps::new(recorder.actions, &recorder.edges);
        match guided {
            Ok(guided) => steps.guide(guided),
            Err(error) => unreachable!("a task waits for earlier ones: {error}"),
        }
        Ok(Graph { pool: self, steps })
    }

    fn record_to_steal<'env>(&self, f: impl FnOnce(&mut Recorder<'env>)) -> Graph<'_, 'env> {
        let recorder = Recorder::recorded(f);
        let mut steps = Steps::new(recorder.actions, &recorder.edges);
        if self.registry.learns() {
            steps.name(&recorder.notes, &self.registry.costs);
        }
        Graph { pool: self, steps }
    }
}

impl<'env> Recorder<'env> {
    fn recorded(f: impl FnOnce(&mut Self)) -> Self {
        let mut recorder = Self::default();
        f(&mut recorder);
        recorder
    }

    /// A task that runs after those before it that conflict with it, as that of [`crate::Scope::task`].
    pub const fn task(&mut self) -> RecordedTask<'_, 'env> {
        RecordedTask { recorder: self, accesses: Accesses::NONE, note: Note { name: None, cost: None } }
    }
}

impl<'env> RecordedTask<'_, 'env> {
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

    /// What it is called: its cost is learnt with that of others of the same name, as that of [`crate::Task::label`].
    pub const fn label(mut self, name: &'static str) -> Self {
        self.note.name = Some(name);
        self
    }

    /// How long it takes on the fastest kind of core, for policies that plan graphs. Once its name has been learnt only the ratios between
    /// tasks of that name count.
    pub fn cost(mut self, time: Duration) -> Self {
        self.note.cost = Some(Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        self
    }

    /// Records it.
    ///
    /// # Panics
    /// It would be the 2³²nd of its graph.
    pub fn run(self, f: impl Fn() + Send + Sync + 'env) {
        let Recorder { actions, edges, records, notes, .. } = self.recorder;
        let Ok(task) = u32::try_from(actions.len()) else { panic!("a graph has less than 2^32 tasks") };
        if self.note.name.is_some() || self.note.cost.is_some() {
            notes.resize(actions.len(), Note::default());
            notes.push(self.note);
        }
        actions.push(Box::new(f));
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

    /// How many tasks it has.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
