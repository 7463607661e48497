//! Teams, which carry out the phases of an app: one thread, threads that are pinned to cores, or
//! the workers of a pool.
//!
//! An app states its phases once, as calls on a [`Team`]. With a [`Serial`] team, or one on a pool,
//! one thread goes through the app and hands out the blocks of each phase. With [`pinned`] threads
//! each thread goes through the whole app, as in programs with pthreads, takes its own part of each
//! phase and waits for the others at a barrier. So decisions between two phases must be the same on
//! all threads: either one decides ([`agree`](Team::agree)), or all do, on shared memory that
//! neither the phase before nor the phase after writes.

mod barrier;
mod cpus;
mod pinned;
mod pool;
mod slowed;

pub use cpus::{PinError, on_cpus, pin};
pub use pinned::{Member, pinned};
pub use pool::{Loops, Tasks};
pub use slowed::{Slow, SlowError, Slowed};

/// The threads that carry out the phases of an app, or one of them.
pub trait Team {
    /// A phase: calls `body` for each block. Returns when all blocks are done and their writes are
    /// visible. Blocks are equal work, as far as the app knows.
    fn each(&self, blocks: usize, body: impl Fn(usize) + Sync);

    /// A phase whose blocks threads draw one after the other as they become free, for an app that
    /// balances its work itself even with pinned threads. A team that hands out blocks by itself
    /// does so here, too.
    fn tickets(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        self.each(blocks, body);
    }

    /// A serial phase: `body` runs once, and nothing runs beside it. If one thread goes through the
    /// app, this is a plain call.
    fn once(&self, body: impl FnOnce()) {
        body();
    }

    /// A serial phase whose result all threads get.
    fn agree(&self, decide: impl FnOnce() -> f64) -> f64 {
        decide()
    }
}

/// One thread, which runs block after block.
#[derive(Clone, Copy, Debug)]
pub struct Serial;

impl Team for Serial {
    fn each(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        (0..blocks).for_each(body);
    }
}
