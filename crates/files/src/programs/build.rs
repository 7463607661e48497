//! Builds an application: numbers objects as they are made, and keeps equal programs once.

use std::cell::Cell;

use std::sync::Arc;

use evenkeel_machine::{Machine, Work};

use super::error::WorkloadError;
use evenkeel_model::Phase;
use evenkeel_model::{
    Application, BarrierId, Channel, ChannelId, DeviceId, GraphId, LockId, LoopId, ParallelLoop,
    PhaseId, Program, ProgramId, Step, ThreadSpec,
};
use evenkeel_model::{Task, TaskGraph, TaskId};

/// The most tasks that one graph is built with: some hundred megabytes.
pub(super) const MOST_TASKS: u64 = 5_000_000;

/// Cost of creating one task, instructions, paid by the master. Assumption: of the order of what
/// task runtimes take on a desktop core (61 to 290 ns at about 4 GHz and 2 instructions per cycle),
/// dependences included.
const TASK_CREATE: Work = Work(1_500);

/// Cost of taking one task, instructions. Assumption, as [`TASK_CREATE`].
const TASK_TAKE: Work = Work(500);

/// What a workload is built for.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The machine, or the part of one, in use.
    pub machine: &'a Machine,
    /// Worker threads; `None`: as many as the machine in use has cores.
    pub threads: Option<u32>,
    /// Scales the amount of work (frames, runs, iterations; never the grain). Above 0.
    pub size: f64,
    /// Seeds what is irregular in a program, such as the lengths of short phases.
    pub seed: Seed,
    /// True if programs of rt-app files report the iterations of their phases.
    pub iterations: bool,
}

/// A seed that knows whether anything was made with it: a program that was made without is the same
/// for all seeds.
#[derive(Clone, Debug)]
pub struct Seed {
    value: u64,
    is_used: Cell<bool>,
}

impl Seed {
    /// The seed, to make something with it.
    pub(super) fn take(&self) -> u64 {
        self.is_used.set(true);
        self.value
    }

    /// True if something was made with it.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.is_used.get()
    }
}

impl From<u64> for Seed {
    fn from(value: u64) -> Self {
        Self { value, is_used: Cell::new(false) }
    }
}

impl<'a> Context<'a> {
    /// At full size, with as many threads as cores.
    pub fn new(machine: &'a Machine) -> Self {
        Self { machine, threads: None, size: 1.0, seed: Seed::from(1), iterations: false }
    }

    /// Worker threads by default.
    pub(super) fn workers(&self) -> u32 {
        self.threads.unwrap_or(u32::try_from(self.machine.cores.len()).unwrap_or(u32::MAX)).max(1)
    }

    /// `count` at the size asked for, at least 1.
    pub(super) fn scaled(&self, count: u64) -> u64 {
        ((count as f64 * self.size).round() as u64).max(1)
    }
}

/// An application in the making.
#[derive(Default)]
pub(super) struct Builder {
    app: Application,
}

