//! The mechanism: its state, and the loop over instants.
//!
//! An instant has three parts, and the order of its parts is all that keeps policies sequential and
//! runs deterministic:
//!
//! 1. *It happens.* Every event of this time: work ends, slices are used up, timers expire. Threads
//!    go through their steps until each computes, waits or ends; whoever becomes ready is only
//!    noted.
//! 2. *The policy is asked*, once, about all of it; what it says is carried out (now, or after the
//!    decision latency).
//! 3. *Cores take up threads.* Who is ready goes into the queue that it is assigned to, idle cores
//!    are found, and every core that needs a thread picks one.
//!
//! What part 3 brings up (a core that found nothing) starts another round of 2 and 3 in the same
//! instant. The policy's timer, if it is due, has the last round to itself: a policy that looks
//! around finds every core with its thread, also where slices end just then.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use evenkeel_machine::{CoreId, KindId, Machine, MicroWatts, Nanos, PerKind, Work};
use evenkeel_mechanism::{Guests, QueueClock, Service};
use evenkeel_model::{Application, Class};
use evenkeel_policy::{
    AppId, CoreStats, Directive, Directives, Event, Interest, Policy, Preemption, Slice, State,
    ThreadId, ThreadStats,
};

use crate::apps::App;
use crate::config::{Config, Governor};
use crate::engine::{Calendar, Slot};
use crate::latency::Latencies;
use crate::loads::Loads;
use crate::outcome::{Outcome, SensorLog};
use crate::periods::Periods;
use crate::power::Meter;
use crate::program::Op;
use crate::quiet::{Quiet, Tickless};
use crate::ran::Ran;
use crate::runqueue::{Places, RunQueue};
use crate::speed::{Speeds, point_for};
use crate::thread::{DEFAULT_SLICE, Place, Thread};
use crate::trace::Listener;
use crate::{SimError, apps};
use evenkeel_policy::pelt::Pelt;

/// Priorities within an instant: what happens, then the ends, then who only looks.
pub mod priority {
    pub const HAPPENS: u8 = 0;
    pub const LATE: u8 = 1;
    pub const TIMER: u8 = 2;
    pub const GOVERNOR: u8 = 3;
    pub const SENSOR: u8 = 4;
    pub const END: u8 = 5;
}

pub const TIMER_SLOT: Slot = Slot(0);
pub const SENSOR_SLOT: Slot = Slot(1);
const END_SLOT: Slot = Slot(2);
pub const LATE_SLOT: Slot = Slot(3);
const FIRST_FREE_SLOT: u32 = 4;

/// Rounds of asking and dispatching within one instant before time goes on regardless.
const MAX_ROUNDS: u32 = 16;

/// Events of one instant after which it is taken for a loop that takes no time.
const MAX_AT_ONE_INSTANT: u32 = 20_000_000;

/// Time with nothing but a policy's timer after which a run in which somebody still waits for a
/// core is given up.
const PATIENCE: Nanos = Nanos(60_000_000_000);

/// No thread, no core.
pub const NONE: u32 = u32::MAX;

/// A core as the mechanism keeps it, what a context switch needs first.
#[repr(C, align(64))]
pub struct Core {
    /// Thread that it runs, or [`NONE`].
    pub running: u32,
    /// Thread that it ran last.
    pub last: u32,
    /// Next, before any queue.
    pub reserved: u32,
    pub kind: KindId,
    /// Whether it is on the list of cores that need a thread.
    pub called: bool,
    /// Whether a thread of a higher class counts on it in this instant.
    pub claimed: bool,
    /// Whether it counts as busy for power, siblings and the governor: what was so at the end of
    /// the last instant.
    pub busy: bool,
    /// Whether it takes threads at all.
    pub used: bool,
    /// Up to when the statistics are.
    pub accounted: Nanos,
    pub busy_time: Nanos,
    /// Units of work per nanosecond of the running thread, with everything that slows it.
    pub rate: f64,
    /// Virtual time of the running thread per nanosecond, in units of
    /// [`CHARGE_SHIFT`](crate::thread::CHARGE_SHIFT).
    pub virtual_rate: u64,
    pub slice_end: Nanos,
    /// Which of the slices in a row that is, the first being 1.
    pub slice_number: u32,
    pub work_end: Nanos,
    /// Since when the rate is what it is: what the thread has to do is as of then.
    pub since: Nanos,
    /// What the statistics have been told of what has been done since.
    pub told: Told,
    /// Part of a nanosecond of virtual time that the running thread has been charged beyond its
    /// statistics, in the same units.
    pub virtual_fraction: u16,
    pub picked_at: Nanos,
    /// See [`crate::quiet`].
    pub tickless: Tickless,
    /// Speed of the running thread before contention for bandwidth.
    pub speed: f64,
    /// Share of the bandwidth that it wants that it gets.
    pub granted: f64,
    /// Share of the running thread's time that it waits for memory.
    pub stall: f64,
    /// Bytes per nanosecond that it wants.
    pub demand: f64,
    /// What it gets, while it is being shared out.
    pub wish: f64,
    pub cluster: usize,
    pub sibling: Option<usize>,
    pub service: Service,
    /// The queue that it takes from before all others, or [`NONE`].
    pub only: u32,
    pub guests: Guests,
    pub meter: Meter,
    /// Threads that must run here, whatever the policy serves here.
    pub local: RunQueue,
    pub local_turn: bool,
    pub busy_average: Pelt,
    pub utilisation: Pelt,
}

