//! What places threads: the two live mechanisms, and what they share.

pub mod affinity;
pub mod class;
pub mod live;
#[cfg(feature = "sched_ext")]
pub mod sched_ext;
