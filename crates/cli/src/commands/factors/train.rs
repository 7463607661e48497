//! `evenkeel train`: a model of speedup factors, and what it is worth.

use evenkeel_estimate::training::{HeldOut, Method, Plan, Training, train};
use evenkeel_estimate::{Metric, Model, Predictor, Settings, Trace, generated};
use evenkeel_files::factors::write_model;
use evenkeel_metrics::measures;
use evenkeel_report::html;
use evenkeel_studies::{Cell, Column, Exhibit, Figure, Shape};
use serde_json::{Value, json};

use super::{read_trace, write};
use crate::args::factors::{Rows, TrainArgs};
use crate::commands::machines;
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print, print_json};
use crate::table;

/// Trains a model, shows what it is worth, and writes it.
///
/// # Errors
/// Bad input; a file cannot be written.
pub fn run(args: &TrainArgs) -> Result {
    if args.output.is_some() && args.output == args.html {
        return Err(Failure::usage("-o and --html name one file, expected two"));
    }
    let output = args.output.as_deref().map(OutputFile::begin).transpose()?;
    let page = args.html.as_deref().map(OutputFile::begin).transpose()?;
    let traces = match args.generated.zip(args.machine.as_deref()) {
        Some((programs, machine)) => generated(machine, args.seed, programs)?,
        None => args.traces.iter().map(|path| read_trace(path)).collect::<Result<_>>()?,
    };
    let plan = Plan {
        method: match args.method {
            Rows::Overall => Method::Overall,
            Rows::Phases => Method::Phases { deviation: args.deviation },
        },
        most_sets: args.sets as usize,
        most_metrics: args.metrics.map_or(usize::MAX, |most| most as usize),
        settings: Settings {
            stumps: args.stumps as usize,
            shrinkage: args.shrinkage,
            part: args.rows,
            seed: args.seed,
        },
    };
    let training = train(&traces, &plan).map_err(Failure::input)?;
    let is_left_out =
        |trace: &&Trace| !training.model.programs.iter().any(|it| it == trace.program());
    for trace in traces.iter().filter(is_left_out) {
        say(
            "note",
            &format!("{} has no phase that is long enough: it is left out", trace.program()),
        );
    }
    write(output, &write_model(&training.model))?;
    write(page, &page_of(&training))?;
    say_worth(&training);
    if args.json { print_json(&to_json(&training)) } else { print(&shown(&training, traces.len())) }
}

/// Traces of generated programs.
fn generated(machine: &str, seed: u64, programs: u32) -> Result<Vec<Trace>> {
    let name = machine;
    let machine = machines::load(name)?;
    super::cores_of(&machine, name)?;
    Ok(generated::traces(&machine, seed, u64::from(programs)))
}

fn names(metrics: &[Metric]) -> String {
    if metrics.is_empty() {
        return "none: the factor is the mean".to_owned();
    }
    metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(", ")
}

/// What two means may differ by, and be equal.
const EQUAL: f64 = 1e-6;

/// Says where a model is worth less than the mean of the programs that it was trained with.
fn say_worth(training: &Training) {
    let model = &training.model;
    for predictor in &model.predictors {
        let of = |it: &&HeldOut| it.seen_on == predictor.seen_on && it.of == predictor.of;
        let rows: Vec<&HeldOut> = training.held_out.iter().filter(of).collect();
        if let Some(accuracy) = predictor.accuracy
            && let Some(error_of_mean) = error_of_mean(&rows)
            && accuracy.mean_error > error_of_mean * (1.0 + EQUAL)
        {
            say(
                "note",
                &format!(
                    "seen on {}, the factor of {} is told with an error of {:.2}, and the mean of \
                     the other programs has {error_of_mean:.2}: more programs are needed, or \
                     metrics that tell more",
                    model.kinds[predictor.seen_on], model.kinds[predictor.of], accuracy.mean_error
                ),
            );
        }
    }
}

/// Mean error of whoever says of a row the mean of the other programs' rows; `None` where all are
/// of one program.
fn error_of_mean(rows: &[&HeldOut]) -> Option<f64> {
    let error = |row: &&HeldOut| {
        let others = rows.iter().filter(|it| it.program != row.program);
        Some((row.observed - measures::mean(others.map(|it| it.observed))?).abs())
    };
    measures::mean(rows.iter().filter_map(error))
}

