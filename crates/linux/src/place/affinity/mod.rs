//! The affinity mechanism: the contract carried out on real threads by a process beside them.
//!
//! The kernel goes on scheduling. What this mechanism has is `sched_setaffinity`, which moves a
//! running thread at once, and, where it is allowed to, SCHED_IDLE, which makes a thread run only
//! where no other wants to. With these it does what a mechanism does:
//!
//! - **Queues, tiers, keys, slices, preferences** are kept here, as the contract has them. Every
//!   few milliseconds the mechanism looks around ([`Mechanism::look`]): takes into account what
//!   threads were seen to do since ([`crate::watch`]), tells the policy, does what it says, ends
//!   slices and lets cores pick.
//! - **A picked thread** is bound to its core, or, if it naps, called to it (`naps.rs`). A thread
//!   that waits in a queue may run on all cores that serve the queue first, in SCHED_IDLE: it gets
//!   what is left over, so that no core idles because this process was late, and it steps back for
//!   the thread that has the core. Without CAP_SYS_NICE it shares the core as the kernel sees fit;
//!   virtual times then still come out even, for they are counted from what really ran.
//! - **A thread that has just woken** is *loose*: it runs in its own class on any core that serves
//!   its queue first, where the kernel puts it. Only when it is still there at the next look is it
//!   put into its queue. Threads that work for less than a look at a time so never wait for this
//!   process.
//! - **Threads that choose their own CPUs keep them.** Policies see them as restricted.
//! - **Nothing is lost when this process dies.** Masks as they were are written down before they
//!   are changed ([`journal`]).
//!
//! Why no cpusets: a cpuset confines a group, and a policy here speaks of threads; what a thread
//! sees of its CPUs (`sched_getaffinity`) is narrowed by both alike; and a program that sets its
//! own affinity is to win, which a cpuset would prevent.
//!
//! What cannot be had by affinity: an answer in time to every wake-up (a thread that runs for less
//! than a look is where the kernel put it), and queues among more threads than SCHED_IDLE can hold
//! back: a hundred parked threads weigh 300 against the 1024 of the one that has the core.

mod account;
mod apply;
mod carry_out;
mod changes;
mod dispatch;
pub mod journal;
pub mod kernel;
mod lending;
mod mechanism;
mod naps;
mod observe;
mod overflow;
mod queue;
mod queues;
mod sampling;
mod scene;
pub mod session;
mod thread;

pub use mechanism::{Mechanism, Options};
