//! Every policy by name: what it is, where it comes from, its knobs, and how to make one.

use crate::contract::{Knob, KnobError, Knobs, Policy};

/// One policy of the operating-system level.
pub struct Entry {
    /// Name, as in `-p name`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Paper or system that it comes from.
    pub source: &'static str,
    /// Its knobs.
    pub knobs: &'static [Knob],
    /// Makes one.
    pub make: fn(&Knobs) -> Box<dyn Policy>,
}

/// A policy that is not there, or knobs that do not fit it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MakeError {
    /// No such policy.
    #[error("no policy '{name}'{hint}; `evenkeel policies` lists them")]
    Unknown {
        /// As asked for.
        name: String,
        /// ` (did you mean …?)`, or nothing.
        hint: String,
    },
    /// Knobs.
    #[error(transparent)]
    Knobs(#[from] KnobError),
}
