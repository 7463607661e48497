//! The mechanisms' half of the contract (`evenkeel_policy::contract` is the policies').
//!
//! A mechanism gives threads to cores as a policy directs: the simulator, the affinity mechanism
//! and the one in the kernel. Their common semantics are here, once:
//!
//! - [`carry_out`]: turns a directive into a call of one method of [`Directed`], with ids that
//!   exist;
//! - [`Service`]: the queues that a core takes from, their order, and the threads that are
//!   compared;
//! - [`QueueClock`]: where a virtual time starts, and how it changes with the queue;
//! - [`picking`]: which thread a core takes up, and which core an arrival gets.
//!
//! The kernel's side has the last three in C (`crates/linux/src/bpf`).

mod clock;
mod directives;
pub mod picking;
mod service;

pub use clock::QueueClock;
pub use directives::{Directed, Unknown, carry_out, carry_out_all};
pub use service::{Guests, Service};
