//! Workloads: applications of threads whose programs are trees of steps, and task graphs.
//! `evenkeel-files` reads files and builds programs.

pub mod character;
mod graph;
mod ids;
mod model;
mod phase;
mod random;
mod total;
mod validate;

pub use graph::{BadEdge, Task, TaskGraph, TaskId};
pub use ids::{
    BarrierId, ChannelId, ConditionId, DeviceId, GraphId, LockId, LoopId, PhaseId, ProgramId,
    SemaphoreId, TimerId,
};
pub use model::{
    Application, Channel, Class, Iteration, ParallelLoop, Program, Repeat, Step, ThreadSpec,
    TimerMode,
};
pub use phase::{Phase, ReferenceCore, Scaling};
pub use random::SplitMix64;
pub use total::ideal_speedup;
pub use validate::MAX_LOOP_DEPTH;
