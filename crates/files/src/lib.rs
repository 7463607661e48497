//! What stands in files, and what is built in: machines, workloads in the formats that scheduler
//! engineers bring, and programs.

pub mod machines;
pub mod native;
pub mod perf_sched;
pub mod programs;
pub mod recorded;
pub mod rtapp;
pub mod task_graphs;
mod text;
