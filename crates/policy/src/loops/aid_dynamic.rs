//! `aid-dynamic,c`: asymmetric iteration distribution in phases. Like `aid-static`, but the ratio
//! of the kinds is measured again as the loop runs, and a phase hands out only a part of it.
//!
//! ```text
//! sampling   as in aid-static: chunks of c until every worker has done one
//! phase      each worker takes once:  round( M rate(k_w) / rate(slowest kind of these workers) ),
//!            M = 5 c, at least c
//! rate(k)    iterations / time over all chunks done on kind k in the last phase that has been
//!            done by all; sampling is phase 0
//! end        when less is left than one phase hands out: chunks of c to any worker that asks
//! ```
//!
//! A worker that is done with its part of a phase goes on with the next; none waits. So chunks are
//! long where that does no harm, and the end is as fine as with `dynamic,c`. Any number of kinds.
//! `c` is 1 by default.
//!
//! Source: Saez, Castro and Prieto-Matias, ICPP 2020 (AID-dynamic, with a minor chunk m = c and a
//! major chunk M). M = 5 m is our assumption.

use evenkeel_machine::{KindId, Nanos};

use super::LoopPolicy;
use super::sample::Sample;

/// Major chunk / minor chunk.
const MAJOR: u64 = 5;

/// Asymmetric iteration distribution in phases.
#[derive(Clone, Debug)]
pub struct AidDynamic {
    chunk: u64,
    iterations: u64,
    next: u64,
    workers: u32,
    sample: Sample,
    /// By worker, its part of a phase; empty during the first sampling.
    parts: Vec<u64>,
}

impl AidDynamic {
    /// A minor chunk of this many iterations, at least 1.
    pub fn new(chunk: u64) -> Self {
        let (chunk, sample) = (chunk.max(1), Sample::default());
        Self { chunk, iterations: 0, next: 0, workers: 0, sample, parts: Vec::new() }
    }

    /// Updates the parts if every worker has done a chunk since the last time.
    fn renew(&mut self) {
        let Some(rates) = self.sample.rates() else { return };
        let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let major = self.chunk.saturating_mul(MAJOR);
        let part = |rate: f64| ((major as f64 * (rate / slowest)).round() as u64).max(self.chunk);
        self.parts = rates.into_iter().map(part).collect();
        self.sample = Sample::new(self.workers);
    }
}

impl LoopPolicy for AidDynamic {
    fn start(&mut self, iterations: u64, workers: u32) {
        (self.iterations, self.next, self.workers) = (iterations, 0, workers);
        self.sample = Sample::new(workers);
        self.parts.clear();
    }

    fn take(&mut self, worker: u32, _kind: KindId) -> Option<(u64, u64)> {
        self.renew();
        let left = self.iterations - self.next;
        let phase = self.parts.iter().fold(0, |sum: u64, &part| sum.saturating_add(part));
        let part = self.parts.get(worker as usize).copied().filter(|_| phase <= left);
        let (first, count) = (self.next, part.unwrap_or(self.chunk).min(left));
        self.next += count;
        (count > 0).then_some((first, count))
    }

    fn done(&mut self, worker: u32, kind: KindId, iterations: u64, time: Nanos) {
        self.sample.done(worker, kind, iterations, time);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    #[test]
    fn a_phase_gives_slow_workers_five_chunks_and_fast_ones_as_much_more_as_they_are_faster() {
        let run = run(&mut AidDynamic::new(1), 100, &[0, 1], &[10, 30]);
        // Sampled at 30, when the fast worker takes its fourth single chunk; from then on 15 and 5.
        assert_eq!(run.of(0)[..6], [1, 1, 1, 1, 15, 15]);
        assert_eq!(run.of(1)[..3], [1, 5, 5]);
    }

    #[test]
    fn the_end_is_handed_out_by_minor_chunks() {
        let run = run(&mut AidDynamic::new(2), 200, &[0, 1], &[10, 30]);
        assert_eq!((run.of(0).last(), run.of(1).last()), (Some(&2), Some(&2)));
        // Within one minor chunk on the slow worker of the ideal: 200 iterations at 1/10 + 1/30.
        assert!(run.makespan() <= Nanos(200 * 30 / 4 + 2 * 30));
    }

    #[test]
    fn a_core_that_becomes_slower_gets_less_from_the_next_phase_on() {
        let mut policy = AidDynamic::new(1);
        policy.start(1_000, 2);
        let kinds = [KindId(0), KindId(1)];
        let mut phase = |times: [u64; 2]| {
            let counts = [0, 1].map(|worker| {
                policy.take(worker, kinds[worker as usize]).map_or(0, |(_, count)| count)
            });
            for worker in [0, 1] {
                let time = Nanos(counts[worker] * times[worker]);
                policy.done(worker as u32, kinds[worker], counts[worker], time);
            }
            counts
        };
        assert_eq!(phase([10, 30]), [1, 1]);
        assert_eq!(phase([10, 10]), [15, 5]);
        assert_eq!(phase([10, 10]), [5, 5]);
    }
}
