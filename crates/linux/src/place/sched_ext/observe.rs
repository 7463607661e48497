//! What the kernel side has noted, taken in: slots become statistics and events.

use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

use evenkeel_machine::{CoreId, KindId, Nanos, PerKind, Work};
use evenkeel_policy::{
    AppId, Event, IDLE_WEIGHT, Interest, QueueId, State, ThreadId, ThreadStats, weight_of,
};

use super::counters::Sampled;
use super::mechanism::Mechanism;
use super::shared::{NONE, RATE_SHIFT, Slot, pending, state, text};
use super::thread::{Before, Thread};
use crate::observe::watch::Tid;
use crate::place::live::roster::{Begun, put};
use crate::place::live::speedups::{factors_of, relative_speeds};

/// How often a slot that is being changed is read again.
const MAX_READS: usize = 8;
/// As the kernel side tells SCHED_IDLE.
const NICE_IDLE: i32 = 20;

/// What a slot says at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    state: u32,
    cpu: u32,
    queue: u32,
    since: u64,
    accounted_at: u64,
    virtual_time: u64,
    waiting: u64,
    blocked: u64,
    runs: u64,
    migrations: u64,
    time_on: PerKind<u64>,
    seen_order: u32,
}

fn reading(slot: &Slot) -> Reading {
    let mut reading = Reading::default();
    for _ in 0..MAX_READS {
        let before = slot.sequence.load(Acquire);
        reading = Reading {
            state: slot.state.load(Relaxed),
            cpu: slot.cpu.load(Relaxed),
            queue: slot.queue_id.load(Relaxed),
            since: slot.state_since.load(Relaxed),
            accounted_at: slot.charged_until.load(Relaxed),
            virtual_time: slot.virtual_time.load(Relaxed),
            waiting: slot.waiting.load(Relaxed),
            blocked: slot.blocked.load(Relaxed),
            runs: slot.runs.load(Relaxed),
            migrations: slot.migrations.load(Relaxed),
            time_on: PerKind(std::array::from_fn(|kind| slot.time_on[kind].load(Relaxed))),
            seen_order: slot.applied_order_generation.load(Relaxed),
        };
        fence(Acquire);
        if before.is_multiple_of(2) && slot.sequence.load(Relaxed) == before {
            break;
        }
    }
    reading
}

fn weight(nice: i32) -> u32 {
    if nice >= NICE_IDLE { IDLE_WEIGHT } else { weight_of(nice.clamp(-20, 19) as i8) }
}

impl Mechanism {
    /// Slots in which something is pending, in order of when it first was.
    pub(super) fn take_in(&mut self, slots: &[u32]) {
        let mut meetings: Vec<(u64, bool, ThreadId)> = Vec::new();
        for &slot in slots {
            let bits = self.kernel.slots[slot as usize].pending.swap(0, Acquire);
            if bits & pending::CHANGES != 0 {
                self.quiet = Nanos::ZERO;
            }
            if bits & pending::STARTED != 0 {
                self.started(slot);
            }
            let Some(thread) = self.holders[slot as usize] else { continue };
            if bits & pending::RENICED != 0 {
                self.reniced(thread, slot);
            }
            if bits & pending::AFFINITY != 0 {
                self.bound(thread, slot);
            }
            if bits & pending::EXEC != 0 {
                self.began_program(thread, slot);
            }
            if bits & pending::ENDED != 0 {
                self.threads[thread.index()].ended = true;
            }
            if self.interest.wants(Interest::MILESTONE) {
                self.meetings_of(thread, slot, &mut meetings);
            }
            self.take_event(thread, slot, bits);
        }
        meetings.sort_unstable();
        for (at, woke, thread) in meetings {
            let app = self.stats[thread.index()].app;
            if !woke {
                self.milestones.blocked(app, thread);
                continue;
            }
            if self.milestones.woke(app, thread, Nanos(at)) {
                self.met(app);
            }
            // It wakes to run.
            self.milestones.ran(app, thread);
        }
        for &slot in slots {
            self.released(slot);
        }
    }

