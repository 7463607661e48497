//! `hed`: heterogeneous economical duplication. Runs a task again where others wait for its data,
//! and keeps only copies that are used.
//!
//! ```text
//! order      tasks by descending rank_u                                                 (ranks.rs)
//! on each p  while the predecessor whose data come last has no copy on p, and a copy of it, put
//!            into the earliest gap on p that its own data allow, lets t start sooner: keep that
//!            copy
//! place      t with those copies on the p where it then ends first, with insertion      (lanes.rs)
//! prune      from the last task to the first: a copy stays if it is the first to end of a task
//!            without successors, or the one from which a copy that stays has its data first
//! ```
//!
//! Source: Agarwal and Kumar, "Economical duplication based task scheduling for heterogeneous and
//! homogeneous computing systems", IEEE IACC 2009. Only immediate predecessors are duplicated.
//! Without transfers copies gain nothing, and this is `heft`.
//!
//! Ties: of equal ranks the lower task number; of predecessors whose data come at the same time, of
//! equal finish times and of equal copies the lower number. Any number of kinds: only the cost
//! matrix counts.

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use super::WorkerId;
use super::lanes::Lanes;
use super::problem::{Link, Problem};
use super::ranks::{descending, upward};
use super::schedule::Schedule;

/// Schedules a problem by HED.
pub fn schedule(problem: &Problem) -> Schedule {
    let mut lanes = Lanes::new(problem);
    for task in descending(problem, &upward(problem)) {
        let mut best: Option<(Nanos, WorkerId)> = None;
        for worker in problem.workers() {
            let copies = duplicate(problem, &mut lanes, task, worker);
            let finish = lanes.earliest_finish(task, worker);
            copies.into_iter().rev().for_each(|copy| lanes.remove(copy, worker));
            if best.is_none_or(|(least, _)| finish < least) {
                best = Some((finish, worker));
            }
        }
        let worker = best.map_or(WorkerId(0), |(_, worker)| worker);
        duplicate(problem, &mut lanes, task, worker);
        lanes.insert(task, worker);
    }
    prune(problem, &mut lanes);
    lanes.finish()
}

/// Places those copies on a worker that let a task start sooner there, and returns them.
fn duplicate(
    problem: &Problem,
    lanes: &mut Lanes<'_>,
    task: TaskId,
    worker: WorkerId,
) -> Vec<TaskId> {
    let mut copies = Vec::new();
    loop {
        let start = lanes.earliest_start(task, worker);
        let Some(last) = last_to_come(problem, lanes, task, worker) else { return copies };
        if lanes.copies(last).iter().any(|&(at, _)| at == worker) {
            return copies;
        }
        lanes.insert(last, worker);
        if lanes.earliest_start(task, worker) >= start {
            lanes.remove(last, worker);
            return copies;
        }
        copies.push(last);
    }
}

/// The predecessor whose data reach a worker last.
fn last_to_come(
    problem: &Problem,
    lanes: &Lanes<'_>,
    task: TaskId,
    worker: WorkerId,
) -> Option<TaskId> {
    let arrival = |link: &&Link| (lanes.arrival_over(link, worker), std::cmp::Reverse(link.task));
    problem.predecessors(task).iter().max_by_key(arrival).map(|link| link.task)
}

/// Removes copies whose data no task uses.
fn prune(problem: &Problem, lanes: &mut Lanes<'_>) {
    let mut used: Vec<Vec<WorkerId>> = vec![Vec::new(); problem.tasks().len()];
    for task in problem.tasks().rev() {
        if problem.successors(task).is_empty() {
            let first = lanes.copies(task).iter().min_by_key(|&&(worker, finish)| (finish, worker));
            used[task.index()].extend(first.map(|&(worker, _)| worker));
        }
        let unused: Vec<_> = lanes.copies(task).iter().map(|&(worker, _)| worker).collect();
        for worker in unused.into_iter().filter(|worker| !used[task.index()].contains(worker)) {
            lanes.remove(task, worker);
        }
        for worker in used[task.index()].clone() {
            for link in problem.predecessors(task) {
                if let Some((_, from)) = lanes.source(link, worker)
                    && !used[link.task.index()].contains(&from)
                {
                    used[link.task.index()].push(from);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::heft;
    use super::super::schedule::Duplicates;
    use super::super::testing::{placed, problem};
    use super::*;

    #[test]
    fn a_task_that_two_wait_for_is_done_twice_where_handing_it_over_would_take_longer() {
        // 0 hands 100 to each of 1 and 2.
        let problem = problem(&[&[10, 10], &[20, 20], &[20, 20]], &[(0, 1, 100), (0, 2, 100)]);
        let schedule = schedule(&problem);
        assert_eq!(
            placed(&schedule),
            [(0, 0, 0, 10), (0, 1, 0, 10), (1, 0, 10, 30), (2, 1, 10, 30)]
        );
        assert_eq!(schedule.check(&problem, Duplicates::Allowed), Ok(()));
        assert_eq!(heft::schedule(&problem).makespan(), Nanos(50));
    }

    #[test]
    fn a_copy_that_nobody_uses_any_more_is_taken_out() {
        // 0 is first placed on worker 1, where it ends sooner; its only successor then gets a copy
        // of its own.
        let problem = problem(&[&[4, 3], &[1, 90]], &[(0, 1, 50)]);
        assert_eq!(placed(&schedule(&problem)), [(0, 0, 0, 4), (1, 0, 4, 5)]);
    }

    #[test]
    fn without_transfers_it_is_heft() {
        let problem =
            problem(&[&[3, 6], &[4, 8], &[5, 10], &[6, 12]], &[(0, 2, 0), (1, 2, 0), (0, 3, 0)]);
        assert_eq!(schedule(&problem), heft::schedule(&problem));
    }
}
