//! Who runs where: the contract between policies and mechanisms, and one file a policy.

pub mod contract;
pub mod graph;
pub mod loops;
pub mod registry;

pub use contract::*;
