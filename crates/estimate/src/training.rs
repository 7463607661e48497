//! From traces to a model: rows, the choice of metrics, and what the model is worth.

use std::collections::BTreeSet;

use crate::accuracy::Accuracy;
use crate::metric::{Metric, MetricValues};
use crate::model::{Model, Predictor};
use crate::phases::cut_into;
use crate::regression::{Settings, Table, TableError, TrainError, Trained};
use crate::sets::{Counters, EventSets};
use crate::trace::{Trace, TracedKind, metrics_of};

/// Phases of fewer windows are discarded. Ours: the study does not say how few are few.
const FEW_WINDOWS: usize = 3;
/// Below this a value counts as this in a geometric mean. Ours: a metric may be 0 in a window.
const LEAST_VALUE: f64 = 1e-6;

/// What becomes a row of the training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// A whole run: means of its metrics, ratio of its completion times (Overall-SF).
    Overall,
    /// A phase: geometric means over its windows (Phase-SF). Traces are cut until factors deviate
    /// within phases by so much at most, relative to their mean.
    Phases {
        /// The greatest mean deviation.
        deviation: f64,
    },
}

/// What training may use, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What becomes a row.
    pub method: Method,
    /// Most event sets that are counted in turn. 1 if all metrics are to be counted at once.
    pub most_sets: usize,
    /// Most metrics of a regression.
    pub most_metrics: usize,
    /// Settings of the regression.
    pub settings: Settings,
}

/// Why nothing could be trained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainingError {
    /// There is no trace.
    #[error("no trace to train on")]
    NoTraces,
    /// Traces were counted by different things.
    #[error("the trace of {program} is by '{found}', that of {first} by '{expected}'")]
    Source {
        /// Program of the trace.
        program: String,
        /// What it was counted by.
        found: String,
        /// Program of the first trace.
        first: String,
        /// What that was counted by.
        expected: String,
    },
    /// Traces are of different kinds of core.
    #[error("the trace of {program} has the kinds {found}, that of {first} {expected}")]
    Kinds {
        /// Program of the trace.
        program: String,
        /// Its kinds.
        found: String,
        /// Program of the first trace.
        first: String,
        /// Kinds of the first trace.
        expected: String,
    },
    /// Instructions and cycles cannot be counted at once.
    #[error("the counters of {0} do not suffice for instructions and cycles")]
    FewCounters(String),
    /// A value is not finite.
    #[error("{program}: {error}")]
    Row {
        /// Program of the trace.
        program: String,
        /// What is wrong.
        error: TableError,
    },
    /// No phase is long enough.
    #[error(
        "no phase of {FEW_WINDOWS} windows or more in {traces} traces, expected traces of more \
         windows; whole runs need one"
    )]
    NoPhase {
        /// Number of traces.
        traces: usize,
    },
    /// A setting is out of range.
    #[error(transparent)]
    Regression(#[from] TrainError),
}

/// An observed factor, and what was predicted of it without its program.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// Name of the program.
    pub program: String,
    /// The kind that the metrics were seen on.
    pub seen_on: usize,
    /// The kind whose factor it is.
    pub of: usize,
    /// What the trace shows.
    pub observed: f64,
    /// What a model of the other programs says.
    pub predicted: f64,
}

/// A model, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// The model, of all traces.
    pub model: Model,
    /// Each row, predicted by models of the other programs. Empty if rows are of one program.
    pub held_out: Vec<HeldOut>,
}

