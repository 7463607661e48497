//! A core and a cluster as the mechanism keeps them.

use evenkeel_machine::{ClusterId, CoreId, KindId, Machine, MicroWatts, Nanos};
use evenkeel_mechanism::{Guests, Service};
use evenkeel_policy::pelt::{Pelt, Utilisation};

use crate::asking::quiet::Tickless;
use crate::config::{Config, Governor};
use crate::cores::power::Meter;
use crate::cores::speed::point_for;
use crate::mechanism::NONE;
use crate::queues::run_queue::RunQueue;

/// A core, what a context switch needs first.
#[repr(C, align(64))]
pub struct Core {
    /// Thread that it runs, or [`NONE`].
    pub running: u32,
    /// Thread that it ran last.
    pub last: u32,
    /// Next, before any queue.
    pub reserved: u32,
    pub kind: KindId,
    /// True if it is on the list of cores that need a thread.
    pub called: bool,
    /// True if a thread of a higher class counts on it in this instant.
    pub claimed: bool,
    /// True if it counts as busy for power, siblings and the governor: what was so at the end of
    /// the last instant.
    pub busy: bool,
    /// True if it takes threads at all.
    pub used: bool,
    /// Up to when the statistics are.
    pub accounted: Nanos,
    pub busy_time: Nanos,
    /// Units of work per nanosecond of the running thread, with everything that slows it.
    pub rate: f64,
    /// Virtual time of the running thread per nanosecond, in units of
    /// [`CHARGE_SHIFT`](crate::programs::thread::CHARGE_SHIFT).
    pub virtual_rate: u64,
    pub slice_end: Nanos,
    /// Which of the slices in a row that is, the first being 1.
    pub slice_number: u32,
    pub work_end: Nanos,
    /// Since when the rate is what it is: what the thread has to do is as of then.
    pub since: Nanos,
    /// What the statistics have been told of what has been done since.
    pub reported: Reported,
    /// Part of a nanosecond of virtual time that the running thread has been charged beyond its
    /// statistics, in the same units.
    pub virtual_fraction: u16,
    pub picked_at: Nanos,
    /// See [`crate::asking::quiet`].
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
    pub busy_average: Utilisation,
    pub utilisation: Pelt,
}

/// What the statistics of a thread have been told since its rate last changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reported {
    /// Work.
    pub work: u64,
    /// Nanoseconds.
    pub stalled: u64,
}

impl Core {
    pub fn new(machine: &Machine, id: CoreId) -> Self {
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
            reported: Reported::default(),
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
            busy_average: Utilisation::default(),
            utilisation: Pelt::default(),
        }
    }
}

/// A cluster.
pub struct Cluster {
    pub opp: usize,
    pub busy: u32,
    pub meter: Meter,
    pub changed_at: Nanos,
    pub ever_changed: bool,
    /// True if its governor is to look at it at the end of this instant.
    pub to_govern: bool,
}

impl Cluster {
    /// A cluster at the clock at which its governor begins. Nothing is drawn yet.
    pub fn new(machine: &Machine, config: &Config, cluster: usize) -> Self {
        let kind = &machine.kinds[machine.clusters[cluster].kind.index()];
        let opp = match config.governor {
            Governor::Performance => kind.opps.len() - 1,
            Governor::Fixed { khz } => point_for(machine, ClusterId(cluster as u32), khz),
            Governor::Schedutil => 0,
        };
        Self {
            opp,
            busy: 0,
            meter: Meter::new(MicroWatts::ZERO),
            changed_at: Nanos::ZERO,
            ever_changed: false,
            to_govern: false,
        }
    }
}
