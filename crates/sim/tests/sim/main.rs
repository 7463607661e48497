//! The simulator: laws, closed forms, policies. One program, since each takes the compiler as long
//! as all together.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batches;
mod built_in_workloads;
mod closed_forms;
mod counters;
mod fairness;
mod generated;
mod graph_policies;
mod guests;
mod laws;
mod numbers;
mod policies_baselines;
mod policies_energy;
mod policies_fairness;
mod policies_load;
mod quiet;
mod recorded;
mod rtapp;
mod support;
