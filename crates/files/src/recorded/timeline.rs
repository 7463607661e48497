//! Turns facts into what each thread did, in the order in which all of it happened.
//!
//! Facts may be missing, at the beginning, at the end and (lost) between. Rules fill the gaps:
//!
//! - if a core takes another thread, the thread before it left the core and could have gone on;
//! - if a blocked thread takes a core and no wake-up was seen, it was woken from outside at that
//!   moment;
//! - a thread that is blocked at the end has ended;
//! - time on a core counts from when the thread was seen to take it until it was seen to leave it,
//!   or until the end.

use std::collections::BTreeMap;

use evenkeel_machine::Nanos;

use super::facts::{Cpu, Fact, Places, Tid, What};

/// If a thread that was woken in the act of going to sleep stays on its core for longer than this,
/// it did not go to sleep then.
const FALLING_ASLEEP: Nanos = Nanos(50_000);

/// All that happened.
pub struct Timeline {
    pub threads: Vec<Thread>,
    pub wakes: Vec<Wake>,
    /// Times that a thread left a core with nothing to go on with.
    pub blocks: u64,
    /// Times that a thread was on a core, from where it took it to where it left it.
    pub bursts: u64,
}

/// A thread, numbered in the order in which threads were first seen.
pub struct Thread {
    pub tid: Tid,
    pub name: String,
    pub process: Tid,
    /// The thread that forked it, with a [`Act::Fork`] for it.
    pub parent: Option<usize>,
    /// Without a parent: when it was first seen to be there, from the first fact on.
    pub delay: Nanos,
    pub allowed: Option<Vec<Cpu>>,
    pub moments: Vec<Moment>,
    /// The place in the order at which it was first seen.
    pub began: u64,
    /// The place in the order at which it was seen to end.
    pub ended: Option<u64>,
    state: State,
    /// Work done and not yet recorded as a moment; below one unit after each recording.
    unrecorded: f64,
}

/// A part of what a thread did.
pub struct Moment {
    /// Place in the order of all moments: what a moment waits for has a lower one.
    pub order: u64,
    /// When it began.
    pub from: Nanos,
    /// When it ended.
    pub to: Nanos,
    pub act: Act,
}

/// What a thread did in a [`Moment`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Work, in nanoseconds on the fastest core.
    Compute(u64),
    /// Was off the core until something outside woke it.
    Sleep(Nanos),
    /// Was woken by another thread: an index of [`Timeline::wakes`].
    Wait(usize),
    /// Woke another thread.
    Post(usize),
    /// Forked this thread.
    Fork(usize),
    /// Met others at this barrier.
    Barrier(usize),
    /// Waited for all threads that it had forked.
    JoinAll,
}

/// One thread woke another.
pub struct Wake {
    pub waker: usize,
    pub sleeper: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Not seen to do anything yet.
    Unseen,
    Running {
        cpu: Cpu,
        since: Nanos,
        /// When it was last woken while still running.
        kept_awake: Option<Nanos>,
    },
    /// Waits for a core.
    Ready,
    Blocked {
        since: Nanos,
    },
    Gone,
}

/// Takes facts, in the order of their times.
pub struct Builder<'a> {
    places: &'a Places,
    timeline: Timeline,
    /// The living thread of each number.
    living: BTreeMap<Tid, usize>,
    on_cpu: BTreeMap<Cpu, usize>,
    order: u64,
    began: Option<Nanos>,
    now: Nanos,
}

impl<'a> Builder<'a> {
    pub fn new(places: &'a Places) -> Self {
        Self {
            places,
            timeline: Timeline { threads: Vec::new(), wakes: Vec::new(), blocks: 0, bursts: 0 },
            living: BTreeMap::new(),
            on_cpu: BTreeMap::new(),
            order: 0,
            began: None,
            now: Nanos::ZERO,
        }
    }

