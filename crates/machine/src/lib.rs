//! What a machine is: kinds of core (any number), cores, clusters, operating points, power, and
//! what scheduling costs; presets with their sources, and the reader for machine files.

mod model;
mod units;

pub use model::{
    Cluster, ClusterId, Core, CoreId, Costs, FULL_CAPACITY, Kind, KindId, MAX_KINDS, Machine, OperatingPoint, PerKind,
    Reference,
};
pub use units::{FemtoJoules, MicroWatts, Nanos, Work};
