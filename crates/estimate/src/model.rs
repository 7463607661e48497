//! What training makes of traces, and a mechanism asks: see [`Model`].

use evenkeel_machine::{KindId, MAX_KINDS, PerKind};

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
    pub sources: Vec<String>,
    /// Programs that it was trained with.
    pub programs: Vec<String>,
    /// By the kind that a thread is on, then by the kind whose factor is told.
    pub predictors: Vec<Predictor>,
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

    /// Factors of a thread that showed such metrics on a kind; 1 on the slowest. `machine_kinds`
    /// has, for each of the model's kinds, the machine's. No factor is below 0.
    #[must_use]
    pub fn factors(
        &self,
        seen_on: usize,
        values: &MetricValues,
        machine_kinds: &[KindId],
    ) -> PerKind<f32> {
        let mut factors = PerKind([1.0; MAX_KINDS]);
        for predictor in self.seen_on(seen_on) {
            if let Some(&kind) = machine_kinds.get(predictor.of) {
                factors[kind] = predictor.factor(values).max(0.0) as f32;
            }
        }
        factors
    }
}
