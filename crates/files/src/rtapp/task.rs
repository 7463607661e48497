//! The section `tasks`: tasks and phases, as programs and threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_machine::{CoreId, Nanos};

use super::error::{Fault, Problem};
use super::event::{Events, PRIVATE_TIMER, Task};
use super::global::Global;
use super::json::Member;
use super::keys::{self, Event};
use super::names::Resources;
use super::notes::Notes;
use super::place::{GREATEST, Given, Place};
use super::schedule::{Parameters, Schedule};
use evenkeel_model::{Application, Iteration, Program, ProgramId, Step, ThreadSpec, TimerMode};

/// The most threads that a file may start: 65,536.
pub const MAX_THREADS: u64 = 1 << 16;

/// The longest name of a task, in bytes. Linux cuts a thread's name to 15.
pub const MAX_NAME_BYTES: usize = 256;

/// The most CPU numbers in the affinities of all threads together.
const MAX_AFFINITY_ENTRIES: u64 = 1 << 22;

/// What is kept of a task once its program is made.
struct TaskRead<'t> {
    member: &'t Member,
    instances: u32,
    /// The first instance; the others differ in name only.
    thread: ThreadSpec,
    absolute_timers: BTreeSet<u32>,
}

/// Makes the application of a file's tasks.
pub fn read(
    name: &str,
    section: &Member,
    global: Global,
    resources: Resources,
    notes: Notes,
    iterations: bool,
) -> Result<Application, Fault> {
    let members = Place::Root.object(section, "an object of tasks")?;
    let mut names = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        names.entry(member.key.as_str()).or_insert(index);
    }
    let mut app =
        Application { name: name.to_owned(), duration: global.duration, ..Application::default() };
    let mut events = Events::new(global, resources, notes, names);
    events.iterations = iterations;
    let mut tasks = Vec::new();
    let (mut threads, mut affinity_entries) = (0_u64, 0_u64);
    for (index, member) in members.iter().enumerate() {
        let (task, program) = read_task(&mut events, index, member, &mut app.private_timers)?;
        threads += u64::from(task.instances);
        let cores = task.thread.affinity.as_ref().map_or(0, Vec::len) as u64;
        affinity_entries += cores * u64::from(task.instances);
        let many = [
            (threads, "threads by now", MAX_THREADS),
            (affinity_entries, "CPU numbers of threads by now", MAX_AFFINITY_ENTRIES),
        ];
        if let Some(&(found, what, most)) = many.iter().find(|(found, _, most)| found > most) {
            return Err(
                Place::Task(&member.key).fault(member.at, Problem::TooMany { found, what, most })
            );
        }
        app.programs.push(program);
        tasks.push(task);
    }
    if threads == 0 {
        let what = "no task of an instance to start".to_owned();
        return Err(Place::Root.fault_of(section.at, &section.key, Problem::Contradiction(what)));
    }
    finish(app, events, &tasks)
}

fn finish(
    mut app: Application,
    mut events: Events<'_>,
    tasks: &[TaskRead<'_>],
) -> Result<Application, Fault> {
    for barrier in &events.resources.barriers {
        if barrier.parties == 0 {
            let what = "only tasks of instance 0 name it, so that it would never open".to_owned();
            return Err(Place::Root.fault_of(
                barrier.at,
                &barrier.name,
                Problem::Contradiction(what),
            ));
        }
        app.barriers.push(barrier.parties);
    }
    app.locks = events.resources.locks.count();
    app.conditions = events.resources.conditions.count();
    app.semaphores = vec![0; events.resources.semaphores.count() as usize];
    app.timers = events.resources.timers.count();
    app.devices = events.devices;
    app.phases = std::mem::take(&mut events.phases);
    for (program, task) in app.programs.iter_mut().zip(tasks) {
        let shared = (app.timers, &events.resources.absolute_timers);
        settle_timers(&mut program.steps, shared, &task.absolute_timers);
    }
    let mut endless = false;
    for (task, program) in tasks.iter().zip(&app.programs) {
        if app.spins(&program.steps) {
            let what = "loops for ever and no event of the loop takes time".to_owned();
            return Err(
                Place::Task(&task.member.key).fault(task.member.at, Problem::Contradiction(what))
            );
        }
        endless |= task.instances > 0
            && program.steps.iter().any(|step| matches!(step, Step::Loop { times: None, .. }));
    }
    if endless && app.duration.is_none() {
        events.notes.add(
            "a task loops for ever and global.duration sets no end: something else \
                          must end the run",
        );
    }
    for (index, task) in tasks.iter().enumerate() {
        for _ in 0..task.instances {
            let name = format!("{}-{}", task.thread.name, app.threads.len());
            app.threads.push(ThreadSpec { name, ..task.thread.clone() });
        }
        if task.instances == 0 && !events.is_forked(index) {
            events.notes.add("a task of instance 0 that nothing forks: it never runs");
        }
    }
    app.templates = events
        .forked
        .iter()
        .filter_map(|&index| tasks.get(index))
        .map(|task| task.thread.clone())
        .collect();
    app.notes = events.notes.into_strings();
    Ok(app)
}

/// Numbers a thread's own timers after the shared ones, and makes a timer absolute everywhere if it
/// is so anywhere.
fn settle_timers(steps: &mut [Step], shared: (u32, &BTreeSet<u32>), own_absolute: &BTreeSet<u32>) {
    let (shared_count, shared_absolute) = shared;
    for step in steps {
        match step {
            Step::Loop { body, .. } => settle_timers(body, shared, own_absolute),
            Step::Timer { timer, mode, .. } => {
                let own = timer.0 & PRIVATE_TIMER != 0;
                let number = timer.0 & !PRIVATE_TIMER;
                let absolute = if own { own_absolute } else { shared_absolute };
                *mode = if absolute.contains(&number) {
                    TimerMode::Absolute
                } else {
                    TimerMode::Relative
                };
                timer.0 = if own { shared_count + number } else { number };
            }
            _ => {}
        }
    }
}

/// What a task's object gives beside its events.
struct Settings<'t> {
    instances: u32,
    /// In microseconds.
    delay: u64,
    times: Option<i64>,
    phases: Option<&'t [Member]>,
    parameters: Parameters<'t>,
}

