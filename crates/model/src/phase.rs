//! Phases: the speed of a thread on each kind of core, and its other demands on the machine.
//!
//! A workload is not made for a certain machine, so a phase does not list kinds. It states how its
//! speed depends on the capacity of its core:
//!
//! ```text
//! speed(c) = ipc x f_s x (c / c_s)^sensitivity       [instructions per second]
//! ```
//!
//! with `c` the capacity of the core's kind at its highest operating point, `c_s` and `f_s` the
//! capacity and the clock of the machine's slowest kind at its highest operating point
//! ([`Machine::reference`]: of the whole machine, even if only a part of it is used). A sensitivity
//! of 1 is work that scales with capacity (rt-app's `run`); 0 is work that waits for memory at the
//! same pace everywhere. So a speedup factor measured on one machine carries over to others, to any
//! number of kinds, and to other clocks.
//!
//! A phase may have a [`Character`] as well. On a machine whose kinds all say how they are built,
//! its speed follows from that by the interval model, and not from the above.
//!
//! Not modelled: programs whose order of speed differs from that of the capacities (a kind that is
//! faster for one program and slower for another), and vector units that only one kind has.

use evenkeel_machine::{CoreId, FULL_CAPACITY, KindId, Machine, Microarchitecture};

use crate::character::{Character, CpiStack};

/// How speed depends on capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// Speed is proportional to capacity.
    Capacity,
    /// Exactly this speedup factor from the slowest to the fastest kind of any whole machine it
    /// runs on (1 or more); kinds between them by their capacity.
    Factor(f64),
    /// A speedup factor measured with a given ratio of the capacities of the two kinds (greater
    /// than 1).
    MeasuredAt {
        /// Speed on the faster kind / speed on the slower.
        factor: f64,
        /// Capacity of the faster kind / capacity of the slower in that measurement.
        capacity_ratio: f64,
    },
}

/// The character of a piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Name for people.
    pub name: String,
    /// How its speed depends on the core.
    pub scaling: Scaling,
    /// Instructions per cycle on the slowest kind of the machine. Greater than 0.
    pub ipc: f64,
    /// Bytes moved to and from memory per instruction (per unit of work with `reference_time`): its
    /// demand for the shared bandwidth.
    pub bytes_per_instruction: f64,
    /// Bytes that must be in the cache again after a move.
    pub working_set: u64,
    /// Power while it runs, relative to the machine's busy power (1).
    pub activity: f64,
    /// True if work is in nanoseconds on a core of [`Phase::reference`] instead of instructions;
    /// `ipc` is then not used.
    pub reference_time: bool,
    /// With `reference_time`: the core, at its highest operating point, whose nanoseconds are
    /// meant.
    pub reference: ReferenceCore,
    /// What it asks of a core. Where all kinds of a machine say how they are built, its speed and
    /// its traffic to memory follow from that; `scaling`, `ipc` and `bytes_per_instruction` are
    /// then not used.
    pub character: Option<Box<Character>>,
}

/// Bytes of a cache line.
const LINE_BYTES: f64 = 64.0;

/// The core that work in nanoseconds refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ReferenceCore {
    /// The machine's fastest.
    #[default]
    Fastest,
    /// The core of this number; the fastest if the machine has no such core.
    Numbered(CoreId),
    /// A core of this capacity, of 1024, on any machine.
    OfCapacity(f64),
}

impl ReferenceCore {
    /// Its capacity on this machine.
    fn capacity(self, machine: &Machine) -> f64 {
        match self {
            Self::Numbered(core) if core.index() < machine.cores.len() => {
                machine.kind_of(core).top().capacity
            }
            Self::OfCapacity(capacity) => capacity,
            Self::Fastest | Self::Numbered(_) => f64::from(FULL_CAPACITY),
        }
    }
}

impl Phase {
    /// Compute-bound work: no memory traffic, activity 1, one instruction per cycle.
    pub fn new(name: impl Into<String>, scaling: Scaling) -> Self {
        Self {
            name: name.into(),
            scaling,
            ipc: 1.0,
            bytes_per_instruction: 0.0,
            working_set: 0,
            activity: 1.0,
            reference_time: false,
            reference: ReferenceCore::Fastest,
            character: None,
        }
    }

