//! The sched_ext mechanism.
pub mod error;
pub mod load;
pub mod shared;
