//! Programs as the simulator runs them: trees of steps laid out flat, with jumps for loops, and
//! what can be said of a program without running it.

use std::sync::Arc;

use evenkeel_machine::{CoreId, Nanos, Work};
use evenkeel_model::{
    Application, Class, GraphId, Iteration, LoopId, PhaseId, ProgramId, Step, TimerMode,
};

/// A character of work: a phase of one application, dense over all applications of a run.
pub type Row = u32;

/// One step, flat. Objects are numbered within their application.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    Compute {
        work: u64,
        row: Row,
    },
    Busy {
        time: Nanos,
        row: Row,
    },
    Sleep(Nanos),
    Timer {
        timer: u32,
        period: Nanos,
        mode: TimerMode,
    },
    /// A wait for a timer is over, and the thread runs.
    Expired,
    Barrier(u32),
    Lock(u32),
    Unlock(u32),
    Wait {
        condition: u32,
        lock: Option<u32>,
    },
    Signal(u32),
    Broadcast(u32),
    SignalAndWait {
        condition: u32,
        lock: Option<u32>,
    },
    Post(u32),
    TakeSemaphore(u32),
    Send(u32),
    /// Jumps to `exit` where the queue is closed and empty.
    Receive {
        channel: u32,
        exit: u32,
    },
    Close {
        channel: u32,
        senders: u32,
    },
    Io {
        device: u32,
        time: Nanos,
    },
    Fork(u32),
    JoinAll,
    Suspend,
    Resume(Box<str>),
    Yield,
    /// Starts a loop of `times` rounds (none: for ever); `end` is behind it.
    LoopStart {
        depth: u8,
        times: Option<u64>,
        end: u32,
    },
    /// `round`: work of one round, where it passes no milestone; otherwise [`UNTOLD`].
    LoopEnd {
        depth: u8,
        body: u32,
        round: u64,
    },
    ParallelFor(u32),
    RunTasks(u32),
    Milestone,
    Iteration(Iteration),
    SetClass(Class),
    SetNice(i8),
    SetAffinity(Option<Arc<[CoreId]>>),
    SetClamps {
        util_min: Option<u32>,
        util_max: Option<u32>,
    },
    End,
}

/// One program, laid out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flat {
    /// Index of its first op.
    pub start: u32,
    /// How deep its loops nest.
    pub depth: u8,
    /// True if it can run for ever: a loop without an end, and no queue whose closing would end it.
    pub endless: bool,
    /// Work by row, a shared loop's and graph's counted in the thread's share; endless loops once.
    pub work: Vec<(Row, f64)>,
    /// Milestones that it passes, its end included; endless loops once.
    pub milestones: f64,
    /// Loops and graphs that it takes part in.
    pub loops: Vec<u32>,
    /// See `loops`.
    pub graphs: Vec<u32>,
    /// True if it resumes threads by name.
    pub resumes: bool,
    /// Templates that it forks from.
    pub forks: Vec<u32>,
}

impl Flat {
    /// Work between two milestones in the mean: what a profile of it says.
    pub fn mean_distance(&self) -> u64 {
        let total: f64 = self.work.iter().map(|(_, work)| work).sum();
        (total / self.milestones) as u64
    }

    /// True if it takes part in work that threads share.
    pub fn shares(&self) -> bool {
        !self.loops.is_empty() || !self.graphs.is_empty()
    }
}

/// Loops nest this deep at most.
pub const MAX_DEPTH: usize = 64;

/// Lays the programs of an application out behind `ops`.
pub fn lay_out(app: &Application, first_row: Row, ops: &mut Vec<Op>) -> Result<Vec<Flat>, String> {
    let mut closed = Vec::new();
    app.programs.iter().for_each(|program| find_closed(&program.steps, &mut closed));
    (0..app.programs.len())
        .map(|index| {
            let mut layout = Layout {
                app,
                first_row,
                ops,
                flat: Flat::default(),
                workers: 1.0,
                closed: &closed,
                way: Way::default(),
            };
            layout.flat.start = layout.ops.len() as u32;
            layout.workers = f64::from(threads_of(app, ProgramId(index as u32)).max(1));
            layout.steps(&app.programs[index].steps, 0, 1.0)?;
            layout.flat.milestones += 1.0;
            layout.ops.push(Op::End);
            Ok(layout.flat)
        })
        .collect()
}

fn find_closed(steps: &[Step], closed: &mut Vec<u32>) {
    for step in steps {
        match step {
            Step::Close { channel, .. } => closed.push(channel.0),
            Step::Loop { body, .. } => find_closed(body, closed),
            Step::Compute { .. }
            | Step::Busy { .. }
            | Step::Sleep(_)
            | Step::Timer { .. }
            | Step::Barrier(_)
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Wait { .. }
            | Step::Signal(_)
            | Step::Broadcast(_)
            | Step::SignalAndWait { .. }
            | Step::SemaphorePost(_)
            | Step::SemaphoreWait(_)
            | Step::Send(_)
            | Step::Receive(_)
            | Step::Io { .. }
            | Step::Fork(_)
            | Step::JoinAll
            | Step::Suspend
            | Step::Resume(_)
            | Step::Yield
            | Step::ParallelFor(_)
            | Step::RunTasks(_)
            | Step::Milestone
            | Step::Iteration(_)
            | Step::SetClass(_)
            | Step::SetNice(_)
            | Step::SetAffinity(_)
            | Step::SetClamps { .. } => {}
        }
    }
}

