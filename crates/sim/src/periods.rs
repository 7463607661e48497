//! How threads keep the periods of their timers, in rt-app's words: slack, what comes too late,
//! what waking takes.

use evenkeel_machine::Nanos;

/// What became of a thread's waits for timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// Waits for a timer.
    pub waits: u64,
    /// Those that began after their timer had expired.
    pub missed: u64,
    /// Least time from the beginning of a wait to its expiry, nanoseconds; less than 0 where one
    /// was missed.
    pub least_slack: i64,
    /// Sum of all of these, nanoseconds.
    pub slack: i128,
    /// From expiry to running again, of the waits that were not missed and are over: their number,
    /// sum and greatest.
    pub woken: u64,
    /// See `woken`.
    pub latency: Nanos,
    /// See `woken`.
    pub greatest_latency: Nanos,
    /// The expiry that it waits for.
    due: Option<Nanos>,
}

impl Default for Periods {
    fn default() -> Self {
        Self {
            waits: 0,
            missed: 0,
            least_slack: i64::MAX,
            slack: 0,
            woken: 0,
            latency: Nanos::ZERO,
            greatest_latency: Nanos::ZERO,
            due: None,
        }
    }
}

impl Periods {
    /// A wait for what expires then begins: its slack.
    pub(crate) fn wait(&mut self, due: Nanos, now: Nanos) -> i64 {
        let slack = i64::try_from(i128::from(due.0) - i128::from(now.0)).unwrap_or(i64::MAX);
        self.waits += 1;
        self.missed += u64::from(slack < 0);
        self.least_slack = self.least_slack.min(slack);
        self.slack += i128::from(slack);
        self.due = (slack >= 0).then_some(due);
        slack
    }

    /// The thread goes on behind its wait: how long after the expiry, unless it was missed.
    pub(crate) fn goes_on(&mut self, now: Nanos) -> Option<Nanos> {
        let latency = now.saturating_sub(self.due.take()?);
        self.woken += 1;
        self.latency += latency;
        self.greatest_latency = self.greatest_latency.max(latency);
        Some(latency)
    }

    /// Of several threads.
    pub fn merge(&mut self, other: &Self) {
        self.waits += other.waits;
        self.missed += other.missed;
        self.least_slack = self.least_slack.min(other.least_slack);
        self.slack += other.slack;
        self.woken += other.woken;
        self.latency += other.latency;
        self.greatest_latency = self.greatest_latency.max(other.greatest_latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_begins_late_is_missed_and_has_no_latency() {
        let mut periods = Periods::default();
        assert_eq!(periods.wait(Nanos(100), Nanos(70)), 30);
        assert_eq!(periods.goes_on(Nanos(105)), Some(Nanos(5)));
        assert_eq!(periods.wait(Nanos(200), Nanos(220)), -20);
        assert_eq!(periods.goes_on(Nanos(220)), None);
        let expected = Periods {
            waits: 2,
            missed: 1,
            least_slack: -20,
            slack: 10,
            woken: 1,
            latency: Nanos(5),
            greatest_latency: Nanos(5),
            due: None,
        };
        assert_eq!(periods, expected);
    }
}
