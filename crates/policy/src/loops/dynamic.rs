//! `dynamic,c`: a worker that is free takes the next c iterations.
//!
//! Fast cores come back sooner and so do more. The loop ends within one chunk on the slowest core
//! of the ideal, at the price of one take per chunk. Source: OpenMP 5.2, section 11.5.3
//! (`schedule(dynamic[, chunk])`, chunk 1 by default).

use evenkeel_machine::KindId;

use super::LoopPolicy;

/// Chunks of equal size, first come, first served.
#[derive(Clone, Debug)]
pub struct Dynamic {
    chunk: u64,
    next: u64,
    iterations: u64,
}

impl Dynamic {
    /// This many iterations at a time, at least 1.
    pub fn new(chunk: u64) -> Self {
        Self { chunk: chunk.max(1), next: 0, iterations: 0 }
    }
}

impl LoopPolicy for Dynamic {
    fn start(&mut self, iterations: u64, _workers: u32) {
        (self.next, self.iterations) = (0, iterations);
    }

    fn take(&mut self, _worker: u32, _kind: KindId) -> Option<(u64, u64)> {
        let (first, count) = (self.next, self.chunk.min(self.iterations - self.next));
        self.next += count;
        (count > 0).then_some((first, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_in_order_whoever_asks_and_the_last_is_what_is_left() {
        let mut policy = Dynamic::new(4);
        policy.start(10, 2);
        let chunks: Vec<_> =
            [1, 1, 0, 0].into_iter().map(|worker| policy.take(worker, KindId(0))).collect();
        assert_eq!(chunks, [Some((0, 4)), Some((4, 4)), Some((8, 2)), None]);
    }
}
