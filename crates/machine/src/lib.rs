//! What a machine is: kinds of core (any number), cores, clusters, operating points, power, and
//! what scheduling costs; presets with their sources, and the reader for machine files.

mod cpus;
mod describe;
pub mod discover;
mod error;
mod file;
mod model;
mod part;
mod preset;
mod units;

pub use cpus::{CpuListError, name_cpus, parse_cpus, write_cpus};
pub use describe::{ClusterRow, CostRow, Description, KindRow, PointRow};
pub use error::{MachineError, Place};
pub use file::{MAX_CORES, MAX_FILE_BYTES};
pub use model::{
    Cluster, ClusterId, Core, CoreId, Costs, FULL_CAPACITY, Kind, KindId, MAX_KINDS, Machine, OperatingPoint, PerKind,
    Reference,
};
pub use part::SubsetError;
pub use preset::{Preset, presets};
pub use units::{FemtoJoules, MicroWatts, Nanos, Work, split_time};