impl Builder {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self { app: Application { name: name.into(), ..Application::default() } }
    }

    pub(super) fn phase(&mut self, phase: Phase) -> PhaseId {
        self.app.phases.push(phase);
        PhaseId(self.app.phases.len() as u32 - 1)
    }

    pub(super) fn barrier(&mut self, threads: u32) -> BarrierId {
        self.app.barriers.push(threads);
        BarrierId(self.app.barriers.len() as u32 - 1)
    }

    /// The first of `count` new locks.
    pub(super) fn locks(&mut self, count: u32) -> LockId {
        self.app.locks += count;
        LockId(self.app.locks - count)
    }

    pub(super) fn channel(&mut self, capacity: u32) -> ChannelId {
        self.add_channel(Channel::of(capacity))
    }

    /// A pipe of the kernel: see [`Channel::pipe`].
    pub(super) fn pipe(&mut self, capacity: u32) -> ChannelId {
        self.add_channel(Channel::pipe(capacity))
    }

    fn add_channel(&mut self, channel: Channel) -> ChannelId {
        self.app.channels.push(channel);
        ChannelId(self.app.channels.len() as u32 - 1)
    }

    pub(super) fn device(&mut self) -> DeviceId {
        self.app.devices += 1;
        DeviceId(self.app.devices - 1)
    }

    pub(super) fn parallel_loop(&mut self, parallel: ParallelLoop) -> LoopId {
        self.app.loops.push(parallel);
        LoopId(self.app.loops.len() as u32 - 1)
    }

    pub(super) fn graph(&mut self, graph: TaskGraph) -> GraphId {
        self.app.graphs.push(Arc::new(graph));
        GraphId(self.app.graphs.len() as u32 - 1)
    }

    /// A program; the same as an earlier one where the steps are equal.
    pub(super) fn program(&mut self, steps: Vec<Step>) -> ProgramId {
        let known = self.app.programs.iter().position(|program| program.steps == steps);
        let index = known.unwrap_or_else(|| {
            self.app.programs.push(Program { steps });
            self.app.programs.len() - 1
        });
        ProgramId(index as u32)
    }

    pub(super) fn thread(&mut self, name: impl Into<String>, group: u32, program: ProgramId) {
        self.spec(ThreadSpec { group, ..ThreadSpec::new(name, program) });
    }

    pub(super) fn spec(&mut self, thread: ThreadSpec) {
        self.app.threads.push(thread);
    }

    pub(super) fn finish(self) -> Application {
        self.app
    }

    /// The application itself, for what has no method here: timers, repetition, duration.
    pub(super) fn app(&mut self) -> &mut Application {
        &mut self.app
    }
}

/// Appends work, where there is any.
pub(super) fn compute(steps: &mut Vec<Step>, work: u64, phase: PhaseId) {
    if work > 0 {
        steps.push(Step::Compute { work: Work(work), phase });
    }
}

/// Repeats a body; gives the body itself if it runs once.
pub(super) fn repeat(times: u64, body: Vec<Step>) -> Vec<Step> {
    if times == 1 { body } else { vec![Step::Loop { times: Some(times), body }] }
}

/// Repeats a body until a queue that it receives from has ended.
pub(super) fn until_closed(body: Vec<Step>) -> Step {
    Step::Loop { times: None, body }
}

/// The share of `items` that falls to part `i` of `parts` when they are dealt out in equal blocks.
pub(super) fn block(items: u64, i: u64, parts: u64) -> u64 {
    let edge = |i: u64| (u128::from(items) * u128::from(i) / u128::from(parts)) as u64;
    edge(i + 1) - edge(i)
}

/// A task graph in the making, in order of creation.
#[derive(Default)]
pub(super) struct Graph {
    tasks: Vec<Task>,
    edges: Vec<(TaskId, TaskId)>,
}

impl Graph {
    pub(super) fn task(
        &mut self,
        work: u64,
        phase: PhaseId,
        after: impl IntoIterator<Item = TaskId>,
    ) -> TaskId {
        let id = TaskId(self.tasks.len() as u32);
        self.tasks.push(Task { work: Work(work), phase });
        self.edges.extend(after.into_iter().map(|before| (before, id)));
        id
    }

    pub(super) fn finish(self, workload: &str) -> Result<TaskGraph, WorkloadError> {
        let graph = TaskGraph::new(self.tasks, self.edges);
        let mut graph = graph
            .map_err(|source| WorkloadError::Graph { workload: workload.to_owned(), source })?;
        graph.create_cost = TASK_CREATE;
        graph.take_cost = TASK_TAKE;
        Ok(graph)
    }
}

/// Refuses more tasks than [`MOST_TASKS`].
pub(super) fn bounded_tasks(workload: &str, count: u64) -> Result<(), WorkloadError> {
    if count <= MOST_TASKS {
        return Ok(());
    }
    Err(WorkloadError::TooLarge {
        workload: workload.to_owned(),
        count,
        what: "tasks",
        most: MOST_TASKS,
    })
}
