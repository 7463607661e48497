//! From applications to what stands in a file.

use super::document as doc;
use evenkeel_model::character::Character;
use evenkeel_model::{Application, Channel, Class, Iteration, Repeat, Step, ThreadSpec, TimerMode};
use evenkeel_model::{Phase, ReferenceCore, Scaling};
use evenkeel_model::{TaskGraph, TaskId};

/// All that an application is.
pub fn application(app: &Application) -> doc::Application {
    doc::Application {
        name: app.name.clone(),
        phases: app.phases.iter().map(phase).collect(),
        programs: app.programs.iter().map(|program| steps(&program.steps)).collect(),
        threads: app.threads.iter().map(thread).collect(),
        templates: app.templates.iter().map(thread).collect(),
        barriers: app.barriers.clone(),
        locks: app.locks,
        conditions: app.conditions,
        semaphores: app.semaphores.clone(),
        channels: app.channels.iter().map(channel).collect(),
        timers: app.timers,
        private_timers: app.private_timers,
        devices: app.devices,
        loops: app
            .loops
            .iter()
            .map(|it| doc::ParallelLoop {
                iterations: it.iterations,
                work: it.work.0,
                phase: it.phase.0,
                workers: it.workers,
                schedule: it.schedule.clone(),
                take_cost: it.take_cost.0,
            })
            .collect(),
        graphs: app.graphs.iter().map(|it| graph(it)).collect(),
        repeat_until_longest_ended: match app.repeat {
            Repeat::Once => None,
            Repeat::UntilLongestEnded(times) => Some(times),
        },
        duration_ns: app.duration.map(|time| time.0),
        notes: app.notes.clone(),
    }
}

fn phase(phase: &Phase) -> doc::Phase {
    doc::Phase {
        name: phase.name.clone(),
        scaling: match phase.scaling {
            Scaling::Capacity => doc::Scaling::Capacity,
            Scaling::Factor(factor) => doc::Scaling::Factor(factor),
            Scaling::MeasuredAt { factor, capacity_ratio } => {
                doc::Scaling::MeasuredAt { factor, capacity_ratio }
            }
        },
        ipc: phase.ipc,
        bytes_per_instruction: phase.bytes_per_instruction,
        working_set_bytes: phase.working_set,
        activity: phase.activity,
        reference_time: phase.reference_time,
        reference: match phase.reference {
            ReferenceCore::Fastest => doc::Reference::Fastest,
            ReferenceCore::Numbered(core) => doc::Reference::Core(core.0),
            ReferenceCore::OfCapacity(capacity) => doc::Reference::Capacity(capacity),
        },
        character: phase.character.as_deref().map(character),
    }
}

fn character(character: &Character) -> doc::Character {
    doc::Character {
        parallelism: doc::Parallelism {
            coefficient: character.parallelism.coefficient,
            exponent: character.parallelism.exponent,
        },
        latency: character.latency,
        branches: character.branches,
        branch_misses: character.branch_misses,
        data_misses: character.data_misses.points().to_vec(),
        code_misses: character.code_misses.points().to_vec(),
        data_tlb_misses: character.data_tlb_misses.points().to_vec(),
        code_tlb_misses: character.code_tlb_misses.points().to_vec(),
        memory_parallelism: character.memory_parallelism,
    }
}

fn channel(channel: &Channel) -> doc::Channel {
    match *channel {
        Channel { capacity, synchronous: false } => doc::Channel::Own(capacity),
        Channel { capacity, synchronous: true } => doc::Channel::Pipe { pipe: capacity },
    }
}

fn thread(thread: &ThreadSpec) -> doc::Thread {
    doc::Thread {
        name: thread.name.clone(),
        program: thread.program.0,
        group: thread.group,
        nice: thread.nice,
        class: class(thread.class),
        affinity: thread.affinity.as_ref().map(|cores| cores.iter().map(|core| core.0).collect()),
        delay_ns: thread.delay.0,
        util_min: thread.util_min,
        util_max: thread.util_max,
    }
}

