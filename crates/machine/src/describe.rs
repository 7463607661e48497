//! A machine in tables, for people and for JSON, as rendered by `evenkeel show machine`. Units are
//! in the names.

use crate::model::{Cluster, KindId, Machine};
use crate::units::MicroWatts;

/// Everything about a machine.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Description {
    /// Name.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Source of the figures.
    pub source: String,
    /// Logical cores by kind: `4big+4little`.
    pub cores: String,
    /// True if energy can be computed.
    pub has_power_model: bool,
    /// Memory bandwidth that all cores share, MB/s; `None`: no limit modelled.
    pub memory_bandwidth_mb_s: Option<f64>,
    /// Speed of each of two busy SMT siblings relative to one alone; `None`: no core has a sibling.
    pub smt_speed: Option<f64>,
    /// Interval of the power sensor; `None`: none described.
    pub sensor_interval_ms: Option<f64>,
    /// Kinds of core, fastest first.
    pub kinds: Vec<KindRow>,
    /// Clusters, in the order of core numbers.
    pub clusters: Vec<ClusterRow>,
    /// Costs of scheduling.
    pub costs: CostRow,
}

/// A kind of core.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KindRow {
    /// Name.
    pub name: String,
    /// Logical cores.
    pub cores: usize,
    /// Physical cores.
    pub physical_cores: usize,
    /// Capacity at the highest operating point, of 1024.
    pub capacity: u32,
    /// Clock of the lowest operating point.
    pub min_mhz: f64,
    /// Clock of the highest operating point.
    pub max_mhz: f64,
    /// Power of an idle core; `None`: not known.
    pub idle_power_w: Option<f64>,
    /// Operating points, slowest first.
    pub operating_points: Vec<PointRow>,
    /// Source of its figures: what is measured, what derived.
    pub source: String,
}

/// An operating point.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PointRow {
    /// Clock.
    pub mhz: f64,
    /// Capacity at this clock, of 1024.
    pub capacity: f64,
    /// Power of one busy core, its cluster's share not included; `None`: not known.
    pub busy_power_w: Option<f64>,
    /// Power of the cluster beside its cores; `None`: not known.
    pub cluster_power_w: Option<f64>,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ClusterRow {
    /// Name of its kind.
    pub kind: String,
    /// Number of its first core.
    pub first_core: u32,
    /// Number of its last core. Numbers between are all of this cluster.
    pub last_core: u32,
    /// Size of the shared cache, KiB; 0: none or not known.
    pub cache_kib: f64,
    /// Bandwidth to memory that its cores share, MB/s; `None`: no limit modelled.
    pub bandwidth_mb_s: Option<f64>,
}

/// Costs of scheduling.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CostRow {
    /// Each context switch.
    pub context_switch_us: f64,
    /// Each migration within a cluster.
    pub migration_within_us: f64,
    /// Each migration to another cluster.
    pub migration_across_us: f64,
    /// Rate at which a moved working set is fetched again, MB/s; `None`: refill is free.
    pub refill_bandwidth_mb_s: Option<f64>,
    /// Size of the cache that a move within the cluster loses, KiB.
    pub private_cache_kib: f64,
}

impl Machine {
    /// The machine in tables.
    pub fn describe(&self) -> Description {
        let has_siblings = self.cores.iter().any(|core| core.sibling.is_some());
        Description {
            name: self.name.clone(),
            description: self.description.clone(),
            source: self.source.clone(),
            cores: self.cores_label(),
            has_power_model: self.has_power_model(),
            memory_bandwidth_mb_s: self.bandwidth.map(megabytes),
            smt_speed: has_siblings.then_some(self.smt_speed),
            sensor_interval_ms: self.sensor_interval.map(|interval| interval.0 as f64 / 1e6),
            kinds: (0..self.kinds.len()).map(|rank| self.kind_row(KindId(rank as u8))).collect(),
            clusters: self
                .clusters
                .iter()
                .filter_map(|cluster| self.cluster_row(cluster))
                .collect(),
            costs: CostRow {
                context_switch_us: self.costs.context_switch.0 as f64 / 1e3,
                migration_within_us: self.costs.migration_within.0 as f64 / 1e3,
                migration_across_us: self.costs.migration_across.0 as f64 / 1e3,
                refill_bandwidth_mb_s: self.costs.refill_bandwidth.map(megabytes),
                private_cache_kib: kibibytes(self.costs.private_cache_bytes),
            },
        }
    }

    fn kind_row(&self, id: KindId) -> KindRow {
        let kind = &self.kinds[id.index()];
        let cores = self.cores_of(id).count();
        let siblings =
            self.cores_of(id).filter(|core| self.cores[core.index()].sibling.is_some()).count();
        let points = kind.opps.iter().map(|point| PointRow {
            mhz: megahertz(point.khz),
            capacity: point.capacity,
            busy_power_w: point.busy_power.map(MicroWatts::as_watts_f64),
            cluster_power_w: point.cluster_power.map(MicroWatts::as_watts_f64),
        });
        KindRow {
            name: kind.name.clone(),
            cores,
            physical_cores: cores - siblings / 2,
            capacity: kind.capacity,
            min_mhz: kind.opps.first().map_or(0.0, |point| megahertz(point.khz)),
            max_mhz: megahertz(kind.top().khz),
            idle_power_w: kind.idle_power.map(MicroWatts::as_watts_f64),
            operating_points: points.collect(),
            source: kind.source.clone(),
        }
    }

    /// `None` for a cluster without cores, which no machine from a file has.
    fn cluster_row(&self, cluster: &Cluster) -> Option<ClusterRow> {
        Some(ClusterRow {
            kind: self.kinds[cluster.kind.index()].name.clone(),
            first_core: cluster.cores.first()?.0,
            last_core: cluster.cores.last()?.0,
            cache_kib: kibibytes(cluster.cache_bytes),
            bandwidth_mb_s: cluster.bandwidth.map(megabytes),
        })
    }
}

fn megahertz(khz: u64) -> f64 {
    khz as f64 / 1e3
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn kibibytes(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}
