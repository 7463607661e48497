//! How well speedup factors are told from counters: predicted against observed.

use evenkeel_estimate::generated::traces;
use evenkeel_estimate::training::{HeldOut, Method, Plan, Training, train};
use evenkeel_estimate::{
    Accuracy, EventSets, Metric, Model, Predictor, Round, Rounds, Settings, Trace, pie,
};
use evenkeel_machine::Machine;

use super::{AMD, QUICKIA};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

pub(super) const SETTING: &str = "Generated programs (seeded characters after published \
    distributions, 200 million instructions a window, 2 % of noise on each count) on the cores of \
    quickia and amd-2b10s as the interval model has them. 40 programs to train with, 40 others to \
    predict. Overall-SF: rows are whole runs, metrics that fit the counters at once, or in three \
    sets in turn. Phase-SF: rows are phases (deviation 5 %), three sets. Classes: four, told from \
    the one metric that tells most. PIE: no training, all its events at once. Observed is the \
    factor of the window; predicted is what the last whole round of event sets said. --quick: 12 \
    programs each.";

/// Programs to train with, and to predict.
const PROGRAMS: u64 = 40;
const QUICK_PROGRAMS: u64 = 12;
/// Greatest deviation within phases. Ours.
const DEVIATION: f64 = 0.05;
/// Event sets that are counted in turn where metrics need not fit at once: the study's small kind.
const SETS: usize = 3;
/// Stumps of the classes: four classes have three boundaries.
const BOUNDARIES: usize = 3;

/// An estimator.
struct Estimator {
    name: &'static str,
    method: Method,
    most_sets: usize,
    settings: Settings,
    /// True if it may use only the metric that tells most.
    is_of_one_metric: bool,
}

fn estimators(seed: u64) -> [Estimator; 4] {
    let settings = Settings { seed, ..Settings::default() };
    let classes = Settings { stumps: BOUNDARIES, shrinkage: 1.0, part: 1.0, seed };
    let phases = Method::Phases { deviation: DEVIATION };
    let of = |name, method, most_sets| Estimator {
        name,
        method,
        most_sets,
        settings,
        is_of_one_metric: false,
    };
    [
        of("Overall-SF, at once", Method::Overall, 1),
        of("Overall-SF, in turn", Method::Overall, SETS),
        of("Phase-SF, in turn", phases, SETS),
        Estimator { settings: classes, is_of_one_metric: true, ..of("classes", phases, 1) },
    ]
}

pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let programs = if runs.quick { QUICK_PROGRAMS } else { PROGRAMS };
    let (mut accuracies, mut predictions) = (Vec::new(), Vec::new());
    for name in [QUICKIA, AMD] {
        let machine = evenkeel_files::machines::preset(name)?;
        let (known, others) = (
            traces(&machine, runs.seed, programs),
            traces(&machine, runs.seed.wrapping_add(1), programs),
        );
        let mut held_out = Vec::new();
        for estimator in estimators(runs.seed) {
            let Some(training) = trained(&known, &estimator) else { continue };
            accuracies.extend(accuracy_rows(&machine, &estimator, &training.model, &others));
            if !estimator.is_of_one_metric {
                held_out.extend(held_out_rows(&estimator, &training));
            }
        }
        accuracies.extend(pie_rows(&machine, &others));
        predictions.push(predicted_table(name, held_out));
    }
    predictions.insert(0, accuracy_table(accuracies));
    Ok(predictions)
}

/// `None` if no phase is long enough.
fn trained(traces: &[Trace], estimator: &Estimator) -> Option<Training> {
    let plan = Plan {
        method: estimator.method,
        most_sets: estimator.most_sets,
        settings: estimator.settings,
        most_metrics: if estimator.is_of_one_metric { 1 } else { usize::MAX },
    };
    train(traces, &plan).ok()
}

fn accuracy_rows(
    machine: &Machine,
    estimator: &Estimator,
    model: &Model,
    others: &[Trace],
) -> Vec<Vec<Cell>> {
    let row = |predictor: &Predictor| {
        let pairs: Vec<(f64, f64)> =
            others.iter().flat_map(|trace| window_pairs(trace, predictor)).collect();
        let metrics: Vec<&str> = predictor.metrics.iter().map(|metric| metric.name()).collect();
        let kind = model.kinds[predictor.seen_on].clone();
        accuracy_row(machine, estimator.name, kind, &pairs, metrics.join(" "))
    };
    model.predictors.iter().map(row).collect()
}

/// PIE is not trained, and sees all its events at once.
fn pie_rows(machine: &Machine, others: &[Trace]) -> Vec<Vec<Cell>> {
    let core = |kind: usize| {
        let kind = &machine.kinds[kind];
        Some(pie::Core { built: kind.core.as_ref()?, ghz: kind.top().khz as f64 / 1e6 })
    };
    let (Some(fast), Some(slow)) = (core(0), core(machine.kinds.len() - 1)) else {
        return Vec::new();
    };
    let row = |seen_on: usize| {
        let predicted = |counts| match seen_on {
            0 => pie::speed_ratio(counts, fast, slow).map(|ratio| 1.0 / ratio),
            _ => pie::speed_ratio(counts, slow, fast),
        };
        let pairs: Vec<(f64, f64)> = others
            .iter()
            .flat_map(|trace| trace.windows(seen_on).iter().zip(trace.factors(0)))
            .filter_map(|(window, observed)| Some((observed, predicted(&window.counts)?)))
            .collect();
        let kind = machine.kinds[seen_on].name.clone();
        accuracy_row(machine, "PIE", kind, &pairs, "ipc llc-misses stalls".to_owned())
    };
    vec![row(0), row(machine.kinds.len() - 1)]
}

