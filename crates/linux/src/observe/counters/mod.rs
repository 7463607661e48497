//! What the kernel and the hardware count for each thread: time run and waited, and instructions on
//! each kind of core.

mod codes;
mod groups;
mod hardware;
mod ipc;
mod pmu;
mod runs;
mod times;

pub use codes::Code;
pub use groups::{
    Groups, KernelEvents, Look, MOST_WORDS, PerfEvents, Refused, fit, stated_counters,
};
pub use hardware::{CounterError, OnPmu, ThreadCounters, instructions_on};
pub use ipc::IpcSampler;
pub use pmu::{Pmu, PmuError, kind_of, pmus};
pub use runs::{CountError, Countable, count};
pub use times::{RunState, ThreadTimes, Times};
