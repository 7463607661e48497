//! What threads do: steps of programs, what they wait for, and the threads themselves.

pub mod apps;
pub mod changes;
pub mod execute;
pub mod objects;
pub mod program;
pub mod shared_work;
pub mod synchronise;
pub mod thread;
