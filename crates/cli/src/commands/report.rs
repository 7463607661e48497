//! `evenkeel report`: a page of results that are there.

use std::path::{Path, PathBuf};

use evenkeel_metrics::Record;
use evenkeel_report::html::{self, Meta, exhibits};
use evenkeel_report::{policy_labels, sweep};
use evenkeel_sweep::Results;
use serde_json::{Value, json};

use crate::args::report::ReportArgs;
use crate::commands::page;
use crate::error::{Failure, Result};
use crate::output::{OutputFile, print, print_json};

/// What made the page.
const MADE_BY: &str = concat!("evenkeel ", env!("CARGO_PKG_VERSION"));

/// Writes the page, or prints what it shows.
///
/// # Errors
/// What is no results; nothing to show; the file cannot be written.
pub fn run(args: &ReportArgs) -> Result {
    let file = args.output.as_deref().map(OutputFile::begin).transpose()?;
    let (html, shown) = match args.inputs.as_slice() {
        [folder] if folder.is_dir() => of_sweep(folder, args.baseline.as_deref())?,
        files => of_records(files, args.baseline.as_deref())?,
    };
    if let Some(file) = file {
        file.finish_with(html.as_bytes())?;
    }
    match (args.json, &args.output) {
        (true, _) => print_json(&shown),
        (false, Some(output)) => print(&format!("{}\n", output.display())),
        (false, None) => Ok(()),
    }
}

/// The page of a sweep, and what it shows.
fn of_sweep(folder: &Path, baseline: Option<&str>) -> Result<(String, Value)> {
    let results = Results::read(folder).map_err(Failure::input)?;
    let shown = sweep::show(&results, baseline)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    let title = results.manifest.name().unwrap_or("A sweep");
    let html = exhibits(title, &shown.lead, &shown.exhibits, MADE_BY, &page::command());
    Ok((html, json!({ "title": title, "lead": shown.lead, "exhibits": shown.exhibits })))
}

/// The page of result records, and they themselves.
fn of_records(files: &[PathBuf], baseline: Option<&str>) -> Result<(String, Value)> {
    let mut records: Vec<Record> = Vec::new();
    for path in files {
        let called = path.display();
        let unread = |what: String| Failure::usage(format!("{called}: {what}"));
        if path.is_dir() {
            return Err(unread(
                "a folder found among several, expected one folder, or files".into(),
            ));
        }
        let text = std::fs::read_to_string(path).map_err(|error| unread(error.to_string()))?;
        let no_records = |error: serde_json::Error| {
            let place = format!("{called}:{}:{}", error.line(), error.column());
            Failure::usage(format!(
                "{place}: expected result records of simulate or compare: {error}"
            ))
        };
        let value: Value = serde_json::from_str(&text).map_err(no_records)?;
        let of_file: Vec<Record> = match value {
            Value::Array(_) => serde_json::from_str(&text).map_err(no_records)?,
            _ => vec![serde_json::from_str(&text).map_err(no_records)?],
        };
        records.extend(of_file);
    }
    if records.is_empty() {
        return Err(Failure::usage("no result record found, expected one or more"));
    }
    let labels = policy_labels(&records);
    if let Some(wanted) = baseline
        && !labels.iter().any(|label| label == wanted)
        && !records.iter().any(|record| record.policy == wanted)
    {
        let known = labels.join(", ");
        return Err(Failure::usage(format!("--baseline {wanted}: it is not among {known}")));
    }
    let meta = Meta {
        baseline: baseline.map(str::to_owned),
        made_by: MADE_BY.into(),
        command: page::command(),
        ..Meta::default()
    };
    let html = html::page(&records, &[], &meta);
    Ok((html, serde_json::to_value(&records).map_err(|error| Failure::Failed(error.into()))?))
}
