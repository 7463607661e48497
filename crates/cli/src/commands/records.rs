//! Result records in the forms that are asked for: CSV on stdout, and the file of `-o`.

use evenkeel_metrics::Record;
use evenkeel_report::csv;
use serde::Serialize;

use crate::error::{Failure, Result};
use crate::output::OutputFile;

/// As CSV, a header and a row each.
///
/// # Errors
/// None that records can have.
pub fn as_csv(records: &[Record]) -> Result<String> {
    let mut text = Vec::new();
    csv::write(records, &mut text).map_err(|error| Failure::Failed(error.into()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Writes the file of `-o`: what `--json` would print, whatever is printed.
///
/// # Errors
/// It cannot be written.
pub fn write_json(file: Option<OutputFile>, result: &impl Serialize) -> Result {
    let Some(file) = file else { return Ok(()) };
    let mut text =
        serde_json::to_vec_pretty(result).map_err(|error| Failure::Failed(error.into()))?;
    text.push(b'\n');
    file.finish_with(&text)
}
