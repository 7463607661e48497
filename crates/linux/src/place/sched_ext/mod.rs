//! The sched_ext mechanism: the contract carried out by the kernel, as a scheduler written in BPF
//! (`src/bpf`), on Linux 6.16 and later.
//!
//! The BPF program is the fast path: queues, order, charge, slices, idle cores, wake-ups. This
//! process is the slow path: it looks at what threads did, tells the policy, and writes down what
//! that says. The two share memory ([`shared`]), a slot per thread: statistics one way, directives
//! the other. Nothing in the kernel waits for this process.
//!
//! - **Events** (`events.bpf.h`): a thread that something has happened to is listed once per look,
//!   however often it happened. What happened is then read from the slot, so that a look costs what
//!   changed, not what happened.
//! - **Directives** for a thread that runs or sleeps are written to its slot and taken up there.
//!   For what cannot wait (a swap, a move, a thread that waits in the wrong place) there are
//!   commands, carried out at the end of the look by one system call for all of them.
//! - **A swap takes a moment.** Until the threads have arrived the view counts the answer as not
//!   carried out, and policies leave them alone.
//! - **Threads of the kernel, of this process, and of real-time classes** are not the policy's.
//! - **When this process dies** the kernel takes its own scheduler back.
//!
//! Licence: this folder is MIT or Apache-2.0 as all of Evenkeel; `src/bpf`, which is built in with
//! it, is GPL-2.0-only, and so is the whole binary then.

mod carry_out;
mod counters;
mod error;
mod load;
mod mechanism;
pub mod members;
mod observe;
mod restarts;
mod sampling;
pub mod session;
pub mod shared;
pub mod support;
#[cfg(test)]
mod tests;
mod thread;

pub use error::LoadError;
pub use load::{Ended, KernelSide, Setup};
pub use mechanism::{Mechanism, Options};
