//! What a pool did, for ui.perfetto.dev: recorded by each worker for itself, written when the pool
//! is no more. README.md, "Traces".

#[cfg(feature = "trace")]
mod file;
#[cfg(feature = "trace")]
mod flows;
#[cfg(feature = "trace")]
mod kept;
#[cfg(not(feature = "trace"))]
mod none;
#[cfg_attr(not(feature = "trace"), allow(dead_code, reason = "nothing is recorded"))]
mod recorder;
#[cfg(feature = "trace")]
mod write;

use std::io::Write as _;

pub use recorder::{Recorder, TaskId, What};

#[cfg(feature = "trace")]
pub use kept::Trace;
#[cfg(not(feature = "trace"))]
pub use none::Trace;

/// A line on stderr, if there is one.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "evenkeel: {line}");
}
