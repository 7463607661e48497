//! What a program's counters showed on each kind of core.

use evenkeel_machine::Nanos;

use crate::metric::{Counts, Event, METRICS, Metric, MetricValues};
use crate::sets::Counters;

/// Some of a program's execution on one kind of core: a number of instructions that is the same for
/// all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How long it took.
    pub time: Nanos,
    /// What was counted; instructions always are.
    pub counts: Counts,
}

impl Window {
    fn instructions(&self) -> u64 {
        self.counts.get(Event::Instructions).unwrap_or(0)
    }

    /// Instructions per nanosecond.
    fn rate(&self) -> f64 {
        self.instructions() as f64 / self.time.0 as f64
    }
}

/// A program's windows on a kind of core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedKind {
    /// Name of the kind.
    pub name: String,
    /// What the kind can count at once.
    pub counters: Counters,
    /// The windows in order.
    pub windows: Vec<Window>,
}

/// A program's windows on each kind of core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    program: String,
    source: String,
    kinds: Vec<TracedKind>,
}

/// Why windows are no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A factor takes two kinds.
    #[error("{0} kinds of core, expected at least two")]
    FewKinds(usize),
    /// Two kinds have one name.
    #[error("two kinds of core are named {0}")]
    SameKind(String),
    /// A kind has no window.
    #[error("no window on {0}")]
    NoWindow(String),
    /// Nothing was done in a window, or in no time.
    #[error("window {window} on {kind} has no instructions or no time")]
    EmptyWindow {
        /// Name of the kind.
        kind: String,
        /// Number of the window, from 0.
        window: usize,
    },
}

impl Trace {
    /// Kinds are from the fastest to the slowest. The n-th windows of all kinds are of the same
    /// work. `source` says what it was counted by.
    ///
    /// # Errors
    ///
    /// If there are fewer than two kinds, one without windows, or a window in which nothing was
    /// done.
    pub fn new(
        program: String,
        source: String,
        kinds: Vec<TracedKind>,
    ) -> Result<Self, TraceError> {
        if kinds.len() < 2 {
            return Err(TraceError::FewKinds(kinds.len()));
        }
        for (i, kind) in kinds.iter().enumerate() {
            let name = || kind.name.clone();
            if kinds[..i].iter().any(|other| other.name == kind.name) {
                return Err(TraceError::SameKind(name()));
            }
            if kind.windows.is_empty() {
                return Err(TraceError::NoWindow(name()));
            }
            let is_empty = |it: &Window| it.time == Nanos::ZERO || it.instructions() == 0;
            if let Some(window) = kind.windows.iter().position(is_empty) {
                return Err(TraceError::EmptyWindow { kind: name(), window });
            }
        }
        Ok(Self { program, source, kinds })
    }

    /// Name of the program.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// What it was counted by, for people.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The kinds, from the fastest to the slowest.
    #[must_use]
    pub fn kinds(&self) -> &[TracedKind] {
        &self.kinds
    }

    /// Names of the kinds, from the fastest to the slowest.
    pub fn kind_names(&self) -> impl Iterator<Item = &str> {
        self.kinds.iter().map(|kind| kind.name.as_str())
    }

    /// The windows on a kind.
    #[must_use]
    pub fn windows(&self, kind: usize) -> &[Window] {
        &self.kinds[kind].windows
    }

    fn slowest(&self) -> &[Window] {
        self.windows(self.kinds.len() - 1)
    }

    /// Number of windows that all kinds have. A run that was counted longer is cut.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kinds.iter().map(|kind| kind.windows.len()).min().unwrap_or(0)
    }

    /// False: each kind has a window.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Speedup factor on a kind in each window, by instructions per second.
    #[must_use]
    pub fn factors(&self, of: usize) -> Vec<f64> {
        self.windows(of)
            .iter()
            .zip(self.slowest())
            .map(|(fast, slow)| fast.rate() / slow.rate())
            .collect()
    }

    /// Speedup factor on a kind over the whole: the ratio of completion times, where the work is
    /// the same.
    #[must_use]
    pub fn overall_factor(&self, of: usize) -> f64 {
        let rate = |windows: &[Window]| {
            let windows = &windows[..self.len()];
            let instructions: f64 = windows.iter().map(|it| it.instructions() as f64).sum();
            instructions / windows.iter().map(|it| it.time.0 as f64).sum::<f64>()
        };
        rate(self.windows(of)) / rate(self.slowest())
    }

    /// Metrics over the whole, as seen on a kind; 0 for those that were not counted throughout.
    #[must_use]
    pub fn overall_metrics(&self, seen_on: usize) -> MetricValues {
        let windows = &self.windows(seen_on)[..self.len()];
        let sum = windows[1..].iter().fold(windows[0].counts, |sum, it| sum.plus(&it.counts));
        metrics_of(&sum)
    }

    /// True if the metric's events were counted in every window of the kind.
    #[must_use]
    pub fn has(&self, seen_on: usize, metric: Metric) -> bool {
        self.windows(seen_on)[..self.len()].iter().all(|it| metric.of(&it.counts).is_some())
    }
}

/// All metrics that counts have; 0 for the others.
pub fn metrics_of(counts: &Counts) -> MetricValues {
    let mut values = [0.0; METRICS];
    for (value, metric) in values.iter_mut().zip(Metric::ALL) {
        *value = metric.of(counts).unwrap_or(0.0);
    }
    MetricValues(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(instructions: u64, time: u64) -> Window {
        let mut counts = Counts::default();
        counts.set(Event::Instructions, instructions);
        counts.set(Event::Cycles, time * 2);
        Window { time: Nanos(time), counts }
    }

    fn trace(big: Vec<Window>, little: Vec<Window>) -> Result<Trace, TraceError> {
        let counters = Counters { general: 4, fixed: Vec::new() };
        let kinds = [("big", big), ("little", little)].map(|(name, windows)| TracedKind {
            name: name.to_owned(),
            counters: counters.clone(),
            windows,
        });
        Trace::new("app".to_owned(), "a test".to_owned(), kinds.to_vec())
    }

    #[test]
    fn factors_are_ratios_of_rates_and_the_longer_run_is_cut() {
        let big = vec![window(100, 10), window(100, 20), window(100, 5)];
        let little = vec![window(100, 20), window(100, 80)];
        let trace = trace(big, little).unwrap();
        assert_eq!(trace.factors(0), [2.0, 4.0]);
        assert_eq!(trace.factors(1), [1.0, 1.0]);
        assert!((trace.overall_factor(0) - 100.0 / 30.0).abs() < 1e-12);
        let ipc = trace.overall_metrics(0)[Metric::Ipc];
        assert!((ipc - 200.0 / 60.0).abs() < 1e-12, "{ipc}");
        assert!(trace.has(0, Metric::Ipc) && !trace.has(0, Metric::LlcMisses));
    }

    #[test]
    fn windows_in_which_nothing_was_done_are_refused() {
        let nothing = vec![window(1, 1), window(0, 1)];
        let expected = TraceError::EmptyWindow { kind: "little".to_owned(), window: 1 };
        assert_eq!(trace(vec![window(1, 1)], nothing), Err(expected));
        let none = trace(vec![], vec![window(1, 1)]);
        assert_eq!(none, Err(TraceError::NoWindow("big".to_owned())));
    }
}
