//! What is learned of the static loops of one region that have one trip count.
//!
//! A loop begins *watched*: the runtime's own shares, and each thread's time from init to fini.
//! After a window it is known how fast each kind of core is in this loop, and what shares by speed
//! would take. If that is worth it, they are *applied*, measured, adjusted, and *frozen*. A loop
//! that does not come out faster than it was gets its own shares back, and keeps them.
//!
//! Speeds are those of a kind, over all of its threads, so that a thread that was interrupted once
//! counts for little. Nothing here knows OpenMP; a mechanism calls [`Loop::observe`] after each
//! instance of the region, when no thread is in it.

use crate::costs::{Costs, Sample};
use crate::layout::MAX_KINDS;
use crate::phase::Phase;
use crate::shares::{divide, equal, makespan};

/// Loops shorter than this are left alone: to measure one costs a hundredth of it. Ours.
const SHORTEST_NS: f64 = 15_000.0;
/// Shares by speed are tried where they promise this part of the time. Ours.
const PROMISED: f64 = 0.03;
/// Shares that move less than this are frozen, in parts of the loop; and after so many windows.
/// Ours.
const STEADY: f64 = 0.01;
const MOST_WINDOWS: u32 = 6;
/// Frozen shares that others would be better than by this part of the time, window after window,
/// are given up; and how often. Ours.
const POOR: f64 = 0.1;
const MOST_AGAIN: u32 = 4;

#[derive(Debug)]
pub struct Loop {
    pub phase: Phase,
    pub trip: u64,
    pub costs: Costs,
    /// Times that frozen shares were given up.
    again: u32,
    /// Nanoseconds and iterations in this window.
    by_kind: [(u64, u64); MAX_KINDS],
}

impl Loop {
    /// `least`: executions in the first window, the base of all that follows.
    pub const fn new(trip: u64, least: u64) -> Self {
        Self {
            phase: Phase::Watched,
            trip,
            costs: Costs::new(least),
            again: 0,
            by_kind: [(0, 0); MAX_KINDS],
        }
    }

    /// Takes in an instance of the region: what each thread did, on which kind of core. Says
    /// whether `counts`, the iterations of each thread, are new; they hold from the next instance
    /// on.
    pub fn observe(&mut self, samples: &[Sample], kinds: &[u8], counts: &mut [u64]) -> bool {
        for (sample, &kind) in samples.iter().zip(kinds) {
            if let Some((ns, iterations)) = self.by_kind.get_mut(usize::from(kind)) {
                *ns += sample.ns;
                *iterations += sample.iterations;
            }
        }
        if !self.costs.add(samples, self.phase) {
            return false;
        }
        self.compare(kinds);
        let is_changed = match self.phase {
            Phase::Watched => self.after_watching(kinds, counts),
            Phase::Applied => {
                if self.costs.is_lost() {
                    self.phase = Phase::Withdrawn;
                }
                self.phase == Phase::Applied && self.adjust(kinds, counts)
            }
            Phase::Frozen => self.look_again(kinds, counts),
            Phase::Short
            | Phase::Balanced
            | Phase::Withdrawn
            | Phase::Few
            | Phase::Unplaced
            | Phase::Given
            | Phase::Own => false,
        };
        self.costs.next_window();
        self.by_kind = [(0, 0); MAX_KINDS];
        is_changed
    }

    /// What equal shares would have taken, where threads have ours.
    fn compare(&mut self, kinds: &[u8]) {
        if !self.phase.is_ours() {
            return;
        }
        if let Some(speeds) = self.speeds(kinds) {
            self.costs.add_equal(makespan(&speeds, &self.equal(kinds.len())));
        }
    }

    /// The runtime's own shares.
    fn equal(&self, threads: usize) -> Vec<u64> {
        (0..threads as u64).map(|thread| equal(self.trip, threads as u64, thread)).collect()
    }

    fn after_watching(&mut self, kinds: &[u8], counts: &mut [u64]) -> bool {
        let threads = kinds.len() as u64;
        self.phase = Phase::Balanced;
        if self.costs.each_ns() < SHORTEST_NS {
            self.phase = Phase::Short;
            return false;
        }
        if self.trip < 2 * threads {
            self.phase = Phase::Few;
            return false;
        }
        let Some(speeds) = self.speeds(kinds) else { return false };
        let same = makespan(&speeds, &self.equal(kinds.len()));
        divide(self.trip, &speeds, counts);
        if makespan(&speeds, counts) > (1.0 - PROMISED) * same {
            return false;
        }
        self.phase = Phase::Applied;
        true
    }

