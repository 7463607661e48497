//! A run of a recorded graph by a policy of crates/policy behind a lock: one that plans it as a
//! whole, or one that keeps ready tasks in one place.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_machine::{Nanos, PerKind};
use evenkeel_model::{BadEdge, TaskGraph, TaskId};
use evenkeel_policy::graph::{GraphPolicy, Team};

use crate::central::{CentralScheduler, TaskSource, wake_for_tasks};
use crate::job::JobRef;
use crate::registry::Registry;
use crate::worker::Worker;

use super::expected::{Expected, Note, have_changed};

/// The task source for the runs of a recorded graph.
pub struct ScheduledGraph {
    state: Mutex<State>,
    expected: Expected,
    graph: TaskGraph,
}

struct State {
    scheduler: CentralScheduler,
    /// Indexed by task.
    jobs: Vec<JobRef>,
    /// Costs that the current plan was made with.
    planned: Option<Vec<PerKind<f64>>>,
}

impl ScheduledGraph {
    /// A graph of tasks that were recorded with these notes.
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
            pace: expected.unit_costs(&registry.costs),
            link: None,
        };
        let scheduler = CentralScheduler::new(policy, graph.clone(), team);
        Ok(Self {
            state: Mutex::new(State { scheduler, jobs: Vec::new(), planned: None }),
            expected,
            graph,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the job of each task.
    pub fn run_by(&self, jobs: Vec<JobRef>) {
        self.lock().jobs = jobs;
    }

    /// A run begins: plans it, unless it has been planned at about the same costs.
    fn begin(&self, registry: &Registry) {
        let unit_costs = self.expected.unit_costs(&registry.costs);
        let kinds = registry.team.kinds.iter().map(|kind| kind.id);
        let mut state = self.lock();
        if state.planned.as_ref().is_some_and(|planned| !have_changed(planned, &unit_costs, kinds))
        {
            state.scheduler.again();
        } else {
            state.planned = Some(unit_costs.clone());
            state.scheduler.plan(unit_costs);
        }
        let tasks = || (0..self.graph.tasks.len() as u32).map(TaskId);
        tasks().for_each(|task| state.scheduler.created(task, self.graph.predecessors(task)));
        let roots = tasks().filter(|&task| self.graph.predecessors(task).is_empty());
        roots.for_each(|task| state.scheduler.ready(task, None));
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
        state.scheduler.done(worker.index, task, time);
        released.iter().for_each(|&task| state.scheduler.ready(task, Some(worker.index)));
        let next = if asks { state.scheduler.take(worker.index) } else { None };
        drop(state);
        wake_for_tasks(self, registry, Some(worker.index), released.len().max(1));
        next
    }
}

impl TaskSource for ScheduledGraph {
    fn take(&self, worker: &Worker) -> Option<JobRef> {
        let mut state = self.lock();
        let job = state.scheduler.take(worker.index).map(|task| state.jobs[task.index()])?;
        drop(state);
        wake_for_tasks(self, worker.registry(), Some(worker.index), 1);
        Some(job)
    }

    fn with_scheduler(&self, f: &mut dyn FnMut(&mut CentralScheduler)) {
        f(&mut self.lock().scheduler);
    }
}

/// A run under way: workers find its tasks until this is dropped.
pub struct ActiveRun<'a> {
    registry: &'a Registry,
    source: Arc<dyn TaskSource>,
}

impl<'a> ActiveRun<'a> {
    /// Begins a run, by a worker.
    pub fn begin(scheduled: &Arc<ScheduledGraph>, worker: &'a Worker) -> Self {
        let registry = worker.registry();
        scheduled.begin(registry);
        let source: Arc<dyn TaskSource> = Arc::<ScheduledGraph>::clone(scheduled);
        registry.central.open(Arc::clone(&source));
        wake_for_tasks(&*source, registry, Some(worker.index), registry.team.places.len());
        Self { registry, source }
    }
}

impl Drop for ActiveRun<'_> {
    fn drop(&mut self) {
        self.registry.central.close(&self.source);
    }
}
