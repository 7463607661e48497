//! The share of its time that a thread runs: in epochs of run and blocked time, averaged.
//!
//! ```text
//! p = run / epoch,   P_H = a p + (1 - a) P_H
//! ```
//!
//! Time is added when the policy looks. It may then cover several epochs (a long sleep), which are
//! taken to be alike: `n` epochs of share `p` bring `P_H` to `p + (P_H - p) (1 - a)^n`. The rest of
//! the last counts for the next.

use evenkeel_machine::Nanos;

use crate::contract::ThreadStats;

/// Weight of the newest epoch (SAC 2016).
const NEWEST: f64 = 0.5;

/// Epochs after which the past has no influence left, in 53 bits.
const ALL_EPOCHS: u64 = 64;

/// Average share of run time of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct History {
    performance: f64,
    /// Run and blocked time when the epoch began.
    ran: Nanos,
    blocked: Nanos,
}

/// Total run and blocked time of a thread. Time that its core spends waiting for memory is blocked
/// time.
fn times(stats: &ThreadStats) -> (Nanos, Nanos) {
    let on_cores: Nanos = stats.time_on.0.iter().copied().sum();
    let stalled = stats.stalled.min(on_cores);
    (on_cores - stalled, stats.blocked.saturating_add(stalled))
}

impl History {
    /// `P_H`, 0 to 1.
    pub const fn performance(self) -> f64 {
        self.performance
    }

    /// History of a thread that starts with this average.
    #[must_use]
    pub fn inherited(self, stats: &ThreadStats) -> Self {
        let (ran, blocked) = times(stats);
        Self { performance: self.performance, ran, blocked }
    }

    /// Adds the time since the last call. Returns the number of epochs completed, if any, and the
    /// share of them that the thread ran.
    pub fn add(&mut self, stats: &ThreadStats, epoch: Nanos) -> Option<(u64, f64)> {
        let (ran, blocked) = times(stats);
        let (run, block) = (ran.saturating_sub(self.ran), blocked.saturating_sub(self.blocked));
        // Most calls end here, without a division.
        if run.0 + block.0 < epoch.0 {
            return None;
        }
        let epochs = (run.0 + block.0) / epoch.0.max(1);
        let share = run.0 as f64 / (run.0 + block.0) as f64;
        let kept = (1.0 - NEWEST).powi(epochs.min(ALL_EPOCHS) as i32);
        self.performance = share + (self.performance - share) * kept;
        let done = (epochs * epoch.0) as f64 / (run.0 + block.0) as f64;
        self.ran += Nanos((run.0 as f64 * done) as u64);
        self.blocked += Nanos((block.0 as f64 * done) as u64);
        Some((epochs, share))
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::KindId;

    use super::*;
    use crate::registry::make;
    use crate::testing::Bench;

    const EPOCH: Nanos = Nanos::from_millis(100);

    fn stats(ran_ms: u64, blocked_ms: u64, stalled_ms: u64) -> ThreadStats {
        let mut bench = Bench::start(1, 1, make("bfs", &[]).unwrap());
        let thread = bench.spawn(0);
        let stats = &mut bench.threads[thread.index()];
        stats.time_on[KindId(0)] = Nanos::from_millis(ran_ms / 2);
        stats.time_on[KindId(1)] = Nanos::from_millis(ran_ms.div_ceil(2));
        (stats.blocked, stats.stalled) =
            (Nanos::from_millis(blocked_ms), Nanos::from_millis(stalled_ms));
        stats.waiting = Nanos::from_millis(777);
        *stats
    }

    #[test]
    fn an_epoch_is_run_and_blocked_time_on_any_kind_and_halves_what_was_before() {
        let mut history = History::default();
        assert_eq!(history.add(&stats(60, 39, 0), EPOCH), None, "waiting makes no epoch");
        assert_eq!(history.add(&stats(60, 40, 0), EPOCH), Some((1, 0.6)));
        assert_eq!(history.performance(), 0.3);
        assert_eq!(history.add(&stats(160, 40, 0), EPOCH), Some((1, 1.0)));
        assert_eq!(history.performance(), 0.65);
    }

    #[test]
    fn waiting_for_memory_is_blocked_time() {
        let mut history = History::default();
        assert_eq!(history.add(&stats(100, 0, 75), EPOCH), Some((1, 0.25)));
    }

    #[test]
    fn a_long_sleep_is_as_many_epochs_and_what_is_left_over_counts_for_the_next() {
        let mut history = History::default().inherited(&stats(0, 0, 0));
        history.performance = 1.0;
        assert_eq!(history.add(&stats(0, 350, 0), EPOCH), Some((3, 0.0)));
        assert_eq!(history.performance(), 0.125);
        assert_eq!(history.add(&stats(0, 399, 0), EPOCH), None);
        assert_eq!(history.add(&stats(50, 350, 0), EPOCH), Some((1, 0.5)));
    }
}
