//! A run of a recorded graph by a policy of crates/policy behind a lock: one that plans it as a
//! whole, or one that keeps ready tasks in one place.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_machine::{Nanos, PerKind};
use evenkeel_model::{BadEdge, TaskGraph, TaskId};
use evenkeel_policy::graph::{GraphPolicy, Team};

use crate::central::{Board, Desk, summon};
use crate::job::JobRef;
use crate::registry::Registry;
use crate::worker::Worker;

use super::expected::{Expected, Note, have_changed};

/// See the file's head.
pub struct Guided {
    state: Mutex<State>,
    expected: Expected,
    graph: TaskGraph,
}

struct State {
    desk: Desk,
    /// By task.
    jobs: Vec<JobRef>,
    /// What it was planned with last.
    planned: Option<Vec<PerKind<f64>>>,
}

impl Guided {
    /// A graph whose tasks were recorded with these notes.
    ///
    /// # Errors
    /// An edge that runs backwards.
    pub fn new(
        policy: Box<dyn GraphPolicy>,
        notes: &[Note],
        edges: &[(u32, u32)],
        registry: &Registry,
    ) -> Result<Self, BadEdge> {
        let (expected, tasks) = Expected::new(notes, &registry.team.kinds, &registry.costs);
        let edges = edges.iter().map(|&(from, to)| (TaskId(from), TaskId(to)));
        let graph = TaskGraph::new(tasks, edges.collect())?;
        let team = Team {
            kinds: registry.team.places.iter().map(|place| place.kind).collect(),
            pace: expected.paces(&registry.costs),
            link: None,
        };
        let desk = Desk::new(policy, graph.clone(), team);
        Ok(Self {
            state: Mutex::new(State { desk, jobs: Vec::new(), planned: None }),
            expected,
            graph,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By task, what runs it.
    pub fn run_by(&self, jobs: Vec<JobRef>) {
        self.lock().jobs = jobs;
    }

    /// A run begins: plans it, unless it has been planned at about the same costs.
    fn begin(&self, registry: &Registry) {
        let paces = self.expected.paces(&registry.costs);
        let kinds = registry.team.kinds.iter().map(|kind| kind.id);
        let mut state = self.lock();
        if state.planned.as_ref().is_some_and(|planned| !have_changed(planned, &paces, kinds)) {
            state.desk.again();
        } else {
            state.planned = Some(paces.clone());
            state.desk.plan(paces);
        }
        let tasks = || (0..self.graph.tasks.len() as u32).map(TaskId);
        tasks().for_each(|task| state.desk.created(task, self.graph.predecessors(task)));
        let roots = tasks().filter(|&task| self.graph.predecessors(task).is_empty());
        roots.for_each(|task| state.desk.ready(task, None));
    }

    /// A task took a worker so long: the cost of its name is learnt.
    pub fn learn(&self, worker: &Worker, task: TaskId, time: Nanos) {
        let it = &self.graph.tasks[task.index()];
        let label = self.expected.label(it.phase);
        worker.registry().costs.learn(label, worker.kind, self.expected.of_mean_size(it, time));
    }

    /// A worker has done a task in this time, and these have become ready by it: the next for this
    /// worker, if it asks.
    pub fn done(
        &self,
        worker: &Worker,
        task: TaskId,
        time: Nanos,
        released: &[TaskId],
        asks: bool,
    ) -> Option<TaskId> {
        let registry = worker.registry();
        let mut state = self.lock();
        state.desk.done(worker.index, task, time);
        released.iter().for_each(|&task| state.desk.ready(task, Some(worker.index)));
        let next = if asks { state.desk.take(worker.index) } else { None };
        drop(state);
        summon(self, registry, Some(worker.index), released.len().max(1));
        next
    }
}

impl Board for Guided {
    fn take(&self, worker: &Worker) -> Option<JobRef> {
        let mut state = self.lock();
        let job = state.desk.take(worker.index).map(|task| state.jobs[task.index()])?;
        drop(state);
        summon(self, worker.registry(), Some(worker.index), 1);
        Some(job)
    }

    fn at_desk(&self, f: &mut dyn FnMut(&mut Desk)) {
        f(&mut self.lock().desk);
    }
}

/// A run under way: workers find its tasks until this is dropped.
pub struct UnderWay<'a> {
    registry: &'a Registry,
    board: Arc<dyn Board>,
}

impl<'a> UnderWay<'a> {
    /// Begins a run, by a worker.
    pub fn begin(guided: &Arc<Guided>, worker: &'a Worker) -> Self {
        let registry = worker.registry();
        guided.begin(registry);
        let board: Arc<dyn Board> = Arc::<Guided>::clone(guided);
        registry.central.open(Arc::clone(&board));
        summon(&*board, registry, Some(worker.index), registry.team.places.len());
        Self { registry, board }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.registry.central.close(&self.board);
    }
}
