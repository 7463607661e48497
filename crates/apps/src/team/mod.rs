//! Who carries out the phases of an app: one thread, threads that are pinned to cores, or the
//! workers of a pool.
//!
//! An app says its phases once, as calls on a [`Team`]. With a [`Serial`] team, or one on a pool,
//! one thread goes through the app and hands the blocks of each phase out. With [`pinned`] threads
//! every one of them goes through the whole app, as programs with pthreads do, takes its own part
//! of each phase and waits at a barrier for the others: so what an app decides on between two
//! phases has to be the same for all of them, and either one decides ([`agree`](Team::agree)), or
//! all do, on shared memory that neither the phase before nor the phase after writes.

mod barrier;
mod cpus;
mod pinned;
mod pool;
mod slowed;

pub use cpus::{PinError, on_cpus, pin};
pub use pinned::{Member, pinned};
pub use pool::{Loops, Tasks};
pub use slowed::{Slow, SlowError, Slowed};

/// Those who carry out the phases of an app, or one of them.
pub trait Team {
    /// A phase: `body` for each block. Returns when all blocks are done, and their writes can be
    /// seen. Blocks are equal work, as far as the app knows.
    fn each(&self, blocks: usize, body: impl Fn(usize) + Sync);

    /// A phase whose blocks are drawn one after the other by whoever is free, where an app balances
    /// its work itself even with pinned threads. A team that hands blocks out by itself has no
    /// other way.
    fn tickets(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        self.each(blocks, body);
    }

    /// A phase of one: `body` runs once, and nothing runs beside it. Where one thread goes through
    /// the app, that is a call.
    fn once(&self, body: impl FnOnce()) {
        body();
    }

    /// A phase of one whose result all get.
    fn agree(&self, decide: impl FnOnce() -> f64) -> f64 {
        decide()
    }
}

/// One thread, block by block.
#[derive(Clone, Copy, Debug)]
pub struct Serial;

impl Team for Serial {
    fn each(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        (0..blocks).for_each(body);
    }
}
