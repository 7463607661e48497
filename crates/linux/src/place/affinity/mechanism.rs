//! The mechanism's state, and one look around: what was seen, what the policy says to it, what the
//! kernel is asked for.

use evenkeel_machine::{CoreId, Machine, Nanos, PerKind, Work};
use evenkeel_mechanism::{Guests, Service};
use evenkeel_policy::pelt::Utilisation;
use evenkeel_policy::{
    CoreStats, DEFAULT_WEIGHT, Directives, Event, Interest, Policy, State, ThreadId, ThreadStats,
    View,
};
use rustix::thread::CpuSet;

use super::journal::Entry;
use super::kernel::{Class, Kernel};
use super::overflow::Overflow;
use super::queue::Queue;
use super::thread::{Mask, Thread};
use crate::observe::counters::PerfEvents;
use crate::observe::watch::{Cpu, Seen, Tid};
use crate::place::live::estimating::{Estimating, has_run};
use crate::place::live::milestones::Milestones;
use crate::place::live::roster::{Begun, Roster, put};
use crate::place::live::speedups::factors_of;
use crate::place::live::{Refusal, Sums, Totals, check_seen};

/// Dispatches in one look at most: each may bring about events, and their answers the next one.
const MAX_DISPATCH_ROUNDS: usize = 4;

/// How the mechanism works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that wait in a queue are put into SCHED_IDLE, so that they only run where no other
    /// thread does. Otherwise they share cores with those that have one, as the kernel sees fit.
    /// Needs CAP_SYS_NICE.
    pub park: bool,
    /// A program's first thread is not narrowed for so long after it began: programs ask then how
    /// many CPUs there are for them.
    pub grace: Nanos,
    /// By core: time on its CPU counts so many fold (see account.rs); 1 but in the slow-core lab.
    pub stolen: Vec<f64>,
    /// Speedup factors known beforehand, from the slowest to the fastest kind, by name of the
    /// command; see [`Mechanism::name`].
    pub factors: Vec<(String, f64)>,
    /// How many threads that have ended are remembered, for the record.
    pub remembers: usize,
    /// True if schedutil sets the clocks of all CPUs.
    pub schedutil: bool,
}

/// The affinity mechanism: policy, view, queues, and the masks that carry directives out. Times
/// inside are since `epoch`.
pub struct Mechanism<K> {
    pub(super) kernel: K,
    pub(super) machine: Machine,
    policy: Box<dyn Policy>,
    pub(super) interest: Interest,
    pub(super) directives: Directives,
    pub(super) options: Options,
    pub(super) stolen: Vec<f64>,
    epoch: Nanos,
    /// This process, which is not placed.
    own: i32,
    pub(super) now: Nanos,
    answers: u64,
    pub(super) timer: Option<(Nanos, Nanos)>,

    /// By CPU of the kernel.
    core_of: Vec<Option<CoreId>>,
    /// All CPUs of the machine.
    pub(super) everywhere: CpuSet,
    roster: Roster,

    pub(super) threads: Vec<Thread>,
    pub(super) stats: Vec<ThreadStats>,
    pub(super) affinity: Vec<Option<Box<[CoreId]>>>,
    pub(super) live: Vec<ThreadId>,
    pub(super) cores: Vec<CoreStats>,
    pub(super) waiting: Vec<u32>,
    pub(super) queues: Vec<Queue>,
    pub(super) services: Vec<Service>,
    pub(super) guests: Vec<Guests>,
    /// By queue: CPUs of the cores whose first tier has it, and of faster ones that serve it at
    /// all.
    pub(super) homes: Vec<CpuSet>,
    pub(super) overflow: Overflow,
    /// By core: the thread that was put there.
    pub(super) placed: Vec<Option<ThreadId>>,
    /// By core: it has lost its thread, and has not picked since.
    pub(super) called: Vec<bool>,
    /// By core: the thread that was last seen to get it and not to leave it.
    pub(super) on_core: Vec<Option<ThreadId>>,
    /// By core: the thread that ran there last.
    pub(super) last_on: Vec<Option<ThreadId>>,
    pub(super) utilisation: Vec<Utilisation>,
    pub(super) busy: Vec<Nanos>,
    pub(super) announced_idle: Vec<bool>,
    pub(super) sequence: u64,

