//! Every workload that is built in, with its shapes and knobs.

use std::fmt::Write as _;

use serde_json::Value;

use super::{link, listed, table, text};

pub fn page() -> String {
    let all = listed("workloads");
    let row = |workload: &Value| [link(workload), text(workload, "summary")];
    let rows = table(["workload", "what it is"], all.iter().map(row));
    let mut page = format!(
        "# Workloads that are built in\n\nMade by `make book` from `evenkeel workloads --json`. \
         [Workloads](../simulate/workloads.md) says how to choose one, and how to write your \
         own.\n\nShape and knobs stand after a colon: `-w NAME:SHAPE,KNOB=VALUE`.\n\n{rows}"
    );
    for workload in &all {
        section(&mut page, workload);
    }
    page
}

fn section(page: &mut String, workload: &Value) {
    let [name, summary, source] = ["name", "summary", "source"].map(|it| text(workload, it));
    let _ = write!(page, "\n## {name}\n\n- What it is: {summary}\n- From: {source}\n");
    let shapes = workload["shapes"].as_array().unwrap().iter().filter_map(Value::as_str);
    let shapes: Vec<String> = shapes.map(|shape| format!("`{shape}`")).collect();
    if !shapes.is_empty() {
        let _ = write!(page, "\nShapes, the default first: {}.\n", shapes.join(", "));
    }
    let knobs = workload["knobs"].as_array().unwrap();
    let row = |knob: &Value| {
        [format!("`{}`", text(knob, "name")), text(knob, "default"), text(knob, "about")]
    };
    if !knobs.is_empty() {
        let rows = table(["knob", "default", "what it does"], knobs.iter().map(row));
        let _ = write!(page, "\n{rows}");
    }
}
