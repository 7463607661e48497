//! Policies for parallel loops: which worker runs which iterations.

use evenkeel_machine::{KindId, Nanos};

/// Hands out the iterations of one execution of a loop.
pub trait LoopPolicy: Send {
    /// An execution begins: `iterations` to hand out to `workers`.
    fn start(&mut self, iterations: u64, workers: u32);

    /// Worker `worker` (dense from 0, in order of arrival) on a core of this kind asks for more: the first
    /// iteration and how many, or None where nothing is left for it.
    fn take(&mut self, worker: u32, kind: KindId) -> Option<(u64, u64)>;

    /// A chunk took this long: what the ratio of kinds is sampled from.
    fn done(&mut self, _worker: u32, _kind: KindId, _iterations: u64, _time: Nanos) {}
}