    /// What a thread did since the last look that milestones are told by.
    fn meetings_of(
        &mut self,
        thread: ThreadId,
        slot: u32,
        meetings: &mut Vec<(u64, bool, ThreadId)>,
    ) {
        let (slot, state) = (&self.kernel.slots[slot as usize], &mut self.threads[thread.index()]);
        let (blocked, woke) = (slot.blocked_at.load(Relaxed), slot.woke_at.load(Relaxed));
        if std::mem::replace(&mut state.blocked_at, blocked) != blocked {
            meetings.push((blocked, false, thread));
        }
        if std::mem::replace(&mut state.woke_at, woke) != woke {
            meetings.push((woke, true, thread));
        }
        if blocked == 0 {
            let app = self.stats[thread.index()].app;
            self.milestones.ran(app, thread);
        }
    }

    /// The threads of an application that met begin anew.
    fn met(&mut self, app: AppId) {
        for thread in self.milestones.met(app) {
            if self.threads[thread.index()].announced {
                self.read(thread);
                self.stats[thread.index()].since_milestone = Work::ZERO;
                self.events.push(Event::Milestone(thread));
            }
        }
    }

    /// A thread is ours from now on: a new one, or one that comes back from another class or
    /// another life of the kernel side.
    fn started(&mut self, at: u32) {
        let slot = &self.kernel.slots[at as usize];
        let (tid, process) = (Tid(slot.tid.load(Relaxed)), Tid(slot.process.load(Relaxed)));
        let (started, born) =
            (self.since_epoch(slot.started_at.load(Relaxed)), slot.kernel_start_time.load(Relaxed));
        let parent = slot.parent_slot.load(Relaxed);
        let parent = self.holders.get(parent as usize).copied().flatten();
        let known = self.roster.known(tid).filter(|&thread| !self.threads[thread.index()].ended);
        let (known, other) = match known {
            Some(thread)
                if self.process_of(thread) != process
                    || self.threads[thread.index()].born != born =>
            {
                (None, known)
            }
            _ => (known, None),
        };
        // A thread whose number in `/proc` is another's by now has ended. That a slot was left is
        // taken in after this.
        if let Some(other) = other.filter(|other| self.threads[other.index()].slot.is_none()) {
            self.away.retain(|&away| away != other);
            self.end(other);
        }
        if let Some(thread) = known.filter(|thread| self.threads[thread.index()].slot.is_some()) {
            // It has been in another class since the last look: that it left is noted before, and
            // taken in after this.
            self.read(thread);
            self.leave_slot(thread);
            self.leave(thread);
        }
        let numbers = self.threads.len();
        let thread = known.unwrap_or_else(|| self.begin(tid, process, parent, started));
        self.away.retain(|&away| away != thread);
        let state = &mut self.threads[thread.index()];
        state.slot = Some(at);
        (state.born, state.born_in_proc) = (born, None);
        state.counted = PerKind::all(0);
        if let Some(sampled) = &mut state.sampled {
            sampled.begin_anew();
        }
        (state.queue_generation, state.order_generation) = (0, 0);
        (state.blocked_at, state.woke_at) = (0, 0);
        self.holders[at as usize] = Some(thread);
        if thread.index() < numbers {
            self.say_again(thread, at);
        }
        self.reniced(thread, at);
        self.began_program(thread, at);
        self.read_cores(thread, at);
        self.stats[thread.index()].state = State::Blocked;
        if self.stats[thread.index()].restricted
            && self.affinity[thread.index()].as_deref() == Some(&[])
        {
            return;
        }
        self.enter(thread);
    }

    /// A new slot has its parent's directives, or those of the template: what has been said of the
    /// thread's number holds.
    fn say_again(&mut self, thread: ThreadId, at: u32) {
        let (state, own) = (&mut self.threads[thread.index()], self.stats[thread.index()].weight);
        state.order_generation = 1;
        let state = &self.threads[thread.index()];
        self.write_order(at, state, own, state.order_generation);
        self.write_slice(at, &state.slice);
    }

    fn process_of(&self, thread: ThreadId) -> Tid {
        self.roster.apps()[self.stats[thread.index()].app.index()].process
    }

    /// A thread has ended, of which the policy has been told that it left.
    pub(super) fn end(&mut self, thread: ThreadId) {
        let (state, stats) = (&mut self.threads[thread.index()], &self.stats[thread.index()]);
        state.ended = true;
        self.milestones.ended(stats.app, thread);
        self.roster.end(thread, stats.app, state.tid, stats.since);
    }