/// Trains a model: for each kind that a thread may be on a regression on all metrics that the
/// traces have, the choice of those that tell most and can be counted, and a regression of each
/// factor on these.
///
/// What the model is worth is told by leaving one program out at a time, its choice of metrics
/// included.
///
/// # Errors
///
/// If there is no trace, traces differ in kinds, or no phase of them is long enough.
pub fn train(traces: &[Trace], plan: &Plan) -> Result<Training, TrainingError> {
    let kinds = kinds_of(traces)?;
    let (mut predictors, mut held_out) = (Vec::new(), Vec::new());
    let mut used = BTreeSet::new();
    for seen_on in 0..kinds.len() {
        let candidates = candidates(traces, seen_on);
        let rows: Vec<Vec<Row>> =
            (0..kinds.len() - 1).map(|of| rows(traces, seen_on, of, plan.method)).collect();
        if rows.iter().any(Vec::is_empty) {
            return Err(TrainingError::NoPhase { traces: traces.len() });
        }
        let programs: BTreeSet<&str> =
            rows.iter().flatten().map(|row| row.program.as_str()).collect();
        let without = |program: Option<&str>| -> Vec<Vec<&Row>> {
            rows.iter()
                .map(|rows| {
                    rows.iter().filter(|row| Some(row.program.as_str()) != program).collect()
                })
                .collect()
        };
        let fit = |rows: &[Vec<&Row>]| fit(rows, &candidates, &kinds[seen_on].counters, plan);
        let (metrics, trained) = fit(&without(None))?
            .ok_or_else(|| TrainingError::FewCounters(kinds[seen_on].name.clone()))?;
        let mut pairs: Vec<Vec<(f64, f64)>> = vec![Vec::new(); rows.len()];
        for &program in programs.iter().filter(|_| programs.len() > 1) {
            let others = without(Some(program));
            if others.iter().any(Vec::is_empty) {
                continue;
            }
            let Some((metrics, trained)) = fit(&others)? else { continue };
            for (of, trained) in trained.iter().enumerate() {
                for row in rows[of].iter().filter(|row| row.program == program) {
                    let features = metrics.iter().map(|&metric| row.values[metric]);
                    let (observed, predicted) = (row.factor, trained.regression.predict(features));
                    pairs[of].push((observed, predicted));
                    let program = program.to_owned();
                    held_out.push(HeldOut { program, seen_on, of, observed, predicted });
                }
            }
        }
        for (of, (trained, pairs)) in trained.into_iter().zip(pairs).enumerate() {
            let (metrics, regression) = (metrics.clone(), trained.regression);
            let accuracy = Accuracy::of(&pairs);
            predictors.push(Predictor { seen_on, of, metrics, regression, accuracy });
        }
        used.extend(programs.into_iter().map(str::to_owned));
    }
    let names = kinds.iter().map(|kind| kind.name.clone()).collect();
    let source = traces.first().map(|trace| trace.source().to_owned()).unwrap_or_default();
    let programs = used.into_iter().collect();
    let model = Model { kinds: names, method: plan.method, source, programs, predictors };
    Ok(Training { model, held_out })
}

/// The kinds of the first trace, which those of the others must be.
fn kinds_of(traces: &[Trace]) -> Result<&[TracedKind], TrainingError> {
    let first = traces.first().ok_or(TrainingError::NoTraces)?;
    if let Some(other) = traces.iter().find(|it| it.source() != first.source()) {
        return Err(TrainingError::Source {
            program: other.program().to_owned(),
            found: other.source().to_owned(),
            first: first.program().to_owned(),
            expected: first.source().to_owned(),
        });
    }
    let of = |it: &Trace| {
        it.kinds().iter().map(|kind| (kind.name.clone(), kind.counters.clone())).collect::<Vec<_>>()
    };
    let is_other = |it: &&Trace| of(it) != of(first);
    if let Some(other) = traces.iter().find(is_other) {
        let named = |kind: &TracedKind| {
            let own = kind.counters.fixed.len();
            format!("{} ({} + {own} counters)", kind.name, kind.counters.general)
        };
        let names = |of: &Trace| of.kinds().iter().map(named).collect::<Vec<_>>().join(", ");
        return Err(TrainingError::Kinds {
            program: other.program().to_owned(),
            found: names(other),
            first: first.program().to_owned(),
            expected: names(first),
        });
    }
    Ok(first.kinds())
}

