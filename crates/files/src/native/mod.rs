//! Evenkeel's own workload file: any [`Application`], as JSON.
//!
//! ```text
//! { "format": "evenkeel.workload/1",
//!   "applications": [ { "name": …, "phases": […], "programs": […], "threads": […], … } ] }
//! ```
//!
//! The types in document.rs are the format, and are kept apart from the model so that either can
//! change without the other. An absent key has the model's default; an unknown one is refused.
//! docs/simulate/workloads.md shows a file.

mod document;
mod from_model;
mod to_model;

use evenkeel_model::Application;
use evenkeel_model::BadEdge;

use crate::text::json_fault;
use document::{Document, Head};

/// What `"format"` says.
pub const FORMAT: &str = "evenkeel.workload/1";

/// What `"format"` says in any version.
const FAMILY: &str = "evenkeel.workload/";

/// The deepest nesting of brackets: three for each level of loops
/// ([`evenkeel_model::MAX_LOOP_DEPTH`]), and those around them.
const MAX_DEPTH: usize = 3 * evenkeel_model::MAX_LOOP_DEPTH + 8;

/// Why a workload file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// Not JSON, or not what the format has in this place.
    #[error("{file}:{line}:{column}: {what}")]
    Syntax {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1; 0 where the line before ended too soon.
        column: usize,
        /// What was found and expected.
        what: String,
    },
    /// Another version.
    #[error("{file}: format '{found}' found, expected '{FORMAT}'")]
    Version {
        /// File.
        file: String,
        /// The version found.
        found: String,
    },
    /// A task graph with an edge that cannot be.
    #[error("{file}: applications[{application}].graphs[{graph}]: {source}")]
    Graph {
        /// File.
        file: String,
        /// Application, from 0.
        application: usize,
        /// Graph, from 0.
        graph: usize,
        /// The fault of its edges.
        source: BadEdge,
    },
    /// An application that fails validation.
    #[error("{file}: applications[{application}]: {what}")]
    Invalid {
        /// File.
        file: String,
        /// Application, from 0.
        application: usize,
        /// See [`Application::validate`].
        what: String,
    },
    /// No application.
    #[error("{file}: no applications, expected at least one")]
    Empty {
        /// File.
        file: String,
    },
}

/// True if a file is meant as Evenkeel's own: its content is an object with such a `format`. Faults
/// elsewhere in it do not matter, so that [`parse`] can report them.
pub fn looks_like_native(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.trim_start().starts_with('{')
        && text.match_indices("\"format\"").any(|(at, key)| {
            let value = text[at + key.len()..].trim_start().strip_prefix(':').map(str::trim_start);
            value
                .and_then(|value| value.strip_prefix('"'))
                .is_some_and(|value| value.starts_with(FAMILY))
        })
}

/// Reads the applications of a file. `file` is for messages.
///
/// # Errors
/// The first fault, with its place, what was found and what was expected.
pub fn parse(bytes: &[u8], file: &str) -> Result<Vec<Application>, NativeError> {
    check_depth(bytes, file)?;
    let syntax = |error: serde_json::Error| {
        let (line, column, what) = json_fault(&error);
        NativeError::Syntax { file: file.to_owned(), line, column, what }
    };
    // The version is checked first: a file of another version may hold keys unknown to this one.
    if let Ok(Head { format }) = read(bytes)
        && format != FORMAT
    {
        return Err(NativeError::Version { file: file.to_owned(), found: format });
    }
    let document: Document = read(bytes).map_err(syntax)?;
    if document.applications.is_empty() {
        return Err(NativeError::Empty { file: file.to_owned() });
    }
    let numbered = document.applications.into_iter().enumerate();
    numbered
        .map(|(application, it)| {
            let uneven = it
                .graphs
                .iter()
                .position(|it| !it.volumes.is_empty() && it.volumes.len() != it.edges.len());
            if let Some(graph) = uneven {
                let (edges, volumes) =
                    (it.graphs[graph].edges.len(), it.graphs[graph].volumes.len());
                let what = format!(
                    "graphs[{graph}]: {volumes} volumes found, expected {edges}, one for each edge"
                );
                return Err(NativeError::Invalid { file: file.to_owned(), application, what });
            }
            to_model::check_curves(&it.phases).map_err(|what| NativeError::Invalid {
                file: file.to_owned(),
                application,
                what,
            })?;
            let app = to_model::application(it).map_err(|(graph, source)| NativeError::Graph {
                file: file.to_owned(),
                application,
                graph,
                source,
            })?;
            app.validate().map_err(|what| NativeError::Invalid {
                file: file.to_owned(),
                application,
                what,
            })?;
            Ok(app)
        })
        .collect()
}

/// The file that holds these applications: one line of JSON, which [`parse`] reads back to equal
/// ones where they are valid.
///
/// # Errors
/// None for valid applications: numbers that are not finite cannot be said.
pub fn write(applications: &[Application]) -> Result<String, serde_json::Error> {
    let applications = applications.iter().map(from_model::application).collect();
    let mut text = serde_json::to_string(&Document { format: FORMAT.to_owned(), applications })?;
    text.push('\n');
    Ok(text)
}

/// Reads what [`check_depth`] has let through, without the JSON library's own limit on depth: loops
/// may nest deeper than that.
fn read<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Refuses text that nests so deep that reading it might overflow the stack.
fn check_depth(bytes: &[u8], file: &str) -> Result<(), NativeError> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let (mut line, mut line_start) = (1, 0);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => (line, line_start) = (line + 1, at + 1),
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let what = format!(
                "nested deeper than {MAX_DEPTH} brackets, expected loops nested at most {}",
                evenkeel_model::MAX_LOOP_DEPTH
            );
            return Err(NativeError::Syntax {
                file: file.to_owned(),
                line,
                column: at - line_start + 1,
                what,
            });
        }
    }
    Ok(())
}
