//! Workloads: applications of threads whose programs are trees of steps, and task graphs.
//! `evenkeel-files` reads files and builds programs.

mod graph;
mod model;
mod phase;
mod random;
mod total;
mod validate;

pub use graph::{BadEdge, Task, TaskGraph, TaskId};
pub use model::{
    Application, BarrierId, Channel, ChannelId, Class, ConditionId, DeviceId, GraphId, Iteration,
    LockId, LoopId, ParallelLoop, PhaseId, Program, ProgramId, Repeat, SemaphoreId, Step,
    ThreadSpec, TimerId, TimerMode,
};
pub use phase::{Phase, ReferenceCore, Scaling};
pub use random::SplitMix64;
pub use total::ideal_speedup;
pub use validate::MAX_LOOP_DEPTH;
