//! Machines: kinds of core (any number), cores, clusters, operating points, power, and the costs of
//! scheduling; and the discovery of the machine that this runs on. `evenkeel-files` reads the
//! files.

mod cpus;
mod describe;
pub mod discover;
mod kind_list;
mod microarchitecture;
mod model;
mod part;
mod units;

pub use cpus::{CpuListError, name_cpus, parse_cpus, write_cpus};
pub use describe::{ClusterRow, CostRow, Description, KindRow, PointRow};
pub use kind_list::{KINDS_VARIABLE, KindList, KindListError, ListedKind};
pub use microarchitecture::{DataCache, Microarchitecture};
pub use model::{
    Cluster, ClusterId, Core, CoreId, Costs, DEFAULT_SMT_SPEED, FULL_CAPACITY, Kind, KindId,
    MAX_CORES, MAX_KINDS, Machine, OperatingPoint, PerKind, Reference,
};
pub use part::SubsetError;
pub use units::{FemtoJoules, MicroWatts, Nanos, Work, split_time};
