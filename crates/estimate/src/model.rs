//! What training makes of traces, and a mechanism asks: see [`Model`].

use std::fmt;

use crate::accuracy::Accuracy;
use crate::metric::{Metric, MetricValues};
use crate::regression::Additive;
use crate::training::Method;

/// Tells the factor on one kind from metrics that were seen on one.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictor {
    /// The kind that the thread is on, an index into [`Model::kinds`].
    pub seen_on: usize,
    /// The kind whose factor it tells, an index into [`Model::kinds`].
    pub of: usize,
    /// What it is told from.
    pub metrics: Vec<Metric>,
    /// A term for each of the metrics, in their order.
    pub regression: Additive,
    /// How near it was to programs that it was not trained with. `None` if there was one program.
    pub accuracy: Option<Accuracy>,
}

impl Predictor {
    /// The factor. Allocates nothing.
    #[must_use]
    pub fn factor(&self, values: &MetricValues) -> f64 {
        self.regression.predict(self.metrics.iter().map(|&metric| values[metric]))
    }
}

/// Tells speedup factors on the kinds of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Names of the kinds, from the fastest to the slowest.
    pub kinds: Vec<String>,
    /// How the rows of its training were made.
    pub method: Method,
    /// What the traces were counted by.
    pub source: String,
    /// Programs that it was trained with. A trace without a long phase has no part.
    pub programs: Vec<String>,
    /// By the kind that a thread is on, then by the kind whose factor is told.
    pub predictors: Vec<Predictor>,
}

/// What it is, for people.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let programs = self.programs.len();
        let word = if programs == 1 { "program" } else { "programs" };
        write!(f, "a model of {programs} {word} ({})", self.source)
    }
}

impl Model {
    /// The predictors for a thread that is on a kind.
    pub fn seen_on(&self, kind: usize) -> impl Iterator<Item = &Predictor> {
        self.predictors.iter().filter(move |it| it.seen_on == kind)
    }

    /// Metrics that a thread on a kind has to be watched for, each once.
    #[must_use]
    pub fn metrics(&self, seen_on: usize) -> Vec<Metric> {
        let of_kind = self.seen_on(seen_on).flat_map(|it| it.metrics.iter().copied());
        let mut metrics: Vec<Metric> = of_kind.collect();
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }
}
