//! `guided,c`: chunks that shrink with what is left.
//!
//! ```text
//! chunk = max(ceil(left / P), c)
//! ```
//!
//! Few takes at first, fine grain at the end. On uneven cores the first chunks are too long for
//! slow workers: a slow core that takes the first 1/P may hold it longer than all the rest takes.
//! Source: Polychronopoulos and Kuck, IEEE Transactions on Computers C-36 (1987); OpenMP 5.2,
//! section 11.5.3 (`schedule(guided[, chunk])`, chunk 1 by default).

use evenkeel_machine::KindId;

use super::LoopPolicy;

/// Chunks that shrink with what is left.
#[derive(Clone, Debug)]
pub struct Guided {
    least: u64,
    next: u64,
    iterations: u64,
    workers: u64,
}

impl Guided {
    /// Chunks of at least this many iterations (but for the last), at least 1.
    pub fn new(least: u64) -> Self {
        Self { least: least.max(1), next: 0, iterations: 0, workers: 1 }
    }
}

impl LoopPolicy for Guided {
    fn start(&mut self, iterations: u64, workers: u32) {
        (self.next, self.iterations, self.workers) = (0, iterations, u64::from(workers.max(1)));
    }

    fn take(&mut self, _worker: u32, _kind: KindId) -> Option<(u64, u64)> {
        let left = self.iterations - self.next;
        let (first, count) = (self.next, left.div_ceil(self.workers).max(self.least).min(left));
        self.next += count;
        (count > 0).then_some((first, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_shrink_down_to_the_least() {
        let mut policy = Guided::new(3);
        policy.start(20, 2);
        let chunks: Vec<_> =
            std::iter::from_fn(|| policy.take(0, KindId(0))).map(|(_, count)| count).collect();
        assert_eq!(chunks, [10, 5, 3, 2]);
    }
}