    /// The policy is told of a thread.
    fn enter(&mut self, thread: ThreadId) {
        self.threads[thread.index()].announced = true;
        self.stats[thread.index()].queue = None;
        if let Err(at) = self.live.binary_search(&thread) {
            self.live.insert(at, thread);
        }
        self.read(thread);
        self.events.push(Event::Started(thread));
        // A policy takes a thread that starts for runnable; most of those that were there before
        // sleep.
        self.threads[thread.index()].announced_runnable = true;
        self.tell_whether_runnable(thread);
    }

    /// Tells the policy that a thread has woken or blocked since it was last told so. A look at the
    /// core may have shown it before the event came.
    fn tell_whether_runnable(&mut self, thread: ThreadId) {
        let is = self.stats[thread.index()].runnable();
        let was = std::mem::replace(&mut self.threads[thread.index()].announced_runnable, is);
        match (was, is) {
            (false, true) if self.interest.wants(Interest::WOKE) => {
                self.events.push(Event::Woke(thread))
            }
            (true, false) if self.interest.wants(Interest::BLOCKED) => {
                self.events.push(Event::Blocked(thread))
            }
            _ => {}
        }
    }

    /// The policy is told that a thread is no longer its.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        self.show(thread, State::Exited);
        if !std::mem::take(&mut self.threads[thread.index()].announced) {
            return;
        }
        if let Ok(at) = self.live.binary_search(&thread) {
            self.live.remove(at);
        }
        if self.interest.wants(Interest::MILESTONE) {
            self.events.push(Event::Milestone(thread));
        }
        self.events.push(Event::Exited(thread));
    }

    fn begin(&mut self, tid: Tid, process: Tid, parent: Option<ThreadId>, at: Nanos) -> ThreadId {
        let from = parent.map(|parent| self.stats[parent.index()].app);
        let Begun { thread, app, index_in_app } = self.roster.begin(tid, process, from, at);
        let beside = parent.filter(|parent| self.stats[parent.index()].app == app);
        let unknown = || self.machine.capacity_factors();
        let (speedup, speedup_offline) = beside.map_or_else(
            || (unknown(), unknown()),
            |known| (self.stats[known.index()].speedup, self.stats[known.index()].speedup_offline),
        );
        let mut state = Thread::new(tid, at);
        state.relative_speed = relative_speeds(&self.machine, &speedup);
        state.sampled = self.kernel.counts().then(|| Box::new(Sampled::new(at)));
        let stats = ThreadStats {
            virtual_time: 0,
            retired: Work::ZERO,
            since_milestone: Work::ZERO,
            since: at,
            waiting: Nanos::ZERO,
            runs: 0,
            weight: weight(0),
            core: CoreId(0),
            queue: None,
            time_on: PerKind::all(Nanos::ZERO),
            to_milestone: None,
            state: State::Blocked,
            restricted: false,
            app,
            load: 0,
            blocked: Nanos::ZERO,
            stalled: Nanos::ZERO,
            started: at,
            speedup,
            speedup_offline,
            group: 0,
            index_in_app,
            parent,
        };
        // Directives for a number hold for each thread that has it.
        if let Some(before) = self.threads.get(thread.index()) {
            (state.order, state.charge, state.slice) = (before.order, before.charge, before.slice);
        }
        put(&mut self.threads, thread, state);
        put(&mut self.stats, thread, stats);
        put(&mut self.affinity, thread, None);
        thread
    }

    /// Brings the statistics of a thread up to now, and tells the policy what it wants to be told
    /// of what was noted.
    fn take_event(&mut self, thread: ThreadId, slot: u32, bits: u32) {
        self.read(thread);
        if !self.threads[thread.index()].announced {
            return;
        }
        let stats = &self.stats[thread.index()];
        let (is_runnable, core) = (stats.runnable(), stats.core);
        let exited = self.kernel.slots[slot as usize].state.load(Relaxed) == state::EXITED;
        if exited {
            return;
        }
        if is_runnable {
            self.tell_whether_runnable(thread);
        }
        if bits & pending::PICKED != 0 && self.interest.wants(Interest::PICKED) {
            self.events.push(Event::Picked(thread, core));
        }
        if bits & pending::SLICE_USED != 0 && self.interest.wants(Interest::SLICE_USED) {
            self.events.push(Event::SliceUsed(thread, core));
        }
        if !is_runnable {
            self.tell_whether_runnable(thread);
        }
    }

    /// A slot whose thread has gone is given back.
    fn released(&mut self, at: u32) {
        let slot = &self.kernel.slots[at as usize];
        // What is pending has not been taken in yet: another event says so.
        if slot.state.load(Relaxed) != state::EXITED || slot.pending.load(Acquire) != 0 {
            return;
        }
        let Some(thread) = self.holders[at as usize] else { return };
        if self.threads[thread.index()].slot != Some(at) {
            // It is back already, in another.
            return self.give_back(at);
        }
        self.read(thread);
        // That most threads that leave have ended the kernel side has seen; only of the others
        // `/proc` has to be asked.
        let ended = self.threads[thread.index()].ended || self.is_gone(thread);
        self.leave_slot(thread);
        self.leave(thread);
        self.give_back(at);
        if ended {
            self.end(thread);
        } else {
            self.away.push(thread);
        }
    }

    /// A thread has no slot any more: what the slot counted is kept.
    pub(super) fn leave_slot(&mut self, thread: ThreadId) {
        let (state, stats) = (&mut self.threads[thread.index()], &self.stats[thread.index()]);
        state.slot = None;
        state.before = Before {
            waiting: stats.waiting,
            blocked: stats.blocked,
            runs: stats.runs,
            migrations: state.migrations,
        };
    }

    /// True if a thread that has left has left for good: it is not there, or a zombie, or another
    /// has its number by now.
    pub(super) fn is_gone(&mut self, thread: ThreadId) -> bool {
        let process = self.process_of(thread);
        let state = &mut self.threads[thread.index()];
        let stat =
            std::fs::read_to_string(format!("/proc/{}/task/{}/stat", process.0, state.tid.0))
                .unwrap_or_default();
        // After the name, in parentheses, come the state, which is Z or X then, and as field 22 the
        // start time.
        let mut fields =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
        if matches!(fields.next(), None | Some("Z" | "X")) {
            return true;
        }
        let born = fields.nth(18).and_then(|field| field.parse().ok());
        state.born_in_proc.is_some_and(|before| born != Some(before)) || {
            state.born_in_proc = born;
            false
        }
    }

    fn reniced(&mut self, thread: ThreadId, slot: u32) {
        let nice = self.kernel.slots[slot as usize].nice.load(Relaxed);
        self.threads[thread.index()].nice = nice;
        self.stats[thread.index()].weight = weight(nice);
        self.write_rates(thread);
    }

    fn began_program(&mut self, thread: ThreadId, slot: u32) {
        let slot = &self.kernel.slots[slot as usize];
        // Whichever thread executes it, it is its process's first one from then on.
        let tid = Tid(slot.tid.load(Relaxed));
        let state = &mut self.threads[thread.index()];
        state.born = slot.kernel_start_time.load(Relaxed);
        let before = std::mem::replace(&mut state.tid, tid);
        if before != tid {
            self.roster.renumber(thread, before, tid);
        }
        let app = self.stats[thread.index()].app;
        let named = self.roster.app_mut(app);
        if named.process != self.threads[thread.index()].tid {
            return;
        }
        let name = text(&slot.comm);
        if named.name == name {
            return;
        }
        named.name.clone_from(&name);
        let known = self.options.factors.iter().find(|(known, _)| *known == name);
        let Some(factor) = known.map(|(_, factor)| *factor) else { return };
        let factors = factors_of(&self.machine, factor);
        for index in 0..self.stats.len() {
            if self.stats[index].app == app {
                self.stats[index].speedup_offline = factors;
                self.estimate(ThreadId(index as u32), factors);
            }
        }
    }

    /// Speedup factors of a thread, relative to the slowest kind.
    pub fn estimate(&mut self, thread: ThreadId, factors: PerKind<f32>) {
        self.stats[thread.index()].speedup = factors;
        self.threads[thread.index()].relative_speed = relative_speeds(&self.machine, &factors);
    }

    fn read_cores(&mut self, thread: ThreadId, slot: u32) {
        let slot = &self.kernel.slots[slot as usize];
        let restricted = slot.restricted.load(Relaxed) != 0;
        let has = |cpu: u32| slot.affinity[cpu as usize / 64].load(Relaxed) >> (cpu % 64) & 1 == 1;
        let cores =
            self.machine.cores.iter().filter(|core| has(core.cpu)).map(|core| core.id).collect();
        self.stats[thread.index()].restricted = restricted;
        self.affinity[thread.index()] = restricted.then_some(cores);
    }

    /// A thread may run on other CPUs than before: it starts anew.
    fn bound(&mut self, thread: ThreadId, slot: u32) {
        let before = self.affinity[thread.index()].clone();
        self.read_cores(thread, slot);
        if self.affinity[thread.index()] == before {
            return;
        }
        self.leave(thread);
        if self.affinity[thread.index()].as_deref() != Some(&[]) {
            self.enter(thread);
        }
    }

    /// Brings the statistics of a thread up to now.
    pub(super) fn read(&mut self, thread: ThreadId) {
        let Some(at) = self.threads[thread.index()].slot else { return };
        let now = self.on_the_clock(self.now).0;
        let slot = &self.kernel.slots[at as usize];
        let mut reading = reading(slot);
        let shown = match reading.state {
            // It has been displaced by this process, which is looking.
            state::READY if slot.resumes_here.load(Relaxed) != 0 => State::Running,
            state::READY => State::Ready,
            state::RUNNING => State::Running,
            state::BLOCKED => State::Blocked,
            _ => State::Exited,
        };
        let core = self.core_of(reading.cpu);
        let since = self.since_epoch(reading.since);
        if let (state::RUNNING, Some(core)) = (reading.state, core) {
            let kind = self.machine.cores[core.index()].kind;
            let ran = now.saturating_sub(reading.accounted_at);
            reading.time_on[kind] += ran;
            let rate = u128::from(slot.rate[kind.index()].load(Relaxed));
            reading.virtual_time += ((u128::from(ran) * rate) >> RATE_SHIFT) as u64;
        }
        let still =
            |is: State| if shown == is { self.now.saturating_sub(since) } else { Nanos::ZERO };
        let (waits, sleeps) = (still(State::Ready), still(State::Blocked));
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        for kind in (0..self.machine.kinds.len() as u8).map(KindId) {
            let ran = Nanos(reading.time_on[kind].saturating_sub(state.counted[kind]));
            state.counted[kind] = state.counted[kind].max(reading.time_on[kind]);
            stats.time_on[kind] += ran;
            let work =
                Work(((u128::from(ran.0) * u128::from(state.relative_speed[kind])) >> 16) as u64);
            stats.retired += work;
            stats.since_milestone += work;
        }
        // Until the kernel side has taken up where it is to start, it shows what was.
        if reading.seen_order == state.order_generation {
            stats.virtual_time = reading.virtual_time;
        }
        stats.waiting = state.before.waiting + Nanos(reading.waiting) + waits;
        stats.blocked = state.before.blocked + Nanos(reading.blocked) + sleeps;
        stats.runs = state.before.runs + reading.runs;
        let migrations = state.before.migrations + reading.migrations;
        self.totals.migrations +=
            migrations.saturating_sub(std::mem::replace(&mut state.migrations, migrations));
        stats.since = since;
        if let Some(core) = core {
            stats.core = core;
        }
        // A core may have adopted it.
        let same = slot.applied_queue_generation.load(Relaxed) == state.queue_generation;
        if let (Some(queue), true, true) = (stats.queue, same, reading.queue != NONE)
            && queue.0 != reading.queue
        {
            self.belong(thread, QueueId(reading.queue));
        }
        self.show(thread, shown);
        self.sample(thread, at);
    }

    /// A thread belongs to another queue.
    pub(super) fn belong(&mut self, thread: ThreadId, queue: QueueId) {
        let waits = self.stats[thread.index()].state == State::Ready
            && self.threads[thread.index()].announced;
        let before = self.stats[thread.index()].queue.replace(queue);
        if waits {
            if let Some(count) = before.and_then(|before| self.waiting.get_mut(before.index())) {
                *count = count.saturating_sub(1);
            }
            if let Some(count) = self.waiting.get_mut(queue.index()) {
                *count += 1;
            }
        }
    }

    /// A thread is shown in another state.
    pub(super) fn show(&mut self, thread: ThreadId, to: State) {
        let stats = &mut self.stats[thread.index()];
        let before = std::mem::replace(&mut stats.state, to);
        if before == to {
            return;
        }
        if to == State::Running {
            self.shown_running.push(thread);
        }
        if let Some(count) = stats.queue.and_then(|queue| self.waiting.get_mut(queue.index())) {
            match (before, to) {
                (State::Ready, _) => *count = count.saturating_sub(1),
                (_, State::Ready) => *count += 1,
                _ => {}
            }
        }
        if self.interest.wants(Interest::LOAD) {
            let signal = if stats.runnable() {
                self.machine.kind_of(stats.core).top().capacity
            } else {
                0.0
            };
            self.threads[thread.index()].load.follow(signal, self.now);
        }
    }

    /// Which threads run where, and which cores have gone idle.
    pub(super) fn look_at_cores(&mut self) {
        for index in 0..self.cores.len() {
            let core = CoreId(index as u32);
            let cpu = &self.kernel.cpus[self.machine.cores[index].cpu as usize];
            let (running, idle) = (cpu.running_slot.load(Relaxed), cpu.idle.load(Relaxed) != 0);
            let made_room = running == NONE;
            let running = if made_room { cpu.displaced.load(Relaxed) } else { running };
            let thread = self.holders.get(running as usize).copied().flatten();
            if let Some(thread) = thread {
                self.read(thread);
                let stats = &self.stats[thread.index()];
                // Where we are ourselves, or the kernel is, the core is not idle.
                if made_room && !idle && stats.state == State::Ready && stats.core == core {
                    self.show(thread, State::Running);
                }
            }
            self.cores[index].running = thread.filter(|&thread| self.is_shown_on(thread, core));
        }
        self.agree();
        for index in 0..self.cores.len() {
            let cpu = &self.kernel.cpus[self.machine.cores[index].cpu as usize];
            let (idles, used) = (cpu.idles.load(Relaxed), cpu.is_used.load(Relaxed) != 0);
            let idle = cpu.idle.load(Relaxed) != 0 && self.cores[index].running.is_none();
            let went_idle = std::mem::replace(&mut self.idles[index], idles) != idles;
            if went_idle && idle && used && self.interest.wants(Interest::CORE_IDLE) {
                self.events.push(Event::CoreIdle(CoreId(index as u32)));
            }
        }
    }

    fn is_shown_on(&self, thread: ThreadId, core: CoreId) -> bool {
        let stats = &self.stats[thread.index()];
        self.threads[thread.index()].announced
            && stats.state == State::Running
            && stats.core == core
    }

    /// Makes threads and cores agree: a thread is shown as running if and only if its core says so.
    /// They are read one after the other and do not stand still meanwhile, and no event says that a
    /// thread has to wait. So a thread that is shown as running where its core does not run it is
    /// looked at again.
    fn agree(&mut self) {
        let mut shown = std::mem::take(&mut self.shown_running);
        shown.sort_unstable();
        shown.dedup();
        shown.retain(|&thread| {
            let runs = |this: &Self| {
                let core = this.stats[thread.index()].core;
                this.cores[core.index()].running == Some(thread) && this.is_shown_on(thread, core)
            };
            if runs(self) {
                return true;
            }
            self.read(thread);
            if !self.threads[thread.index()].announced {
                return false;
            }
            self.tell_whether_runnable(thread);
            let stats = &self.stats[thread.index()];
            if stats.state != State::Running {
                return false;
            }
            let running = &mut self.cores[stats.core.index()].running;
            if *running.get_or_insert(thread) != thread {
                // One of them has just left: the next look tells which.
                self.show(thread, State::Ready);
            }
            true
        });
        shown.append(&mut self.shown_running);
        self.shown_running = shown;
    }

    /// Brings what policies see of loads up to now.
    pub(super) fn refresh_loads(&mut self) {
        if self.interest.wants(Interest::LOAD) {
            for &thread in &self.live {
                self.stats[thread.index()].load = self.threads[thread.index()].load.shown(self.now);
            }
        }
        if !self.interest.wants(Interest::UTILISATION) {
            return;
        }
        for (shown, average) in self.cores.iter_mut().zip(&mut self.utilisation) {
            let is_busy = shown.running.is_some();
            average.note(is_busy, self.now);
            shown.utilisation = average.shown(is_busy, self.now);
        }
    }
}
