//! What there is: machines, workloads, policies, studies.

use evenkeel_files::{machines as files, programs};
use evenkeel_policy::{Knob, Value, graph, registry};
use evenkeel_studies::STUDIES;
use pyo3::prelude::*;
use serde_json::json;

use crate::convert::to_python;

/// Names of the machines that are built in.
#[pyfunction]
pub fn machines() -> Vec<&'static str> {
    files::presets().iter().map(|preset| preset.name).collect()
}

/// Workloads that are built in: name, summary, source, shapes, knobs.
#[pyfunction]
pub fn workloads(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let of = |info: &programs::WorkloadInfo| {
        let knobs: Vec<_> = info
            .knobs
            .iter()
            .map(|it| json!({"name": it.name, "default": it.default, "about": it.meaning}))
            .collect();
        json!({
            "name": info.name, "summary": info.summary, "source": info.source,
            "shapes": info.shapes, "knobs": knobs,
        })
    };
    to_python(py, &programs::list().iter().map(of).collect::<Vec<_>>())
}

/// Policies: name, summary, source, level ("threads", or "tasks" of graphs), knobs.
#[pyfunction]
pub fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let threads = registry::ENTRIES.iter().map(|entry| {
        let knobs: Vec<_> = entry.knobs.iter().map(knob).collect();
        json!({
            "name": entry.name, "summary": entry.summary, "source": entry.source,
            "level": "threads", "knobs": knobs,
        })
    });
    let tasks = graph::ENTRIES.iter().map(|entry| {
        json!({
            "name": entry.name, "summary": entry.summary, "source": entry.source,
            "level": "tasks", "knobs": [],
        })
    });
    to_python(py, &threads.chain(tasks).collect::<Vec<_>>())
}

fn knob(knob: &Knob) -> serde_json::Value {
    let default = match knob.default() {
        Value::Number(number) => json!(number),
        Value::Word(word) => json!(word),
    };
    let mut row = json!({"name": knob.name(), "default": default, "about": knob.about()});
    match knob {
        Knob::Number { bounds, unit, .. } => {
            row["unit"] = json!(unit);
            row["bounds"] = json!(bounds);
        }
        Knob::Word { words, .. } => row["words"] = json!(words),
    }
    row
}

/// Published studies that can be carried out again: name, what each experiment shows.
#[pyfunction]
pub fn studies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &STUDIES)
}
