//! What can be wrong with a machine file, and where.

use std::fmt;
use std::path::PathBuf;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File, as it was named to the reader.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Why there is no machine. Messages of a file begin with `file:line:column: `.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Place of the error.
        place: Box<Place>,
        /// What the TOML parser expected.
        message: String,
    },
    /// A value that cannot be.
    #[error("{place}: {subject}{key}: {found} found, expected {expected}")]
    Value {
        /// Place of the value.
        place: Box<Place>,
        /// The table that it is in: `kind 'big': `; empty: the file itself.
        subject: String,
        /// Its key.
        key: String,
        /// The value found.
        found: String,
        /// What could be there.
        expected: String,
    },
    /// A key that the format does not have.
    #[error("{place}: {subject}{key}: unknown key found, expected {expected}")]
    UnknownKey {
        /// Place of the key.
        place: Box<Place>,
        /// The table that it is in; empty: the file itself.
        subject: String,
        /// The key.
        key: String,
        /// The keys that look like it, or all that may be there.
        expected: String,
    },
    /// A key that must be there and is not.
    #[error("{place}: {subject}{key}: nothing found, expected {expected}")]
    Missing {
        /// Place where the table starts.
        place: Box<Place>,
        /// The table; empty: the file itself.
        subject: String,
        /// The key.
        key: &'static str,
        /// The value that it should hold.
        expected: String,
    },
    /// Longer than a machine file can be.
    #[error("{file}: more than {limit} bytes found, expected a machine file")]
    TooLarge {
        /// The file.
        file: String,
        /// [`super::MAX_FILE_BYTES`].
        limit: u64,
    },
    /// The file cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Neither a preset nor a file.
    #[error("no machine or file named '{name}'{}; `evenkeel machines` lists what is built \
             in", did_you_mean(.near))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Presets whose names look like it, the nearest first.
        near: Vec<&'static str>,
    },
}

impl MachineError {
    /// Place in the file; `None`: the error is not about a place in a file.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Syntax { place, .. }
            | Self::Value { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::Missing { place, .. } => Some(place),
            Self::TooLarge { .. } | Self::Read { .. } | Self::Unknown { .. } => None,
        }
    }
}

fn did_you_mean(names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!(" (did you mean {}?)", quoted.join(" or "))
}
