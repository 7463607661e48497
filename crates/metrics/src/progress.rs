//! An application's progress in a time, and how two of them compare.

use evenkeel_machine::{Nanos, Work};
use evenkeel_sim::{AppOutcome, Outcome};

use crate::measures::geometric_mean;

/// What one application did in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Completion time: of one that repeats the geometric mean; `None`: the run's duration ended it
    /// first.
    pub completion: Option<Nanos>,
    /// How long it was in the run.
    pub time: Nanos,
    /// Work that it retired in that time.
    pub retired: Work,
}

impl Progress {
    /// Of an application of a run.
    pub fn of(app: &AppOutcome, outcome: &Outcome) -> Self {
        let completion = match app.completions.as_slice() {
            [] => None,
            [only] => Some(*only),
            several => geometric_mean(several.iter().map(|completion| completion.0.max(1) as f64))
                .map(|mean| Nanos(mean.round() as u64)),
        };
        let time = match app.completions.as_slice() {
            [only] => *only,
            _ => app.cut_at.unwrap_or(outcome.makespan),
        };
        Self { completion, time, retired: app.retired }
    }

    /// Completion time, or, if it was cut, the time until then.
    pub fn shown(&self) -> Nanos {
        self.completion.unwrap_or(self.time)
    }

    /// Its time over that of `reference`. If either was cut there is no completion time, so it is
    /// the ratio of their rates of progress.
    ///
    /// Never infinite: less than a nanosecond counts as one, and so does less than a unit of work.
    pub fn slowdown_over(&self, reference: &Self) -> f64 {
        let ratio = |above: u64, below: u64| above.max(1) as f64 / below.max(1) as f64;
        match (self.completion, reference.completion) {
            (Some(here), Some(there)) => ratio(here.0, there.0),
            _ => ratio(self.time.0, reference.time.0) * ratio(reference.retired.0, self.retired.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(ns: u64) -> Progress {
        Progress { completion: Some(Nanos(ns)), time: Nanos(ns), retired: Work(100) }
    }

    fn cut(ns: u64, retired: u64) -> Progress {
        Progress { completion: None, time: Nanos(ns), retired: Work(retired) }
    }

    #[test]
    fn completions_compare_by_time() {
        assert_eq!(done(300).slowdown_over(&done(100)), 3.0);
    }

    #[test]
    fn one_that_was_cut_compares_by_progress() {
        assert_eq!(cut(1_000, 25).slowdown_over(&cut(1_000, 100)), 4.0);
        assert_eq!(cut(1_000, 0).slowdown_over(&cut(1_000, 0)), 1.0);
        // Alone it does 100 in a tenth of the duration; here it does 50 in the whole of it.
        assert_eq!(cut(1_000, 50).slowdown_over(&done(100)), 20.0);
    }

    #[test]
    fn one_that_never_got_a_core_is_slow_beyond_measure_but_finite() {
        let slowdown = cut(1_000, 0).slowdown_over(&cut(1_000, 1_000_000));
        assert!(slowdown.is_finite() && slowdown >= 1e6);
    }

    #[test]
    fn one_that_repeats_counts_by_the_geometric_mean() {
        let app = AppOutcome { completions: vec![Nanos(100), Nanos(400)], ..AppOutcome::default() };
        let progress = Progress::of(&app, &Outcome { makespan: Nanos(600), ..Outcome::default() });
        assert_eq!(progress.completion, Some(Nanos(200)));
        assert_eq!(progress.time, Nanos(600));
    }
}
