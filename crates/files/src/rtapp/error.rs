//! What can be wrong with an rt-app file, and where.

use std::fmt;

use crate::text::{behind, cut};

/// An rt-app file that cannot be read or carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {place}{problem}")]
pub struct RtAppError {
    /// The file's name as it was given.
    pub file: Box<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The task, phase and key that it is about, ending in `: `; empty where the text itself is at
    /// fault.
    pub place: Box<str>,
    /// The fault.
    pub problem: Problem,
}

/// A fault of an rt-app file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A byte that is part of no UTF-8 character.
    #[error("not UTF-8 text")]
    NotUtf8,
    /// The text is not of rt-app's dialect of JSON.
    #[error("{found} found, expected {expected}")]
    Syntax {
        /// What stands there.
        found: String,
        /// What could.
        expected: &'static str,
    },
    /// Objects and arrays nest too deep.
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    /// A value of a wrong type or out of its range.
    #[error("{found} found, expected {expected}")]
    Value {
        /// The value as it stands there.
        found: String,
        /// What could.
        expected: &'static str,
    },
    /// A key that means nothing here.
    #[error("unknown {what}{near}")]
    Unknown {
        /// The kinds of words that are known here: `key`, `key or event`, `task`.
        what: &'static str,
        /// Known ones that look alike.
        near: Near,
    },
    /// A property given twice in one object. rt-app takes one or the other depending on how it is
    /// started.
    #[error("given twice")]
    Twice,
    /// A required key or value that is absent.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// More than Evenkeel reads.
    #[error("{found} {what}, at most {most} are read")]
    TooMany {
        /// How many there are.
        found: u64,
        /// The things counted.
        what: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// Each thing can be said, but not together.
    #[error("{0}")]
    Contradiction(String),
}

/// Known names that are close to an unknown one. Shows as nothing where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near(pub Vec<String>);

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: Vec<String> = self.0.iter().map(|name| format!("'{name}'")).collect();
        if quoted.is_empty() { Ok(()) } else { write!(f, "; do you mean {}?", quoted.join(" or ")) }
    }
}

impl Near {
    /// The (at most three) of `known` that look most like `name`.
    pub(super) fn matches<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        /// Jaro-Winkler likeness from which on a name is worth suggesting.
        const ALIKE: f64 = 0.82;
        let name = cut(name).to_lowercase();
        let mut alike: Vec<(f64, &str)> = known
            .into_iter()
            .map(|candidate| (strsim::jaro_winkler(&name, &cut(candidate)), candidate))
            .filter(|(likeness, _)| *likeness >= ALIKE)
            .collect();
        alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        Self(alike.into_iter().take(3).map(|(_, candidate)| cut(candidate)).collect())
    }
}

/// The most letters in which a name may differ from a known name of this length that it means.
fn slips(length: usize) -> usize {
    if length <= 4 { 1 } else { 2 }
}

/// The shortest beginning of a name that is taken for the name.
const BEGINNING: usize = 3;

impl Near {
    /// The (at most three) of `known` that `name` is probably meant as: letters are wrong, the case
    /// differs, or its end is missing.
    pub(super) fn misses<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let name = cut(name).to_lowercase();
        let distance = |candidate: &str| {
            let begins = name.len() >= BEGINNING && candidate.starts_with(&name);
            if begins { 0 } else { strsim::osa_distance(&name, candidate) }
        };
        let known = known.into_iter().map(|candidate| (distance(candidate), candidate));
        let mut near: Vec<(usize, &str)> =
            known.filter(|&(distance, candidate)| distance <= slips(candidate.len())).collect();
        near.sort_unstable();
        near.dedup();
        let nearest = near.first().map(|(distance, _)| *distance);
        near.retain(|(distance, _)| Some(*distance) == nearest);
        Self(near.into_iter().take(3).map(|(_, candidate)| candidate.to_owned()).collect())
    }
}

/// A problem with its place in the text, before that is turned into line and column.
#[derive(Debug)]
pub(super) struct Fault {
    /// Byte offset.
    pub at: usize,
    /// As [`RtAppError::place`].
    pub place: String,
    pub problem: Problem,
}

impl Fault {
    pub(super) fn text(at: usize, problem: Problem) -> Self {
        Self { at, place: String::new(), problem }
    }

    /// With the line and the column of its offset in `text`. What follows the offset does not
    /// matter.
    pub(super) fn within(self, file: &str, text: &[u8]) -> RtAppError {
        let before = String::from_utf8_lossy(&text[..self.at.min(text.len())]);
        let (line, column) = behind(&before);
        RtAppError {
            file: file.into(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            place: self.place.into(),
            problem: self.problem,
        }
    }
}