/// How many of an application's first threads run a program.
fn threads_of(app: &Application, program: ProgramId) -> u32 {
    app.threads.iter().filter(|thread| thread.program == program).count() as u32
}

struct Layout<'a> {
    app: &'a Application,
    first_row: Row,
    ops: &'a mut Vec<Op>,
    flat: Flat,
    workers: f64,
    /// Queues that some step closes.
    closed: &'a [u32],
    way: Way,
}

/// What has been laid out of the body of the innermost loop, once through.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    work: u64,
    milestones: bool,
}

impl Layout<'_> {
    fn steps(&mut self, steps: &[Step], depth: usize, rounds: f64) -> Result<(), String> {
        steps.iter().try_for_each(|step| self.step(step, depth, rounds))
    }

    fn step(&mut self, step: &Step, depth: usize, rounds: f64) -> Result<(), String> {
        let op = match *step {
            Step::Compute { work, phase } => {
                self.count(phase, work.0 as f64 * rounds);
                self.way.work = self.way.work.saturating_add(work.0);
                Op::Compute { work: work.0, row: self.first_row + phase.0 }
            }
            Step::Busy { time, phase } => Op::Busy { time, row: self.first_row + phase.0 },
            Step::Sleep(time) => Op::Sleep(time),
            Step::Timer { timer, period, mode } => {
                self.ops.push(Op::Timer { timer: timer.0, period, mode });
                Op::Expired
            }
            Step::Barrier(barrier) => {
                self.milestone(rounds);
                Op::Barrier(barrier.0)
            }
            Step::Lock(lock) => Op::Lock(lock.0),
            Step::Unlock(lock) => Op::Unlock(lock.0),
            Step::Wait { condition, lock } => {
                Op::Wait { condition: condition.0, lock: lock.map(|lock| lock.0) }
            }
            Step::Signal(condition) => Op::Signal(condition.0),
            Step::Broadcast(condition) => Op::Broadcast(condition.0),
            Step::SignalAndWait { condition, lock } => {
                Op::SignalAndWait { condition: condition.0, lock: lock.map(|lock| lock.0) }
            }
            Step::SemaphorePost(semaphore) => Op::Post(semaphore.0),
            Step::SemaphoreWait(semaphore) => Op::TakeSemaphore(semaphore.0),
            Step::Send(channel) => Op::Send(channel.0),
            // The exit is known once the loop around it has been laid out.
            Step::Receive(channel) => Op::Receive { channel: channel.0, exit: UNKNOWN },
            Step::Close { channel, senders } => Op::Close { channel: channel.0, senders },
            Step::Io { device, time } => Op::Io { device: device.0, time },
            Step::Fork(template) => {
                if !self.flat.forks.contains(&template) {
                    self.flat.forks.push(template);
                }
                Op::Fork(template)
            }
            Step::JoinAll => {
                self.milestone(rounds);
                Op::JoinAll
            }
            Step::Suspend => Op::Suspend,
            Step::Resume(ref name) => {
                self.flat.resumes = true;
                Op::Resume(name.as_str().into())
            }
            Step::Yield => Op::Yield,
            Step::Loop { times, ref body } => return self.repeat(times, body, depth, rounds),
            Step::ParallelFor(shared) => self.parallel_for(shared, rounds),
            Step::RunTasks(graph) => self.run_tasks(graph, rounds),
            Step::Milestone => {
                self.milestone(rounds);
                Op::Milestone
            }
            Step::Iteration(iteration) => Op::Iteration(iteration),
            Step::SetClass(class) => Op::SetClass(class),
            Step::SetNice(nice) => Op::SetNice(nice),
            Step::SetAffinity(ref cores) => Op::SetAffinity(cores.clone()),
            Step::SetClamps { util_min, util_max } => Op::SetClamps { util_min, util_max },
        };
        self.ops.push(op);
        Ok(())
    }

    fn repeat(
        &mut self,
        times: Option<u64>,
        body: &[Step],
        depth: usize,
        rounds: f64,
    ) -> Result<(), String> {
        if depth >= MAX_DEPTH {
            return Err(format!("loops nest deeper than {MAX_DEPTH}"));
        }
        self.flat.depth = self.flat.depth.max(depth as u8 + 1);
        let start = self.ops.len();
        self.ops.push(Op::LoopStart { depth: depth as u8, times, end: UNKNOWN });
        let before = std::mem::take(&mut self.way);
        self.steps(body, depth + 1, rounds * times.unwrap_or(1) as f64)?;
        let round = self.way;
        let all = round.work.saturating_mul(times.unwrap_or(1));
        self.way = Way {
            work: before.work.saturating_add(all),
            milestones: before.milestones || round.milestones,
        };
        let round = if round.milestones { UNTOLD } else { round.work };
        self.ops.push(Op::LoopEnd { depth: depth as u8, body: start as u32 + 1, round });
        let end = self.ops.len() as u32;
        self.ops[start] = Op::LoopStart { depth: depth as u8, times, end };
        let mut closes = false;
        for op in &mut self.ops[start..] {
            if let Op::Receive { exit, channel } = op
                && *exit == UNKNOWN
            {
                *exit = end;
                closes |= self.closed.contains(channel);
            }
        }
        if times.is_none() && !closes {
            self.flat.endless = true;
        }
        Ok(())
    }

    fn milestone(&mut self, rounds: f64) {
        self.flat.milestones += rounds;
        self.way.milestones = true;
    }

    fn parallel_for(&mut self, shared: LoopId, rounds: f64) -> Op {
        let spec = &self.app.loops[shared.index()];
        let share = spec.iterations as f64 * spec.work.0 as f64 / f64::from(spec.workers.max(1));
        self.count(spec.phase, share * rounds);
        let index = shared.0;
        self.way.work = self.way.work.saturating_add(share_of(self.app, &Op::ParallelFor(index)));
        if !self.flat.loops.contains(&index) {
            self.flat.loops.push(index);
        }
        Op::ParallelFor(index)
    }

    fn run_tasks(&mut self, graph: GraphId, rounds: f64) -> Op {
        let tasks = &self.app.graphs[graph.index()].tasks;
        let mut by_phase: Vec<(PhaseId, f64)> = Vec::new();
        for task in tasks {
            match by_phase.iter_mut().find(|(phase, _)| *phase == task.phase) {
                Some((_, work)) => *work += task.work.0 as f64,
                None => by_phase.push((task.phase, task.work.0 as f64)),
            }
        }
        for (phase, work) in by_phase {
            self.count(phase, work / self.workers * rounds);
        }
        let index = graph.0;
        self.way.work = self.way.work.saturating_add(share_of(self.app, &Op::RunTasks(index)));
        if !self.flat.graphs.contains(&index) {
            self.flat.graphs.push(index);
        }
        Op::RunTasks(index)
    }

    fn count(&mut self, phase: PhaseId, work: f64) {
        let row = self.first_row + phase.0;
        match self.flat.work.iter_mut().find(|(known, _)| *known == row) {
            Some((_, sum)) => *sum += work,
            None => self.flat.work.push((row, work)),
        }
    }
}

