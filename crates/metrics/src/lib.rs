//! From a finished run to numbers: slowdown, unfairness, ASP, STP, ANTT, energy, latencies, as one
//! result record.

mod alone;
mod build;
mod graph;
pub mod measures;
mod profile;
mod progress;
mod record;
mod run;
mod seeds;
mod summary;

pub use alone::{Alone, AloneCache, AloneError};
pub use build::Subject;
pub use profile::{ProfileError, profile};
pub use progress::Progress;
pub use record::{
    AppRow, GraphRow, KindRow, Knob, LatencySummary, LiveRow, Record, SCHEMA, SeedsRow, SensorRow,
    ThreadRow, TimerRow, WakeupLatency,
};
pub use run::{Run, RunError};
pub use seeds::{Interval, has_interval, over_seeds};
pub use summary::{Mean, Relative, relative};
