//! Bounds that no policy can beat, from models that can be solved exactly.

mod opt_unfairness;

pub use opt_unfairness::{Optimum, WORKLOADS, asp, opt_unfairness, slowdown, unfairness};