impl<'t> Settings<'t> {
    fn read(object: &'t [Member], place: Place<'_>, notes: &mut Notes) -> Result<Self, Fault> {
        let inline = !object.iter().any(|member| member.key == "phases");
        let mut settings = Self {
            instances: 1,
            delay: 0,
            times: None,
            phases: None,
            parameters: Parameters::default(),
        };
        let mut given = Given::default();
        for member in object {
            if Event::of(&member.key).is_none()
                && !given.is_known(place, member, "key or event", keys::of_a_task(), notes)?
            {
                continue;
            }
            match member.key.as_str() {
                "instance" => {
                    settings.instances =
                        place.natural(member, "a number of threads from 0")? as u32;
                }
                "delay" => settings.delay = place.natural(member, "a number of microseconds")?,
                "loop" => settings.times = Some(loops(place, member)?),
                "phases" => settings.phases = Some(place.object(member, "an object of phases")?),
                "runtime" => settings.parameters.take_older_runtime(place, member, inline)?,
                _ if settings.parameters.take(place, member, notes)? => {}
                _ if inline => {}
                _ => {
                    let what = "an event beside 'phases' would never run";
                    return Err(place.contradiction(member, what));
                }
            }
        }
        Ok(settings)
    }
}

fn read_task<'t>(
    events: &mut Events<'t>,
    index: usize,
    member: &'t Member,
    private_timers: &mut u32,
) -> Result<(TaskRead<'t>, Program), Fault> {
    let place = Place::Task(&member.key);
    if member.key.len() > MAX_NAME_BYTES {
        let (found, most) = (member.key.len() as u64, MAX_NAME_BYTES as u64);
        return Err(
            place.fault(member.at, Problem::TooMany { found, what: "bytes in its name", most })
        );
    }
    let object = Place::Root.object(member, "an object that describes a task")?;
    let Settings { instances, delay, times, phases, parameters } =
        Settings::read(object, place, &mut events.notes)?;
    let mut schedule =
        Schedule::of_task(&parameters, events.global.policy, place, member.at, &mut events.notes)?;
    let mut thread = ThreadSpec {
        group: index as u32,
        nice: schedule.nice,
        class: schedule.class(),
        delay: Nanos::from_micros(delay),
        util_min: schedule.util_min,
        util_max: schedule.util_max,
        affinity: schedule.cores.as_deref().map(<[CoreId]>::to_vec),
        ..ThreadSpec::new(member.key.clone(), ProgramId(index as u32))
    };
    let mut task = Task::new(index, &member.key, instances);
    let steps = match phases {
        None => {
            let body = read_events(events, object, place, &mut task, member)?;
            // rt-app reads the loop of a task without phases as the loop of its one phase.
            let times = times.map_or(Times::Endless, Times::of_phase);
            looped(times, events.iteration(body, (0, 1), times))
        }
        Some(phases) => {
            let (body, first_cores) =
                read_phases(events, phases, &mut schedule, &mut task, member)?;
            if let Some(cores) = first_cores {
                thread.affinity = cores.as_deref().map(<[CoreId]>::to_vec);
            }
            looped(times.map_or(Times::Endless, Times::of_task), body)
        }
    };
    *private_timers = (*private_timers).max(task.timers.count());
    Ok((
        TaskRead { member, instances, thread, absolute_timers: task.absolute_timers },
        Program { steps },
    ))
}