    /// Threads that may have changed since the last look.
    pub(super) touched: Vec<ThreadId>,
    pub(super) loose: Vec<ThreadId>,
    /// Threads that are to be placed.
    pub(super) arrivals: Vec<ThreadId>,
    /// Threads that may need another mask or class.
    pub(super) changed: Vec<ThreadId>,
    pub(super) events: Vec<Event>,
    pub(super) milestones: Milestones,
    /// Where the sweep over masks goes on, and when it was last at work.
    pub(super) swept: usize,
    pub(super) swept_at: Nanos,
    pub(super) journal: Vec<Entry>,
    pub(super) placed_first: Vec<Nanos>,
    pub(super) totals: Totals,
}

impl<K: Kernel> Mechanism<K> {
    /// Ready for threads. `epoch`: the beginning of time, `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// Why the policy makes no sense on this machine.
    pub fn new(
        kernel: K,
        machine: Machine,
        policy: Box<dyn Policy>,
        options: Options,
        epoch: Nanos,
    ) -> Result<Self, Refusal> {
        check_seen(policy.interest())?;
        let count = machine.cores.len();
        let mut everywhere = CpuSet::new();
        let mut core_of = Vec::new();
        for core in &machine.cores {
            let cpu = core.cpu as usize;
            if cpu >= CpuSet::MAX_CPU {
                return Err(Refusal::Beyond { cpu: core.cpu, room: CpuSet::MAX_CPU });
            }
            everywhere.set(cpu);
            if core_of.len() <= cpu {
                core_of.resize(cpu + 1, None);
            }
            core_of[cpu] = Some(core.id);
        }
        let mut stolen = options.stolen.clone();
        stolen.resize(count, 1.0);
        let mut mechanism = Self {
            kernel,
            interest: policy.interest(),
            policy,
            directives: Directives::default(),
            roster: Roster::new(options.remembers),
            options,
            stolen,
            epoch,
            own: std::process::id() as i32,
            now: Nanos::ZERO,
            answers: 0,
            timer: None,
            core_of,
            everywhere,
            threads: Vec::new(),
            stats: Vec::new(),
            affinity: Vec::new(),
            live: Vec::new(),
            cores: vec![CoreStats { online: true, ..CoreStats::default() }; count],
            waiting: Vec::new(),
            queues: Vec::new(),
            services: vec![Service::default(); count],
            guests: vec![Guests::default(); count],
            homes: Vec::new(),
            overflow: Overflow::default(),
            placed: vec![None; count],
            called: vec![false; count],
            on_core: vec![None; count],
            last_on: vec![None; count],
            utilisation: vec![Utilisation::default(); count],
            busy: vec![Nanos::ZERO; count],
            announced_idle: vec![true; count],
            sequence: 0,
            touched: Vec::new(),
            loose: Vec::new(),
            arrivals: Vec::new(),
            changed: Vec::new(),
            events: Vec::new(),
            milestones: Milestones::default(),
            swept: 0,
            swept_at: Nanos::ZERO,
            journal: Vec::new(),
            placed_first: Vec::new(),
            totals: Totals::default(),
            machine,
        };
        let Self { policy, directives, machine, options, cores, .. } = &mut mechanism;
        let view = View {
            now: Nanos::ZERO,
            answer: 0,
            carried_out: 0,
            machine,
            schedutil: options.schedutil,
            cores,
            threads: &[],
            live: &[],
            ran: &[],
            waiting: &[],
            affinity: &[],
        };
        policy.start(&view, directives)?;
        mechanism.carry_out_all();
        Ok(mechanism)
    }

    /// What the policy has to say on this machine.
    pub fn notes(&self) -> Vec<String> {
        self.policy.notes()
    }

    /// Looks around: `seen` in order of time, all of it before `now` (`CLOCK_MONOTONIC`).
    pub fn look(&mut self, now: Nanos, seen: &[Seen]) {
        self.now = self.now.max(now.saturating_sub(self.epoch));
        // Threads that ended before the last look are in no directive any more.
        let (stats, threads) = (&self.stats, &self.threads);
        self.roster
            .forget(|thread| Sums::of(&stats[thread.index()], threads[thread.index()].migrations));
        for seen in seen {
            self.observe(seen);
        }
        for core in 0..self.on_core.len() {
            if let Some(thread) = self.on_core[core] {
                self.count(thread, self.now);
            }
        }
        self.note_changes();
        self.note_naps();
        self.refresh_loads();
        self.tell();
        self.settle_loose();
        for _ in 0..MAX_DISPATCH_ROUNDS {
            self.dispatch();
            if self.events.is_empty() {
                break;
            }
            self.tell();
        }
        if let Some((period, due)) = self.timer
            && self.now >= due
        {
            // Not from `due`: a late timer fires once, not twice.
            self.timer = Some((period, self.now.saturating_add(period)));
            self.refresh_waiting();
            self.events.push(Event::Timer);
            self.tell();
            self.dispatch();
            self.tell();
        }
        self.judge_overflow();
        self.call_back();
        self.apply();
    }