/// What the statistics of a thread have been told since its rate last changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Work.
    pub work: u64,
    /// Nanoseconds.
    pub stalled: u64,
}

/// A queue that the policy made.
#[derive(Default)]
pub struct Queue {
    pub waiting: RunQueue,
    pub clock: QueueClock,
    pub prefer: Vec<CoreId>,
    pub preemption: Option<Preemption>,
    /// Cores that have it in their first tier: whom an arrival may preempt.
    pub servers: Vec<u32>,
    /// Cores that have it in any tier, as bits.
    pub served_by: Vec<u64>,
    /// Whether any of its threads has a deadline that is postponed by distance.
    pub postpones: bool,
    /// How many wait who have woken or started, and not run since.
    pub fresh: u32,
}

/// A cluster as the mechanism keeps it.
pub struct ClusterState {
    pub opp: usize,
    pub busy: u32,
    pub meter: Meter,
    pub changed_at: Nanos,
    pub ever_changed: bool,
    /// Whether its governor is to look at it at the end of this instant.
    pub to_govern: bool,
}

/// One run.
pub struct Mechanism<'a, L> {
    pub machine: &'a Machine,
    pub specs: &'a [Application],
    pub config: &'a Config,
    pub listener: &'a mut L,
    pub policy: &'a mut dyn Policy,
    pub interest: Interest,
    pub now: Nanos,
    pub calendar: Calendar,
    pub speeds: Speeds,
    pub ops: Vec<Op>,
    pub apps: Vec<App>,
    pub threads: Vec<Thread>,
    /// By thread, where it stands: apart from the rest, because a thread that changes queues needs
    /// no more than this.
    pub place_of: Vec<Place>,
    pub stats: Vec<ThreadStats>,
    /// Up to the last thread that may run on some cores only.
    pub affinity: Vec<Option<Box<[CoreId]>>>,
    pub live: Vec<ThreadId>,
    pub cores: Vec<Core>,
    pub core_stats: Vec<CoreStats>,
    pub clusters: Vec<ClusterState>,
    pub queues: Vec<Queue>,
    pub waiting: Vec<u32>,
    pub places: Places,
    /// Threads of a higher class that wait for a core.
    pub urgent: RunQueue,
    /// How many of them count on a core in this instant.
    pub claims: usize,
    pub sequence: u64,
    /// How many threads wait in queues of whatever sort.
    pub ready: u32,
    /// How many cores are idle and used; which, as bits.
    pub idle: u32,
    pub idle_bits: Vec<u64>,
    pub events: Vec<Event>,
    pub arrivals: Vec<ThreadId>,
    pub called: Vec<u32>,
    /// The same, as bits.
    pub called_bits: Vec<u64>,
    pub say: Directives,
    /// Slice of threads of which none has been said.
    pub default_slice: Rc<Slice>,
    /// Answers of the policy, and how many of them have been carried out.
    pub answers: u64,
    pub carried_out: u64,
    pub late: VecDeque<(Nanos, Vec<Directive>)>,
    pub period: Nanos,
    timer_due: bool,
    pub quiet: Quiet,
    pub bandwidth_changed: bool,
    /// Whether any cluster's governor is to look at it.
    pub governed: bool,
    /// Something became ready, or who serves what has changed, while cores idle.
    pub stirred: bool,
    pub restricted: bool,
    pub ended: bool,
    /// Events of the calendar that only look: they do not keep a run alive.
    pub lookers: usize,
    pub quiet_since: Nanos,
    pub thread_slots: u32,
    pub governor_slots: u32,
    pub app_slots: u32,
    pub migrations: u64,
    pub swaps: u64,
    pub context_switches: u64,
    pub latency: Vec<Latencies>,
    /// Of threads that wait for timers.
    pub periods: BTreeMap<ThreadId, Periods>,
    pub sensors: Option<SensorLog>,
    pub has_power: bool,
    /// Whether loads of threads are kept.
    pub tracks_load: bool,
    /// Whether the utilisation of cores is.
    pub tracks_utilisation: bool,
    pub loads: Loads,
    pub tracks_stalls: bool,
    pub tracks_ran: bool,
    pub ran: Ran,
    /// Events so far.
    pub happened: u64,
    pub failure: Option<SimError>,
    pub scratch: crate::contention::Scratch,
}

