//! Files of models.

use evenkeel_estimate::training::Method;
use evenkeel_estimate::{Accuracy, Additive, Metric, Model, Predictor, StepFunction};
use serde::{Deserialize, Serialize};

use super::{FactorsError, File};

/// What `"format"` says.
pub const MODEL_FORMAT: &str = "evenkeel.factors/1";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    kinds: Vec<String>,
    /// Absent: rows were whole runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase_deviation: Option<f64>,
    source: String,
    programs: Vec<String>,
    predictors: Vec<PredictorDocument>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PredictorDocument {
    seen_on: String,
    of: String,
    base: f64,
    terms: Vec<TermDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accuracy: Option<AccuracyDocument>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TermDocument {
    metric: String,
    thresholds: Vec<f64>,
    values: Vec<f64>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct AccuracyDocument {
    samples: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correlation: Option<f64>,
    mean_error: f64,
    mean_relative_error: f64,
}

/// Reads a model. `file` is for messages.
///
/// # Errors
/// The first fault, with its place, what was found and what was expected.
pub fn parse_model(bytes: &[u8], file: &str) -> Result<Model, FactorsError> {
    let file = File(file);
    let document: Document = file.read(bytes, MODEL_FORMAT)?;
    let kinds = document.kinds;
    if kinds.len() < 2 {
        let what = format!("{} found, expected at least two", kinds.len());
        return Err(file.error("kinds: ".to_owned(), what));
    }
    let predictors = document.predictors.into_iter().enumerate();
    let predictors = predictors.map(|(p, predictor)| {
        let at = |what: String| file.error(format!("predictors[{p}]"), what);
        let kind = |key: &str, name: &str| {
            let found = kinds.iter().position(|kind| kind == name);
            found.ok_or_else(|| {
                at(format!(".{key}: kind '{name}' found, expected one of {}", kinds.join(", ")))
            })
        };
        let seen_on = kind("seen_on", &predictor.seen_on)?;
        let of = kind("of", &predictor.of)?;
        let (mut metrics, mut terms) = (Vec::new(), Vec::new());
        for (t, term) in predictor.terms.into_iter().enumerate() {
            let (metric, step) =
                read_term(term).map_err(|what| at(format!(".terms[{t}]{what}")))?;
            metrics.push(metric);
            terms.push(step);
        }
        let regression = Additive::new(predictor.base, terms)
            .ok_or_else(|| at(format!(".base: {} found, expected a number", predictor.base)))?;
        let accuracy = predictor.accuracy.map(|it| Accuracy {
            samples: it.samples,
            correlation: it.correlation,
            mean_error: it.mean_error,
            mean_relative_error: it.mean_relative_error,
        });
        Ok(Predictor { seen_on, of, metrics, regression, accuracy })
    });
    let predictors = predictors.collect::<Result<_, FactorsError>>()?;
    let method =
        document.phase_deviation.map_or(Method::Overall, |deviation| Method::Phases { deviation });
    let (source, programs) = (document.source, document.programs);
    Ok(Model { kinds, method, source, programs, predictors })
}

fn read_term(term: TermDocument) -> Result<(Metric, StepFunction), String> {
    let metric = Metric::named(&term.metric).ok_or_else(|| {
        let names: Vec<&str> = Metric::ALL.into_iter().map(Metric::name).collect();
        format!(".metric: '{}' found, expected one of {}", term.metric, names.join(", "))
    })?;
    let (thresholds, values) = (term.thresholds.len(), term.values.len());
    let step = StepFunction::new(term.thresholds, term.values).ok_or_else(|| {
        format!(
            ": {thresholds} thresholds and {values} values found, expected ascending thresholds \
             and one value more"
        )
    })?;
    Ok((metric, step))
}

/// The file of a model, one term a line. [`parse_model`] reads it back to an equal model.
#[must_use]
pub fn write_model(model: &Model) -> String {
    let kind = |index: usize| model.kinds.get(index).cloned().unwrap_or_default();
    let term = |(metric, step): (&Metric, &StepFunction)| TermDocument {
        metric: metric.name().to_owned(),
        thresholds: step.thresholds().to_vec(),
        values: step.values().to_vec(),
    };
    let predictor = |predictor: &Predictor| PredictorDocument {
        seen_on: kind(predictor.seen_on),
        of: kind(predictor.of),
        base: predictor.regression.base(),
        terms: predictor.metrics.iter().zip(predictor.regression.terms()).map(term).collect(),
        accuracy: predictor.accuracy.map(|it| AccuracyDocument {
            samples: it.samples,
            correlation: it.correlation,
            mean_error: it.mean_error,
            mean_relative_error: it.mean_relative_error,
        }),
    };
    let document = Document {
        format: MODEL_FORMAT.to_owned(),
        kinds: model.kinds.clone(),
        phase_deviation: match model.method {
            Method::Overall => None,
            Method::Phases { deviation } => Some(deviation),
        },
        source: model.source.clone(),
        programs: model.programs.clone(),
        predictors: model.predictors.iter().map(predictor).collect(),
    };
    super::lines(&document, "metric")
}
