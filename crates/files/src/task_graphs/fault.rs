//! Faults of a text, with their places.

use super::TaskGraphError;
use crate::text::behind;

/// A fault, before the file's name is known.
#[derive(Debug)]
pub struct Fault {
    at: Option<Place>,
    what: String,
}

impl Fault {
    /// A fault without a place in the text.
    pub fn of(what: String) -> Self {
        Self { at: None, what }
    }

    /// As an error of this file.
    pub fn within(self, file: &str) -> TaskGraphError {
        let (file, what) = (file.to_owned(), self.what);
        match self.at {
            Some(Place { line, column }) => TaskGraphError::At { file, line, column, what },
            None => TaskGraphError::Of { file, what },
        }
    }
}

/// A line and a column, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    line: usize,
    column: usize,
}

impl Place {
    /// At this line and column.
    pub fn new(line: usize, column: usize) -> Self {
        Self { line, column }
    }

    /// The place of the byte `at` of a text.
    pub fn of(text: &str, at: usize) -> Self {
        let (line, column) = behind(text.get(..at).unwrap_or(text));
        Self { line, column }
    }

    /// A fault here.
    pub fn error(self, what: String) -> Fault {
        Fault { at: Some(self), what }
    }
}