    /// When the next look is due, at the latest (`CLOCK_MONOTONIC`), if nothing happens.
    pub fn due(&self) -> Option<Nanos> {
        let timer = self.timer.map(|(_, due)| due);
        [timer, self.next_slice_end()]
            .into_iter()
            .flatten()
            .min()
            .map(|due| due.saturating_add(self.epoch))
    }

    /// A core came, or left.
    pub fn set_online(&mut self, core: CoreId, online: bool) {
        if self.cores[core.index()].online == online {
            return;
        }
        if !online {
            self.give_back(core);
        }
        self.cores[core.index()].online = online;
        self.find_homes();
        self.events.push(if online { Event::CoreOnline(core) } else { Event::CoreOffline(core) });
    }

    /// Threads that have not ended, with their numbers in `/proc`.
    pub fn live(&self) -> impl Iterator<Item = (ThreadId, Tid)> + '_ {
        self.live.iter().map(|&thread| (thread, self.threads[thread.index()].tid))
    }

    /// True if a thread was there before it was first seen.
    pub fn was_found(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].found
    }

    /// Statistics of all threads, by number.
    pub fn stats(&self) -> &[ThreadStats] {
        &self.stats
    }

    /// By thread, its number in `/proc`, and how often it changed cores.
    pub fn tids(&self) -> Vec<(Tid, u64)> {
        self.threads.iter().map(|state| (state.tid, state.migrations)).collect()
    }

    /// Threads by number, and their processes.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// By core, the time that it had a thread of those that are followed.
    pub fn busy(&self) -> &[Nanos] {
        &self.busy
    }

    /// Counts so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// A time of the mechanism's, as `CLOCK_MONOTONIC`.
    pub fn on_the_clock(&self, time: Nanos) -> Nanos {
        time.saturating_add(self.epoch)
    }

    /// A process is called so: the speedup factor that [`Options::factors`] has for this name
    /// becomes that of its threads.
    pub fn name(&mut self, process: Tid, name: &str) {
        let Some(app) = self.roster.app_of(process) else { return };
        name.clone_into(&mut self.roster.app_mut(app).name);
        let Some(factor) =
            self.options.factors.iter().find(|(known, _)| known == name).map(|(_, factor)| *factor)
        else {
            return;
        };
        let factors = factors_of(&self.machine, factor);
        // A program that has just begun has one thread; those that it forks inherit.
        let all = (0..self.stats.len() as u32).map(ThreadId);
        let threads: Vec<ThreadId> =
            all.filter(|thread| self.stats[thread.index()].app == app).collect();
        for thread in threads {
            self.stats[thread.index()].speedup_offline = factors;
            self.set_speedup(thread, factors);
        }
    }

    /// Speedup factors of a thread as an estimator has them now, relative to the slowest kind.
    pub fn estimate(&mut self, thread: ThreadId, factors: PerKind<f32>) {
        self.set_speedup(thread, factors);
    }

    /// Has counters read, and takes in the factors that they tell. `at`: `CLOCK_MONOTONIC`.
    pub fn estimate_by<P: PerfEvents>(&mut self, estimating: &mut Estimating<P>, at: Nanos) {
        let with_times = |(thread, tid): (ThreadId, Tid)| {
            let stats = &self.stats[thread.index()];
            has_run(stats).then_some((thread, tid, stats.time_on))
        };
        let threads: Vec<_> = self.live().filter_map(with_times).collect();
        estimating.read(at, threads.into_iter(), |thread, factors| self.estimate(thread, factors));
    }

    pub(super) fn allowed(&self, thread: ThreadId, core: CoreId) -> bool {
        self.affinity[thread.index()].as_ref().is_none_or(|cores| cores.contains(&core))
    }

    pub(super) fn change(&mut self, thread: ThreadId) {
        self.changed.push(thread);
    }

    pub(super) fn known(&self, tid: Tid) -> Option<ThreadId> {
        self.roster.known(tid)
    }

    pub(super) fn core_of(&self, cpu: Cpu) -> Option<CoreId> {
        self.core_of.get(cpu.0 as usize).copied().flatten()
    }

    pub(super) fn since_epoch(&self, at: Nanos) -> Nanos {
        at.saturating_sub(self.epoch)
    }

    /// A thread has been seen for the first time.
    pub(super) fn begin(
        &mut self,
        tid: Tid,
        process: Tid,
        parent: Option<ThreadId>,
        at: Nanos,
    ) -> ThreadId {
        let forked_by = parent;
        let parent = parent.or_else(|| self.likely_parent(process));
        let from = parent.map(|parent| self.stats[parent.index()].app);
        let Begun { thread, app, index_in_app } = self.roster.begin(tid, process, from, at);
        let factors = self.machine.capacity_factors();
        let mut stats = ThreadStats {
            virtual_time: 0,
            retired: Work::ZERO,
            since_milestone: Work::ZERO,
            since: at,
            waiting: Nanos::ZERO,
            runs: 0,
            weight: DEFAULT_WEIGHT,
            core: CoreId(0),
            queue: None,
            time_on: PerKind::all(Nanos::ZERO),
            to_milestone: None,
            state: State::Ready,
            restricted: false,
            app,
            load: 0,
            blocked: Nanos::ZERO,
            stalled: Nanos::ZERO,
            started: at,
            speedup: factors,
            speedup_offline: factors,
            group: 0,
            index_in_app,
            parent,
        };
        let mut state = Thread::new(tid, process, at);
        let mut affinity = None;
        if let Some(known) =
            parent.map(|parent| &self.stats[parent.index()]).filter(|known| known.app == app)
        {
            stats.speedup = known.speedup;
            stats.speedup_offline = known.speedup_offline;
        }
        // A thread that was found inherits from another of its family only if that was given a
        // mask: all else is its own.
        let handed_down = |parent: &ThreadId| self.threads[parent.index()].mask != Mask::Untouched;
        if process.0 == self.own {
            state.foreign = true;
        } else if let Some(parent) = forked_by.or_else(|| parent.filter(handed_down)) {
            let (from, known) = (&self.threads[parent.index()], &self.stats[parent.index()]);
            state.inherit(from);
            affinity.clone_from(&self.affinity[parent.index()]);
            stats.weight = known.weight;
            stats.restricted = known.restricted;
        } else if let Ok(params) = self.kernel.sched_params(tid) {
            stats.weight = params.weight();
            state.class = params.class;
            state.foreign = params.class == Class::Urgent || self.kernel.is_of_kernel(tid);
        }
        let factors = stats.speedup;
        // Directives for a number hold for each thread that has it.
        if let Some(before) = self.threads.get(thread.index()) {
            (state.order, state.charge, state.slice) = (before.order, before.charge, before.slice);
        }
        put(&mut self.threads, thread, state);
        put(&mut self.stats, thread, stats);
        put(&mut self.affinity, thread, affinity);
        self.set_speedup(thread, factors);
        thread
    }

    /// The thread that a new one has probably inherited from, where the source does not name its
    /// parent: another thread of its process, else one of the parent process.
    fn likely_parent(&mut self, process: Tid) -> Option<ThreadId> {
        if let Some(app) = self.roster.app_of(process) {
            return self
                .live
                .iter()
                .rev()
                .copied()
                .find(|thread| self.stats[thread.index()].app == app);
        }
        let parent = self.kernel.parent(process)?;
        self.known(parent)
    }

    /// A thread's number may be given to another from now on.
    pub(super) fn forget(&mut self, thread: ThreadId) {
        let (tid, stats) = (self.threads[thread.index()].tid, &self.stats[thread.index()]);
        self.roster.end(thread, stats.app, tid, stats.since);
    }

    /// A core was seen to take a thread up.
    pub(super) fn note_taken(&mut self, core: CoreId, thread: ThreadId) {
        self.on_core[core.index()] = Some(thread);
        if self.last_on[core.index()].replace(thread) != Some(thread) {
            self.totals.context_switches += 1;
        }
    }

    /// Tells the policy what happened, and does what it says to each.
    fn tell(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            let Self {
                policy,
                directives,
                machine,
                options,
                cores,
                stats,
                live,
                waiting,
                affinity,
                ..
            } = self;
            let view = View {
                now: self.now,
                answer: self.answers,
                carried_out: self.answers,
                machine,
                schedutil: options.schedutil,
                cores,
                threads: stats,
                live,
                ran: live,
                waiting,
                affinity,
            };
            policy.event(event, &view, directives);
            self.answers += 1;
            self.carry_out_all();
        }
        if self.events.is_empty() {
            self.events = events;
        }
    }

    /// Times of those that wait, for policies that look at them.
    fn refresh_waiting(&mut self) {
        for at in 0..self.live.len() {
            let thread = self.live[at];
            if self.threads[thread.index()].on.is_none() {
                self.count(thread, self.now);
            }
        }
    }
}