impl<'a, L: Listener> Mechanism<'a, L> {
    /// Sets everything up and lets the policy lay out its queues.
    pub fn new(
        machine: &'a Machine,
        specs: &'a [Application],
        policy: &'a mut dyn Policy,
        config: &'a Config,
        listener: &'a mut L,
    ) -> Result<Self, SimError> {
        let mut ops = Vec::new();
        let apps = apps::set_up(machine, specs, config, &mut ops)?;
        let interest = policy.interest();
        let cores = machine.cores.len();
        let governor_slots = FIRST_FREE_SLOT;
        let app_slots = governor_slots + machine.clusters.len() as u32;
        let core_slots = app_slots + specs.len() as u32;
        let has_power = machine.has_power_model();
        let default_slice = Rc::new(Slice::of(DEFAULT_SLICE));
        let mut this = Self {
            machine,
            specs,
            config,
            listener,
            policy,
            interest,
            now: Nanos::ZERO,
            calendar: Calendar::default(),
            speeds: Speeds::new(machine, specs),
            ops,
            apps,
            threads: Vec::new(),
            place_of: Vec::new(),
            stats: Vec::new(),
            affinity: Vec::new(),
            live: Vec::new(),
            cores: machine.cores.iter().map(|core| Core::new(machine, core.id)).collect(),
            core_stats: vec![CoreStats { online: true, ..CoreStats::default() }; cores],
            clusters: Vec::new(),
            queues: Vec::new(),
            waiting: Vec::new(),
            places: Places::default(),
            urgent: RunQueue::default(),
            claims: 0,
            sequence: 0,
            ready: 0,
            idle: 0,
            idle_bits: vec![0; cores.div_ceil(64)],
            events: Vec::new(),
            arrivals: Vec::new(),
            called: Vec::new(),
            called_bits: vec![0; cores.div_ceil(64)],
            say: Directives::default(),
            default_slice,
            answers: 0,
            carried_out: 0,
            late: VecDeque::new(),
            period: Nanos::ZERO,
            timer_due: false,
            quiet: Quiet::default(),
            bandwidth_changed: false,
            governed: false,
            stirred: false,
            restricted: false,
            ended: false,
            lookers: 0,
            quiet_since: Nanos::ZERO,
            thread_slots: core_slots + cores as u32,
            governor_slots,
            app_slots,
            migrations: 0,
            swaps: 0,
            context_switches: 0,
            latency: vec![Latencies::default(); machine.kinds.len()],
            periods: BTreeMap::new(),
            sensors: machine.sensor_interval.map(|interval| {
                let microwatts = vec![Vec::new(); machine.clusters.len()];
                SensorLog { interval, microwatts }
            }),
            has_power,
            tracks_load: interest.wants(Interest::LOAD),
            tracks_utilisation: interest.wants(Interest::UTILISATION)
                || config.governor == Governor::Schedutil,
            loads: Loads::default(),
            tracks_stalls: interest.wants(Interest::STALLED),
            tracks_ran: interest.wants(Interest::RAN),
            ran: Ran::default(),
            happened: 0,
            failure: None,
            scratch: crate::contention::Scratch::default(),
        };
        let threads = specs.iter().map(|spec| spec.threads.len()).sum();
        this.threads.reserve_exact(threads);
        this.stats.reserve_exact(threads);
        this.place_of.reserve_exact(threads);
        this.places.reserve(threads);
        this.calendar.reserve(this.thread_slots as usize + threads);
        this.calendar.grow(this.thread_slots as usize);
        this.clusters =
            machine.clusters.iter().enumerate().map(|(i, _)| this.cluster_at_start(i)).collect();
        for core in 0..cores {
            this.cores[core].meter = Meter::new(this.idle_power(core));
        }
        this.start_policy()?;
        Ok(this)
    }