fn accuracy_row(
    machine: &Machine,
    estimator: &str,
    seen_on: String,
    pairs: &[(f64, f64)],
    metrics: String,
) -> Vec<Cell> {
    let accuracy = Accuracy::of(pairs);
    vec![
        machine.name.clone().into(),
        estimator.into(),
        seen_on.into(),
        accuracy.and_then(|it| it.correlation).into(),
        accuracy.map(|it| it.mean_error).into(),
        accuracy.map(|it| it.mean_relative_error * 100.0).into(),
        metrics.into(),
    ]
}

/// Observed and predicted factor of each window, from the first whole round on.
fn window_pairs(trace: &Trace, predictor: &Predictor) -> Vec<(f64, f64)> {
    let kind = &trace.kinds()[predictor.seen_on];
    let Some(sets) = EventSets::new(&predictor.metrics, &kind.counters) else { return Vec::new() };
    let (mut rounds, mut last) = (Rounds::default(), None);
    let mut pairs = Vec::new();
    for (window, observed) in kind.windows.iter().zip(trace.factors(predictor.of)) {
        if let Round::Whole(values) = rounds.sample(&sets, &window.counts) {
            last = Some(predictor.factor(&values));
        }
        pairs.extend(last.map(|predicted| (observed, predicted)));
    }
    pairs
}

fn accuracy_table(rows: Vec<Vec<Cell>>) -> Exhibit {
    let columns = [
        ("machine", ""),
        ("estimator", ""),
        ("seen on", ""),
        ("correlation", ""),
        ("mean error", ""),
        ("relative error", "%"),
        ("metrics", ""),
    ];
    Exhibit {
        ci95: Vec::new(),
        title: "Factors of other programs, window by window".to_owned(),
        columns: columns.map(|(name, unit)| Column::new(name, unit)).to_vec(),
        rows,
        figures: Vec::new(),
        remarks: Vec::new(),
    }
}

fn held_out_rows(estimator: &Estimator, training: &Training) -> Vec<Vec<Cell>> {
    let row = |it: &HeldOut| {
        vec![
            it.program.clone().into(),
            estimator.name.into(),
            training.model.kinds[it.seen_on].clone().into(),
            it.observed.into(),
            it.predicted.into(),
        ]
    };
    training.held_out.iter().map(row).collect()
}

fn predicted_table(machine: &str, rows: Vec<Vec<Cell>>) -> Exhibit {
    let columns = ["program", "estimator", "seen on", "observed", "predicted"];
    let mut figure = Figure::new(
        Shape::Points,
        format!("{machine}: predicted against observed factor of programs, or phases of them"),
        "observed",
        ["predicted"],
        "predicted factor",
    );
    figure.panels = Some("estimator".to_owned());
    figure.series = Some("seen on".to_owned());
    Exhibit {
        ci95: Vec::new(),
        title: format!("{machine}: factors of programs left out of the training, one at a time"),
        columns: columns.map(|name| Column::new(name, "")).to_vec(),
        rows,
        figures: vec![figure],
        remarks: Vec::new(),
    }
}

pub(super) const SINGLE_SETTING: &str = "The generated programs of experiment 8, each whole, on \
    quickia: factor against single metrics that were seen on a big core. --quick: 12 programs.";

/// The overall factor against single metrics.
pub(super) fn single_metrics(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let machine = evenkeel_files::machines::preset(QUICKIA)?;
    let programs = if runs.quick { QUICK_PROGRAMS } else { PROGRAMS };
    let traces = traces(&machine, runs.seed, programs);
    let mut rows = Vec::new();
    let mut remarks = Vec::new();
    for metric in Metric::ALL {
        let mut pairs = Vec::new();
        for trace in traces.iter().filter(|trace| trace.has(0, metric)) {
            let (value, factor) = (trace.overall_metrics(0)[metric], trace.overall_factor(0));
            pairs.push((value, factor));
            let name = format!("{metric}, {}", metric.unit());
            rows.push(vec![trace.program().into(), name.into(), value.into(), factor.into()]);
        }
        if let Some(correlation) = Accuracy::of(&pairs).and_then(|it| it.correlation) {
            remarks.push(format!("{metric}: correlation with the factor {correlation:.2}"));
        }
    }
    let mut figure = Figure::new(
        Shape::Points,
        "Factor against single metrics of a big core",
        "value",
        ["factor"],
        "speedup factor",
    );
    figure.panels = Some("metric".to_owned());
    let columns = ["program", "metric", "value", "factor"].map(|name| Column::new(name, ""));
    Ok(vec![Exhibit {
        ci95: Vec::new(),
        title: "Overall factor and metrics on a big core".to_owned(),
        columns: columns.to_vec(),
        rows,
        figures: vec![figure],
        remarks,
    }])
}
