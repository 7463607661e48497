//! Scheduling policies, one file each, and the contract between policies and mechanisms.

pub mod bounds;
pub mod contract;
mod entry;
pub mod graph;
pub mod loops;
pub mod os;
pub mod pelt;
pub mod registry;
pub mod speedup;
mod weight;

#[cfg(test)]
pub(crate) mod testing;

pub use contract::*;
pub use weight::{DEFAULT_WEIGHT, IDLE_WEIGHT, weight_of};
