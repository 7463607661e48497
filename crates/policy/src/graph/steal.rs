//! `steal`: work stealing, blind to kinds.
//!
//! ```text
//! ready  : a task goes on top of the deque of the worker that made it ready
//! take   : the newest of one's own; else the oldest of a victim: victims in turn from a random
//!          one, until one has a task
//! ```
//!
//! Source: Blumofe and Leiserson, JACM 46(5), 1999. A bound of work / workers + critical path holds
//! in expectation for equal workers. On uneven ones a slow worker may hold the last task, or one of
//! the critical path, while a fast one idles.
//!
//! Deterministic: victims are drawn by splitmix64 from the run's seed. Any number of kinds: kinds
//! are not distinguished.

use evenkeel_machine::KindId;
use evenkeel_model::TaskId;

use super::deques::Deques;
use super::victims::Victims;
use super::{GraphPolicy, Situation, WorkerId};

/// Work stealing that ignores kinds.
#[derive(Clone, Debug, Default)]
pub struct Steal {
    seed: u64,
    deques: Deques,
    /// By worker.
    victims: Vec<Victims>,
}

impl Steal {
    /// Uses this seed for the choice of victims.
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }
}

impl GraphPolicy for Steal {
    fn start(&mut self, at: &Situation<'_>) {
        let workers = at.team.kinds.len();
        self.deques = Deques::new(workers, self.seed);
        self.victims = (0..workers).map(|thief| Victims::blind(thief, workers)).collect();
    }

    fn ready(&mut self, _at: &Situation<'_>, task: TaskId, by: Option<WorkerId>) {
        self.deques.push(task, by);
    }

    fn take(&mut self, _at: &Situation<'_>, worker: WorkerId, _kind: KindId) -> Option<TaskId> {
        let own = self.deques.pop(worker);
        own.or_else(|| {
            let from = self.deques.draw();
            self.victims
                .get(worker.index())?
                .round(from)
                .find_map(|victim| self.deques.steal(victim))
        })
    }

    fn would_take(&self, _at: &Situation<'_>, _worker: WorkerId) -> bool {
        self.deques.tasks().next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, graph, team};
    use super::*;

    #[test]
    fn the_owner_takes_the_newest_and_a_thief_the_oldest() {
        let (graph, team) = (graph(&[1; 4], &[]), team(&[0, 0]));
        let at = Situation::at_start(&graph, &team);
        let mut policy = Steal::new(1);
        policy.start(&at);
        (0..4).for_each(|task| policy.ready(&at, TaskId(task), Some(WorkerId(1))));
        let mut take = |worker| policy.take(&at, WorkerId(worker), KindId(0)).map(|task| task.0);
        assert_eq!(
            [take(1), take(0), take(0), take(1), take(1), take(0)],
            [Some(3), Some(0), Some(1), Some(2), None, None]
        );
    }

    #[test]
    fn the_same_seed_draws_the_same_victims_and_another_others() {
        let edges: Vec<_> = (1..40).map(|task| ((task - 1) / 3, task)).collect();
        let graph = graph(&[5; 40], &edges);
        let run = |seed| Bench::run(&mut Steal::new(seed), &graph, &team(&[0, 0, 0, 1, 1])).placed;
        assert_eq!(run(1), run(1));
        assert!((2..20).any(|seed| run(seed) != run(1)));
    }
}