    /// Shares by the speeds of this window, where they differ from those that hold.
    fn adjust(&mut self, kinds: &[u8], counts: &mut [u64]) -> bool {
        let Some(speeds) = self.speeds(kinds) else { return false };
        let mut new = vec![0; counts.len()];
        divide(self.trip, &speeds, &mut new);
        let moved: u64 = new.iter().zip(&*counts).map(|(new, old)| new.abs_diff(*old)).sum();
        let is_steady = moved as f64 <= 2.0 * STEADY * self.trip as f64;
        if is_steady || self.costs.windows >= MOST_WINDOWS {
            self.phase = Phase::Frozen;
        }
        if is_steady {
            return false;
        }
        counts.copy_from_slice(&new);
        true
    }

    /// A frozen loop: its work may have grown, so that it is compared with what equal shares would
    /// take by the speeds of this window. Where other shares would be much better, it is applied
    /// anew, a few times in all.
    fn look_again(&mut self, kinds: &[u8], counts: &mut [u64]) -> bool {
        let Some(speeds) = self.speeds(kinds) else { return false };
        let same = self.equal(kinds.len());
        let mut best = vec![0; counts.len()];
        divide(self.trip, &speeds, &mut best);
        let (ours, best_takes) = (makespan(&speeds, counts), makespan(&speeds, &best));
        let is_poor = best_takes < (1.0 - POOR) * ours;
        if !self.costs.counts_poor(is_poor) {
            return false;
        }
        if makespan(&speeds, &same) <= (1.0 + PROMISED) * best_takes || self.again >= MOST_AGAIN {
            self.phase = Phase::Withdrawn;
            return false;
        }
        self.again += 1;
        counts.copy_from_slice(&best);
        true
    }

    /// Iterations in a nanosecond, by thread; none where a kind has done nothing.
    fn speeds(&self, kinds: &[u8]) -> Option<Vec<f64>> {
        let speed = |&kind: &u8| {
            let (ns, iterations) = *self.by_kind.get(usize::from(kind))?;
            (iterations > 0).then(|| iterations as f64 / ns.max(1) as f64)
        };
        kinds.iter().map(speed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instances of a loop on two threads, the second on a kind that takes `ratio` times as long,
    /// until it has another phase; times of `ns` an iteration on the first.
    fn runs(of: &mut Loop, counts: &mut [u64; 2], ns: f64, ratio: f64, instances: u32) {
        for _ in 0..instances {
            let shares = if of.phase.is_ours() { *counts } else { [of.trip / 2, of.trip / 2] };
            let sample = |iterations: u64, ns: f64| Sample {
                ns: (iterations as f64 * ns) as u64,
                iterations,
                executions: 1,
            };
            let samples = [sample(shares[0], ns), sample(shares[1], ns * ratio)];
            of.observe(&samples, &[0, 1], counts);
        }
    }

    #[test]
    fn a_slow_core_gets_a_share_by_its_speed() {
        let (mut of, mut counts) = (Loop::new(1000, 2), [0; 2]);
        runs(&mut of, &mut counts, 10_000.0, 3.0, 10);
        assert_eq!((of.phase, counts), (Phase::Frozen, [750, 250]));
    }

    #[test]
    fn equal_cores_are_left_alone() {
        let (mut of, mut counts) = (Loop::new(1000, 2), [0; 2]);
        runs(&mut of, &mut counts, 10_000.0, 1.02, 10);
        assert_eq!(of.phase, Phase::Balanced);
    }

    #[test]
    fn short_loops_and_loops_of_few_iterations_are_left_alone() {
        let (mut of, mut counts) = (Loop::new(1000, 2), [0; 2]);
        runs(&mut of, &mut counts, 1.0, 3.0, 200);
        assert_eq!(of.phase, Phase::Short);
        let (mut of, mut counts) = (Loop::new(3, 2), [0; 2]);
        runs(&mut of, &mut counts, 1e7, 3.0, 10);
        assert_eq!(of.phase, Phase::Few);
    }

    #[test]
    fn shares_that_hold_are_kept_when_the_work_grows_and_given_up_when_speeds_change() {
        let (mut of, mut counts) = (Loop::new(1000, 2), [0; 2]);
        runs(&mut of, &mut counts, 10_000.0, 3.0, 10);
        runs(&mut of, &mut counts, 40_000.0, 3.0, 20);
        assert_eq!((of.phase, counts), (Phase::Frozen, [750, 250]));
        runs(&mut of, &mut counts, 40_000.0, 1.5, 20);
        assert_eq!((of.phase, counts), (Phase::Frozen, [600, 400]));
        runs(&mut of, &mut counts, 40_000.0, 1.0, 20);
        assert_eq!(of.phase, Phase::Withdrawn);
    }

    #[test]
    fn what_does_not_pay_is_withdrawn() {
        let (mut of, mut counts) = (Loop::new(1000, 2), [0; 2]);
        runs(&mut of, &mut counts, 10_000.0, 3.0, 2);
        assert_eq!(of.phase, Phase::Applied);
        // The slow core was slow for a while alone: now the shares make the fast one the last.
        runs(&mut of, &mut counts, 30_000.0, 1.0, 4);
        assert_eq!(of.phase, Phase::Withdrawn);
    }
}
