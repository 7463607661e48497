//! What threads of one application meet at: barriers, locks, condition variables, semaphores,
//! bounded queues, devices, timers, shared loops, task graphs. Plain states:
//! `synchronise` and `shared_work` block and wake threads by them.
//!
//! All hand over directly: a lock that is given up belongs to the first in line at once, an item
//! that is sent goes to the first that waits. So no thread that is woken has to try again, and
//! lines are strictly first come, first served.

use std::collections::VecDeque;
use std::sync::Arc;

use evenkeel_machine::Nanos;
use evenkeel_model::{Application, TaskGraph, TaskId};
use evenkeel_policy::ThreadId;
use evenkeel_policy::graph::{self, GraphPolicy, Situation, Team, WorkerId};
use evenkeel_policy::loops::{self, LoopPolicy};

/// Threads that wait for something, first come first.
pub type Line = VecDeque<ThreadId>;

#[derive(Debug, Default)]
pub struct Barrier {
    pub parties: u32,
    pub arrived: Line,
}

#[derive(Debug, Default)]
pub struct Lock {
    pub owner: Option<ThreadId>,
    pub line: Line,
}

#[derive(Debug, Default)]
pub struct Condition {
    /// Waiting, with the lock that each takes again when woken.
    pub line: VecDeque<(ThreadId, Option<u32>)>,
}

#[derive(Debug, Default)]
pub struct Semaphore {
    pub count: u32,
    pub line: Line,
}

#[derive(Debug, Default)]
pub struct Channel {
    pub capacity: u32,
    pub synchronous: bool,
    pub items: u32,
    pub senders: Line,
    pub receivers: Line,
    pub closings: u32,
    pub closed: bool,
}

impl Channel {
    fn of(spec: &evenkeel_model::Channel) -> Self {
        Self { capacity: spec.capacity, synchronous: spec.synchronous, ..Self::default() }
    }
}

/// One execution of a shared loop.
pub struct LoopRun {
    pub policy: Box<dyn LoopPolicy>,
    began: Nanos,
    /// By worker, the iterations that it has done, and when it had.
    did: Vec<(u64, Nanos)>,
    pub finished: u32,
}

impl LoopRun {
    pub fn new(policy: Box<dyn LoopPolicy>, now: Nanos) -> Self {
        Self { policy, began: now, did: Vec::new(), finished: 0 }
    }

    /// A worker has done so many iterations.
    pub fn add(&mut self, worker: u32, iterations: u64, now: Nanos) {
        let worker = worker as usize;
        self.did.resize(self.did.len().max(worker + 1), (0, now));
        let (did, end) = &mut self.did[worker];
        (*did, *end) = (*did + iterations, now);
    }

    /// By worker, iterations per nanosecond from the beginning to the end of its last.
    pub fn speeds(&self) -> Vec<f64> {
        self.did.iter().map(|&(did, end)| did as f64 / (end - self.began).0.max(1) as f64).collect()
    }
}

#[derive(Default)]
pub struct SharedLoop {
    /// Executions that some thread is in, oldest first: threads may be rounds apart where no
    /// barrier holds them.
    pub runs: VecDeque<LoopRun>,
    /// Number of the oldest.
    pub first: u32,
    /// Workers that have come to the first execution, and are so numbered from then on.
    pub workers: u32,
    /// By worker, how fast it was in the last execution that all have been through; empty before.
    pub speeds: Vec<f64>,
}

/// In the place of what a task waits for: nothing any more.
pub const DONE: u32 = u32::MAX;

/// One execution of a task graph.
pub struct GraphRun {
    pub policy: Box<dyn GraphPolicy>,
    /// Predecessors that each task still waits for, plus one until it has been created; [`DONE`]
    /// once it has been done.
    pub missing: Vec<u32>,
    pub created: u32,
    pub done: u32,
    pub workers: u32,
    pub finished: u32,
    /// Tasks that are ready and that no worker has taken, one that is to be done by several for
    /// each of them.
    pub ready: u32,
    /// Workers that have been woken and have not asked yet.
    pub coming: u32,
    /// By task, which worker has done it and when, where handing over what it made takes time; else
    /// empty.
    pub ends: Vec<Vec<(WorkerId, Nanos)>>,
    /// Workers that found no task.
    pub line: VecDeque<(ThreadId, WorkerId)>,
}

pub struct SharedGraph {
    pub graph: Arc<TaskGraph>,
    /// Threads that run it, and how fast they are.
    pub team: Team,
    pub runs: VecDeque<GraphRun>,
    pub first: u32,
}

impl SharedGraph {
    /// Another execution begins.
    pub fn begin(&mut self, mut policy: Box<dyn GraphPolicy>, now: Nanos) {
        policy.start(&Situation { graph: &self.graph, team: &self.team, now });
        let tasks = (0..self.graph.tasks.len() as u32).map(TaskId);
        let missing = tasks.map(|task| self.graph.predecessors(task).len() as u32 + 1).collect();
        let hands_over = self.team.link.is_some();
        let ends = if hands_over { vec![Vec::new(); self.graph.tasks.len()] } else { Vec::new() };
        self.runs.push_back(GraphRun {
            policy,
            missing,
            created: 0,
            done: 0,
            workers: 0,
            finished: 0,
            ready: 0,
            coming: 0,
            ends,
            line: VecDeque::new(),
        });
    }

