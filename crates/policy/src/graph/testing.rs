//! Shared by tests of graph policies: problems, graphs and teams, the ten tasks of Topcuoglu et
//! al., and a bench that runs a policy without a machine.

use evenkeel_machine::{KindId, Nanos, PerKind, Work};
use evenkeel_model::{PhaseId, Task, TaskGraph, TaskId};

use super::problem::Problem;
use super::schedule::Schedule;
use super::{GraphPolicy, Situation, Team, WorkerId};

/// A problem of costs by task and worker, and edges (before, after, transfer).
pub fn problem(costs: &[&[u64]], edges: &[(u32, u32, u64)]) -> Problem {
    let tasks = vec![Task { work: Work(0), phase: PhaseId(0) }; costs.len()];
    let edges =
        edges.iter().map(|&(from, to, volume)| (TaskId(from), TaskId(to), volume)).collect();
    let graph = TaskGraph::with_volumes(tasks, edges).unwrap();
    let workers = costs.first().map_or(2, |row| row.len()) as u32;
    Problem::new(&graph, workers, |task, worker| Nanos(costs[task.index()][worker.index()]), Nanos)
}

/// The example of Topcuoglu, Hariri and Wu (TPDS 2002, section 4): ten tasks, three processors.
pub fn ten_tasks() -> Problem {
    const COSTS: [&[u64]; 10] = [
        &[14, 16, 9],
        &[13, 19, 18],
        &[11, 13, 19],
        &[13, 8, 17],
        &[12, 13, 10],
        &[13, 16, 9],
        &[7, 15, 11],
        &[5, 11, 14],
        &[18, 12, 20],
        &[21, 7, 16],
    ];
    const EDGES: [(u32, u32, u64); 15] = [
        (1, 2, 18),
        (1, 3, 12),
        (1, 4, 9),
        (1, 5, 11),
        (1, 6, 14),
        (2, 8, 19),
        (2, 9, 16),
        (3, 7, 23),
        (4, 8, 27),
        (4, 9, 23),
        (5, 9, 13),
        (6, 8, 15),
        (7, 10, 17),
        (8, 10, 11),
        (9, 10, 13),
    ];
    problem(&COSTS, &EDGES.map(|(from, to, transfer)| (from - 1, to - 1, transfer)))
}

/// Task, worker, start and finish of every slot, by task and then by worker.
pub fn placed(schedule: &Schedule) -> Vec<(u32, u32, u64, u64)> {
    let slots =
        schedule.slots().map(|(worker, slot)| (slot.task.0, worker.0, slot.start.0, slot.finish.0));
    let mut slots: Vec<_> = slots.collect();
    slots.sort_unstable();
    slots
}

/// Tasks of so much work, and edges.
pub fn graph(work: &[u64], edges: &[(u32, u32)]) -> TaskGraph {
    let tasks = work.iter().map(|&work| Task { work: Work(work), phase: PhaseId(0) }).collect();
    TaskGraph::new(tasks, edges.iter().map(|&(from, to)| (TaskId(from), TaskId(to))).collect())
        .unwrap()
}

/// Workers on these kinds; kind `k` takes `k + 1` nanoseconds per unit of work.
pub fn team(kinds: &[u8]) -> Team {
    let mut pace = PerKind::all(1.0);
    for (kind, pace) in pace.0.iter_mut().enumerate() {
        *pace = (kind + 1) as f64;
    }
    Team { kinds: kinds.iter().map(|&kind| KindId(kind)).collect(), pace: vec![pace], link: None }
}

/// The run of a graph under a policy.
pub struct Bench {
    /// Task, worker, start, finish, in the order in which they were taken.
    pub placed: Vec<(TaskId, WorkerId, Nanos, Nanos)>,
}

impl Bench {
    /// Runs a graph: all tasks exist from the start, workers are asked in order of number, costs
    /// are exact.
    pub fn run(policy: &mut dyn GraphPolicy, graph: &TaskGraph, team: &Team) -> Self {
        let tasks = || (0..graph.tasks.len() as u32).map(TaskId);
        let mut at = Situation::at_start(graph, team);
        let mut missing: Vec<_> = tasks().map(|task| graph.predecessors(task).len()).collect();
        let mut running: Vec<Option<(TaskId, Nanos)>> = vec![None; team.kinds.len()];
        let mut placed = Vec::new();
        policy.start(&at);
        tasks().for_each(|task| policy.created(&at, task, graph.predecessors(task)));
        tasks()
            .filter(|task| missing[task.index()] == 0)
            .for_each(|task| policy.ready(&at, task, None));
        loop {
            for (worker, (running, &kind)) in
                (0..).map(WorkerId).zip(running.iter_mut().zip(&team.kinds))
            {
                if running.is_none()
                    && let Some(task) = policy.take(&at, worker, kind)
                {
                    let finish = at.now + at.cost(task, kind);
                    *running = Some((task, finish));
                    placed.push((task, worker, at.now, finish));
                }
            }
            let busy = running
                .iter()
                .enumerate()
                .filter_map(|(worker, it)| it.map(|(task, finish)| (finish, worker, task)));
            let Some((finish, worker, task)) = busy.min() else { break };
            at.now = finish;
            running[worker] = None;
            let by = WorkerId(worker as u32);
            policy.done(&at, by, task, team.kinds[worker], finish);
            for &next in graph.successors(task) {
                missing[next.index()] -= 1;
                if missing[next.index()] == 0 {
                    policy.ready(&at, next, Some(by));
                }
            }
        }
        assert_eq!(placed.len(), graph.tasks.len(), "nobody takes what is ready: {placed:?}");
        Self { placed }
    }

    pub fn makespan(&self) -> Nanos {
        self.placed.iter().map(|&(_, _, _, finish)| finish).max().unwrap_or_default()
    }

    pub fn tasks_of(&self, worker: WorkerId) -> Vec<TaskId> {
        self.placed.iter().filter(|(_, by, _, _)| *by == worker).map(|&(task, ..)| task).collect()
    }

    pub fn worker_of(&self, task: TaskId) -> WorkerId {
        self.placed.iter().find(|(it, ..)| *it == task).map(|&(_, worker, ..)| worker).unwrap()
    }
}
