//! Records as CSV, one row each, for spreadsheets and data frames.

use std::collections::BTreeSet;
use std::io::Write;

use evenkeel_metrics::{Knob, Record};
use serde_json::Value;

/// Writes records as CSV with a header.
///
/// The columns are the record's own: lists and maps are flattened with dots (`apps.0.slowdown`,
/// `kinds.big.busy_s`, `knobs.uf`), workloads are joined by ` + `, and a value that is null or
/// absent is empty. A column that only some records have exists for all. Threads are left out: they
/// are records of their own kind.
///
/// # Errors
/// Where the writer fails.
pub fn write(records: &[Record], out: impl Write) -> Result<(), csv::Error> {
    let rows: Vec<Vec<(String, String)>> = records.iter().map(cells).collect();
    let header = header(&rows);
    let mut writer = csv::Writer::from_writer(out);
    if !header.is_empty() {
        writer.write_record(&header)?;
    }
    for row in rows {
        let row: std::collections::BTreeMap<_, _> = row.into_iter().collect();
        writer.write_record(header.iter().map(|name| row.get(name).map_or("", String::as_str)))?;
    }
    writer.flush()?;
    Ok(())
}

/// Names of all columns. A column that only later records have comes after its predecessor there.
fn header(rows: &[Vec<(String, String)>]) -> Vec<String> {
    let mut header: Vec<String> = vec![];
    let mut known = BTreeSet::new();
    for row in rows {
        let mut place = 0;
        for (name, _) in row {
            if known.insert(name.clone()) {
                header.insert(place, name.clone());
                place += 1;
            } else if let Some(found) = header.iter().position(|column| column == name) {
                place = found + 1;
            }
        }
    }
    header
}

fn cells(record: &Record) -> Vec<(String, String)> {
    let mut cells = vec![];
    let Ok(Value::Object(fields)) = serde_json::to_value(record) else { return cells };
    for (name, value) in fields {
        match name.as_str() {
            "threads" => {}
            "workloads" => cells.push((name, record.workloads.join(" + "))),
            "knobs" => {
                for (knob, value) in &record.knobs {
                    let text = match value {
                        Knob::Number(number) => number.to_string(),
                        Knob::Word(word) => word.clone(),
                    };
                    cells.push((format!("knobs.{knob}"), text));
                }
            }
            _ => flatten(name, value, &mut cells),
        }
    }
    cells
}

fn flatten(name: String, value: Value, cells: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            fields
                .into_iter()
                .for_each(|(key, value)| flatten(format!("{name}.{key}"), value, cells));
        }
        Value::Array(items) => {
            items
                .into_iter()
                .enumerate()
                .for_each(|(key, value)| flatten(format!("{name}.{key}"), value, cells));
        }
        Value::Null => cells.push((name, String::new())),
        Value::String(text) => cells.push((name, text)),
        other => cells.push((name, other.to_string())),
    }
}
