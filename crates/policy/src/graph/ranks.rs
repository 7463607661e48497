//! Ranks of tasks, and a queue of ready tasks in their order.
//!
//! ```text
//! w(t)       = mean over p of w(t, p)
//! rank_u(t)  = w(t) + max over successors s of (c(t, s) + rank_u(s))
//! rank_d(t)  = max over predecessors s of (rank_d(s) + w(s) + c(s, t))
//! ```
//!
//! Source: Topcuoglu, Hariri and Wu, TPDS 2002, section 4.1.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_model::TaskId;

use super::problem::{Link, Problem};
use super::waiting::Waiting;

/// `rank_u` by task.
pub fn upward(problem: &Problem) -> Vec<f64> {
    let mut ranks = vec![0.0; problem.tasks().len()];
    for task in problem.tasks().rev() {
        let over = |link: &Link| link.transfer.0 as f64 + ranks[link.task.index()];
        let rest = problem.successors(task).iter().map(over).fold(0.0, f64::max);
        ranks[task.index()] = problem.mean_cost(task) + rest;
    }
    ranks
}

/// `rank_d` by task.
pub fn downward(problem: &Problem) -> Vec<f64> {
    let mut ranks = vec![0.0; problem.tasks().len()];
    for task in problem.tasks() {
        let over = |link: &Link| {
            ranks[link.task.index()] + problem.mean_cost(link.task) + link.transfer.0 as f64
        };
        ranks[task.index()] = problem.predecessors(task).iter().map(over).fold(0.0, f64::max);
    }
    ranks
}

/// All tasks by descending rank, equal ones by number. This is a topological order if no
/// successor's rank is greater than its predecessor's.
pub fn descending(problem: &Problem, ranks: &[f64]) -> Vec<TaskId> {
    let mut order: Vec<_> = problem.tasks().collect();
    order.sort_by(|a, b| ranks[b.index()].total_cmp(&ranks[a.index()]).then(a.cmp(b)));
    order
}

/// A rank in a heap.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rank(f64);

impl Eq for Rank {}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Tasks whose predecessors have all been placed, greatest rank first, equal ones by number.
pub struct ReadyByRank<'a> {
    waiting: Waiting<'a>,
    ranks: &'a [f64],
    heap: BinaryHeap<(Rank, Reverse<TaskId>)>,
}

impl<'a> ReadyByRank<'a> {
    /// Starts with the tasks that wait for none.
    pub fn new(problem: &'a Problem, ranks: &'a [f64]) -> Self {
        let waiting = Waiting::new(problem);
        let heap = waiting.ready().map(|task| (Rank(ranks[task.index()]), Reverse(task))).collect();
        Self { waiting, ranks, heap }
    }
}

impl Iterator for ReadyByRank<'_> {
    type Item = TaskId;

    /// The next task, which counts as placed from then on.
    fn next(&mut self) -> Option<TaskId> {
        let (_, Reverse(task)) = self.heap.pop()?;
        let ranks = self.ranks;
        self.heap.extend(
            self.waiting.place(task).map(|next| (Rank(ranks[next.index()]), Reverse(next))),
        );
        Some(task)
    }
}
