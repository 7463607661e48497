//! Task graphs: tasks with a cost, edges, and the order in which a master creates them.

use evenkeel_machine::Work;

use crate::ids::PhaseId;

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
    /// Amount, in instructions.
    pub work: Work,
    /// Its character: a phase of the application that the graph belongs to.
    pub phase: PhaseId,
}

/// A directed acyclic graph of tasks. Edges run from lower to higher [`TaskId`] only, so creation
/// order is a topological order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskGraph {
    /// Tasks, in order of creation.
    pub tasks: Vec<Task>,
    /// Work that creating one task costs the master; 0: all exist from the start.
    pub create_cost: Work,
    /// Work that taking a task costs the worker.
    pub take_cost: Work,
    successors: Vec<TaskId>,
    /// Bytes by edge, in the order of `successors`; empty if not given.
    volumes: Vec<u64>,
    first_successor: Vec<u32>,
    predecessors: Vec<TaskId>,
    first_predecessor: Vec<u32>,
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
    /// An edge whose head is not created after its tail, or that names a task that does not exist.
    pub fn new(tasks: Vec<Task>, edges: Vec<(TaskId, TaskId)>) -> Result<Self, BadEdge> {
        let edges = edges.into_iter().map(|(from, to)| (from, to, 0)).collect();
        Ok(Self { volumes: Vec::new(), ..Self::with_volumes(tasks, edges)? })
    }

    /// From tasks and edges (before, after, bytes transferred), in any order; the bytes of
    /// duplicates add up. The scheduler decides what bytes cost: nothing on cores that share
    /// memory.
    ///
    /// # Errors
    /// As [`TaskGraph::new`].
    pub fn with_volumes(
        tasks: Vec<Task>,
        mut edges: Vec<(TaskId, TaskId, u64)>,
    ) -> Result<Self, BadEdge> {
        edges.sort_unstable();
        edges.dedup_by(|later, first| {
            let same = (later.0, later.1) == (first.0, first.1);
            if same {
                first.2 = first.2.saturating_add(later.2);
            }
            same
        });
        let mut first_successor = vec![0; tasks.len() + 1];
        let mut first_predecessor = vec![0; tasks.len() + 1];
        for &(from, to, _) in &edges {
            if from >= to || to.index() >= tasks.len() {
                return Err(BadEdge { from: from.0, to: to.0, tasks: tasks.len() });
            }
            first_predecessor[to.index() + 1] += 1;
            first_successor[from.index() + 1] += 1;
        }
        for i in 0..tasks.len() {
            first_successor[i + 1] += first_successor[i];
            first_predecessor[i + 1] += first_predecessor[i];
        }
        // Edges come in the order of their tails: each is stored at the next free place of its
        // head.
        let (mut predecessors, mut next) =
            (vec![TaskId(0); edges.len()], first_predecessor.clone());
        for &(from, to, _) in &edges {
            predecessors[next[to.index()] as usize] = from;
            next[to.index()] += 1;
        }
        let (successors, volumes) = edges.into_iter().map(|(_, to, bytes)| (to, bytes)).unzip();
        let (create_cost, take_cost) = (Work(0), Work(0));
        Ok(Self {
            tasks,
            create_cost,
            take_cost,
            successors,
            volumes,
            first_successor,
            predecessors,
            first_predecessor,
        })
    }

    /// Tasks that wait for this one.
    pub fn successors(&self, task: TaskId) -> &[TaskId] {
        &self.successors[self.edges_of(task)]
    }

    /// Bytes that this task transfers to each of its successors, in their order; empty if the graph
    /// has no volumes.
    pub fn volumes(&self, task: TaskId) -> &[u64] {
        if self.volumes.is_empty() { &[] } else { &self.volumes[self.edges_of(task)] }
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.successors.len()
    }

    fn edges_of(&self, task: TaskId) -> std::ops::Range<usize> {
        let bound = |index: usize| self.first_successor[index] as usize;
        bound(task.index())..bound(task.index() + 1)
    }

    /// Tasks that this one waits for, in order of creation.
    pub fn predecessors(&self, task: TaskId) -> &[TaskId] {
        let bound = |index: usize| self.first_predecessor[index] as usize;
        &self.predecessors[bound(task.index())..bound(task.index() + 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_of_an_edge_that_is_given_twice_add_up_and_stay_with_their_successor() {
        let task = Task { work: Work(1), phase: PhaseId(0) };
        let edges = [(0, 2, 5), (0, 1, 7), (0, 2, 1)]
            .map(|(from, to, bytes)| (TaskId(from), TaskId(to), bytes));
        let graph = TaskGraph::with_volumes(vec![task; 3], edges.to_vec()).unwrap();
        assert_eq!(
            (graph.successors(TaskId(0)), graph.volumes(TaskId(0))),
            (&[TaskId(1), TaskId(2)][..], &[7, 6][..])
        );
        assert_eq!((graph.predecessors(TaskId(2)), graph.edges()), (&[TaskId(0)][..], 2));
    }
}
