//! What is learned of the dynamic loops of one region that have one trip count, and no chunk of
//! their own.
//!
//! A dynamic loop without a chunk asks the runtime before each iteration. Where iterations are
//! short, asking takes longer than they do. Such a loop is measured, gets chunks, and keeps them
//! where it has become faster.

use crate::costs::{Costs, Sample};
use crate::phase::Phase;

/// Iterations longer than this are handed out one by one: a thread asks in a tenth of the time.
/// Ours.
const LONG_NS: f64 = 2_000.0;
/// How long a chunk is to take. Ours.
const CHUNK_NS: f64 = 20_000.0;
/// Chunks that each thread has at least, so that all are through at about the same time. Ours.
const CHUNKS_EACH: u64 = 32;
/// Windows in which the chunk may still grow. Ours.
const MOST_WINDOWS: u32 = 4;

#[derive(Debug)]
pub struct Chunked {
    pub phase: Phase,
    pub trip: u64,
    pub costs: Costs,
    /// Iterations that are handed out at a time, while the phase is ours.
    pub chunk: u64,
}

impl Chunked {
    pub const fn new(trip: u64) -> Self {
        Self { phase: Phase::Watched, trip, costs: Costs::new(2), chunk: 1 }
    }

    /// Takes in an instance of the region.
    pub fn observe(&mut self, samples: &[Sample]) {
        if !self.costs.add(samples, self.phase) {
            return;
        }
        match self.phase {
            Phase::Watched => {
                let (each_ns, chunk) = self.suitable(samples.len());
                self.chunk = chunk;
                self.phase = if each_ns > LONG_NS {
                    Phase::Balanced
                } else if self.chunk < 2 {
                    Phase::Few
                } else {
                    Phase::Applied
                };
            }
            Phase::Applied => {
                let is_lost = self.costs.is_lost();
                let (_, chunk) = self.suitable(samples.len());
                if is_lost {
                    self.phase = Phase::Withdrawn;
                } else if chunk > self.chunk + self.chunk / 2 && self.costs.windows < MOST_WINDOWS {
                    // Asking for each iteration took most of the time before.
                    self.chunk = chunk;
                } else if self.costs.windows >= 2 {
                    self.phase = Phase::Frozen;
                }
            }
            // What asking saves it saves for good.
            Phase::Frozen
            | Phase::Short
            | Phase::Balanced
            | Phase::Withdrawn
            | Phase::Few
            | Phase::Unplaced
            | Phase::Given
            | Phase::Own => {}
        }
        self.costs.next_window();
    }

    /// Nanoseconds of an iteration in this window, asking included; and the chunk for that.
    fn suitable(&self, threads: usize) -> (f64, u64) {
        let each_ns = self.costs.each_ns() * threads as f64 / self.trip as f64;
        let most = self.trip / (CHUNKS_EACH * threads as u64);
        (each_ns, ((CHUNK_NS / each_ns.max(0.1)) as u64).min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(of: &mut Chunked, ns: u64, instances: u32) {
        for _ in 0..instances {
            of.observe(&[Sample { ns, iterations: of.trip / 2, executions: 1 }; 2]);
        }
    }

    #[test]
    fn short_iterations_are_handed_out_in_chunks_of_twenty_microseconds() {
        let mut of = Chunked::new(1_000_000);
        // 200 ns an iteration.
        runs(&mut of, 100_000_000, 2);
        assert_eq!((of.phase, of.chunk), (Phase::Applied, 100));
        // It was 100 ns, and the rest was asking.
        runs(&mut of, 50_000_000, 1);
        assert_eq!((of.phase, of.chunk), (Phase::Applied, 200));
        runs(&mut of, 50_000_000, 1);
        assert_eq!(of.phase, Phase::Frozen);
    }

    #[test]
    fn long_iterations_are_handed_out_one_by_one() {
        let mut of = Chunked::new(1000);
        runs(&mut of, 10_000_000, 4);
        assert_eq!(of.phase, Phase::Balanced);
    }

    #[test]
    fn chunks_that_do_not_pay_are_withdrawn() {
        let mut of = Chunked::new(1_000_000);
        runs(&mut of, 100_000_000, 4);
        assert_eq!(of.phase, Phase::Withdrawn);
    }

    #[test]
    fn each_thread_has_some_chunks() {
        let mut of = Chunked::new(100);
        runs(&mut of, 10_000_000, 2);
        assert_eq!(of.phase, Phase::Balanced);
        let mut of = Chunked::new(100);
        runs(&mut of, 20_000, 200);
        assert_eq!(of.phase, Phase::Few);
    }
}
