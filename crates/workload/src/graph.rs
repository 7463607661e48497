//! Task graphs: tasks with a cost, edges, and the order in which a master creates them.

use evenkeel_machine::Work;

use crate::model::PhaseId;

/// A task of its graph, by order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl TaskId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// How much, in instructions.
    pub work: Work,
    /// With which character, of the application that the graph belongs to.
    pub phase: PhaseId,
}

/// A directed acyclic graph of tasks. Edges run from lower to higher [`TaskId`] only, so that creation order is a topological one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskGraph {
    /// Tasks, in order of creation.
    pub tasks: Vec<Task>,
    /// Work that creating one task costs the master; 0: all exist from the start.
    pub create_cost: Work,
    /// Work that taking a task costs the worker.
    pub take_cost: Work,
    successors: Vec<TaskId>,
    first_successor: Vec<u32>,
    predecessors: Vec<u32>,
}

/// An edge that does not run from an earlier to a later task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edge {from} -> {to} does not run from an earlier to a later task of the {tasks} tasks")]
pub struct BadEdge {
    /// Tail.
    pub from: u32,
    /// Head.
    pub to: u32,
    /// Number of tasks.
    pub tasks: usize,
}

impl TaskGraph {
    /// From tasks and edges (before, after), in any order, duplicates counted once.
    ///
    /// # Errors
    /// An edge whose head is not created after its tail, or that names a task which is not there.
    pub fn new(tasks: Vec<Task>, mut edges: Vec<(TaskId, TaskId)>) -> Result<Self, BadEdge> {
        edges.sort_unstable();
        edges.dedup();
        let mut predecessors = vec![0; tasks.len()];
        let mut first_successor = vec![0; tasks.len() + 1];
        for &(from, to) in &edges {
            if from >= to || to.index() >= tasks.len() {
                return Err(BadEdge { from: from.0, to: to.0, tasks: tasks.len() });
            }
            predecessors[to.index()] += 1;
            first_successor[from.index() + 1] += 1;
        }
        for i in 0..tasks.len() {
            first_successor[i + 1] += first_successor[i];
        }
        let successors = edges.into_iter().map(|(_, to)| to).collect();
        Ok(Self { tasks, create_cost: Work(0), take_cost: Work(0), successors, first_successor, predecessors })
    }

    /// Tasks that wait for this one.
    pub fn successors(&self, task: TaskId) -> &[TaskId] {
        let from = self.first_successor[task.index()] as usize;
        let to = self.first_successor[task.index() + 1] as usize;
        &self.successors[from..to]
    }

    /// How many tasks this one waits for.
    pub fn predecessors(&self, task: TaskId) -> u32 {
        self.predecessors[task.index()]
    }
}
