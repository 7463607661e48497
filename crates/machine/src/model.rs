//! The model of a machine.

use crate::microarchitecture::Microarchitecture;
use crate::units::{MicroWatts, Nanos};

/// The greatest number of logical cores of a machine. A bound, because a file may state any number
/// at no cost.
pub const MAX_CORES: u32 = 65_536;

/// Default speed of each of two busy SMT siblings. Source: machines.md of the specification.
pub const DEFAULT_SMT_SPEED: f64 = 0.6;

/// The greatest number of kinds of core in a machine. A bound, because the statistics that
/// mechanisms and policies share are plain arrays per kind (in the kernel, too).
pub const MAX_KINDS: usize = 8;

/// Capacity of the fastest kind at its highest operating point, Linux's scale.
pub const FULL_CAPACITY: u32 = 1024;

/// A kind of core, by rank: 0 is the fastest of the machine. Two kinds of equal capacity keep
/// the order of the machine file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u8);

/// A logical core (what Linux calls a CPU). Numbers are dense from 0, in the order of the machine
/// file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreId(pub u32);

/// A cluster: cores of one kind that share a clock and a last private cache level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u32);

impl KindId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
impl CoreId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
impl ClusterId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One value per kind of core, indexed by [`KindId`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerKind<T>(pub [T; MAX_KINDS]);

impl<T: Copy> PerKind<T> {
    /// The same value for every kind.
    pub const fn all(value: T) -> Self {
        Self([value; MAX_KINDS])
    }
}

impl<T> std::ops::Index<KindId> for PerKind<T> {
    type Output = T;
    fn index(&self, kind: KindId) -> &T {
        &self.0[kind.index()]
    }
}

impl<T> std::ops::IndexMut<KindId> for PerKind<T> {
    fn index_mut(&mut self, kind: KindId) -> &mut T {
        &mut self.0[kind.index()]
    }
}

/// An asymmetric machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name, for the result record.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Source of the figures.
    pub source: String,
    /// Kinds of core, fastest first; at least one, at most [`MAX_KINDS`].
    pub kinds: Vec<Kind>,
    /// Clusters, in the order of the file.
    pub clusters: Vec<Cluster>,
    /// Logical cores; `cores[i].id == CoreId(i)`.
    pub cores: Vec<Core>,
    /// Costs of scheduling.
    pub costs: Costs,
    /// Memory bandwidth that all cores share, bytes per second; `None`: no limit modelled.
    pub bandwidth: Option<u64>,
    /// Speed of each of two busy SMT siblings, relative to one alone (0, 1].
    pub smt_speed: f64,
    /// A power sensor that reads at an interval; `None`: none described.
    pub sensor_interval: Option<Nanos>,
    /// The reference for the speed of phases. A part of a machine keeps that of the whole.
    pub reference: Reference,
}

/// The two kinds that the speed of phases refers to: the slowest and the fastest of a whole
/// machine, each at its highest operating point. A part of a machine keeps it, so that a core is as
/// fast alone as among the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// Clock of the slowest kind.
    pub slowest_khz: u64,
    /// Capacity of the slowest kind (of 1024), not rounded.
    pub slowest_capacity: f64,
    /// Capacity of the fastest kind (of 1024), not rounded.
    pub fastest_capacity: f64,
}

impl Reference {
    /// Reference of a whole machine; `None` if there is no kind. `kinds` as in [`Machine::kinds`]:
    /// fastest first.
    pub fn of(kinds: &[Kind]) -> Option<Self> {
        let (fastest, slowest) = (kinds.first()?.top(), kinds.last()?.top());
        Some(Self {
            slowest_khz: slowest.khz,
            slowest_capacity: slowest.capacity,
            fastest_capacity: fastest.capacity,
        })
    }
}

/// A kind of core.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// `big`, `little`, `prime`, `P`, `E`, …
    pub name: String,
    /// Speed at the highest operating point relative to the fastest kind (1024); at least 1.
    pub capacity: u32,
    /// Operating points, slowest first; at least one.
    pub opps: Vec<OperatingPoint>,
    /// Power of one core that is on and idle; `None`: no power model.
    pub idle_power: Option<MicroWatts>,
    /// Source of its figures: what is measured, what derived. May be empty.
    pub source: String,
    /// How it is built; `None`: not described, and phases must state their speed on it.
    pub core: Option<Microarchitecture>,
}

impl Kind {
    /// The highest operating point.
    pub fn top(&self) -> &OperatingPoint {
        &self.opps[self.opps.len() - 1]
    }
}

