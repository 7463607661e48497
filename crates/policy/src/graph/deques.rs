//! A deque of ready tasks for each worker: its owner takes the newest, others steal the oldest.
//!
//! Source: Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing", JACM
//! 46(5), 1999. Here plain lists: where workers are threads, the runtime keeps them in concurrent
//! deques.

use std::collections::VecDeque;

use evenkeel_model::{SplitMix64, TaskId};

use super::WorkerId;

/// See the file's head.
#[derive(Clone, Debug, Default)]
pub struct Deques {
    deques: Vec<VecDeque<TaskId>>,
    random: SplitMix64,
}

impl Deques {
    /// Empty ones, and the seed by which victims are drawn.
    pub fn new(workers: usize, seed: u64) -> Self {
        Self { deques: vec![VecDeque::new(); workers.max(1)], random: SplitMix64(seed) }
    }

    /// A task goes to the worker that made it ready. One that was ready when it was created goes to
    /// worker 0, who is the first to come and creates them.
    pub fn push(&mut self, task: TaskId, by: Option<WorkerId>) {
        let owner = by.map_or(0, WorkerId::index).min(self.deques.len() - 1);
        self.deques[owner].push_back(task);
    }

    /// The tasks of a worker, oldest first.
    pub fn of(&self, worker: usize) -> &VecDeque<TaskId> {
        &self.deques[worker]
    }

    /// All tasks that are ready.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.deques.iter().flatten().copied()
    }

    /// Takes the newest task of a worker for itself.
    pub fn pop(&mut self, worker: WorkerId) -> Option<TaskId> {
        self.deques.get_mut(worker.index())?.pop_back()
    }

    /// Takes the oldest task of a worker for another.
    pub fn steal(&mut self, victim: usize) -> Option<TaskId> {
        self.deques[victim].pop_front()
    }

    /// A worker at which a round through victims begins.
    pub fn draw(&mut self) -> usize {
        self.random.below(self.deques.len())
    }
}
