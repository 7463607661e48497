//! The mechanism: its state, and the loop over instants.
//!
//! An instant has three parts, and the order of its parts is all that keeps policies sequential and
//! runs deterministic:
//!
//! 1. *It happens.* Every event of this time: work ends, slices are used up, timers expire. Threads
//!    go through their steps until each computes, waits or ends; a thread that becomes ready is
//!    only noted.
//! 2. *The policy is asked*, once, about all of it; what it says is carried out (now, or after the
//!    decision latency).
//! 3. *Cores take up threads.* Each ready thread goes into the queue that it is assigned to, idle
//!    cores are found, and every core that needs a thread picks one.
//!
//! What part 3 brings up (a core that found nothing) starts another round of 2 and 3 in the same
//! instant. The policy's timer, if it is due, has the last round to itself: a policy that looks
//! around finds every core with its thread, also where slices end just then.

use std::collections::BTreeMap;
use std::rc::Rc;

use evenkeel_machine::{CoreId, Machine, Nanos};
use evenkeel_model::Application;
use evenkeel_policy::{
    CoreStats, Directives, Event, Interest, Policy, Slice, ThreadId, ThreadStats,
};

use crate::SimError;
use crate::asking::answers::Answers;
use crate::asking::ask::Tracked;
use crate::asking::counters::Counting;
use crate::asking::loads::Loads;
use crate::asking::quiet::Quiet;
use crate::asking::ran::Ran;
use crate::calendar::owners::{Owner, Owners};
use crate::calendar::slots::{Calendar, Slot};
use crate::config::Config;
use crate::cores::contention::Scratch;
use crate::cores::core::{Cluster, Core};
use crate::cores::power::{Energy, Meter};
use crate::cores::sets::CoreSets;
use crate::cores::speed::Speeds;
use crate::outcome::Outcome;
use crate::periods::Periods;
use crate::programs::apps::{self, App};
use crate::programs::program::Op;
use crate::programs::thread::{DEFAULT_SLICE, Place, Thread};
use crate::queues::policy_queues::Queues;
use crate::totals::Totals;
use crate::trace::Listener;

/// Priorities within an instant: what happens, then the policy, then what only looks.
pub mod priority {
    pub const HAPPENS: u8 = 0;
    pub const LATE: u8 = 1;
    pub const COUNTERS: u8 = 2;
    pub const TIMER: u8 = 3;
    pub const GOVERNOR: u8 = 4;
    pub const SENSOR: u8 = 5;
    pub const END: u8 = 6;
}

/// Rounds of asking and dispatching within one instant before time goes on regardless.
const MAX_ROUNDS: u32 = 16;

/// Events of one instant after which it is taken for a loop that takes no time.
const MAX_AT_ONE_INSTANT: u32 = 20_000_000;

/// Time with nothing but a policy's timer after which a run in which a thread still waits for a
/// core is given up.
const PATIENCE: Nanos = Nanos(60_000_000_000);

