//! Every machine that is built in, its kinds of core and where its figures come from.

use std::fmt::Write as _;

use serde_json::Value;

use super::{evenkeel, link, listed, table, text};

pub fn page() -> String {
    let all = listed("machines");
    let row = |machine: &Value| {
        let power = if machine["power_model"] == true { "yes" } else { "no" };
        [link(machine), text(machine, "cores"), power.into(), text(machine, "description")]
    };
    let rows = table(["machine", "cores", "power model", "what it is"], all.iter().map(row));
    let mut page = format!(
        "# Machines that are built in\n\nMade by `make book` from `evenkeel machines --json` and \
         `evenkeel show machine NAME --json`. [Machines](../simulate/machines.md) says how to make \
         one.\n\n{rows}"
    );
    for machine in &all {
        section(&mut page, machine["name"].as_str().unwrap());
    }
    page
}

fn section(page: &mut String, name: &str) {
    let machine: Value =
        serde_json::from_str(&evenkeel(&["show", "machine", name, "--json"])).unwrap();
    let (description, source) = (text(&machine, "description"), text(&machine, "source"));
    let rows = table(
        ["kind", "cores", "capacity", "MHz", "where its figures come from"],
        machine["kinds"].as_array().unwrap().iter().map(kind),
    );
    let _ = write!(page, "\n## {name}\n\n- What it is: {description}\n- From: {source}\n\n{rows}");
}

fn kind(kind: &Value) -> [String; 5] {
    let points = kind["operating_points"].as_array().unwrap();
    let clocks: Vec<f64> = points.iter().filter_map(|point| point["mhz"].as_f64()).collect();
    let least = clocks.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = clocks.iter().copied().fold(0.0, f64::max);
    let clocks =
        if least < greatest { format!("{least} to {greatest}") } else { greatest.to_string() };
    let cores = kind["cores"].as_array().unwrap().len();
    [
        text(kind, "name"),
        cores.to_string(),
        kind["capacity"].to_string(),
        clocks,
        text(kind, "source"),
    ]
}