    fn cluster_at_start(&self, cluster: usize) -> ClusterState {
        let kind = &self.machine.kinds[self.machine.clusters[cluster].kind.index()];
        let opp = match self.config.governor {
            Governor::Performance => kind.opps.len() - 1,
            Governor::Fixed { khz } => {
                point_for(self.machine, evenkeel_machine::ClusterId(cluster as u32), khz)
            }
            Governor::Schedutil => 0,
        };
        ClusterState {
            opp,
            busy: 0,
            meter: Meter::new(MicroWatts::ZERO),
            changed_at: Nanos::ZERO,
            ever_changed: false,
            to_govern: false,
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Result<Outcome, SimError> {
        for app in 0..self.apps.len() {
            self.start_app(app);
        }
        if let Some(duration) = self.config.duration {
            self.calendar.set(END_SLOT, duration, priority::END);
        }
        if let Some(interval) = self.machine.sensor_interval
            && self.has_power
        {
            self.lookers += 1;
            self.calendar.set(SENSOR_SLOT, interval, priority::SENSOR);
        }
        self.settle();
        let mut at_this_instant = 0;
        while !self.ended {
            let Some(time) = self.calendar.next_time() else { return Err(self.stuck()) };
            if time > self.now {
                self.happened += u64::from(std::mem::take(&mut at_this_instant));
                self.check_for_silence(time)?;
                self.now = time;
            }
            while let Some(slot) = self.next_event() {
                self.happen(slot);
                at_this_instant += 1;
                if at_this_instant > MAX_AT_ONE_INSTANT {
                    return Err(self.timeless());
                }
                if let Some(failure) = self.failure.take() {
                    return Err(failure);
                }
            }
            self.settle();
            self.note_quiet();
        }
        self.happened += u64::from(at_this_instant);
        Ok(self.finish())
    }

    /// Nothing that is left can bring the run forward.
    fn check_for_silence(&mut self, time: Nanos) -> Result<(), SimError> {
        if self.calendar.len() > self.lookers {
            self.quiet_since = time;
            return Ok(());
        }
        let waits_for_core = self.ready > 0 && self.lookers > 0;
        if waits_for_core && time.saturating_sub(self.quiet_since) < PATIENCE {
            return Ok(());
        }
        Err(self.stuck())
    }

    fn happen(&mut self, slot: Slot) {
        match slot {
            TIMER_SLOT => {
                self.timer_due = true;
                self.calendar.set(TIMER_SLOT, self.now + self.period, priority::TIMER);
            }
            SENSOR_SLOT => self.read_sensors(),
            END_SLOT => self.ended = true,
            LATE_SLOT => self.carry_out_late(),
            Slot(slot) if slot >= self.thread_slots => {
                self.thread_time(ThreadId(slot - self.thread_slots));
            }
            Slot(slot) if slot >= self.core_slots() => {
                self.core_time((slot - self.core_slots()) as usize)
            }
            Slot(slot) if slot >= self.app_slots => self.cut_app((slot - self.app_slots) as usize),
            Slot(slot) => self.govern((slot - self.governor_slots) as usize),
        }
    }

    pub fn core_slots(&self) -> u32 {
        self.app_slots + self.specs.len() as u32
    }

    /// The calendar's slot of a core.
    pub fn core_slot(&self, core: usize) -> Slot {
        Slot(self.core_slots() + core as u32)
    }

    /// The calendar's slot of a thread.
    pub fn thread_slot(&self, thread: ThreadId) -> Slot {
        Slot(self.thread_slots + thread.0)
    }

    fn read_sensors(&mut self) {
        let Some(sensors) = &mut self.sensors else { return };
        let clusters = self.clusters.iter().zip(&self.machine.clusters);
        for ((state, cluster), readings) in clusters.zip(&mut sensors.microwatts) {
            let cores = cluster.cores.iter().map(|core| self.cores[core.index()].meter.power());
            let power: MicroWatts = cores.sum();
            readings.push((power + state.meter.power()).0);
        }
        self.calendar.set(SENSOR_SLOT, self.now + sensors.interval, priority::SENSOR);
    }

    /// Parts 2 and 3 of an instant.
    fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if !self.events.is_empty() {
                self.ask();
            }
            self.place_arrivals();
            self.dispatch();
            if self.stirred {
                self.sweep();
            }
            if self.events.is_empty() && self.arrivals.is_empty() {
                if !std::mem::take(&mut self.timer_due) {
                    break;
                }
                self.note_timer();
                self.events.push(Event::Timer);
            }
        }
        if std::mem::take(&mut self.governed) {
            for cluster in 0..self.clusters.len() {
                if std::mem::take(&mut self.clusters[cluster].to_govern) {
                    self.govern(cluster);
                }
            }
        }
        if self.bandwidth_changed {
            self.share_bandwidth();
        }
    }