fn shown(training: &Training, traces: usize) -> String {
    let model = &training.model;
    let header = ["SEEN ON", "FACTOR OF", "CORRELATION", "ERROR", "OF IT", "FROM"];
    let mut rows = table::figures(header.map(str::to_owned).to_vec(), 2);
    if let Some(column) = rows.column_mut(header.len() - 1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for it in &model.predictors {
        let accuracy = it.accuracy;
        let figure = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        rows.add_row([
            model.kinds[it.seen_on].clone(),
            model.kinds[it.of].clone(),
            figure(accuracy.and_then(|it| it.correlation), 3),
            figure(accuracy.map(|it| it.mean_error), 3),
            accuracy.map_or_else(
                || "-".to_owned(),
                |it| format!("{:.1} %", it.mean_relative_error * 100.0),
            ),
            names(&it.metrics),
        ]);
    }
    let programs = model.programs.len();
    let held_out = if programs > 1 {
        "CORRELATION and mean ERROR: of programs that were left out of the training, one at a time."
    } else {
        "One program: what the model is worth for others cannot be told."
    };
    let word = if programs == 1 { "program" } else { "programs" };
    let of = if traces > programs { format!("{traces} traces of ") } else { String::new() };
    format!("{of}{programs} {word}\n\n{rows}\n\n{held_out}\n")
}

fn to_json(training: &Training) -> Value {
    let model = &training.model;
    let predictor = |it: &Predictor| {
        let accuracy = it.accuracy.map(|it| {
            json!({
                "samples": it.samples, "correlation": it.correlation,
                "mean_error": it.mean_error, "mean_relative_error": it.mean_relative_error,
            })
        });
        let metrics: Vec<&str> = it.metrics.iter().map(|metric| metric.name()).collect();
        json!({
            "seen_on": model.kinds[it.seen_on], "of": model.kinds[it.of],
            "metrics": metrics, "accuracy": accuracy,
        })
    };
    let held_out = |it: &HeldOut| {
        json!({
            "program": it.program, "seen_on": model.kinds[it.seen_on], "of": model.kinds[it.of],
            "observed": it.observed, "predicted": it.predicted,
        })
    };
    json!({
        "kinds": model.kinds, "programs": model.programs, "source": model.source,
        "predictors": model.predictors.iter().map(predictor).collect::<Vec<_>>(),
        "held_out": training.held_out.iter().map(held_out).collect::<Vec<_>>(),
    })
}

/// The page: predicted against observed factors of programs that were left out.
fn page_of(training: &Training) -> String {
    let model = &training.model;
    let programs = model.programs.len();
    let lead = format!(
        "{programs} programs, of which one at a time was left out of the training and predicted by \
         a model of the others. A point is a run or a phase of a program. Counted by: {}.",
        model.source
    );
    html::exhibits(
        "Speedup factors, predicted and observed",
        &lead,
        &[held_out_table(model, &training.held_out)],
        &format!("evenkeel {}", env!("CARGO_PKG_VERSION")),
        "evenkeel train",
    )
}

fn held_out_table(model: &Model, held_out: &[HeldOut]) -> Exhibit {
    let column = |name: &str| Column::new(name, "");
    let row = |it: &HeldOut| -> Vec<Cell> {
        let panel = format!("of {}, seen on {}", model.kinds[it.of], model.kinds[it.seen_on]);
        vec![it.program.clone().into(), panel.into(), it.observed.into(), it.predicted.into()]
    };
    let mut figure = Figure::new(
        Shape::Points,
        "Predicted against observed factor",
        "observed",
        ["predicted"],
        "predicted factor",
    );
    figure.panels = Some("factor".to_owned());
    Exhibit {
        ci95: Vec::new(),
        title: "Factors of programs that were left out".to_owned(),
        columns: ["program", "factor", "observed", "predicted"].map(column).to_vec(),
        rows: held_out.iter().map(row).collect(),
        figures: vec![figure],
        remarks: Vec::new(),
    }
}
