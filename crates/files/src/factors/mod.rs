//! Files of speedup-factor estimation, as JSON: what counters showed on each kind of core
//! ([`parse_trace`]), and models that were trained with that ([`parse_model`]).
//!
//! ```text
//! { "format": "evenkeel.counters/1", "program": …, "source": …, "kinds": [
//!   { "name": "big", "counters": 6, "own_counter": ["cycles"], "windows": [
//!     { "time_ns": …, "counts": { "instructions": …, "cycles": …, … } }, … ] }, … ] }
//!
//! { "format": "evenkeel.factors/1", "kinds": ["big", "little"], "predictors": [
//!   { "seen_on": "big", "of": "big", "base": …, "terms": [
//!     { "metric": "ipc", "thresholds": […], "values": […] }, … ], "accuracy": … }, … ], … }
//! ```
//!
//! Names of events are those of perf.

mod model;
mod trace;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::text::json_fault;

pub use model::{MODEL_FORMAT, parse_model, write_model};
pub use trace::{TRACE_FORMAT, parse_trace, write_trace};

/// Why a file of counters or factors could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactorsError {
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
    /// Another format or version.
    #[error("{file}: format '{found}' found, expected '{expected}'")]
    Format {
        /// File.
        file: String,
        /// The format found.
        found: String,
        /// The format that the reader has.
        expected: &'static str,
    },
    /// A value that cannot be.
    #[error("{file}: {place}{what}")]
    Value {
        /// File.
        file: String,
        /// `kinds[1].windows[3]: `, or empty.
        place: String,
        /// What was found and expected.
        what: String,
    },
}

#[derive(Deserialize)]
struct Head {
    format: String,
}

/// A file whose errors name it.
struct File<'a>(&'a str);

impl File<'_> {
    /// Reads a document whose format is this one.
    fn read<T: DeserializeOwned>(
        &self,
        bytes: &[u8],
        expected: &'static str,
    ) -> Result<T, FactorsError> {
        // First: a file of another format may hold keys unknown to this one.
        if let Ok(Head { format: found }) = serde_json::from_slice(bytes)
            && found != expected
        {
            return Err(FactorsError::Format { file: self.0.to_owned(), found, expected });
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let (line, column, what) = json_fault(&error);
            FactorsError::Syntax { file: self.0.to_owned(), line, column, what }
        })
    }

    fn error(&self, place: String, what: impl std::fmt::Display) -> FactorsError {
        FactorsError::Value { file: self.0.to_owned(), place, what: what.to_string() }
    }
}

/// A document as JSON, with each object that begins with this key on a line of its own: files can
/// be looked at, and differences of them.
fn lines(document: &impl serde::Serialize, key: &str) -> String {
    // Numbers are finite and keys are text: there is nothing to fail.
    let text = serde_json::to_string(document).unwrap_or_default();
    let start = format!("{{\"{key}\":");
    text.replace(&start, &format!("\n{start}")) + "\n"
}
