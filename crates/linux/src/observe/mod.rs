//! What observes: the machine, its counters and sensors, and what threads do.

pub mod cachegrind;
pub mod calibrate;
pub mod counters;
pub mod here;
pub mod perf_event;
pub mod program;
pub mod record;
pub mod sensors;
mod tracefs;
pub mod watch;
