//! Built-in workloads: the nine programs of the maturity study, the single- and multithreaded
//! programs and mixes of the fairness study, programs generated from the table of the age-based
//! study, system benchmarks, and simple ones. Also finds any workload by name or path.
//!
//! A workload is named as `name[:argument[,argument…]]`: a shape (`tasks`), a knob (`loops=100`),
//! or a number of threads (`fma3d_m:9`). docs/simulate/workloads.md lists them with what is
//! measured and what is assumed.

mod args;
mod build;
mod course;
mod entry;
mod error;
mod fairness;
mod generated;
mod parsec;
mod readers;
mod registry;
mod shipped;
mod system;

pub use build::{Context, Seed};
pub use entry::{KnobInfo, WorkloadInfo};
pub use error::WorkloadError;
pub use parsec::big_little_ratio;
pub use registry::{MOST_FILE_BYTES, MOST_SIZE, canonical, find, list, load, parse};
