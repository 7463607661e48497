//! Bounds: what no policy can beat, from a model that is simple enough to be solved exactly.

mod opt_unfairness;

pub use opt_unfairness::{Optimum, WORKLOADS, asp, opt_unfairness, slowdown, unfairness};
