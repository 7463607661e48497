//! Applications come and go: their threads start, fork and end, and an application that repeats
//! starts again.

use std::collections::BTreeMap;
use std::rc::Rc;

use evenkeel_machine::{CoreId, FULL_CAPACITY, Machine, Nanos};
use evenkeel_model::{Application, Repeat, ThreadSpec};
use evenkeel_policy::graph::Team;
use evenkeel_policy::{AppId, Event, Interest, State, ThreadId};

use crate::SimError;
use crate::config::Config;
use crate::mechanism::{Mechanism, priority};
use crate::programs::objects::{Objects, check_policies};
use crate::programs::program::{self, Flat, Op, Row};
use crate::programs::thread::{Thread, WaitsFor};
use crate::programs::thread::{fresh_stats, weight_of};
use crate::trace::Listener;

/// One application of a run.
#[derive(Default)]
pub struct App {
    pub objects: Objects,
    pub programs: Vec<Flat>,
    pub first_row: Row,
    /// When its present execution began.
    pub began: Nanos,
    /// Threads of the present execution that have not ended.
    pub live: u32,
    /// Threads that it has had in the present execution.
    pub threads: u32,
    pub threads_at_first: u32,
    pub completions: Vec<Nanos>,
    pub cut_at: Option<Nanos>,
    /// True if any of its programs resumes threads by name.
    pub resumes: bool,
    /// First thread of each name, where that is asked for.
    pub by_name: BTreeMap<Box<str>, ThreadId>,
    /// By graph, the threads that run it.
    teams: Vec<Team>,
    forked: u32,
}

impl App {
    fn is_done(&self, repeat: Repeat) -> bool {
        let wanted = match repeat {
            Repeat::Once => 1,
            Repeat::UntilLongestEnded(times) => times.max(1) as usize,
        };
        self.cut_at.is_some() || self.completions.len() >= wanted
    }
}

/// Checks all applications and lays their programs out.
pub fn set_up(
    machine: &Machine,
    specs: &[Application],
    config: &Config,
    ops: &mut Vec<Op>,
) -> Result<Vec<App>, SimError> {
    let mut first_row = 0;
    let mut apps = Vec::with_capacity(specs.len());
    for spec in specs {
        let wrong = |what: String| SimError::Workload { app: spec.name.clone(), what };
        spec.validate().map_err(wrong)?;
        check_policies(spec, &config.graph_policy).map_err(wrong)?;
        check_affinities(machine, spec).map_err(wrong)?;
        crate::cores::speed::Speeds::check(machine, spec).map_err(wrong)?;
        let programs = program::lay_out(spec, first_row, ops).map_err(wrong)?;
        check_shared_work(spec, &programs).map_err(wrong)?;
        let endless = reached(spec, &programs).into_iter().any(|program| programs[program].endless);
        if endless && spec.duration.is_none() && config.duration.is_none() {
            return Err(SimError::Endless { app: spec.name.clone() });
        }
        let teams = (0..spec.graphs.len() as u32)
            .map(|graph| {
                let runs =
                    |thread: &&ThreadSpec| programs[thread.program.index()].graphs.contains(&graph);
                let workers = spec.threads.iter().filter(runs).count() as u32;
                Team { link: config.link, ..Team::on(machine, &spec.phases, workers) }
            })
            .collect();
        let resumes = programs.iter().any(|flat| flat.resumes);
        apps.push(App { resumes, programs, first_row, teams, ..App::default() });
        first_row += spec.phases.len() as u32;
    }
    Ok(apps)
}

/// Programs that run: of the first threads, of those that they fork, and so on.
fn reached(spec: &Application, programs: &[Flat]) -> Vec<usize> {
    let mut found: Vec<usize> = spec.threads.iter().map(|thread| thread.program.index()).collect();
    let mut next = 0;
    while next < found.len() {
        for &template in &programs[found[next]].forks {
            let program = spec.templates[template as usize].program.index();
            if !found.contains(&program) {
                found.push(program);
            }
        }
        next += 1;
    }
    found
}

/// Loops and graphs are for a number of threads that is known beforehand: as many as there are must
/// take part.
fn check_shared_work(spec: &Application, programs: &[Flat]) -> Result<(), String> {
    if spec.threads.is_empty() {
        return Err("it has no threads".into());
    }
    if spec
        .templates
        .iter()
        .map(|thread| &programs[thread.program.index()])
        .any(|flat| flat.shares())
    {
        return Err("a thread that is forked takes part in a parallel loop or a task graph".into());
    }
    for (index, shared) in spec.loops.iter().enumerate() {
        let takes_part =
            |thread: &&ThreadSpec| programs[thread.program.index()].loops.contains(&(index as u32));
        let found = spec.threads.iter().filter(takes_part).count();
        if found != shared.workers as usize {
            return Err(format!(
                "parallel loop {index} is for {} threads, and {found} take part",
                shared.workers
            ));
        }
    }
    Ok(())
}