    /// The run of this round, with what its policy may know now.
    pub fn run(&mut self, round: u32, now: Nanos) -> (&mut GraphRun, Situation<'_>) {
        let run = &mut self.runs[(round - self.first) as usize];
        (run, Situation { graph: &self.graph, team: &self.team, now })
    }
}

impl GraphRun {
    /// One of the things that a task waits for has happened; if it was the last, the policy hears
    /// of it.
    pub fn release(&mut self, at: &Situation<'_>, task: TaskId, by: Option<WorkerId>) {
        let missing = &mut self.missing[task.index()];
        *missing -= 1;
        if *missing == 0 {
            self.ready += self.policy.copies(task);
            self.policy.ready(at, task, by);
        }
    }

    /// A worker has done a task; whether it is the first.
    pub fn end(&mut self, task: TaskId, by: Option<WorkerId>, now: Nanos) -> bool {
        if let (Some(ends), Some(worker)) = (self.ends.get_mut(task.index()), by) {
            ends.push((worker, now));
        }
        let first = std::mem::replace(&mut self.missing[task.index()], DONE) != DONE;
        self.done += u32::from(first);
        first
    }

    /// When all that a task takes in is there for a worker: at once what it has made itself, what
    /// others have made a transfer later.
    pub fn arrival(&self, at: &Situation<'_>, task: TaskId, worker: WorkerId) -> Nanos {
        if self.ends.is_empty() {
            return at.now;
        }
        let from = |&before: &TaskId| {
            let to = at.graph.successors(before).binary_search(&task).ok();
            let bytes =
                to.and_then(|edge| at.graph.volumes(before).get(edge).copied()).unwrap_or(0);
            let here = |&(by, end): &(WorkerId, Nanos)| {
                if by == worker { end } else { end.saturating_add(at.transfer(bytes)) }
            };
            self.ends[before.index()].iter().map(here).min().unwrap_or(at.now)
        };
        at.graph.predecessors(task).iter().map(from).max().unwrap_or(at.now).max(at.now)
    }

    /// The next waiting worker to wake, which the policy names, as long as more tasks are
    /// ready than workers are on their way, `about_to_ask` of them not in line.
    pub fn next_to_wake(&mut self, at: &Situation<'_>, about_to_ask: u32) -> Option<ThreadId> {
        if self.ready <= self.coming + about_to_ask {
            return None;
        }
        let chosen = self.policy.wake(at, &mut self.line.iter().map(|&(_, worker)| worker))?;
        let place = self.line.iter().position(|&(_, worker)| worker == chosen)?;
        self.coming += 1;
        self.line.remove(place).map(|(thread, _)| thread)
    }
}

/// All of one application.
#[derive(Default)]
pub struct Objects {
    pub barriers: Vec<Barrier>,
    pub locks: Vec<Lock>,
    pub conditions: Vec<Condition>,
    pub semaphores: Vec<Semaphore>,
    pub channels: Vec<Channel>,
    /// Next expiry, once used.
    pub timers: Vec<Option<Nanos>>,
    /// When each device is free again.
    pub devices: Vec<Nanos>,
    pub loops: Vec<SharedLoop>,
    pub graphs: Vec<SharedGraph>,
}

impl Objects {
    /// As they are before the application starts. `teams`: the threads that run each graph.
    pub fn new(app: &Application, teams: &[Team]) -> Self {
        fn many<T: Default>(count: usize) -> Vec<T> {
            std::iter::repeat_with(T::default).take(count).collect()
        }
        Self {
            barriers: app
                .barriers
                .iter()
                .map(|&parties| Barrier { parties, ..Barrier::default() })
                .collect(),
            locks: many(app.locks as usize),
            conditions: many(app.conditions as usize),
            semaphores: app
                .semaphores
                .iter()
                .map(|&count| Semaphore { count, ..Semaphore::default() })
                .collect(),
            channels: app.channels.iter().map(Channel::of).collect(),
            timers: vec![None; app.timers as usize],
            devices: vec![Nanos::ZERO; app.devices as usize],
            loops: many(app.loops.len()),
            graphs: app
                .graphs
                .iter()
                .zip(teams)
                .map(|(graph, team)| SharedGraph {
                    graph: Arc::clone(graph),
                    team: team.clone(),
                    runs: VecDeque::new(),
                    first: 0,
                })
                .collect(),
        }
    }
}

/// The policies of an application's loops and graphs exist, and fit.
pub fn check_policies(app: &Application, graph_policy: &str) -> Result<(), String> {
    for shared in &app.loops {
        loops::make(&shared.schedule).map_err(|error| error.to_string())?;
    }
    if !app.graphs.is_empty() {
        graph::make(graph_policy, 0).map_err(|error| error.to_string())?;
    }
    Ok(())
}
