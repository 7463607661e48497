//! Reads and writes files: machines, and workloads in the formats that scheduler engineers bring.
//! Also holds the machines and workloads that are built in.

pub mod factors;
pub mod machines;
pub mod native;
pub mod perf_sched;
pub mod programs;
pub mod recorded;
pub mod rtapp;
pub mod task_graphs;
mod text;
