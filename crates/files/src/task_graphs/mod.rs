//! Task graphs in the formats that workflow and scheduling research exchanges: WfCommons' WfFormat
//! (JSON), the Standard Task Graph Set (STG) and Graphviz's DOT.
//!
//! ```text
//! bytes --wfcommons, stg, dot--> Draft: tasks, times, edges, volumes
//!       --draft--> Application: a graph, and a worker for each core
//! ```
//!
//! A file gives the time of each task on the machine of its author. It is taken for the time on one
//! of the fastest cores, and work scales with capacity. All tasks exist from the start; neither
//! creating nor taking one costs anything. Volumes are kept in the graph, in bytes; they take no
//! time, as the cores of a machine share a memory.

mod dot;
mod draft;
mod fault;
mod stg;
mod wfcommons;

use fault::{Fault, Place};

use evenkeel_model::Application;

/// A file that cannot be read, or holds no task graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskGraphError {
    /// Something at a place in the text.
    #[error("{file}:{line}:{column}: {what}")]
    At {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters (in bytes where the text is JSON), from 1.
        column: usize,
        /// What was found and expected.
        what: String,
    },
    /// Something under a key, or of the graph as a whole.
    #[error("{file}: {what}")]
    Of {
        /// File.
        file: String,
        /// The place, what was found and what was expected.
        what: String,
    },
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// WfFormat 1.3 to 1.6.
    WfCommons,
    /// Standard Task Graph Set.
    Stg,
    /// Graphviz.
    Dot,
}

/// The format that a file is meant in, told from its content. Faults elsewhere in it do not matter,
/// so that [`parse`] can report them.
pub fn looks_like(bytes: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(bytes);
    if wfcommons::looks_like(&text) {
        Some(Format::WfCommons)
    } else if dot::looks_like(&text) {
        Some(Format::Dot)
    } else {
        stg::looks_like(&text).then_some(Format::Stg)
    }
}

/// Reads a task graph to be run by so many workers. `file` is for messages, and its stem names the
/// application.
///
/// # Errors
/// The first fault, with its place, what was found and what was expected.
pub fn parse(
    bytes: &[u8],
    format: Format,
    file: &str,
    workers: u32,
) -> Result<Application, TaskGraphError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Place::of(&before, before.len()).error("not UTF-8 text".to_owned())
    });
    let draft = text.and_then(|text| match format {
        Format::WfCommons => wfcommons::read(text),
        Format::Stg => stg::read(text),
        Format::Dot => dot::read(text),
    });
    let name =
        std::path::Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy());
    let application = draft.and_then(|draft| draft.application(&name, workers));
    application.map_err(|fault| fault.within(file))
}
