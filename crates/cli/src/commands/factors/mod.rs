//! `evenkeel sample`, `train` and `predict`: speedup factors from counters.

mod counted;
pub mod predict;
pub mod sample;
pub mod train;

use std::path::Path;

use anyhow::Context as _;
use evenkeel_estimate::Trace;
use evenkeel_files::factors::parse_trace;
use evenkeel_machine::{Machine, Microarchitecture};

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

/// How each kind is built.
fn cores_of<'a>(machine: &'a Machine, name: &str) -> Result<Vec<&'a Microarchitecture>> {
    if machine.kinds.len() < 2 {
        return Err(Failure::usage(format!(
            "{name}: one kind of core found, expected two or more"
        )));
    }
    let core = |kind: &'a evenkeel_machine::Kind| {
        kind.core.as_ref().ok_or_else(|| {
            Failure::usage(format!(
                "{name}: kind '{}': core: nothing found, expected a [kinds.core] table that says \
                 how it is built (docs/simulate/machines.md)",
                kind.name
            ))
        })
    };
    machine.kinds.iter().map(core).collect()
}
