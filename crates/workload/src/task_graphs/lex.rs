//! Places in a text, and how pieces of it are shown.

use super::Fault;

/// The longest piece of a file that an error shows, in characters.
const SHOWN_CHARACTERS: usize = 60;

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

    /// A fault here.
    pub fn error(self, what: String) -> Fault {
        Fault { at: Some((self.line, self.column)), what }
    }
}

/// Where the byte `at` of a text is.
pub fn place(text: &str, at: usize) -> Place {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    Place::new(before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// A piece of a file as an error shows it: on one line, and not too long.
pub fn cut(piece: &str) -> String {
    let mut shown: String =
        piece.chars().take(SHOWN_CHARACTERS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if piece.chars().nth(SHOWN_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}