    /// Exponent of the speed's dependence on capacity, on this machine.
    pub fn sensitivity(&self, machine: &Machine) -> f64 {
        match self.scaling {
            Scaling::Capacity => 1.0,
            Scaling::MeasuredAt { factor, capacity_ratio } => factor.ln() / capacity_ratio.ln(),
            Scaling::Factor(factor) => {
                let fast = machine.reference.fastest_capacity;
                let slow = machine.reference.slowest_capacity;
                // With equal kinds there is no factor to carry over; only the clock is left, and
                // work follows it.
                if fast > slow { factor.ln() / (fast / slow).ln() } else { 1.0 }
            }
        }
    }

    /// Speed of a kind at one of its operating points, in units of work per nanosecond. Between
    /// kinds the sensitivity may be anything that was measured; within a kind a lower clock slows a
    /// phase by at most the same factor.
    pub fn speed_at(&self, machine: &Machine, kind: KindId, point: usize) -> f64 {
        let kind = &machine.kinds[kind.index()];
        if let Some((character, core)) = self.built(machine).zip(kind.core.as_ref()) {
            let ghz = kind.opps[point].khz as f64 / 1e6;
            return ghz / CpiStack::of(character, core, ghz).total();
        }
        let top = kind.top().capacity;
        let clock = kind.opps[point].capacity / top;
        self.speed(machine, top) * clock.powf(self.sensitivity(machine).clamp(0.0, 1.0))
    }

    /// Speed of a kind at its highest operating point, in units of work per nanosecond.
    pub fn top_speed(&self, machine: &Machine, kind: KindId) -> f64 {
        self.speed_at(machine, kind, machine.kinds[kind.index()].opps.len() - 1)
    }

    /// Its character, where that tells its speed on this machine.
    fn built(&self, machine: &Machine) -> Option<&Character> {
        let character = self.character.as_deref()?;
        machine.kinds.iter().all(|kind| kind.core.is_some()).then_some(character)
    }

    /// Bytes moved to and from memory per instruction, on this machine: of a character, on the kind
    /// whose last cache misses most.
    pub fn bytes(&self, machine: &Machine) -> f64 {
        let Some(character) = self.built(machine) else { return self.bytes_per_instruction };
        let last = |core: &Microarchitecture| core.data_caches.last().map(|cache| cache.bytes);
        let caches = machine.kinds.iter().filter_map(|kind| kind.core.as_ref().and_then(last));
        let misses = caches.map(|bytes| character.data_misses.at(bytes) / 1e3);
        misses.fold(0.0, f64::max) * LINE_BYTES
    }

    /// Part of its time that a faster core would not save: of a character, what it waits for memory
    /// on the fastest kind.
    pub fn insensitive(&self, machine: &Machine) -> f64 {
        let fastest = &machine.kinds[0];
        if let Some((character, core)) = self.built(machine).zip(fastest.core.as_ref()) {
            let stack = CpiStack::of(character, core, fastest.top().khz as f64 / 1e6);
            return stack.memory / stack.total();
        }
        1.0 - self.sensitivity(machine).clamp(0.0, 1.0)
    }

    /// Speed on a core whose kind has this capacity (of 1024) at its highest operating point, in
    /// units of work per nanosecond, by its scaling.
    pub fn speed(&self, machine: &Machine, capacity: f64) -> f64 {
        let sensitivity = self.sensitivity(machine);
        if self.reference_time {
            return (capacity / self.reference.capacity(machine)).powf(sensitivity);
        }
        let reference = &machine.reference;
        let cycles_per_ns = reference.slowest_khz as f64 / 1e6;
        self.ipc * cycles_per_ns * (capacity / reference.slowest_capacity).powf(sensitivity)
    }

    /// The same work on any part of `machine`, in which cores have other numbers.
    #[must_use]
    pub fn bound_to(&self, machine: &Machine) -> Self {
        Self {
            reference: ReferenceCore::OfCapacity(self.reference.capacity(machine)),
            ..self.clone()
        }
    }

    /// Speedup factor of the fastest kind over the slowest, among the kinds of this machine or part
    /// of one.
    pub fn speedup_factor(&self, machine: &Machine) -> f64 {
        self.top_speed(machine, KindId(0)) / self.top_speed(machine, machine.slowest())
    }
}