    /// Takes one fact. Times must not go back.
    pub fn take(&mut self, fact: &Fact) {
        self.now = fact.at;
        self.began.get_or_insert(self.now);
        match &fact.what {
            What::Began { parent, process } => self.begin(fact.tid, *parent, *process),
            What::Named(name) => {
                let thread = self.thread(fact.tid);
                self.timeline.threads[thread].name.clone_from(name);
            }
            What::Allowed(cpus) => {
                let thread = self.thread(fact.tid);
                self.timeline.threads[thread].allowed = Some(cpus.clone());
            }
            What::Exited => self.exit(fact.tid),
            What::Took(cpu) => self.took(fact.tid, *cpu),
            What::Left { cpu, preempted } => self.left(fact.tid, *cpu, *preempted),
            What::Woke(by) => self.woke(fact.tid, *by),
        }
    }

    /// The end of the recording.
    pub fn finish(mut self) -> Timeline {
        for thread in 0..self.timeline.threads.len() {
            self.record_work(thread);
        }
        self.timeline
    }

    fn thread(&mut self, tid: Tid) -> usize {
        match self.living.get(&tid) {
            Some(&thread) => thread,
            None => self.add(tid, tid, None),
        }
    }

    fn add(&mut self, tid: Tid, process: Tid, parent: Option<usize>) -> usize {
        let thread = self.timeline.threads.len();
        let parents = parent.map(|parent| &self.timeline.threads[parent]);
        let added = Thread {
            tid,
            name: parents.map_or_else(|| format!("thread {}", tid.0), |parent| parent.name.clone()),
            process,
            parent,
            delay: if parent.is_some() {
                Nanos::ZERO
            } else {
                self.now.saturating_sub(self.began.unwrap_or_default())
            },
            allowed: parents.and_then(|parent| parent.allowed.clone()),
            moments: Vec::new(),
            began: self.order + 1,
            ended: None,
            state: if parent.is_some() { State::Ready } else { State::Unseen },
            unrecorded: 0.0,
        };
        self.timeline.threads.push(added);
        self.living.insert(tid, thread);
        thread
    }

    fn begin(&mut self, tid: Tid, parent: Option<Tid>, process: Tid) {
        if let Some(&thread) = self.living.get(&tid) {
            if self.timeline.threads[thread].ended.is_none() {
                return;
            }
            // Numbers are used again.
            self.bury(thread);
        }
        let parent = parent.and_then(|parent| self.living.get(&parent).copied());
        if let Some(parent) = parent {
            self.record_work(parent);
        }
        let child = self.add(tid, process, parent);
        if let Some(parent) = parent {
            self.push(parent, self.now, Act::Fork(child));
        }
    }

    fn exit(&mut self, tid: Tid) {
        let Some(&thread) = self.living.get(&tid) else { return };
        self.order += 1;
        let order = self.order;
        self.timeline.threads[thread].ended.get_or_insert(order);
    }

    fn bury(&mut self, thread: usize) {
        let it = &mut self.timeline.threads[thread];
        it.state = State::Gone;
        self.living.remove(&it.tid);
    }

    fn took(&mut self, tid: Tid, cpu: Cpu) {
        let thread = self.thread(tid);
        if let Some(other) = self.on_cpu.insert(cpu, thread) {
            self.stop(other, cpu);
            if other != thread && self.timeline.threads[other].ended.is_some() {
                self.bury(other);
            }
        }
        let now = self.now;
        match self.timeline.threads[thread].state {
            // A thread cannot be on two cores: where it left the first is not known, nor what it
            // did there since.
            State::Running { cpu: elsewhere, .. } => {
                self.on_cpu.remove(&elsewhere);
            }
            State::Blocked { since } => {
                self.push(thread, since, Act::Sleep(now.saturating_sub(since)))
            }
            State::Unseen => self.appear(thread),
            State::Ready | State::Gone => {}
        }
        self.on_cpu.insert(cpu, thread);
        self.timeline.bursts += 1;
        self.timeline.threads[thread].state = State::Running { cpu, since: now, kept_awake: None };
    }

