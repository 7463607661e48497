//! The workers of one of Evenkeel's pools.

use evenkeel_runtime::Pool;

use super::Team;

/// Runs each phase as a loop over its blocks, shared by the pool's schedule.
#[derive(Clone, Copy, Debug)]
pub struct Loops<'a>(pub &'a Pool);

impl Team for Loops<'_> {
    fn each(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        let body = &body;
        self.0.for_each(0..blocks, body);
    }
}

/// Runs each phase as a scope with a task per block.
#[derive(Clone, Copy, Debug)]
pub struct Tasks<'a>(pub &'a Pool);

impl Team for Tasks<'_> {
    fn each(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        let body = &body;
        self.0.scope(|scope| (0..blocks).for_each(|block| scope.spawn(move || body(block))));
    }
}
