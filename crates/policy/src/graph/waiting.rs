//! Tasks that may be placed, when each is placed after its predecessors.

use evenkeel_model::TaskId;

use super::problem::Problem;

/// By task, the number of its predecessors that have not been placed.
pub struct Waiting<'a> {
    problem: &'a Problem,
    missing: Vec<usize>,
}

impl<'a> Waiting<'a> {
    /// No task has been placed.
    pub fn new(problem: &'a Problem) -> Self {
        Self {
            problem,
            missing: problem.tasks().map(|task| problem.predecessors(task).len()).collect(),
        }
    }

    /// Tasks that wait for none now.
    pub fn ready(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.problem.tasks().filter(|task| self.missing[task.index()] == 0)
    }

    /// Places a task. Returns the tasks that waited only for it.
    pub fn place(&mut self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        self.problem.successors(task).iter().filter_map(|link| {
            let missing = &mut self.missing[link.task.index()];
            *missing -= 1;
            (*missing == 0).then_some(link.task)
        })
    }
}
