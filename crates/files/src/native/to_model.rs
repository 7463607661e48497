//! From what stands in a file to applications.

use std::sync::Arc;

use evenkeel_machine::{CoreId, Nanos, Work};

use super::document as doc;
use evenkeel_model::character::{Character, MissCurve, Parallelism};
use evenkeel_model::{
    Application, BarrierId, Channel, ChannelId, Class, ConditionId, DeviceId, GraphId, Iteration,
    LockId, LoopId, ParallelLoop, PhaseId, Program, ProgramId, Repeat, SemaphoreId, Step,
    ThreadSpec, TimerId, TimerMode,
};
use evenkeel_model::{BadEdge, Task, TaskGraph, TaskId};
use evenkeel_model::{Phase, ReferenceCore, Scaling};

/// The application that is described, not validated.
///
/// # Errors
/// The number of a task graph that is none, and why.
pub fn application(app: doc::Application) -> Result<Application, (usize, BadEdge)> {
    let graphs = app.graphs.into_iter().enumerate();
    let graphs = graphs.map(|(index, it)| graph(it).map(Arc::new).map_err(|error| (index, error)));
    Ok(Application {
        name: app.name,
        phases: app.phases.into_iter().map(phase).collect(),
        programs: app.programs.into_iter().map(|it| Program { steps: steps(it) }).collect(),
        threads: app.threads.into_iter().map(thread).collect(),
        templates: app.templates.into_iter().map(thread).collect(),
        barriers: app.barriers,
        locks: app.locks,
        conditions: app.conditions,
        semaphores: app.semaphores,
        channels: app.channels.iter().map(channel).collect(),
        timers: app.timers,
        private_timers: app.private_timers,
        devices: app.devices,
        loops: app
            .loops
            .into_iter()
            .map(|it| ParallelLoop {
                iterations: it.iterations,
                work: Work(it.work),
                phase: PhaseId(it.phase),
                workers: it.workers,
                schedule: it.schedule,
                take_cost: Work(it.take_cost),
            })
            .collect(),
        graphs: graphs.collect::<Result<_, _>>()?,
        repeat: app.repeat_until_longest_ended.map_or(Repeat::Once, Repeat::UntilLongestEnded),
        duration: app.duration_ns.map(Nanos),
        notes: app.notes,
    })
}

fn channel(channel: &doc::Channel) -> Channel {
    match *channel {
        doc::Channel::Own(capacity) => Channel::of(capacity),
        doc::Channel::Pipe { pipe } => Channel::pipe(pipe),
    }
}

fn phase(phase: doc::Phase) -> Phase {
    Phase {
        name: phase.name,
        scaling: match phase.scaling {
            doc::Scaling::Capacity => Scaling::Capacity,
            doc::Scaling::Factor(factor) => Scaling::Factor(factor),
            doc::Scaling::MeasuredAt { factor, capacity_ratio } => {
                Scaling::MeasuredAt { factor, capacity_ratio }
            }
        },
        ipc: phase.ipc,
        bytes_per_instruction: phase.bytes_per_instruction,
        working_set: phase.working_set_bytes,
        activity: phase.activity,
        reference_time: phase.reference_time,
        reference: match phase.reference {
            doc::Reference::Fastest => ReferenceCore::Fastest,
            doc::Reference::Core(core) => ReferenceCore::Numbered(CoreId(core)),
            doc::Reference::Capacity(capacity) => ReferenceCore::OfCapacity(capacity),
        },
        character: phase.character.map(|it| Box::new(character(it))),
    }
}

/// The first curve that is none, and why: `phases[2].character.data_misses: ...`.
pub fn check_curves(phases: &[doc::Phase]) -> Result<(), String> {
    for (p, phase) in phases.iter().enumerate() {
        let Some(it) = &phase.character else { continue };
        let curves = [
            ("data_misses", &it.data_misses),
            ("code_misses", &it.code_misses),
            ("data_tlb_misses", &it.data_tlb_misses),
            ("code_tlb_misses", &it.code_tlb_misses),
        ];
        for (name, points) in curves {
            MissCurve::new(points.clone())
                .map_err(|error| format!("phases[{p}].character.{name}: {error}"))?;
        }
    }
    Ok(())
}

fn character(character: doc::Character) -> Character {
    // `check_curves` has refused what is no curve.
    let curve = |points| MissCurve::new(points).unwrap_or_default();
    Character {
        parallelism: Parallelism {
            coefficient: character.parallelism.coefficient,
            exponent: character.parallelism.exponent,
        },
        latency: character.latency,
        branches: character.branches,
        branch_misses: character.branch_misses,
        data_misses: curve(character.data_misses),
        code_misses: curve(character.code_misses),
        data_tlb_misses: curve(character.data_tlb_misses),
        code_tlb_misses: curve(character.code_tlb_misses),
        memory_parallelism: character.memory_parallelism,
    }
}

