//! `evenkeel sample`, `train` and `predict`: speedup factors from counters.

pub mod predict;
pub mod sample;
pub mod train;

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use evenkeel_estimate::Trace;
use evenkeel_files::factors::{parse_trace, write_trace};

use crate::error::{Failure, Result};
use crate::output::OutputFile;

/// The trace in a file.
fn read_trace(path: &Path) -> Result<Trace> {
    parse_trace(&read(path)?, &path.display().to_string()).map_err(Failure::input)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string()).map_err(Failure::Usage)
}

/// Writes a whole file, or none.
fn write(file: Option<OutputFile>, text: &str) -> Result {
    let Some(mut file) = file else { return Ok(()) };
    file.write_all(text.as_bytes()).context("cannot write the file").map_err(Failure::Failed)?;
    file.finish()
}

fn write_trace_to(file: Option<OutputFile>, trace: &Trace) -> Result {
    write(file, &write_trace(trace))
}
