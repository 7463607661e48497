//! A deque of ready tasks for each worker: the owner takes the newest, others steal the oldest.
//!
//! Source: Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing", JACM
//! 46(5), 1999. These are plain lists; the runtime, whose workers are threads, uses concurrent
//! deques.

use std::collections::VecDeque;

use evenkeel_model::{SplitMix64, TaskId};

use super::WorkerId;

/// The deques of all workers.
#[derive(Clone, Debug, Default)]
pub struct Deques {
    deques: Vec<VecDeque<TaskId>>,
    random: SplitMix64,
}

impl Deques {
    /// Empty deques, and the seed for the choice of victims.
    pub fn new(workers: usize, seed: u64) -> Self {
        Self { deques: vec![VecDeque::new(); workers.max(1)], random: SplitMix64(seed) }
    }

    /// Adds a task to the deque of the worker that made it ready. A task that was ready when
    /// created goes to worker 0, which starts first and creates the tasks.
    pub fn push(&mut self, task: TaskId, by: Option<WorkerId>) {
        let owner = by.map_or(0, WorkerId::index).min(self.deques.len() - 1);
        self.deques[owner].push_back(task);
    }

    /// The tasks of a worker, oldest first.
    pub fn of(&self, worker: usize) -> &VecDeque<TaskId> {
        &self.deques[worker]
    }

    /// All ready tasks.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.deques.iter().flatten().copied()
    }

    /// The owner takes its newest task.
    pub fn pop(&mut self, worker: WorkerId) -> Option<TaskId> {
        self.deques.get_mut(worker.index())?.pop_back()
    }

    /// Another worker takes the oldest task of a victim.
    pub fn steal(&mut self, victim: usize) -> Option<TaskId> {
        self.deques[victim].pop_front()
    }

    /// A random worker, at which a round through victims begins.
    pub fn draw(&mut self) -> usize {
        self.random.below(self.deques.len())
    }
}
