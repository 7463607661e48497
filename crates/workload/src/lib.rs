//! What runs: applications of threads whose programs are trees of steps, and task graphs; built-in
//! programs and readers for the formats that scheduler engineers bring.

mod graph;
mod model;
pub mod native;
pub mod perf_sched;
mod phase;
pub mod programs;
mod random;
pub mod recorded;
pub mod rtapp;
pub mod task_graphs;
mod text;
mod total;
mod validate;

pub use graph::{BadEdge, Task, TaskGraph, TaskId};
pub use model::{
    Application, BarrierId, Channel, ChannelId, Class, ConditionId, DeviceId, GraphId, Iteration, LockId, LoopId,
    ParallelLoop, PhaseId, Program, ProgramId, Repeat, SemaphoreId, Step, ThreadSpec, TimerId, TimerMode,
};
pub use phase::{Phase, ReferenceCore, Scaling};
pub use random::SplitMix64;
pub use total::ideal_speedup;
pub use validate::MAX_LOOP_DEPTH;