fn class(class: Class) -> doc::Class {
    match class {
        Class::Normal => doc::Class::Normal,
        Class::Idle => doc::Class::Idle,
        Class::RealTime { priority, round_robin: false } => doc::Class::Fifo(priority),
        Class::RealTime { priority, round_robin: true } => doc::Class::RoundRobin(priority),
        Class::Deadline { runtime, period, deadline } => doc::Class::Deadline {
            runtime_ns: runtime.0,
            period_ns: period.0,
            deadline_ns: deadline.0,
        },
    }
}

fn steps(steps: &[Step]) -> Vec<doc::Step> {
    steps.iter().map(step).collect()
}

fn step(step: &Step) -> doc::Step {
    match step {
        Step::Compute { work, phase } => doc::Step::Compute { work: work.0, phase: phase.0 },
        Step::Busy { time, phase } => doc::Step::Busy { time_ns: time.0, phase: phase.0 },
        Step::Sleep(time) => doc::Step::SleepNs(time.0),
        Step::Timer { timer, period, mode } => doc::Step::Timer {
            timer: timer.0,
            period_ns: period.0,
            absolute: *mode == TimerMode::Absolute,
        },
        Step::Barrier(barrier) => doc::Step::Barrier(barrier.0),
        Step::Lock(lock) => doc::Step::Lock(lock.0),
        Step::Unlock(lock) => doc::Step::Unlock(lock.0),
        Step::Wait { condition, lock } => doc::Step::Wait(doc::Condition {
            condition: condition.0,
            lock: lock.map(|lock| lock.0),
        }),
        Step::Signal(condition) => doc::Step::Signal(condition.0),
        Step::Broadcast(condition) => doc::Step::Broadcast(condition.0),
        Step::SignalAndWait { condition, lock } => doc::Step::SignalAndWait(doc::Condition {
            condition: condition.0,
            lock: lock.map(|lock| lock.0),
        }),
        Step::SemaphorePost(semaphore) => doc::Step::SemaphorePost(semaphore.0),
        Step::SemaphoreWait(semaphore) => doc::Step::SemaphoreWait(semaphore.0),
        Step::Send(channel) => doc::Step::Send(channel.0),
        Step::Receive(channel) => doc::Step::Receive(channel.0),
        Step::Close { channel, senders } => {
            doc::Step::Close { channel: channel.0, senders: *senders }
        }
        Step::Io { device, time } => doc::Step::Io { device: device.0, time_ns: time.0 },
        Step::Fork(template) => doc::Step::Fork(*template),
        Step::JoinAll => doc::Step::JoinAll,
        Step::Suspend => doc::Step::Suspend,
        Step::Resume(name) => doc::Step::Resume(name.clone()),
        Step::Yield => doc::Step::Yield,
        Step::Loop { times, body } => doc::Step::Loop { times: *times, body: steps(body) },
        Step::ParallelFor(parallel) => doc::Step::ParallelFor(parallel.0),
        Step::RunTasks(graph) => doc::Step::RunTasks(graph.0),
        Step::Milestone => doc::Step::Milestone,
        Step::Iteration(Iteration::Begins) => doc::Step::IterationBegins,
        Step::Iteration(Iteration::Ends { phase, of, loops }) => {
            doc::Step::IterationEnds { phase: *phase, of: *of, loops: *loops }
        }
        Step::SetClass(it) => doc::Step::SetClass(class(*it)),
        Step::SetNice(nice) => doc::Step::SetNice(*nice),
        Step::SetAffinity(cores) => doc::Step::SetAffinity(
            cores.as_ref().map(|cores| cores.iter().map(|core| core.0).collect()),
        ),
        Step::SetClamps { util_min, util_max } => {
            doc::Step::SetClamps { util_min: *util_min, util_max: *util_max }
        }
    }
}

fn graph(graph: &TaskGraph) -> doc::Graph {
    let tasks = graph
        .tasks
        .iter()
        .map(|task| doc::Task { work: task.work.0, phase: task.phase.0 })
        .collect();
    let after = |from: u32| graph.successors(TaskId(from)).iter().map(move |to| (from, to.0));
    doc::Graph {
        tasks,
        edges: (0..graph.tasks.len() as u32).flat_map(after).collect(),
        volumes: (0..graph.tasks.len() as u32)
            .flat_map(|from| graph.volumes(TaskId(from)))
            .copied()
            .collect(),
        create_cost: graph.create_cost.0,
        take_cost: graph.take_cost.0,
    }
}
