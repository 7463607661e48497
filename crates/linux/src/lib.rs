//! The live mechanisms of Evenkeel: real threads of a Linux machine, placed by the policies of
//! `evenkeel-policy`.

pub mod affinity;
pub mod calibrate;
pub mod class;
pub mod counters;
pub mod here;
pub mod lab;
pub mod live;
pub mod perf_event;
pub mod program;
pub mod realtime;
pub mod record;
#[cfg(feature = "sched_ext")]
pub mod sched_ext;
pub mod sensors;
mod tracefs;
pub mod watch;
