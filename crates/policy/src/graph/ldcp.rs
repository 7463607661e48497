//! `ldcp`: longest dynamic critical path.
//!
//! ```text
//! DAG_p           the graph as it would be on worker p: a placed task has its real cost, any
//!                 other w(t, p); an edge between placed tasks of one worker is free; consecutive
//!                 tasks of a worker have an edge of length 0; the last task on p has edges of
//!                 length 0 to all ready tasks
//! URank_p(t)      longest path in DAG_p from the beginning of t to an end
//! key graph       the DAG_p with the longest path of all
//! key task        the first task on that path that is not placed; where it waits for tasks that
//!                 are not placed, the one of them with the greatest URank_p, and so on
//! place           on argmin_p EFT(t, p), with insertion
//! ```
//!
//! Source: Daoud and Kharma, Journal of Parallel and Distributed Computing 68(4), 2008. Each step
//! visits everything that is placed: O(v e p).
//!
//! Ties: lower numbers of workers (a faster kind) and tasks. Any number of kinds: only the cost
//! matrix counts.

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use super::WorkerId;
use super::lanes::Lanes;
use super::problem::Problem;
use super::schedule::Schedule;
use super::waiting::Waiting;

/// Schedules a problem by LDCP.
pub fn schedule(problem: &Problem) -> Schedule {
    let mut graphs: Vec<_> = problem.workers().map(|worker| OnOne::new(problem, worker)).collect();
    let mut waiting = Waiting::new(problem);
    let mut lanes = Lanes::new(problem);
    let mut placed: Vec<Option<WorkerId>> = vec![None; problem.tasks().len()];
    let mut ready: Vec<_> = waiting.ready().collect();
    while !ready.is_empty() {
        let slots = by_start(problem, &lanes);
        graphs.iter_mut().for_each(|graph| graph.update(&lanes, &slots, &placed, &ready));
        let key = graphs.iter().rev().max_by_key(|graph| graph.longest.0);
        let Some(task) = key.and_then(|graph| graph.key_task(&placed)) else { break };
        let worker = lanes.quickest(task);
        lanes.insert(task, worker);
        placed[task.index()] = Some(worker);
        ready.retain(|&other| other != task);
        ready.extend(waiting.place(task));
    }
    lanes.finish()
}

/// Start, index on its worker, and worker of each placed slot, the earliest first.
fn by_start(problem: &Problem, lanes: &Lanes<'_>) -> Vec<(Nanos, usize, WorkerId)> {
    let of = |worker| {
        lanes.lane(worker).iter().enumerate().map(move |(place, slot)| (slot.start, place, worker))
    };
    let mut slots: Vec<_> = problem.workers().flat_map(of).collect();
    slots.sort_unstable();
    slots
}

/// `DAG_p` of one worker.
struct OnOne<'a> {
    problem: &'a Problem,
    worker: WorkerId,
    /// `URank_p` by task. The rank of a task that is not placed does not change: all tasks after it
    /// are not placed either.
    ranks: Vec<Nanos>,
    /// The next task on the longest path from each.
    next: Vec<Option<TaskId>>,
    /// Length and first task of the longest path.
    longest: (Nanos, Option<TaskId>),
}

impl<'a> OnOne<'a> {
    fn new(problem: &'a Problem, worker: WorkerId) -> Self {
        let tasks = problem.tasks().len();
        let (ranks, next) = (vec![Nanos::ZERO; tasks], vec![None; tasks]);
        let mut graph = Self { problem, worker, ranks, next, longest: (Nanos::ZERO, None) };
        for task in problem.tasks().rev() {
            let edges = problem.successors(task).iter().map(|link| (link.task, link.transfer));
            graph.rank(task, problem.cost(task, worker), edges);
        }
        graph
    }

    /// Ranks a task by its successors and their distances.
    fn rank(&mut self, task: TaskId, cost: Nanos, after: impl Iterator<Item = (TaskId, Nanos)>) {
        let mut longest = (Nanos::ZERO, None);
        for (other, transfer) in after {
            let length = transfer.saturating_add(self.ranks[other.index()]);
            if longest.1.is_none() || length > longest.0 {
                longest = (length, Some(other));
            }
        }
        self.ranks[task.index()] = cost.saturating_add(longest.0);
        self.next[task.index()] = longest.1;
    }

    /// Ranks the placed tasks again, the latest first, and finds the longest path.
    fn update(
        &mut self,
        lanes: &Lanes<'_>,
        slots: &[(Nanos, usize, WorkerId)],
        placed: &[Option<WorkerId>],
        ready: &[TaskId],
    ) {
        let problem = self.problem;
        for &(_, place, worker) in slots.iter().rev() {
            let lane = lanes.lane(worker);
            let task = lane[place].task;
            let edges = problem.successors(task).iter().map(|link| {
                let here = placed[link.task.index()] == Some(worker);
                (link.task, if here { Nanos::ZERO } else { link.transfer })
            });
            let follower = lane.get(place + 1).map(|slot| slot.task);
            let is_last = worker == self.worker && follower.is_none();
            let waiting = ready.iter().copied().filter(|_| is_last);
            let orders = follower.into_iter().chain(waiting).map(|task| (task, Nanos::ZERO));
            self.rank(task, problem.cost(task, worker), edges.chain(orders));
        }
        let heads = slots
            .iter()
            .map(|&(_, place, worker)| lanes.lane(worker)[place].task)
            .chain(ready.iter().copied());
        self.longest = (Nanos::ZERO, None);
        for task in heads {
            if self.longest.1.is_none() || self.ranks[task.index()] > self.longest.0 {
                self.longest = (self.ranks[task.index()], Some(task));
            }
        }
    }

    fn key_task(&self, placed: &[Option<WorkerId>]) -> Option<TaskId> {
        let is_placed = |task: TaskId| placed[task.index()].is_some();
        let mut on_path = self.longest.1;
        while let Some(task) = on_path.filter(|&task| is_placed(task)) {
            on_path = self.next[task.index()];
        }
        // If the longest path is entirely placed: the greatest rank of the rest.
        let rest = || self.problem.tasks().filter(|&task| !is_placed(task));
        let greatest = |tasks: &mut dyn Iterator<Item = TaskId>| {
            tasks.max_by(|a, b| self.ranks[a.index()].cmp(&self.ranks[b.index()]).then(b.cmp(a)))
        };
        let mut key = on_path.or_else(|| greatest(&mut rest()))?;
        let before = |key| self.problem.predecessors(key).iter().map(|link| link.task);
        while let Some(parent) = greatest(&mut before(key).filter(|&task| !is_placed(task))) {
            key = parent;
        }
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{placed, problem};
    use super::*;

    #[test]
    fn the_path_that_is_longest_on_any_worker_goes_first() {
        // On worker 1 the longest task is 1, on worker 0 it is 0. The longest of all is that on
        // worker 1.
        let problem = problem(&[&[6, 7], &[5, 9]], &[]);
        assert_eq!(placed(&schedule(&problem)), [(0, 1, 0, 7), (1, 0, 0, 5)]);
    }

    #[test]
    fn what_a_key_task_waits_for_goes_before_it() {
        let problem = problem(&[&[1, 1], &[9, 9], &[8, 8]], &[(0, 2, 0), (1, 2, 0)]);
        let schedule = schedule(&problem);
        assert_eq!(placed(&schedule), [(0, 1, 0, 1), (1, 0, 0, 9), (2, 0, 9, 17)]);
    }
}