/// A frequency that a cluster can run at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatingPoint {
    /// Clock.
    pub khz: u64,
    /// Speed at this clock relative to the fastest kind's highest (1024). Not rounded, because
    /// rounding would show in the ratios of slow cores.
    pub capacity: f64,
    /// Power of one busy core, its cluster's share not included; `None`: no power model.
    pub busy_power: Option<MicroWatts>,
    /// Power that a cluster at this point draws while any of its cores is busy, beside the cores'
    /// own; `None`: no power model. It belongs to the point and not to the cluster because measured
    /// clusters draw twice as much at their highest clock as at a middle one
    /// (machines/odroid-xu3.toml, machines/juno-r0.toml).
    pub cluster_power: Option<MicroWatts>,
}

/// Cores that share a clock and a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// All cores of a cluster are of this kind.
    pub kind: KindId,
    /// Its logical cores.
    pub cores: Vec<CoreId>,
    /// Size of the cache that its cores share, bytes; 0: none.
    pub cache_bytes: u64,
    /// Bandwidth to memory that its cores share, bytes per second; `None`: no limit modelled.
    pub bandwidth: Option<u64>,
}

/// A logical core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Core {
    /// Its number.
    pub id: CoreId,
    /// The operating system's number of the core: `N` of `/sys/devices/system/cpu/cpuN`, unique in
    /// a machine. It equals [`Core::id`] unless the machine file says otherwise; a part of a
    /// machine keeps it.
    pub cpu: u32,
    /// Its kind.
    pub kind: KindId,
    /// Its cluster.
    pub cluster: ClusterId,
    /// The SMT sibling on the same physical core, if there is one.
    pub sibling: Option<CoreId>,
}

/// Costs of scheduling. Defaults: machines.md of the specification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Time lost at each context switch.
    pub context_switch: Nanos,
    /// Time lost when a thread resumes on another core of its cluster.
    pub migration_within: Nanos,
    /// Time lost when a thread resumes in another cluster.
    pub migration_across: Nanos,
    /// Rate at which a moved thread's working set is fetched again, bytes per second; `None`:
    /// refill is free.
    pub refill_bandwidth: Option<u64>,
    /// Size of the private cache that even a move within the cluster loses, bytes.
    pub private_cache_bytes: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            context_switch: Nanos(2_000),
            migration_within: Nanos(10_000),
            migration_across: Nanos(30_000),
            refill_bandwidth: Some(4_000_000_000),
            private_cache_bytes: 32 << 10,
        }
    }
}

impl Costs {
    /// Scheduling that costs nothing: the model of the analytical studies.
    pub const FREE: Self = Self {
        context_switch: Nanos::ZERO,
        migration_within: Nanos::ZERO,
        migration_across: Nanos::ZERO,
        refill_bandwidth: None,
        private_cache_bytes: 0,
    };
}

impl Machine {
    /// The kind of a core.
    pub fn kind_of(&self, core: CoreId) -> &Kind {
        &self.kinds[self.cores[core.index()].kind.index()]
    }

    /// Rank of the slowest kind.
    pub fn slowest(&self) -> KindId {
        KindId((self.kinds.len() - 1) as u8)
    }

    /// Speedup factors of work that scales with capacity: what is taken for those of work of which
    /// nothing is known. Taken for equal, kinds would never be told apart by a policy that moves
    /// threads only where they differ.
    pub fn capacity_factors(&self) -> PerKind<f32> {
        let slowest = self.kinds[self.slowest().index()].top().capacity;
        let mut factors = PerKind::all(1.0);
        for (factor, kind) in factors.0.iter_mut().zip(&self.kinds) {
            *factor = (kind.top().capacity / slowest) as f32;
        }
        factors
    }

    /// The cores of a kind, by number.
    pub fn cores_of(&self, kind: KindId) -> impl Iterator<Item = CoreId> + '_ {
        self.cores.iter().filter(move |core| core.kind == kind).map(|core| core.id)
    }

    /// Distance of two cores: 0 if they are the same, 1 in one cluster, 2 in different ones.
    pub fn distance(&self, a: CoreId, b: CoreId) -> usize {
        if a == b {
            0
        } else if self.cores[a.index()].cluster == self.cores[b.index()].cluster {
            1
        } else {
            2
        }
    }

    /// True if every kind has a power for each operating point, so that energy can be computed.
    pub fn has_power_model(&self) -> bool {
        self.kinds.iter().all(|kind| {
            let known =
                |opp: &OperatingPoint| opp.busy_power.is_some() && opp.cluster_power.is_some();
            kind.idle_power.is_some() && kind.opps.iter().all(known)
        })
    }

    /// Cores in use by kind, fastest first: `4big+4little`.
    pub fn cores_label(&self) -> String {
        let counts = self.kinds.iter().enumerate().map(|(rank, kind)| {
            let count = self.cores_of(KindId(rank as u8)).count();
            format!("{count}{}", kind.name)
        });
        counts.collect::<Vec<_>>().join("+")
    }
}
