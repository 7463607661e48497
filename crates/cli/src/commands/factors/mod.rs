//! `evenkeel sample`, `train` and `predict`: speedup factors from counters.

pub mod predict;
pub mod sample;
pub mod train;

use std::path::Path;

use anyhow::Context as _;
use evenkeel_estimate::Trace;
use evenkeel_files::factors::parse_trace;

use crate::error::{Failure, Result};
use crate::output::OutputFile;

/// The trace in a file.
fn read_trace(path: &Path) -> Result<Trace> {
    parse_trace(&read(path)?, &path.display().to_string()).map_err(Failure::input)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string()).map_err(Failure::Usage)
}

/// Writes a file, if one was asked for.
fn write(file: Option<OutputFile>, text: &str) -> Result {
    file.map_or(Ok(()), |file| file.finish_with(text.as_bytes()))
}
