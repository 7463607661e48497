//! Policies for task graphs: which worker runs which ready task.
//!
//! Sequential code over plain data, as all policies: the simulator calls it directly, the runtime behind
//! its own concurrency.

use evenkeel_machine::{KindId, Nanos};
use evenkeel_workload::{TaskGraph, TaskId};

mod fifo;

pub use fifo::Fifo;

/// A worker of one graph's execution, dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u32);

/// Chooses among ready tasks.
pub trait GraphPolicy: Send {
    /// A graph is about to run; forgets all about an earlier one. `workers` take part.
    fn start(&mut self, graph: &TaskGraph, workers: u32);

    /// A task has become ready (created, and all that it waits for is done). `by`: the worker that finished its last predecessor.
    fn ready(&mut self, graph: &TaskGraph, task: TaskId, by: Option<WorkerId>);

    /// A worker that runs on a core of this kind asks for a task. None: nothing for it now; it waits
    /// until another task becomes ready or the graph is done.
    fn take(&mut self, worker: WorkerId, kind: KindId) -> Option<TaskId>;

    /// A task has been done on a kind of core in this time: what costs are learnt from.
    fn done(&mut self, _task: TaskId, _kind: KindId, _time: Nanos) {}
}

/// Names of the graph policies.
pub const NAMES: &[&str] = &["fifo"];

/// A graph policy that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no graph policy '{name}'; there is {}", NAMES.join(", "))]
pub struct UnknownGraphPolicy {
    /// As asked for.
    pub name: String,
}

/// Makes a graph policy by name.
///
/// # Errors
/// A name that is not there.
pub fn make(name: &str) -> Result<Box<dyn GraphPolicy>, UnknownGraphPolicy> {
    match name {
        "fifo" => Ok(Box::new(Fifo::default())),
        _ => Err(UnknownGraphPolicy { name: name.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_a_policy_and_another_is_named_in_the_error() {
        assert!(NAMES.iter().all(|name| make(name).is_ok()));
        assert_eq!(
            make("lifo").err().map(|error| error.to_string()).as_deref(),
            Some("no graph policy 'lifo'; there is fifo")
        );
    }
}