fn thread(thread: doc::Thread) -> ThreadSpec {
    ThreadSpec {
        name: thread.name,
        program: ProgramId(thread.program),
        group: thread.group,
        nice: thread.nice,
        class: class(&thread.class),
        affinity: thread.affinity.map(|cores| cores.into_iter().map(CoreId).collect()),
        delay: Nanos(thread.delay_ns),
        util_min: thread.util_min,
        util_max: thread.util_max,
    }
}

fn class(class: &doc::Class) -> Class {
    match *class {
        doc::Class::Normal => Class::Normal,
        doc::Class::Idle => Class::Idle,
        doc::Class::Fifo(priority) => Class::RealTime { priority, round_robin: false },
        doc::Class::RoundRobin(priority) => Class::RealTime { priority, round_robin: true },
        doc::Class::Deadline { runtime_ns, period_ns, deadline_ns } => Class::Deadline {
            runtime: Nanos(runtime_ns),
            period: Nanos(period_ns),
            deadline: Nanos(deadline_ns),
        },
    }
}

fn steps(steps: Vec<doc::Step>) -> Vec<Step> {
    steps.into_iter().map(step).collect()
}

fn step(step: doc::Step) -> Step {
    match step {
        doc::Step::Compute { work, phase } => {
            Step::Compute { work: Work(work), phase: PhaseId(phase) }
        }
        doc::Step::Busy { time_ns, phase } => {
            Step::Busy { time: Nanos(time_ns), phase: PhaseId(phase) }
        }
        doc::Step::SleepNs(time) => Step::Sleep(Nanos(time)),
        doc::Step::Timer { timer, period_ns, absolute } => Step::Timer {
            timer: TimerId(timer),
            period: Nanos(period_ns),
            mode: if absolute { TimerMode::Absolute } else { TimerMode::Relative },
        },
        doc::Step::Barrier(barrier) => Step::Barrier(BarrierId(barrier)),
        doc::Step::Lock(lock) => Step::Lock(LockId(lock)),
        doc::Step::Unlock(lock) => Step::Unlock(LockId(lock)),
        doc::Step::Wait(it) => {
            Step::Wait { condition: ConditionId(it.condition), lock: it.lock.map(LockId) }
        }
        doc::Step::Signal(condition) => Step::Signal(ConditionId(condition)),
        doc::Step::Broadcast(condition) => Step::Broadcast(ConditionId(condition)),
        doc::Step::SignalAndWait(it) => {
            Step::SignalAndWait { condition: ConditionId(it.condition), lock: it.lock.map(LockId) }
        }
        doc::Step::SemaphorePost(semaphore) => Step::SemaphorePost(SemaphoreId(semaphore)),
        doc::Step::SemaphoreWait(semaphore) => Step::SemaphoreWait(SemaphoreId(semaphore)),
        doc::Step::Send(channel) => Step::Send(ChannelId(channel)),
        doc::Step::Receive(channel) => Step::Receive(ChannelId(channel)),
        doc::Step::Close { channel, senders } => {
            Step::Close { channel: ChannelId(channel), senders }
        }
        doc::Step::Io { device, time_ns } => {
            Step::Io { device: DeviceId(device), time: Nanos(time_ns) }
        }
        doc::Step::Fork(template) => Step::Fork(template),
        doc::Step::JoinAll => Step::JoinAll,
        doc::Step::Suspend => Step::Suspend,
        doc::Step::Resume(name) => Step::Resume(name),
        doc::Step::Yield => Step::Yield,
        doc::Step::Loop { times, body } => Step::Loop { times, body: steps(body) },
        doc::Step::ParallelFor(parallel) => Step::ParallelFor(LoopId(parallel)),
        doc::Step::RunTasks(graph) => Step::RunTasks(GraphId(graph)),
        doc::Step::Milestone => Step::Milestone,
        doc::Step::IterationBegins => Step::Iteration(Iteration::Begins),
        doc::Step::IterationEnds { phase, of, loops } => {
            Step::Iteration(Iteration::Ends { phase, of, loops })
        }
        doc::Step::SetClass(it) => Step::SetClass(class(&it)),
        doc::Step::SetNice(nice) => Step::SetNice(nice),
        doc::Step::SetAffinity(cores) => {
            Step::SetAffinity(cores.map(|cores| cores.into_iter().map(CoreId).collect()))
        }
        doc::Step::SetClamps { util_min, util_max } => Step::SetClamps { util_min, util_max },
    }
}

fn graph(graph: doc::Graph) -> Result<TaskGraph, BadEdge> {
    let tasks = graph
        .tasks
        .into_iter()
        .map(|task| Task { work: Work(task.work), phase: PhaseId(task.phase) });
    let edges = graph.edges.into_iter().map(|(from, to)| (TaskId(from), TaskId(to)));
    let mut built = if graph.volumes.is_empty() {
        TaskGraph::new(tasks.collect(), edges.collect())?
    } else {
        let edges = edges.zip(graph.volumes).map(|((from, to), bytes)| (from, to, bytes));
        TaskGraph::with_volumes(tasks.collect(), edges.collect())?
    };
    (built.create_cost, built.take_cost) = (Work(graph.create_cost), Work(graph.take_cost));
    Ok(built)
}
