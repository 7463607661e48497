//! The common form of all formats, tasks with times and edges with volumes, and the application
//! made of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use evenkeel_machine::Work;

use super::Fault;
use crate::text::cut;
use evenkeel_model::{Application, GraphId, PhaseId, Program, ProgramId, Step, ThreadSpec};
use evenkeel_model::{Phase, Scaling};
use evenkeel_model::{Task, TaskGraph, TaskId};

/// The most tasks of one graph: some hundred megabytes.
pub const MOST_TASKS: usize = 5_000_000;

/// The longest task, nanoseconds: 30 years.
pub const LONGEST_NS: f64 = 1e18;

/// The longest sum of all tasks: half of what a time holds.
const MOST_WORK: u64 = 1 << 62;

/// Tasks and edges as a file has them, in its order.
#[derive(Debug, Default)]
pub struct Draft {
    /// Name and time in nanoseconds.
    pub tasks: Vec<(String, u64)>,
    /// Before, after, bytes.
    pub edges: Vec<(usize, usize, u64)>,
    /// True if the file states volumes.
    pub volumes: bool,
    /// What was read but has no meaning here.
    pub notes: Vec<String>,
}

impl Draft {
    /// The application, with a thread for each worker.
    ///
    /// # Errors
    /// No task, too many, a cycle, more work than a time holds.
    pub fn application(self, name: &str, workers: u32) -> Result<Application, Fault> {
        match self.tasks.len() {
            0 => return Err(Fault::of("no tasks found, expected at least one".to_owned())),
            found if found > MOST_TASKS => {
                return Err(Fault::of(format!(
                    "{found} tasks found, expected at most {MOST_TASKS}"
                )));
            }
            _ => {}
        }
        let total = self.tasks.iter().try_fold(0, |sum: u64, (_, time)| sum.checked_add(*time));
        if total.is_none_or(|total| total > MOST_WORK) {
            return Err(Fault::of("all tasks together take more than 146 years".to_owned()));
        }
        let order = self.order()?;
        let mut place = vec![TaskId(0); order.len()];
        let mut tasks = Vec::with_capacity(order.len());
        for (number, &task) in order.iter().enumerate() {
            place[task] = TaskId(number as u32);
            tasks.push(Task { work: Work(self.tasks[task].1), phase: PhaseId(0) });
        }
        let edges = self.edges.iter().map(|&(from, to, bytes)| (place[from], place[to], bytes));
        let graph = if self.volumes {
            TaskGraph::with_volumes(tasks, edges.collect())
        } else {
            TaskGraph::new(tasks, edges.map(|(from, to, _)| (from, to)).collect())
        };
        let graph = graph.map_err(|error| Fault::of(error.to_string()))?;
        let phase = Phase { reference_time: true, ..Phase::new("task", Scaling::Capacity) };
        Ok(Application {
            name: name.to_owned(),
            phases: vec![phase],
            programs: vec![Program { steps: vec![Step::RunTasks(GraphId(0))] }],
            threads: (0..workers.max(1))
                .map(|i| ThreadSpec::new(format!("worker-{i}"), ProgramId(0)))
                .collect(),
            graphs: vec![Arc::new(graph)],
            notes: self.notes,
            ..Application::default()
        })
    }

    /// A topological order: of the tasks that could come next, it takes the first of the file
    /// (Kahn, CACM 5(11), 1962).
    fn order(&self) -> Result<Vec<usize>, Fault> {
        let mut missing = vec![0_usize; self.tasks.len()];
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); self.tasks.len()];
        for &(from, to, _) in &self.edges {
            after[from].push(to);
            missing[to] += 1;
        }
        let mut next: BinaryHeap<_> =
            (0..self.tasks.len()).filter(|&task| missing[task] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(self.tasks.len());
        while let Some(Reverse(task)) = next.pop() {
            order.push(task);
            for &other in &after[task] {
                missing[other] -= 1;
                if missing[other] == 0 {
                    next.push(Reverse(other));
                }
            }
        }
        match self.cycle(&missing) {
            None => Ok(order),
            Some(task) => {
                let name = cut(&self.tasks[task].0);
                Err(Fault::of(format!(
                    "task '{name}' waits for itself, over others or at once; expected a graph \
                     without cycles"
                )))
            }
        }
    }

    /// A task on a cycle. Tasks missing from the order are on a cycle or behind one, so going back
    /// among them ends on one.
    fn cycle(&self, missing: &[usize]) -> Option<usize> {
        let mut before = vec![None; missing.len()];
        for &(from, to, _) in self.edges.iter().filter(|(from, ..)| missing[*from] > 0) {
            before[to] = Some(from);
        }
        let mut task = missing.iter().position(|&missing| missing > 0)?;
        for _ in 0..missing.len() {
            task = before[task].unwrap_or(task);
        }
        Some(task)
    }
}

/// A time in nanoseconds, from `number` units of `unit_ns` each; `None` if it is out of range.
pub fn nanos(number: f64, unit_ns: f64) -> Option<u64> {
    let ns = number * unit_ns;
    // NaN is not in the range either.
    (0.0..=LONGEST_NS).contains(&ns).then(|| ns.round() as u64)
}
