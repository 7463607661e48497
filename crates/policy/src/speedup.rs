//! Speedup of an application from fast cores, computed from the speedup factors of its threads when
//! they share `B` such cores.
//!
//! With `n` runnable threads of mean speedup factor `s`:
//!
//! ```text
//! utility      S = 1 + (s - 1) / (floor((n - 1) / (B + 1)) + 1)²
//!                                                  Saez, Fedorova, Koufaty, Prieto: JPDC 71 (2011)
//! fair share   S = 1 + min(1, B / n) (s - 1)
//! ```
//!
//! Both give `s` for one thread. The first is the worth of fast cores to the application, which
//! falls quickly as its threads outnumber them; the second is what it gets from an equal share of
//! them.
//!
//! Three or more kinds: each adjacent pair by this rule, where `B` counts the cores of the faster
//! kind and of all kinds above it; the speedups of the pairs are multiplied. For one thread this
//! gives its whole speedup factor.

use evenkeel_machine::{KindId, PerKind};

use crate::contract::{AppId, Knob, Knobs, ThreadStats};

/// How the speedup of an application follows from that of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By the utility of the fast cores.
    Utility,
    /// By an equal share of them.
    FairShare,
}

impl Rule {
    /// The knob that chooses between them.
    pub const KNOB: Knob = Knob::Word {
        name: "speedup",
        words: &["utility", "fair-share"],
        about: "how an application's speedup is told from its threads': utility (JPDC 71, 2011) or \
                an equal share of the fast cores",
    };

    /// The rule that the knob selects.
    pub fn of(knobs: &Knobs) -> Self {
        match knobs.word("speedup") {
            "fair-share" => Self::FairShare,
            _ => Self::Utility,
        }
    }

    /// Speedup of an application with `threads` runnable threads of mean speedup factor `mean` on
    /// `fast` fast cores; at least 1.
    pub fn speedup(self, threads: u32, mean: f64, fast: u32) -> f64 {
        let threads = threads.max(1);
        let gain = (mean - 1.0).max(0.0);
        match self {
            Self::Utility => {
                let turns = f64::from((threads - 1) / (fast + 1) + 1);
                1.0 + gain / (turns * turns)
            }
            Self::FairShare => 1.0 + gain * (f64::from(fast) / f64::from(threads)).min(1.0),
        }
    }
}

/// The kinds in use and their cores: what a speedup depends on beside the threads.
#[derive(Clone, Copy)]
pub struct Kinds<'a> {
    /// Kinds in use, fastest first.
    pub kinds: &'a [KindId],
    /// Online cores of each of them.
    pub cores: &'a [u32],
}

/// The estimate of speedup factors that a policy uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The mechanism's estimator, refreshed as the thread runs.
    Estimator,
    /// Measured beforehand over the thread's whole run.
    Offline,
}

impl Source {
    fn factors(self, stats: &ThreadStats) -> &PerKind<f32> {
        match self {
            Self::Estimator => &stats.speedup,
            Self::Offline => &stats.speedup_offline,
        }
    }

    /// Speedup factor of a thread from the kind of one rank to that of a faster one; at least 1,
    /// and 1 if the estimate is not finite.
    pub fn factor(
        self,
        stats: &ThreadStats,
        kinds: Kinds<'_>,
        faster: usize,
        slower: usize,
    ) -> f64 {
        let factors = self.factors(stats);
        let factor =
            f64::from(factors[kinds.kinds[faster]]) / f64::from(factors[kinds.kinds[slower]]);
        if factor.is_finite() { factor.max(1.0) } else { 1.0 }
    }
}

/// Runnable threads of one application, and the sums of their factors.
#[derive(Clone, Debug, Default)]
struct Sum {
    threads: u32,
    /// By adjacent pair of ranks: speed on the faster kind / speed on the slower, summed over the
    /// threads.
    factors: Vec<f64>,
}

/// Speedups of all applications, kept from one refresh to the next.
#[derive(Clone, Debug)]
pub struct Applications {
    rule: Rule,
    source: Source,
    sums: Vec<Sum>,
}

impl Applications {
    /// No threads yet.
    pub fn new(rule: Rule, source: Source) -> Self {
        Self { rule, source, sums: Vec::new() }
    }

    /// Forgets all threads, at the begin of a refresh.
    pub fn clear(&mut self) {
        for sum in &mut self.sums {
            sum.threads = 0;
            sum.factors.fill(0.0);
        }
    }

    /// Adds a thread.
    pub fn add(&mut self, stats: &ThreadStats, kinds: Kinds<'_>) {
        let app = stats.app.index();
        if self.sums.len() <= app {
            self.sums.resize_with(app + 1, Sum::default);
        }
        let sum = &mut self.sums[app];
        sum.factors.resize(kinds.kinds.len().saturating_sub(1), 0.0);
        sum.threads += 1;
        for (pair, total) in sum.factors.iter_mut().enumerate() {
            *total += self.source.factor(stats, kinds, pair, pair + 1);
        }
    }

    /// Removes a thread that has ended, at its application's mean: individual contributions are not
    /// kept.
    pub fn remove(&mut self, app: AppId) {
        if let Some(sum) = self.sums.get_mut(app.index()).filter(|sum| sum.threads > 0) {
            let left = f64::from(sum.threads - 1) / f64::from(sum.threads);
            sum.threads -= 1;
            sum.factors.iter_mut().for_each(|total| *total *= left);
        }
    }

    /// True if the application has runnable threads, so that it has a speedup.
    pub fn is_runnable(&self, app: AppId) -> bool {
        self.sums.get(app.index()).is_some_and(|sum| sum.threads > 0)
    }

    /// Speedup of an application from the kind of `rank` to the fastest; 1 for the fastest kind,
    /// and for an application without runnable threads.
    pub fn speedup(&self, app: AppId, rank: usize, kinds: Kinds<'_>) -> f64 {
        let Some(sum) = self.sums.get(app.index()).filter(|sum| sum.threads > 0) else {
            return 1.0;
        };
        let mut fast = 0;
        let mut speedup = 1.0;
        for (pair, total) in sum.factors.iter().enumerate().take(rank) {
            fast += kinds.cores[pair];
            speedup *= self.rule.speedup(sum.threads, total / f64::from(sum.threads), fast);
        }
        speedup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_gains_its_speedup_factor_by_either_rule() {
        for rule in [Rule::Utility, Rule::FairShare] {
            assert_eq!(rule.speedup(1, 3.5, 1), 3.5);
        }
    }

    #[test]
    fn utility_falls_with_the_square_of_the_turns_that_threads_take() {
        // B = 2: up to three threads take one turn, up to six take two.
        assert_eq!(Rule::Utility.speedup(3, 3.0, 2), 3.0);
        assert_eq!(Rule::Utility.speedup(4, 3.0, 2), 1.5);
        assert_eq!(Rule::Utility.speedup(7, 3.0, 2), 1.0 + 2.0 / 9.0);
    }

    #[test]
    fn a_fair_share_falls_with_the_threads_per_fast_core() {
        assert_eq!(Rule::FairShare.speedup(2, 3.0, 2), 3.0);
        assert_eq!(Rule::FairShare.speedup(8, 3.0, 2), 1.5);
    }

    #[test]
    fn speedups_are_never_below_one_nor_undefined() {
        for rule in [Rule::Utility, Rule::FairShare] {
            assert_eq!(rule.speedup(0, 0.5, 0), 1.0);
        }
        assert_eq!(Rule::FairShare.speedup(4, 3.0, 0), 1.0);
    }
}