    /// Sets the delay of a thread that existed from the start and is first seen now.
    fn appear(&mut self, thread: usize) {
        self.timeline.threads[thread].delay =
            self.now.saturating_sub(self.began.unwrap_or_default());
    }

    /// The thread is no longer on this core, and could have gone on.
    fn stop(&mut self, thread: usize, cpu: Cpu) {
        if matches!(self.timeline.threads[thread].state, State::Running { cpu: on, .. } if on == cpu)
        {
            self.record_work(thread);
            self.timeline.threads[thread].state = State::Ready;
        }
    }

    fn left(&mut self, tid: Tid, cpu: Cpu, preempted: bool) {
        let thread = self.thread(tid);
        self.record_work(thread);
        let now = self.now;
        let mut woken_already = false;
        if let State::Running { cpu: on, kept_awake, .. } = self.timeline.threads[thread].state {
            self.on_cpu.remove(&on);
            self.on_cpu.remove(&cpu);
            woken_already = kept_awake.is_some_and(|at| now.saturating_sub(at) <= FALLING_ASLEEP);
        }
        if self.timeline.threads[thread].ended.is_some() && !preempted {
            return self.bury(thread);
        }
        let blocks = !preempted && !woken_already;
        self.timeline.blocks += u64::from(!preempted);
        self.timeline.threads[thread].state =
            if blocks { State::Blocked { since: now } } else { State::Ready };
    }

    fn woke(&mut self, tid: Tid, by: Option<Tid>) {
        let thread = self.thread(tid);
        let waker = by.filter(|by| *by != tid).and_then(|by| self.living.get(&by).copied());
        // A thread off its cores cannot wake another: a fact is missing, and where in its course it
        // woke is not known.
        let waker = waker
            .filter(|&waker| matches!(self.timeline.threads[waker].state, State::Running { .. }));
        let now = self.now;
        let state = self.timeline.threads[thread].state;
        match waker {
            Some(waker) => {
                self.record_work(waker);
                self.record_work(thread);
                let wake = self.timeline.wakes.len();
                self.timeline.wakes.push(Wake { waker, sleeper: thread });
                self.push(waker, now, Act::Post(wake));
                let since = if let State::Blocked { since } = state { since } else { now };
                if state == State::Unseen {
                    self.timeline.threads[thread].delay = Nanos::ZERO;
                }
                self.push(thread, since, Act::Wait(wake));
            }
            None => match state {
                State::Blocked { since } => {
                    self.push(thread, since, Act::Sleep(now.saturating_sub(since)))
                }
                State::Unseen => self.appear(thread),
                State::Running { .. } | State::Ready | State::Gone => {}
            },
        }
        match &mut self.timeline.threads[thread].state {
            State::Running { kept_awake, .. } => *kept_awake = Some(now),
            state => *state = State::Ready,
        }
    }

    /// Records the work that a thread has done until now.
    fn record_work(&mut self, thread: usize) {
        let now = self.now;
        let it = &mut self.timeline.threads[thread];
        let State::Running { cpu, since, .. } = &mut it.state else { return };
        let from = std::mem::replace(since, now);
        it.unrecorded += now.saturating_sub(from).0 as f64 * self.places.speed(*cpu);
        let work = it.unrecorded.floor();
        it.unrecorded -= work;
        if work > 0.0 {
            self.push(thread, from, Act::Compute(work as u64));
        }
    }

    fn push(&mut self, thread: usize, from: Nanos, act: Act) {
        self.order += 1;
        let moment = Moment { order: self.order, from, to: self.now, act };
        self.timeline.threads[thread].moments.push(moment);
    }
}

impl Act {
    /// True unless it is work: something between threads, or time off the core.
    pub fn is_event(&self) -> bool {
        !matches!(self, Self::Compute(_))
    }
}
