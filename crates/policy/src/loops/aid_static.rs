//! `aid-static,c`: asymmetric iteration distribution. One chunk each to sample the speed of the
//! kinds, then each worker gets its share at once.
//!
//! ```text
//! sampling   each worker takes a chunk of c, and goes on taking chunks of c until every worker has
//!            done one
//! rate(k)    iterations / time over all chunks done on kind k until then
//! share(w)   N rate(k_w) / (sum over workers of rate), rounded down, less what w has had; as much
//!            of it as is left
//! rest       what rounding, and workers that had more than their share, leave over: chunks of c to
//!            any worker that asks
//! ```
//!
//! With two kinds and SF = rate(big) / rate(small): small workers get N / (N_B SF + N_S), big ones
//! SF times as much, as in the source. Any number of kinds: each has its own rate. `c` is 1 by
//! default.
//!
//! Few chunks, like `static`, and blocks that follow the speed of the core. It loses if iterations
//! differ, because the first chunk then says nothing about the others, or if a core's speed changes
//! during its share.
//!
//! Source: Saez, Castro and Prieto-Matias, "Enabling performance portability of data-parallel
//! OpenMP applications on asymmetric multicore processors", ICPP 2020 (AID-static).

use evenkeel_machine::{KindId, Nanos};

use super::LoopPolicy;
use super::sample::Sample;

/// Asymmetric iteration distribution in one step.
#[derive(Clone, Debug)]
pub struct AidStatic {
    chunk: u64,
    iterations: u64,
    next: u64,
    sample: Sample,
    /// By worker, its iterations so far.
    had: Vec<u64>,
    /// By worker, the share it has yet to get; made when all have been sampled.
    shares: Option<Vec<u64>>,
}

impl AidStatic {
    /// Samples with chunks of this many iterations, at least 1.
    pub fn new(chunk: u64) -> Self {
        let chunk = chunk.max(1);
        Self {
            chunk,
            iterations: 0,
            next: 0,
            sample: Sample::default(),
            had: Vec::new(),
            shares: None,
        }
    }

    /// Shares by worker. Their sum is at most what is left.
    fn shares(&self) -> Option<Vec<u64>> {
        let rates = self.sample.rates()?;
        let total: f64 = rates.iter().sum();
        let mut left = self.iterations - self.next;
        let share = |(rate, &had): (f64, &u64)| {
            let whole = (self.iterations as f64 * (rate / total)) as u64;
            let share = whole.saturating_sub(had).min(left);
            left -= share;
            share
        };
        Some(rates.into_iter().zip(&self.had).map(share).collect())
    }
}

impl LoopPolicy for AidStatic {
    fn start(&mut self, iterations: u64, workers: u32) {
        (self.iterations, self.next, self.shares) = (iterations, 0, None);
        self.sample = Sample::new(workers);
        self.had = vec![0; workers as usize];
    }

    fn take(&mut self, worker: u32, _kind: KindId) -> Option<(u64, u64)> {
        if self.shares.is_none() {
            self.shares = self.shares();
        }
        let left = self.iterations - self.next;
        let count = match &mut self.shares {
            None => self.chunk.min(left),
            Some(shares) => {
                let share = shares.get_mut(worker as usize).map(std::mem::take).unwrap_or_default();
                let kept: u64 = shares.iter().sum();
                if share > 0 { share } else { self.chunk.min(left - kept) }
            }
        };
        let first = self.next;
        self.next += count;
        *self.had.get_mut(worker as usize)? += count;
        (count > 0).then_some((first, count))
    }

    fn done(&mut self, worker: u32, kind: KindId, iterations: u64, time: Nanos) {
        if self.shares.is_none() {
            self.sample.done(worker, kind, iterations, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    #[test]
    fn after_one_chunk_each_every_worker_gets_its_share_at_once() {
        // Kind 1 takes three times as long. 80 iterations on one of each: 60 and 20. The fast
        // worker takes single iterations until the slow one has done its first, at 30, when the
        // fast one asks for its fourth.
        let run = run(&mut AidStatic::new(1), 80, &[0, 1], &[10, 30]);
        assert_eq!(run.of(0), [1, 1, 1, 1, 56]);
        assert_eq!(run.of(1), [1, 19]);
        assert_eq!(run.makespan(), Nanos(600));
    }

    #[test]
    fn three_kinds_share_by_their_rates() {
        // Rates 6, 3 and 2 of 11 parts: 60, 30 and 20 of 110.
        let run = run(&mut AidStatic::new(1), 110, &[0, 1, 2], &[10, 20, 30]);
        assert_eq!([0, 1, 2].map(|worker| run.of(worker).iter().sum::<u64>()), [60, 30, 20]);
    }

    #[test]
    fn workers_of_one_kind_get_equal_shares() {
        let run = run(&mut AidStatic::new(2), 40, &[0; 4], &[5]);
        assert!((0..4).all(|worker| run.of(worker).iter().sum::<u64>() == 10));
        assert_eq!((run.of(0), run.of(3)), (vec![2, 2, 6], vec![2, 8]));
    }

    #[test]
    fn a_loop_too_short_to_sample_is_handed_out_by_chunks() {
        let run = run(&mut AidStatic::new(4), 6, &[0, 1], &[1, 2]);
        assert_eq!((run.of(0), run.of(1)), (vec![4], vec![2]));
    }
}
