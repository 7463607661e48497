//! Input of a static policy: tasks, their costs on each worker, and transfer costs.
//!
//! ```text
//! w(t, p)        time of task t on worker p, any matrix: workers need not keep their order from
//!                task to task
//! c(s, t)        time from the end of s on one worker until t may start on another; 0 on the
//!                same worker
//! ```
//!
//! The model of the literature (Topcuoglu, Hariri and Wu, TPDS 2002, section 2): no task is
//! interrupted, transfers occupy no worker and do not disturb each other, links between all pairs
//! of workers are alike.

use evenkeel_machine::Nanos;
use evenkeel_model::{TaskGraph, TaskId};

use super::WorkerId;

/// One side of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The task at the other end.
    pub task: TaskId,
    /// Time that the data take between two workers.
    pub transfer: Nanos,
}

/// A scheduling problem. Tasks are in a topological order: edges run from lower to higher numbers.
#[derive(Clone, Debug)]
pub struct Problem {
    workers: usize,
    /// By task, then by worker.
    costs: Vec<Nanos>,
    successors: Vec<Vec<Link>>,
    predecessors: Vec<Vec<Link>>,
}

impl Problem {
    /// The tasks of a graph on so many workers, at least one. `cost`: time of a task on a worker;
    /// `transfer`: time of so many bytes between two workers (edges without volumes have 0).
    pub fn new(
        graph: &TaskGraph,
        workers: u32,
        cost: impl Fn(TaskId, WorkerId) -> Nanos,
        transfer: impl Fn(u64) -> Nanos,
    ) -> Self {
        let tasks = || (0..graph.tasks.len() as u32).map(TaskId);
        let workers = workers.max(1);
        let cost = &cost;
        let costs = tasks()
            .flat_map(|task| (0..workers).map(move |worker| cost(task, WorkerId(worker))))
            .collect();
        let mut predecessors = vec![Vec::new(); graph.tasks.len()];
        let successors = tasks().map(|from| {
            let volumes = graph.volumes(from).iter().copied().chain(std::iter::repeat(0));
            let links = graph.successors(from).iter().zip(volumes);
            let links = links.map(|(&task, bytes)| Link { task, transfer: transfer(bytes) });
            links.collect::<Vec<_>>()
        });
        let successors: Vec<_> = successors.collect();
        for (from, links) in successors.iter().enumerate() {
            for link in links {
                predecessors[link.task.index()].push(Link { task: TaskId(from as u32), ..*link });
            }
        }
        Self { workers: workers as usize, costs, successors, predecessors }
    }

    /// All tasks, in a topological order.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = TaskId> + ExactSizeIterator + use<> {
        (0..self.successors.len() as u32).map(TaskId)
    }

    /// All workers.
    pub fn workers(&self) -> impl ExactSizeIterator<Item = WorkerId> + use<> {
        (0..self.workers as u32).map(WorkerId)
    }

    /// `w(t, p)` of a task, by worker.
    pub fn costs(&self, task: TaskId) -> &[Nanos] {
        &self.costs[task.index() * self.workers..][..self.workers]
    }

    /// `w(t, p)`.
    pub fn cost(&self, task: TaskId, worker: WorkerId) -> Nanos {
        self.costs(task)[worker.index()]
    }

    /// Mean of `w(t, p)` over the workers.
    pub fn mean_cost(&self, task: TaskId) -> f64 {
        self.costs(task).iter().map(|cost| cost.0 as f64).sum::<f64>() / self.workers as f64
    }

    /// Least `w(t, p)`.
    pub fn least_cost(&self, task: TaskId) -> Nanos {
        self.costs(task).iter().copied().min().unwrap_or_default()
    }

    /// Tasks that wait for this one.
    pub fn successors(&self, task: TaskId) -> &[Link] {
        &self.successors[task.index()]
    }

    /// Tasks that this one waits for.
    pub fn predecessors(&self, task: TaskId) -> &[Link] {
        &self.predecessors[task.index()]
    }
}