/// Steps of one pass over the phases, and the CPUs of the first of them where any phase gives CPUs.
type Phases = (Vec<Step>, Option<Option<Arc<[CoreId]>>>);

fn read_phases(
    events: &mut Events<'_>,
    phases: &[Member],
    schedule: &mut Schedule,
    task: &mut Task<'_>,
    task_member: &Member,
) -> Result<Phases, Fault> {
    if phases.is_empty() {
        let place = Place::Task(&task_member.key);
        return Err(place.fault(task_member.at, Problem::Missing("a phase in 'phases'")));
    }
    let gives_cores = |phase: &Member| {
        let members = Place::Root.object(phase, "").unwrap_or_default();
        members.iter().any(|member| member.key == "cpus")
    };
    let moves = phases.iter().any(gives_cores);
    let (mut steps, mut first_cores) = (Vec::new(), None);
    for (number, phase) in phases.iter().enumerate() {
        let place = Place::Phase(&task_member.key, &phase.key);
        let object =
            Place::Task(&task_member.key).object(phase, "an object that describes a phase")?;
        let mut parameters = Parameters::default();
        let mut given = Given::default();
        let mut times = Times::Finite(1);
        for member in object {
            let key = member.key.as_str();
            if Event::of(key).is_some() {
                continue;
            }
            if !given.is_known(
                place,
                member,
                "key or event",
                keys::of_a_task(),
                &mut events.notes,
            )? {
                continue;
            }
            if keys::TASK.contains(&key) {
                return Err(place.contradiction(member, "belongs to a task, not to a phase"));
            }
            if key == "loop" {
                times = Times::of_phase(loops(place, member)?);
            } else {
                parameters.take(place, member, &mut events.notes)?;
            }
        }
        if moves {
            let cores = parameters.cores.clone().or_else(|| schedule.cores.clone());
            first_cores.get_or_insert_with(|| cores.clone());
            steps.push(Step::SetAffinity(cores));
        }
        steps.extend(schedule.enter_phase(&parameters, place, phase.at, &mut events.notes)?);
        let body = read_events(events, object, place, task, phase)?;
        steps.extend(looped(times, events.iteration(body, (number, phases.len()), times)));
    }
    Ok((steps, first_cores))
}

fn read_events(
    events: &mut Events<'_>,
    object: &[Member],
    place: Place<'_>,
    task: &mut Task<'_>,
    parent: &Member,
) -> Result<Vec<Step>, Fault> {
    let mut steps = Vec::new();
    let mut any = false;
    for member in object {
        if let Some(event) = Event::of(&member.key) {
            any = true;
            events.read(event, member, place, task, &mut steps)?;
        }
    }
    if any { Ok(steps) } else { Err(place.fault(parent.at, Problem::Missing("an event"))) }
}

fn loops(place: Place<'_>, member: &Member) -> Result<i64, Fault> {
    place.integer(member, -GREATEST..=GREATEST, "a number of times, or -1 for ever")
}

impl Events<'_> {
    /// An iteration of a phase, given its number and how many there are; with its beginning and end
    /// where they are reported.
    fn iteration(&self, body: Vec<Step>, (phase, of): (usize, usize), times: Times) -> Vec<Step> {
        if !self.iterations {
            return body;
        }
        let loops = if let Times::Finite(times) = times { Some(times) } else { None };
        let ends = Iteration::Ends { phase: phase as u32, of: of as u32, loops };
        let begins = [Step::Iteration(Iteration::Begins)].into_iter();
        begins.chain(body).chain([Step::Iteration(ends)]).collect()
    }
}

/// How often something runs.
#[derive(Clone, Copy)]
enum Times {
    Finite(u64),
    Endless,
}

impl Times {
    /// The count of a phase. rt-app compares after it has counted, so a phase of 0 times never
    /// stops either.
    fn of_phase(times: i64) -> Self {
        if times > 0 { Self::Finite(times.unsigned_abs()) } else { Self::Endless }
    }

    /// The count of a task. rt-app compares before it starts, so a task of 0 times ends at once.
    fn of_task(times: i64) -> Self {
        u64::try_from(times).map_or(Self::Endless, Self::Finite)
    }
}

fn looped(times: Times, body: Vec<Step>) -> Vec<Step> {
    match times {
        Times::Finite(0) => Vec::new(),
        Times::Finite(1) => body,
        Times::Finite(_) if body.is_empty() => body,
        Times::Finite(times) => vec![Step::Loop { times: Some(times), body }],
        Times::Endless => vec![Step::Loop { times: None, body }],
    }
}
