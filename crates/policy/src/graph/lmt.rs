//! `lmt`: levelized min time. Level by level, the largest task to the worker that costs it least.
//!
//! ```text
//! level(t)  = 0 without predecessors, else 1 + max over predecessors s of level(s)
//! merge     : while a level has more groups of tasks than there are workers, the two groups with
//!             the least mean cost become one
//! order     : level by level; within one, groups by descending mean cost
//! place     : a group on the worker without a group of this level yet that has the least
//!             sum over t in group of ( w(t, p) + sum over predecessors s not on p of c(s, t) )
//!             its tasks behind the others of that worker, in order of number
//! ```
//!
//! Source: Iverson, Özgüner and Follen, "Parallelizing existing applications in a distributed
//! heterogeneous environment", Heterogeneous Computing Workshop 1995. O(v p + e p). It ignores
//! paths: a task that many others wait for goes no sooner.
//!
//! The placing rule is that of the survey in Topcuoglu, Hariri and Wu (TPDS 2002, section 3). Their
//! ten-task example takes 76 by it; the 95 that they report for it (HCW 1999) comes from some other
//! reading.
//!
//! Ties: of equal means the lower task number, of equal costs the lower worker number, which is a
//! faster kind. Any number of kinds: only the cost matrix counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_machine::Nanos;
use evenkeel_model::TaskId;

use super::WorkerId;
use super::lanes::Lanes;
use super::problem::Problem;
use super::schedule::Schedule;

/// Tasks of one level that go to one worker.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    /// Sum over tasks and workers: proportional to the mean.
    cost: u128,
    tasks: Vec<TaskId>,
}

/// Schedules a problem by LMT.
pub fn schedule(problem: &Problem) -> Schedule {
    let mut lanes = Lanes::new(problem);
    for level in levels(problem) {
        let mut groups = merged(problem, level);
        groups.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| a.tasks.cmp(&b.tasks)));
        let mut free: Vec<_> = problem.workers().collect();
        for group in groups {
            let least = (0..free.len())
                .min_by_key(|&place| placing_cost(problem, &lanes, &group, free[place]));
            let Some(place) = least else { break };
            let worker = free.remove(place);
            group.tasks.iter().for_each(|&task| lanes.append(task, worker));
        }
    }
    lanes.finish()
}

/// Tasks by level.
fn levels(problem: &Problem) -> Vec<Vec<TaskId>> {
    let mut level_of = vec![0; problem.tasks().len()];
    let mut levels: Vec<Vec<TaskId>> = Vec::new();
    for task in problem.tasks() {
        let above =
            problem.predecessors(task).iter().map(|link| level_of[link.task.index()] + 1).max();
        let level = above.unwrap_or(0);
        level_of[task.index()] = level;
        if levels.len() <= level {
            levels.resize_with(level + 1, Vec::new);
        }
        levels[level].push(task);
    }
    levels
}

fn merged(problem: &Problem, tasks: Vec<TaskId>) -> Vec<Group> {
    let cost = |task| problem.costs(task).iter().map(|cost| u128::from(cost.0)).sum();
    let groups =
        tasks.into_iter().map(|task| Reverse(Group { cost: cost(task), tasks: vec![task] }));
    let mut groups: BinaryHeap<_> = groups.collect();
    while groups.len() > problem.workers().len() {
        let (Some(Reverse(mut one)), Some(Reverse(mut other))) = (groups.pop(), groups.pop())
        else {
            break;
        };
        // The shorter list joins the longer one, so a level costs O(n log n) in total.
        if one.tasks.len() < other.tasks.len() {
            std::mem::swap(&mut one, &mut other);
        }
        one.cost += other.cost;
        one.tasks.append(&mut other.tasks);
        groups.push(Reverse(one));
    }
    let sorted = |Reverse(mut group): Reverse<Group>| {
        group.tasks.sort_unstable();
        group
    };
    groups.into_iter().map(sorted).collect()
}

fn placing_cost(problem: &Problem, lanes: &Lanes<'_>, group: &Group, worker: WorkerId) -> Nanos {
    let of_task = |&task: &TaskId| {
        let far = problem.predecessors(task).iter();
        let far =
            far.filter(|link| lanes.copies(link.task).iter().all(|&(from, _)| from != worker));
        far.map(|link| link.transfer).fold(problem.cost(task, worker), Nanos::saturating_add)
    };
    group.tasks.iter().map(of_task).fold(Nanos::ZERO, Nanos::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{placed, problem};
    use super::*;

    #[test]
    fn a_level_gives_each_worker_one_group_the_largest_choosing_first() {
        // Three tasks for two workers: the two smallest are merged, the large one takes the fast
        // worker.
        let problem = problem(&[&[2, 4], &[9, 18], &[3, 6]], &[]);
        assert_eq!(placed(&schedule(&problem)), [(0, 1, 0, 4), (1, 0, 0, 9), (2, 1, 4, 10)]);
    }

    #[test]
    fn a_task_stays_where_its_data_are_if_that_saves_more_than_a_faster_worker() {
        let problem = problem(&[&[9, 1], &[1, 5]], &[(0, 1, 6)]);
        assert_eq!(placed(&schedule(&problem)), [(0, 1, 0, 1), (1, 1, 1, 6)]);
    }
}