/// No thread, no core.
pub const NONE: u32 = u32::MAX;

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
    pub clusters: Vec<Cluster>,
    pub queues: Queues,
    /// How many threads of a higher class count on a core in this instant.
    pub claims: usize,
    pub sets: CoreSets,
    pub events: Vec<Event>,
    pub arrivals: Vec<ThreadId>,
    pub say: Directives,
    /// Slice of threads of which none has been said.
    pub default_slice: Rc<Slice>,
    pub answers: Answers,
    pub period: Nanos,
    timer_due: bool,
    pub quiet: Quiet,
    pub bandwidth_changed: bool,
    /// True if any cluster's governor is to look at it.
    pub governed: bool,
    /// True if idle cores are to look again: a thread became ready, or cores serve other queues.
    pub sweep_due: bool,
    pub restricted: bool,
    pub ended: bool,
    /// Events of the calendar that only look, and do not keep a run alive.
    pub passive_events: usize,
    pub quiet_since: Nanos,
    pub slots: Owners,
    pub totals: Totals,
    /// Of threads that wait for timers.
    pub periods: BTreeMap<ThreadId, Periods>,
    pub energy: Energy,
    pub tracked: Tracked,
    /// Where a model tells factors.
    pub counting: Option<Counting>,
    pub loads: Loads,
    pub ran: Ran,
    pub failure: Option<SimError>,
    pub scratch: Scratch,
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
        let slots = Owners::new(machine.clusters.len(), specs.len(), cores);
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
            queues: Queues::default(),
            claims: 0,
            sets: CoreSets::new(cores),
            events: Vec::new(),
            arrivals: Vec::new(),
            say: Directives::default(),
            default_slice,
            answers: Answers::default(),
            period: Nanos::ZERO,
            timer_due: false,
            quiet: Quiet::default(),
            bandwidth_changed: false,
            governed: false,
            sweep_due: false,
            restricted: false,
            ended: false,
            passive_events: 0,
            quiet_since: Nanos::ZERO,
            slots,
            totals: Totals::new(machine),
            periods: BTreeMap::new(),
            energy: Energy::new(machine),
            tracked: Tracked::of(interest, config),
            counting: Counting::new(machine, specs, config)?,
            loads: Loads::default(),
            ran: Ran::default(),
            failure: None,
            scratch: Scratch::default(),
        };
        let threads = specs.iter().map(|spec| spec.threads.len()).sum();
        this.threads.reserve_exact(threads);
        this.stats.reserve_exact(threads);
        this.place_of.reserve_exact(threads);
        this.queues.reserve(threads);
        this.calendar.reserve(slots.count(threads));
        this.calendar.grow(slots.count(0));
        this.clusters =
            (0..machine.clusters.len()).map(|i| Cluster::new(machine, config, i)).collect();
        for core in 0..cores {
            this.cores[core].meter = Meter::new(this.idle_power(core));
        }
        this.start_policy()?;
        Ok(this)
    }

    /// Runs to the end.
    pub fn run(mut self) -> Result<Outcome, SimError> {
        for app in 0..self.apps.len() {
            self.start_app(app);
        }
        if let Some(duration) = self.config.duration {
            self.calendar.set(Owners::END, duration, priority::END);
        }
        if let Some(interval) = self.machine.sensor_interval
            && self.energy.is_modelled
        {
            self.passive_events += 1;
            self.calendar.set(Owners::SENSORS, interval, priority::SENSOR);
        }
        self.start_counters();
        self.settle();
        let mut at_this_instant = 0;
        while !self.ended {
            let Some(time) = self.calendar.next_time() else { return Err(self.stuck()) };
            if time > self.now {
                self.totals.events += u64::from(std::mem::take(&mut at_this_instant));
                self.check_for_silence(time)?;
                self.now = time;
            }
            while let Some(slot) = self.next_event() {
                if L::MAY_STOP && !self.listener.goes_on() {
                    return Err(SimError::Stopped);
                }
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
        self.totals.events += u64::from(at_this_instant);
        Ok(self.finish())
    }

    /// Nothing that is left can bring the run forward.
    fn check_for_silence(&mut self, time: Nanos) -> Result<(), SimError> {
        if self.calendar.len() > self.passive_events {
            self.quiet_since = time;
            return Ok(());
        }
        let waits_for_core = self.queues.ready() > 0 && self.passive_events > 0;
        if waits_for_core && time.saturating_sub(self.quiet_since) < PATIENCE {
            return Ok(());
        }
        Err(self.stuck())
    }

    fn happen(&mut self, slot: Slot) {
        match self.slots.of(slot) {
            Owner::Timer => {
                self.timer_due = true;
                self.calendar.set(Owners::TIMER, self.now + self.period, priority::TIMER);
            }
            Owner::Sensors => self.read_sensors(),
            Owner::Counters => self.read_counters(),
            Owner::End => self.ended = true,
            Owner::Answer => self.carry_out_late(),
            Owner::Thread(thread) => self.thread_time(thread),
            Owner::Core(core) => self.core_time(core),
            Owner::App(app) => self.cut_app(app),
            Owner::Governor(cluster) => self.govern(cluster),
        }
    }

    /// Parts 2 and 3 of an instant.
    fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if !self.events.is_empty() {
                self.ask();
            }
            self.place_arrivals();
            self.dispatch();
            if self.sweep_due {
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
        if let Some(counting) = &self.counting {
            stats.speedup = counting.prior;
        }
        stats.restricted = affinity.is_some();
        self.restricted |= stats.restricted;
        self.threads.push(thread);
        self.stats.push(stats);
        self.place_of.push(Place::Nowhere);
        if affinity.is_some() {
            self.set_cores_of(id, affinity);
        }
        self.queues.grow(self.threads.len());
        self.calendar.grow(self.slots.count(self.threads.len()));
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

    /// True if a thread may run on a core.
    pub fn allowed(&self, thread: ThreadId, core: usize) -> bool {
        self.cores_of(thread).is_none_or(|cores| cores.contains(&CoreId(core as u32)))
    }
}
