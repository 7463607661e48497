//! What can be wrong with a workload that was asked for.

use std::path::PathBuf;

use crate::native::NativeError;
use crate::perf_sched::PerfDataError;
use crate::rtapp::RtAppError;
use crate::task_graphs::TaskGraphError;
use evenkeel_model::BadEdge;

/// Why a workload could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Neither built in nor a file.
    #[error("no workload '{name}', built in or as a file{hint}; `evenkeel workloads` lists them")]
    Unknown {
        /// As asked for.
        name: String,
        /// ` (did you mean …?)`, or nothing.
        hint: String,
    },
    /// A shape that the program does not have.
    #[error("{workload}: no shape '{found}'; shapes: {expected}")]
    Shape {
        /// Workload.
        workload: String,
        /// As asked for.
        found: String,
        /// What there is.
        expected: String,
    },
    /// A knob that the workload does not have.
    #[error("{workload}: no knob '{found}'; knobs: {expected}")]
    UnknownKnob {
        /// Workload.
        workload: String,
        /// As asked for.
        found: String,
        /// What there is.
        expected: String,
    },
    /// A knob's value.
    #[error("{workload}: {knob}={found}: expected {expected}")]
    Knob {
        /// Workload.
        workload: String,
        /// Knob.
        knob: String,
        /// As given.
        found: String,
        /// What would do.
        expected: String,
    },
    /// An argument that is empty, a second shape, or a knob given twice.
    #[error(
        "{workload}: cannot make sense of '{argument}': expected at most one shape, and each \
         knob=value once"
    )]
    Argument {
        /// Workload.
        workload: String,
        /// The argument.
        argument: String,
    },
    /// The size.
    #[error("size {found:?}: expected a number above 0 and up to {most}")]
    Size {
        /// As given.
        found: f64,
        /// The greatest that is taken.
        most: f64,
    },
    /// More than is built, to bound the memory.
    #[error(
        "{workload}: {count} {what} at this size; at most {most} are built: take a smaller --size"
    )]
    TooLarge {
        /// Workload.
        workload: String,
        /// How many.
        count: u64,
        /// The things counted.
        what: &'static str,
        /// The bound.
        most: u64,
    },
    /// A task graph with an edge that cannot be.
    #[error("{workload}: {source}")]
    Graph {
        /// Workload.
        workload: String,
        /// The fault of its edges.
        source: BadEdge,
    },
    /// A file that cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is longer than any that is read.
    #[error("{path}: longer than {most} bytes")]
    FileTooLong {
        /// File.
        path: PathBuf,
        /// The bound.
        most: u64,
    },
    /// An rt-app file.
    #[error(transparent)]
    RtApp(#[from] RtAppError),
    /// A file of Evenkeel's own format.
    #[error(transparent)]
    Native(#[from] NativeError),
    /// Data of perf.
    #[error(transparent)]
    PerfSched(#[from] PerfDataError),
    /// A task graph of another format.
    #[error(transparent)]
    TaskGraph(#[from] TaskGraphError),
    /// A file of no known format.
    #[error("{path}: not a workload: expected {expected}")]
    Format {
        /// File.
        path: PathBuf,
        /// Formats that are read.
        expected: &'static str,
    },
}