#[derive(Clone, Debug)]
struct Row {
    program: String,
    values: MetricValues,
    factor: f64,
}

fn rows(traces: &[Trace], seen_on: usize, of: usize, method: Method) -> Vec<Row> {
    let of_trace = |trace: &Trace| match method {
        Method::Overall => vec![Row {
            program: trace.program().to_owned(),
            values: trace.overall_metrics(seen_on),
            factor: trace.overall_factor(of),
        }],
        Method::Phases { deviation } => phases(trace, seen_on, of, deviation),
    };
    traces.iter().flat_map(of_trace).collect()
}

fn phases(trace: &Trace, seen_on: usize, of: usize, deviation: f64) -> Vec<Row> {
    let factors = &trace.factors(of)[..trace.len()];
    let long = cut_into(factors, deviation).phases.into_iter().filter(|it| it.len() >= FEW_WINDOWS);
    let row = |phase: std::ops::Range<usize>| {
        let windows = &trace.windows(seen_on)[phase.clone()];
        let all: Vec<MetricValues> = windows.iter().map(|it| metrics_of(&it.counts)).collect();
        let mut values = MetricValues::default();
        for metric in Metric::ALL {
            values[metric] = geometric_mean(all.iter().map(|it| it[metric]));
        }
        let factor = geometric_mean(factors[phase].iter().copied());
        Row { program: trace.program().to_owned(), values, factor }
    };
    long.map(row).collect()
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(|value| value.max(LEAST_VALUE).ln()).sum::<f64>() / count).exp()
}

/// The metrics that all traces have on a kind.
fn candidates(traces: &[Trace], seen_on: usize) -> Vec<Metric> {
    let has = |metric: &Metric| traces.iter().all(|trace| trace.has(seen_on, *metric));
    Metric::ALL.into_iter().filter(has).collect()
}

/// The metrics that were chosen, and a regression on them for each factor.
type Fitted = (Vec<Metric>, Vec<Trained>);

/// The metrics that tell most of all factors together and can be counted, and a regression of each
/// factor on them. `None` if instructions and cycles cannot be counted.
fn fit(
    rows: &[Vec<&Row>],
    candidates: &[Metric],
    counters: &Counters,
    plan: &Plan,
) -> Result<Option<Fitted>, TrainingError> {
    if EventSets::new(&[], counters).is_none() {
        return Ok(None);
    }
    let mut influence = vec![0.0; candidates.len()];
    for rows in rows {
        let of_factor = regress(rows, candidates, &plan.settings)?.influence;
        influence.iter_mut().zip(of_factor).for_each(|(sum, it)| *sum += it);
    }
    let mut by_influence: Vec<usize> = (0..candidates.len()).collect();
    by_influence.sort_by(|&a, &b| influence[b].total_cmp(&influence[a]));
    let mut chosen = Vec::new();
    for i in by_influence.into_iter().filter(|&i| influence[i] > 0.0) {
        if chosen.len() >= plan.most_metrics {
            break;
        }
        chosen.push(candidates[i]);
        let sets = EventSets::new(&chosen, counters);
        if sets.is_none_or(|sets| sets.len() > plan.most_sets) {
            chosen.pop();
        }
    }
    let trained = rows.iter().map(|rows| regress(rows, &chosen, &plan.settings));
    Ok(Some((chosen.clone(), trained.collect::<Result<_, _>>()?)))
}

fn regress(
    rows: &[&Row],
    metrics: &[Metric],
    settings: &Settings,
) -> Result<Trained, TrainingError> {
    let mut table = Table::new(metrics.len());
    for row in rows {
        let features: Vec<f64> = metrics.iter().map(|&metric| row.values[metric]).collect();
        table
            .push(&features, row.factor)
            .map_err(|error| TrainingError::Row { program: row.program.clone(), error })?;
    }
    Ok(table.train(settings)?)
}
