//! From what each thread did to the application that does it again.

use std::collections::BTreeMap;

use evenkeel_machine::{Nanos, Work};

use super::Summary;
use super::facts::Places;
use super::fold::fold;
use super::timeline::{Act, Thread, Timeline};
use evenkeel_model::{
    Application, BarrierId, PhaseId, Program, ProgramId, SemaphoreId, Step, ThreadSpec,
};
use evenkeel_model::{Phase, Scaling};

/// What threads of a recorded program compute in: nanoseconds on the fastest core, as capacity has
/// it on others.
fn phase() -> Phase {
    Phase { reference_time: true, ..Phase::new("recorded", Scaling::Capacity) }
}

/// The application. Each pair of threads of which one woke the other has a semaphore of its own, so
/// a thread cannot take another thread's wake-up for the one that it waits for.
pub fn application(
    timeline: &Timeline,
    places: &Places,
    name: &str,
    barriers: &[u32],
) -> Application {
    let mut app = Application {
        name: name.to_owned(),
        phases: vec![phase()],
        barriers: barriers.to_vec(),
        ..Application::default()
    };
    let mut semaphores: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    let mut groups: BTreeMap<_, u32> = BTreeMap::new();
    // Templates are numbered in the order of the threads that are made from them.
    let mut templates = vec![0_u32; timeline.threads.len()];
    let mut count = 0;
    for (thread, template) in timeline.threads.iter().zip(&mut templates) {
        if thread.parent.is_some() {
            *template = count;
            count += 1;
        }
    }
    for thread in &timeline.threads {
        let steps = thread.moments.iter().filter_map(|moment| {
            let mut semaphore = |wake: usize| {
                let pair = (timeline.wakes[wake].waker, timeline.wakes[wake].sleeper);
                let next = semaphores.len() as u32;
                SemaphoreId(*semaphores.entry(pair).or_insert(next))
            };
            Some(match moment.act {
                Act::Compute(0) | Act::Sleep(Nanos::ZERO) => return None,
                Act::Compute(work) => Step::Compute { work: Work(work), phase: PhaseId(0) },
                Act::Sleep(time) => Step::Sleep(time),
                Act::Wait(wake) => Step::SemaphoreWait(semaphore(wake)),
                Act::Post(wake) => Step::SemaphorePost(semaphore(wake)),
                Act::Fork(child) => Step::Fork(templates[child]),
                Act::Barrier(barrier) => Step::Barrier(BarrierId(barrier as u32)),
                Act::JoinAll => Step::JoinAll,
            })
        });
        let steps = fold(joined(steps));
        let next = groups.len() as u32;
        let group = *groups.entry(thread.process).or_insert(next);
        let spec =
            ThreadSpec { group, ..spec(thread, places, ProgramId(app.programs.len() as u32)) };
        app.programs.push(Program { steps });
        if thread.parent.is_some() { app.templates.push(spec) } else { app.threads.push(spec) }
    }
    app.semaphores = vec![0; semaphores.len()];
    app
}

fn spec(thread: &Thread, places: &Places, program: ProgramId) -> ThreadSpec {
    ThreadSpec {
        affinity: thread.allowed.as_ref().and_then(|cpus| places.affinity(cpus)),
        delay: thread.delay,
        ..ThreadSpec::new(format!("{}-{}", thread.name, thread.tid.0), program)
    }
}

/// Joins work between two events into one piece, whatever cores it was done on.
fn joined(steps: impl Iterator<Item = Step>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for step in steps {
        match (all.last_mut(), &step) {
            (Some(Step::Compute { work: before, .. }), Step::Compute { work, .. }) => {
                *before += *work
            }
            _ => all.push(step),
        }
    }
    all
}

/// What was found.
pub fn summary(timeline: &Timeline, app: &Application) -> Summary {
    let acts =
        || timeline.threads.iter().flat_map(|thread| &thread.moments).map(|moment| &moment.act);
    let work = acts().map(|act| if let Act::Compute(work) = act { *work } else { 0 }).sum();
    let count = |is: fn(&Act) -> bool| acts().filter(|act| is(act)).count() as u64;
    Summary {
        threads: timeline.threads.len() as u64,
        bursts: timeline.bursts,
        blocks: timeline.blocks,
        sleeps: count(|act| matches!(act, Act::Sleep(_))),
        wakes: count(|act| matches!(act, Act::Wait(_))),
        forks: count(|act| matches!(act, Act::Fork(_))),
        joins: count(|act| matches!(act, Act::JoinAll)),
        barriers: app.barriers.len() as u64,
        meetings: 0,
        semaphores: app.semaphores.len() as u64,
        work_ns: work,
    }
}
