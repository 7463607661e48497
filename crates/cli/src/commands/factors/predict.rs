//! `evenkeel predict`: speedup factors from a model and counters.

use evenkeel_estimate::{Metric, Model, Trace};
use serde::Serialize;

use super::read_trace;
use crate::args::factors::PredictArgs;
use crate::error::{Failure, Result};
use crate::output::{print, print_json};
use crate::parse;
use crate::table;

/// A factor that was predicted.
#[derive(Serialize)]
struct Predicted {
    program: String,
    seen_on: String,
    of: String,
    predicted: f64,
    /// By the whole trace.
    observed: f64,
}

/// Predicts the factors of each trace, as seen on each kind.
///
/// # Errors
/// Bad input; a model for other kinds; a metric that a trace does not have.
pub fn run(args: &PredictArgs) -> Result {
    let name = args.model.display().to_string();
    let model = parse::model(&name).map_err(Failure::usage)?;
    let mut predicted = Vec::new();
    for path in &args.traces {
        let trace = read_trace(path)?;
        let file = path.display().to_string();
        fits(&model, &name, &trace, &file)?;
        predicted.extend(of_trace(&model, &trace));
    }
    if args.json {
        return print_json(&predicted);
    }
    let header = ["PROGRAM", "SEEN ON", "FACTOR OF", "PREDICTED", "OBSERVED"].map(str::to_owned);
    let mut rows = table::figures(header.to_vec(), 3);
    for it in predicted {
        let figures = [it.predicted, it.observed].map(|factor| format!("{factor:.3}"));
        rows.add_row([it.program, it.seen_on, it.of].into_iter().chain(figures));
    }
    print(&format!("{rows}\n"))
}

/// The model is for the trace's kinds, and the trace has what the model asks for.
fn fits(model: &Model, name: &str, trace: &Trace, file: &str) -> Result {
    if !trace.kind_names().eq(model.kinds.iter().map(String::as_str)) {
        let found: Vec<&str> = trace.kind_names().collect();
        let (found, expected) = (found.join(", "), model.kinds.join(", "));
        return Err(Failure::usage(format!(
            "{file}: kinds {found} found, expected {expected}, those of {name}"
        )));
    }
    if trace.source() != model.source {
        let (found, expected) = (trace.source(), &model.source);
        return Err(Failure::usage(format!(
            "{file}: counted by '{found}', expected '{expected}' as {name}"
        )));
    }
    for (k, kind) in trace.kinds().iter().enumerate() {
        let lacks = |metric: &Metric| !trace.has(k, *metric);
        if let Some(metric) = model.metrics(k).into_iter().find(lacks) {
            let [above, below] = metric.events();
            return Err(Failure::usage(format!(
                "{file}: kind '{}': {metric} not found, expected counts of {above} and {below} in \
                 each window, which {name} asks for",
                kind.name
            )));
        }
    }
    Ok(())
}

fn of_trace(model: &Model, trace: &Trace) -> Vec<Predicted> {
    let predicted = |it: &evenkeel_estimate::Predictor| Predicted {
        program: trace.program().to_owned(),
        seen_on: model.kinds[it.seen_on].clone(),
        of: model.kinds[it.of].clone(),
        predicted: it.factor(&trace.overall_metrics(it.seen_on)),
        observed: trace.overall_factor(it.of),
    };
    model.predictors.iter().map(predicted).collect()
}
