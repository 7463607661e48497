//! Shared by the readers of text formats: where something is, and how a piece is shown.

/// The longest piece of a file that an error shows, in characters.
const SHOWN_CHARACTERS: usize = 60;

/// Line and column, in characters, both from 1, of what comes after this beginning of a text.
pub fn behind(beginning: &str) -> (usize, usize) {
    let line = beginning.rsplit('\n').next().unwrap_or_default();
    (beginning.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Line and column of a fault in JSON, and what it is without them.
pub fn json_fault(error: &serde_json::Error) -> (usize, usize, String) {
    let (line, column) = (error.line(), error.column());
    let what = error.to_string();
    let place = format!(" at line {line} column {column}");
    (line, column, what.strip_suffix(&place).unwrap_or(&what).to_owned())
}

/// The beginning of a piece of text, on one line, for messages.
pub fn cut(piece: &str) -> String {
    let mut shown: String = piece
        .chars()
        .take(SHOWN_CHARACTERS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if piece.chars().nth(SHOWN_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}