    /// Adds a thread to those of the run, not started yet. Its slot in the calendar is its own from
    /// now on.
    pub fn add_thread(
        &mut self,
        thread: Thread,
        mut stats: ThreadStats,
        affinity: Option<Box<[CoreId]>>,
    ) -> ThreadId {
        let id = ThreadId(self.threads.len() as u32);
        stats.restricted = affinity.is_some();
        self.restricted |= stats.restricted;
        self.threads.push(thread);
        self.stats.push(stats);
        self.place_of.push(Place::Nowhere);
        if affinity.is_some() {
            self.set_cores_of(id, affinity);
        }
        self.places.grow(self.threads.len());
        self.calendar.grow(self.thread_slots as usize + self.threads.len());
        id
    }

    /// The cores that a thread may run on, where that is not all.
    pub fn cores_of(&self, thread: ThreadId) -> Option<&[CoreId]> {
        self.affinity.get(thread.index())?.as_deref()
    }

    /// Sets them.
    pub fn set_cores_of(&mut self, thread: ThreadId, cores: Option<Box<[CoreId]>>) {
        if self.affinity.len() <= thread.index() {
            self.affinity.resize(thread.index() + 1, None);
        }
        self.affinity[thread.index()] = cores;
    }

    /// Whether a thread may run on a core.
    pub fn allowed(&self, thread: ThreadId, core: usize) -> bool {
        self.cores_of(thread).is_none_or(|cores| cores.contains(&CoreId(core as u32)))
    }
}

impl Core {
    fn new(machine: &Machine, id: CoreId) -> Self {
        let core = &machine.cores[id.index()];
        Self {
            kind: core.kind,
            cluster: core.cluster.index(),
            sibling: core.sibling.map(CoreId::index),
            running: NONE,
            last: NONE,
            reserved: NONE,
            called: false,
            claimed: false,
            busy: false,
            used: false,
            accounted: Nanos::ZERO,
            since: Nanos::ZERO,
            told: Told::default(),
            picked_at: Nanos::ZERO,
            tickless: Tickless::default(),
            slice_end: Nanos::MAX,
            slice_number: 1,
            work_end: Nanos::MAX,
            rate: 1.0,
            speed: 1.0,
            granted: 1.0,
            stall: 0.0,
            demand: 0.0,
            wish: 0.0,
            virtual_rate: 0,
            virtual_fraction: 0,
            busy_time: Nanos::ZERO,
            meter: Meter::default(),
            service: Service::default(),
            only: NONE,
            guests: Guests::default(),
            local: RunQueue::default(),
            local_turn: false,
            busy_average: Pelt::default(),
            utilisation: Pelt::default(),
        }
    }
}

/// Statistics of a thread that has not started.
pub fn fresh_stats(
    app: AppId,
    group: u32,
    index_in_app: u32,
    parent: Option<ThreadId>,
    weight: u32,
) -> ThreadStats {
    ThreadStats {
        app,
        group,
        index_in_app,
        parent,
        weight,
        state: State::Blocked,
        core: CoreId(0),
        runs: 0,
        queue: None,
        virtual_time: 0,
        started: Nanos::ZERO,
        time_on: PerKind::all(Nanos::ZERO),
        blocked: Nanos::ZERO,
        stalled: Nanos::ZERO,
        waiting: Nanos::ZERO,
        since: Nanos::ZERO,
        retired: Work::ZERO,
        since_milestone: Work::ZERO,
        to_milestone: None,
        speedup: PerKind::all(1.0),
        speedup_offline: PerKind::all(1.0),
        load: 0,
        restricted: false,
    }
}

/// How long a slice lasts on a kind, with so many runnable in the queue.
pub fn slice_length(slice: &Slice, kind: KindId, runnable: usize) -> Nanos {
    let time = slice.time[kind];
    match slice.divided_to {
        Some(least) if runnable > 1 => Nanos((time.0 / runnable as u64).max(least.0)),
        _ => time,
    }
}

/// Weight of a class and a nice value.
pub fn weight_of(class: Class, nice: i8) -> u32 {
    match class {
        Class::Idle => evenkeel_policy::IDLE_WEIGHT,
        _ => evenkeel_policy::weight_of(nice),
    }
}
