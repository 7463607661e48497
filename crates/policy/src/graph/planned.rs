//! Runs a static policy: makes its schedule when a graph starts, and hands each worker its tasks in
//! the order of the schedule.
//!
//! Only order and place are kept, not times: a task that takes longer than planned delays the tasks
//! that wait for it, and no other worker steps in.

use evenkeel_machine::KindId;
use evenkeel_model::TaskId;

use super::problem::Problem;
use super::roster::Roster;
use super::schedule::Schedule;
use super::{GraphPolicy, Situation, WorkerId};

/// Function that makes a schedule of a problem.
pub type Scheduler = fn(&Problem) -> Schedule;

/// A static policy as an online one.
#[derive(Clone, Debug)]
pub struct Planned {
    scheduler: Scheduler,
    roster: Roster,
    /// By slot, its tasks in planned order.
    lanes: Vec<Vec<TaskId>>,
    /// By slot, the number of tasks handed out.
    taken: Vec<usize>,
    ready: Vec<bool>,
    /// By task, the number of its copies in the plan.
    copies: Vec<u32>,
}

impl Planned {
    /// A policy that runs the schedules of this scheduler.
    pub fn new(scheduler: Scheduler) -> Self {
        Self {
            scheduler,
            roster: Roster::default(),
            lanes: Vec::new(),
            taken: Vec::new(),
            ready: Vec::new(),
            copies: Vec::new(),
        }
    }

    /// The next task of a slot, if it is ready.
    fn next(&self, slot: usize) -> Option<TaskId> {
        self.lanes.get(slot)?.get(self.taken[slot]).copied().filter(|task| self.ready[task.index()])
    }
}

impl GraphPolicy for Planned {
    fn start(&mut self, at: &Situation<'_>) {
        let problem = at.problem();
        let schedule = (self.scheduler)(&problem);
        self.lanes =
            schedule.lanes.iter().map(|lane| lane.iter().map(|slot| slot.task).collect()).collect();
        self.copies = vec![0; at.graph.tasks.len()];
        self.lanes.iter().flatten().for_each(|task| self.copies[task.index()] += 1);
        self.again(at);
    }

    fn again(&mut self, at: &Situation<'_>) {
        self.roster = Roster::new(at.team);
        self.taken = vec![0; self.lanes.len()];
        self.ready = vec![false; at.graph.tasks.len()];
    }

    fn ready(&mut self, _at: &Situation<'_>, task: TaskId, _by: Option<WorkerId>) {
        self.ready[task.index()] = true;
    }

    fn take(&mut self, _at: &Situation<'_>, worker: WorkerId, kind: KindId) -> Option<TaskId> {
        let slot = self.roster.seen(worker, kind)?;
        let task = self.next(slot)?;
        self.taken[slot] += 1;
        Some(task)
    }

    fn copies(&self, task: TaskId) -> u32 {
        self.copies[task.index()]
    }

    fn would_take(&self, _at: &Situation<'_>, worker: WorkerId) -> bool {
        self.roster.slot(worker).is_none_or(|slot| self.next(slot).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::super::heft;
    use super::super::testing::{Bench, graph, team};
    use super::*;

    #[test]
    fn tasks_run_where_and_when_the_schedule_says_if_they_take_what_was_planned() {
        let graph = graph(&[4, 9, 3, 8, 2], &[(0, 2), (1, 3), (2, 4), (3, 4)]);
        let team = team(&[0, 1, 1]);
        let run = Bench::run(&mut Planned::new(heft::schedule), &graph, &team);
        let plan = heft::schedule(&Situation::at_start(&graph, &team).problem());
        assert_eq!(run.makespan(), plan.makespan());
        for (worker, slot) in plan.slots() {
            assert_eq!(run.worker_of(slot.task), worker);
        }
    }

    #[test]
    fn a_graph_that_runs_again_keeps_its_plan() {
        let (graph, mut team) = (graph(&[4, 9, 3, 8], &[(0, 2)]), team(&[0, 1]));
        let mut policy = Planned::new(heft::schedule);
        policy.start(&Situation::at_start(&graph, &team));
        let plan = policy.lanes.clone();
        team.pace = team.pace.iter().map(|_| evenkeel_machine::PerKind::all(1.0)).collect();
        let at = Situation::at_start(&graph, &team);
        policy.ready(&at, TaskId(0), None);
        policy.again(&at);
        assert!(policy.lanes == plan && !policy.ready[0]);
        policy.start(&at);
        assert_ne!(policy.lanes, plan);
    }

    #[test]
    fn a_worker_waits_for_its_own_next_task_though_others_are_ready() {
        let (graph, team) = (graph(&[1, 5], &[]), team(&[0, 1]));
        let at = Situation::at_start(&graph, &team);
        let mut policy = Planned::new(|problem| {
            let mut lanes = super::super::lanes::Lanes::new(problem);
            (0..2).for_each(|task| lanes.append(TaskId(task), WorkerId(0)));
            lanes.finish()
        });
        policy.start(&at);
        policy.ready(&at, TaskId(1), None);
        assert_eq!(policy.take(&at, WorkerId(0), KindId(0)), None);
        assert_eq!(policy.take(&at, WorkerId(1), KindId(1)), None);
        policy.ready(&at, TaskId(0), None);
        assert!(policy.would_take(&at, WorkerId(0)) && !policy.would_take(&at, WorkerId(1)));
        assert_eq!(policy.take(&at, WorkerId(0), KindId(0)), Some(TaskId(0)));
    }
}
