//! Shared by the readers of text formats: where something is, and how a piece is shown.

/// The longest piece of a file that an error shows, in characters.
const SHOWN_CHARACTERS: usize = 60;

/// Line and column, in characters, both from 1, of what comes after this beginning of a text.
pub fn behind(beginning: &str) -> (usize, usize) {
    let line = beginning.rsplit('\n').next().unwrap_or_default();
    (beginning.matches('\n').count() + 1, line.chars().count() + 1)
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
