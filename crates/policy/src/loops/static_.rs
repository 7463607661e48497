//! `static`: shares are fixed before the loop runs.
//!
//! ```text
//! static        worker w of P gets one block; blocks differ by one iteration at most, the longer
//!               ones first
//! static,c      chunks of c iterations; worker w gets chunks w, w + P, w + 2P, …
//! ```
//!
//! On uneven cores the slowest worker decides: the loop takes (share x time per iteration there).
//! Source: OpenMP 5.2, section 11.5.3 (`schedule(static[, chunk])`).

use evenkeel_machine::KindId;

use super::LoopPolicy;

/// Shares that are fixed before the loop runs.
#[derive(Clone, Debug)]
pub struct Static {
    /// `None`: one block each.
    chunk: Option<u64>,
    iterations: u64,
    workers: u64,
    /// By worker, its number of takes.
    taken: Vec<u64>,
}

impl Static {
    /// One block each, or chunks of this many iterations in turn.
    pub fn new(chunk: Option<u64>) -> Self {
        Self { chunk, iterations: 0, workers: 1, taken: Vec::new() }
    }
}

impl LoopPolicy for Static {
    fn start(&mut self, iterations: u64, workers: u32) {
        self.iterations = iterations;
        self.workers = u64::from(workers.max(1));
        self.taken.clear();
        self.taken.resize(workers as usize, 0);
    }

    fn take(&mut self, worker: u32, _kind: KindId) -> Option<(u64, u64)> {
        let taken = self.taken.get_mut(worker as usize)?;
        let turn = std::mem::replace(taken, taken.saturating_add(1));
        let worker = u64::from(worker);
        let (first, count) = match self.chunk {
            None if turn > 0 => return None,
            None => {
                let (share, longer) =
                    (self.iterations / self.workers, self.iterations % self.workers);
                (worker * share + worker.min(longer), share + u64::from(worker < longer))
            }
            Some(chunk) => {
                let first =
                    turn.saturating_mul(self.workers).saturating_add(worker).saturating_mul(chunk);
                (first, chunk.min(self.iterations.saturating_sub(first)))
            }
        };
        (count > 0).then_some((first, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(mut policy: Static, iterations: u64, workers: u32) -> Vec<Vec<(u64, u64)>> {
        policy.start(iterations, workers);
        (0..workers)
            .map(|worker| std::iter::from_fn(|| policy.take(worker, KindId(0))).collect())
            .collect()
    }

    #[test]
    fn blocks_differ_by_one_iteration_at_most() {
        assert_eq!(shares(Static::new(None), 10, 4), [[(0, 3)], [(3, 3)], [(6, 2)], [(8, 2)]]);
    }

    #[test]
    fn chunks_go_round_the_workers() {
        let expected = [vec![(0, 2), (4, 2), (8, 1)], vec![(2, 2), (6, 2)]];
        assert_eq!(shares(Static::new(Some(2)), 9, 2), expected);
    }

    #[test]
    fn workers_beyond_the_iterations_get_nothing() {
        assert_eq!(shares(Static::new(None), 1, 3), [vec![(0, 1)], vec![], vec![]]);
    }
}
