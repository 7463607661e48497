//! The live mechanisms of Evenkeel: real threads of a Linux machine, placed by the policies of
//! `evenkeel-policy`.
//!
//! [`observe`] says what the machine and its threads do, [`place`] has threads run where a policy
//! wants them, and [`lab`] makes cores slow so that both can be tried.

pub mod lab;
pub mod observe;
pub mod place;

pub use lab::realtime;
pub use observe::{
    cachegrind, calibrate, counters, here, perf_event, program, record, sensors, watch,
};
#[cfg(feature = "sched_ext")]
pub use place::sched_ext;
pub use place::{affinity, class, live};
