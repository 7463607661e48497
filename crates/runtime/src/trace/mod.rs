//! Traces of what a pool did, for ui.perfetto.dev.
//!
//! Each worker records into memory of its own (40 bytes an event, 2^20 events at most, then they
//! are counted and left out), and hands that in when its thread ends. The registry's last owner
//! writes all of it, in order of time: no thread is left by then that could record. Without a trace
//! the only cost is a look: when a task with dependences runs, and when an independent one is
//! created.
//!
//! A task with dependences is known by its address and the generation of its node, a recorded step
//! by its address and the number of the run. Such a number comes again after 65,536 tasks in one
//! block. So an arrow leads to the first task of that number that ran after its creation, and comes
//! from the last that ran before (`flows.rs`). A wake-up is recorded by the waking thread, with the
//! time before it touches the sleep state, and leads to the first end of a sleep of that worker
//! after it. Wake-ups by threads that are no workers have no arrow.
//!
//! One file has all pools of a process that name it: sequences of packets, each with tracks of its
//! own, on the system's boot clock. It is written under a temporary name and renamed, a later
//! pool's part behind a copy of what there was (`file.rs`). A file of that name that another
//! program wrote meanwhile is replaced.

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