fn check_affinities(machine: &Machine, spec: &Application) -> Result<(), String> {
    for thread in spec.threads.iter().chain(&spec.templates) {
        if let Some(cores) = &thread.affinity
            && !cores.iter().any(|core| core.index() < machine.cores.len())
        {
            let cores: Vec<_> = cores.iter().map(|core| core.0.to_string()).collect();
            let last = machine.cores.len() - 1;
            return Err(format!(
                "{} may run on cores {} only, and there are 0 to {last}",
                thread.name,
                cores.join(", ")
            ));
        }
    }
    Ok(())
}

impl<L: Listener> Mechanism<'_, L> {
    /// An application starts, or starts again.
    pub fn start_app(&mut self, app: usize) {
        let spec = &self.specs[app];
        let state = &mut self.apps[app];
        state.objects = Objects::new(spec, &state.teams);
        state.objects.devices.fill(self.now);
        state.began = self.now;
        state.live = 0;
        state.threads = 0;
        state.forked = 0;
        state.by_name.clear();
        if let Some(duration) = spec.duration {
            let slot = self.slots.app(app);
            self.calendar.set(slot, self.now.saturating_add(duration), priority::END);
        }
        for index in 0..spec.threads.len() {
            self.add(app, index as u32, None);
        }
    }

    /// Makes a thread of an application, which starts after its delay: one of its first, or, with a
    /// parent, one from a template.
    fn add(&mut self, app: usize, index: u32, parent: Option<ThreadId>) -> ThreadId {
        let specs = self.specs;
        let spec = match parent {
            None => &specs[app].threads[index as usize],
            Some(_) => &specs[app].templates[index as usize],
        };
        let state = &mut self.apps[app];
        let index_in_app = state.threads;
        state.threads += 1;
        state.live += 1;
        let flat = &state.programs[spec.program.index()];
        let forked = parent.map(|_| state.forked);
        state.forked += u32::from(forked.is_some());
        let mut thread = Thread::new(
            index,
            forked,
            flat.start,
            flat.depth,
            spec.class,
            Rc::clone(&self.default_slice),
        );
        thread.nice = spec.nice;
        if (spec.util_min, spec.util_max) != (0, FULL_CAPACITY) {
            let rare = thread.rare_mut();
            (rare.util_min, rare.util_max) = (spec.util_min, spec.util_max);
        }
        thread.parent = parent.map(|parent| parent.0);
        thread.row = state.first_row;
        let mut stats = fresh_stats(
            AppId(app as u32),
            spec.group,
            index_in_app,
            parent,
            weight_of(spec.class, spec.nice),
        );
        stats.speedup_offline = self.speeds.mixed_speedup(self.machine, &flat.work);
        let cores = self.cores.len();
        let affinity = spec.affinity.as_ref().map(|affinity| {
            let here = affinity.iter().copied().filter(|core| core.index() < cores);
            here.collect::<Box<[CoreId]>>()
        });
        let id = self.add_thread(thread, stats, affinity);
        if self.apps[app].resumes {
            let name = self.name_of(id).into_boxed_str();
            self.apps[app].by_name.entry(name).or_insert(id);
        }
        let starts = self.apps[app].began.saturating_add(spec.delay);
        if starts <= self.now {
            self.begin(id);
        } else {
            let slot = self.slots.thread(id);
            self.calendar.set(slot, starts, priority::HAPPENS);
        }
        id
    }

    /// A thread starts.
    fn begin(&mut self, thread: ThreadId) {
        let app = self.stats[thread.index()].app;
        let state = &mut self.threads[thread.index()];
        state.started = true;
        state.waits_for = WaitsFor::Nothing;
        if self.tracked.load {
            self.loads.start(thread, self.now);
        }
        let normal = state.normal();
        let stats = &mut self.stats[thread.index()];
        stats.started = self.now;
        stats.since = self.now;
        stats.state = State::Ready;
        self.first_row(thread);
        if self.tracked.load {
            self.note_load(thread);
        }
        if normal {
            let at = self.live.partition_point(|&live| live < thread);
            self.live.insert(at, thread);
            self.events.push(Event::Started(thread));
            if self.interest.wants(Interest::DISTANCE) {
                self.foresee(thread);
            }
        }
        if L::HEARS {
            let name = self.name_of(thread);
            self.listener.started(self.now, thread, app, &name);
        }
        self.arrive(thread);
    }

    /// What a thread waited for by time has come: its start, its wake-up, its budget.
    pub fn thread_time(&mut self, thread: ThreadId) {
        match self.threads[thread.index()].waits_for {
            WaitsFor::Start => self.begin(thread),
            _ => self.wake(thread, None),
        }
    }

    /// A thread makes another.
    pub fn fork(&mut self, thread: ThreadId, app: AppId, template: u32) {
        self.threads[thread.index()].children += 1;
        self.add(app.index(), template, Some(thread));
    }

    /// What the workload says of a thread, or of those that are forked as it was.
    pub fn spec_of(&self, thread: ThreadId) -> &ThreadSpec {
        let state = &self.threads[thread.index()];
        let spec = &self.specs[self.stats[thread.index()].app.index()];
        let specs = if state.forked.is_some() { &spec.templates } else { &spec.threads };
        &specs[state.spec as usize]
    }

    /// Name of a thread; forked ones are numbered.
    pub fn name_of(&self, thread: ThreadId) -> String {
        let name = &self.spec_of(thread).name;
        match self.threads[thread.index()].forked {
            None => name.clone(),
            Some(number) => format!("{name}-{number:04}"),
        }
    }

    /// A thread has ended: its core is free.
    pub fn end_thread(&mut self, core: usize, thread: ThreadId) {
        self.stop(core);
        self.call(core);
        if self.threads[thread.index()].normal() && self.interest.wants(Interest::MILESTONE) {
            self.events.push(Event::Milestone(thread));
        }
        self.leave(thread);
        if let Some(parent) = self.threads[thread.index()].parent {
            let state = &mut self.threads[parent as usize];
            state.children -= 1;
            if state.children == 0 && state.waits_for == WaitsFor::Children {
                self.wake(ThreadId(parent), Some(thread));
            }
        }
        let app = self.stats[thread.index()].app.index();
        self.apps[app].live -= 1;
        if self.apps[app].live == 0 {
            self.complete(app);
        }
    }

    /// Marks a thread, which has no core any more, as ended: since now, and for good.
    fn leave(&mut self, thread: ThreadId) {
        let stats = &mut self.stats[thread.index()];
        stats.state = State::Exited;
        stats.since = self.now;
        let state = &mut self.threads[thread.index()];
        state.drop_rare();
        self.loads.forget(thread);
        if !state.started {
            return;
        }
        if state.normal() {
            if let Ok(at) = self.live.binary_search(&thread) {
                self.live.remove(at);
            }
            self.events.push(Event::Exited(thread));
        }
        if L::HEARS {
            self.listener.ended(self.now, thread);
        }
    }

    fn complete(&mut self, app: usize) {
        let state = &mut self.apps[app];
        state.completions.push(self.now - state.began);
        if state.completions.len() == 1 {
            state.threads_at_first = state.threads;
        }
        let slot = self.slots.app(app);
        self.calendar.cancel(slot);
        self.check_for_end();
        if !self.ended && self.specs[app].repeat != Repeat::Once {
            self.start_app(app);
        }
    }

    fn check_for_end(&mut self) {
        self.ended |= self.apps.iter().zip(self.specs).all(|(app, spec)| app.is_done(spec.repeat));
    }

    /// The duration of an application is over: whatever it still does ends.
    pub fn cut_app(&mut self, app: usize) {
        let state = &mut self.apps[app];
        state.cut_at = Some(self.now - state.began);
        state.threads_at_first = state.threads_at_first.max(state.threads);
        for index in 0..self.threads.len() {
            let thread = ThreadId(index as u32);
            if self.stats[index].app.index() != app || self.stats[index].state == State::Exited {
                continue;
            }
            self.account_state(thread);
            let slot = self.slots.thread(thread);
            self.calendar.cancel(slot);
            self.take_out(thread);
            self.leave(thread);
        }
        self.check_for_end();
    }

    /// Adds up the state that a thread is torn out of.
    fn account_state(&mut self, thread: ThreadId) {
        let stats = &mut self.stats[thread.index()];
        let since = self.now - stats.since;
        match stats.state {
            State::Running => {
                let core = stats.core.index();
                self.stop(core);
                self.call(core);
            }
            State::Ready => stats.waiting += since,
            State::Blocked if self.threads[thread.index()].started => stats.blocked += since,
            State::Blocked | State::Exited => {}
        }
    }
}
