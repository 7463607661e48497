//! Measured speed of the kinds, from the chunks of the workers on them.

use evenkeel_machine::{KindId, Nanos, PerKind};

/// Chunks that were done since sampling began.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// By worker, the kind on which it did its last chunk; none before the first.
    seen: Vec<Option<KindId>>,
    /// Number of workers that have not done a chunk.
    missing: usize,
    /// Iterations and time by kind.
    done: PerKind<(u64, u64)>,
}

impl Sample {
    /// An empty sample for so many workers.
    pub fn new(workers: u32) -> Self {
        let workers = workers as usize;
        Self { seen: vec![None; workers], missing: workers, done: PerKind::all((0, 0)) }
    }

    /// A worker has done a chunk.
    pub fn done(&mut self, worker: u32, kind: KindId, iterations: u64, time: Nanos) {
        let Some(seen) = self.seen.get_mut(worker as usize) else { return };
        self.missing -= usize::from(seen.is_none());
        *seen = Some(kind);
        let (sum, spent) = self.done[kind];
        self.done[kind] = (sum.saturating_add(iterations), spent.saturating_add(time.0));
    }

    /// Iterations per nanosecond by worker, once each has done a chunk. A chunk that took no time
    /// counts as one nanosecond.
    pub fn rates(&self) -> Option<Vec<f64>> {
        if self.missing > 0 {
            return None;
        }
        let rate = |seen: &Option<KindId>| {
            let (iterations, time) = self.done[(*seen)?];
            Some(iterations.max(1) as f64 / time.max(1) as f64)
        };
        self.seen.iter().map(rate).collect()
    }
}
