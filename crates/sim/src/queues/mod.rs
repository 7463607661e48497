//! Threads that are ready: where they wait, which core takes which, and which preempts which.

pub mod dispatch;
pub mod placing;
pub mod policy_queues;
pub mod reference;
pub mod run_queue;
pub mod urgent;