const UNKNOWN: u32 = u32::MAX;

/// Work of a round that passes a milestone.
const UNTOLD: u64 = u64::MAX;

/// A thread's share of an op's work: all of it, or of a shared loop or graph an equal part,
/// instructions.
fn share_of(app: &Application, op: &Op) -> u64 {
    match *op {
        Op::Compute { work, .. } => work,
        Op::ParallelFor(shared) => {
            let shared = &app.loops[shared as usize];
            shared.iterations.saturating_mul(shared.work.0) / u64::from(shared.workers.max(1))
        }
        Op::RunTasks(graph) => {
            let total: u64 = app.graphs[graph as usize].tasks.iter().map(|task| task.work.0).sum();
            total / app.threads.len().max(1) as u64
        }
        _ => 0,
    }
}

/// Ops that [`distance`] looks at before it gives up. Loops without a milestone in them count as
/// one.
const HORIZON: u32 = 10_000;

/// Work from an op of this application to the next milestone, given the rounds left of the loops
/// around it; none where that is further than can be seen, or behind a loop without an end. Work of
/// shared loops and graphs counts in equal shares.
pub fn distance(app: &Application, ops: &[Op], mut pc: usize, rounds: &[u64]) -> Option<Work> {
    let mut rounds = rounds.to_vec();
    let mut work = 0u64;
    for _ in 0..HORIZON {
        match &ops[pc] {
            Op::Barrier(_) | Op::JoinAll | Op::Milestone | Op::End => return Some(Work(work)),
            Op::LoopStart { depth, times, end } => match ops[*end as usize - 1] {
                _ if *times == Some(0) => {
                    pc = *end as usize;
                    continue;
                }
                Op::LoopEnd { round, .. } if round != UNTOLD => {
                    work = work.saturating_add(round.saturating_mul((*times)?));
                    pc = *end as usize;
                    continue;
                }
                _ => rounds[*depth as usize] = times.unwrap_or(u64::MAX),
            },
            Op::LoopEnd { depth, body, round } => {
                let left = &mut rounds[*depth as usize];
                if *round != UNTOLD {
                    let more = Some(*left).filter(|&left| left < u64::MAX)?.saturating_sub(1);
                    work = work.saturating_add(round.saturating_mul(more));
                } else if *left > 1 {
                    *left -= u64::from(*left < u64::MAX);
                    pc = *body as usize;
                    continue;
                }
            }
            op => work = work.saturating_add(share_of(app, op)),
        }
        pc += 1;
    }
    None
}
