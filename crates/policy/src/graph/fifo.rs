//! `fifo`: first ready, first served, on any core. One queue for all workers.
//!
//! Source: the breadth-first schedulers of task runtimes (Nanos++ `bf`; Duran, Corbalán and
//! Ayguadé, IWOMP 2008). Unaware of kinds; the baseline for policies that are aware.

use std::collections::VecDeque;

use evenkeel_machine::KindId;
use evenkeel_model::TaskId;

use super::{GraphPolicy, Situation, WorkerId};

/// One queue of ready tasks.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    ready: VecDeque<TaskId>,
}

impl GraphPolicy for Fifo {
    fn start(&mut self, _at: &Situation<'_>) {
        self.ready.clear();
    }

    fn ready(&mut self, _at: &Situation<'_>, task: TaskId, _by: Option<WorkerId>) {
        self.ready.push_back(task);
    }

    fn take(&mut self, _at: &Situation<'_>, _worker: WorkerId, _kind: KindId) -> Option<TaskId> {
        self.ready.pop_front()
    }

    fn would_take(&self, _at: &Situation<'_>, _worker: WorkerId) -> bool {
        !self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{graph, team};
    use super::*;

    #[test]
    fn tasks_go_in_the_order_in_which_they_became_ready_to_any_kind() {
        let (graph, team) = (graph(&[1; 3], &[]), team(&[0, 1]));
        let at = Situation::at_start(&graph, &team);
        let mut policy = Fifo::default();
        policy.start(&at);
        for task in [2, 0, 1] {
            policy.ready(&at, TaskId(task), None);
        }
        let taken: Vec<_> =
            (0..4).map(|i| policy.take(&at, WorkerId(i % 2), KindId(i as u8 % 2))).collect();
        assert_eq!(taken, [Some(TaskId(2)), Some(TaskId(0)), Some(TaskId(1)), None]);
    }

    #[test]
    fn a_new_graph_starts_with_nothing_ready() {
        let (graph, team) = (graph(&[1], &[]), team(&[0]));
        let at = Situation::at_start(&graph, &team);
        let mut policy = Fifo::default();
        policy.ready(&at, TaskId(0), None);
        policy.start(&at);
        assert_eq!(policy.take(&at, WorkerId(0), KindId(0)), None);
    }
}
