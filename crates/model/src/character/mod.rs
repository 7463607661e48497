//! What a phase asks of a core, from which its speed on each kind follows.
//!
//! A [`Character`] is of the program alone: how much can be done at once, how often branches are
//! mispredicted, how often caches and TLBs of a size miss. [`CpiStack`] is where the cycles of an
//! instruction go on one kind.

mod generated;
mod interval;
mod misses;
mod nearest;

pub use generated::GeneratedProgram;
pub use interval::CpiStack;
pub use misses::{MissCurve, MissCurveError};
pub use nearest::{Nearness, give_characters};

/// What a phase asks of a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Character {
    /// How many of w instructions can begin in a cycle, were each to take one cycle:
    /// `coefficient * w^exponent`.
    pub parallelism: Parallelism,
    /// Cycles that an instruction takes in the mean, where data are in the first cache; at least 1.
    pub latency: f64,
    /// Branches per instruction.
    pub branches: f64,
    /// Part of the branches that are predicted wrongly.
    pub branch_misses: f64,
    /// Misses per 1,000 instructions of a data cache, by its size.
    pub data_misses: MissCurve,
    /// Misses per 1,000 instructions of an instruction cache, by its size.
    pub code_misses: MissCurve,
    /// Misses per 1,000 instructions of a TLB for data, by what it maps.
    pub data_tlb_misses: MissCurve,
    /// Misses per 1,000 instructions of a TLB for instructions, by what it maps.
    pub code_tlb_misses: MissCurve,
    /// Misses of the last cache that are outstanding at once, in a window of [`MEMORY_WINDOW`]
    /// instructions; at least 1.
    pub memory_parallelism: f64,
}

impl Character {
    /// # Errors
    /// The first figure that cannot be, what was found and what was expected.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let parallelism = self.parallelism;
        let ranges = [
            ("parallelism: coefficient", parallelism.coefficient, 0.01, 100.0),
            ("parallelism: exponent", parallelism.exponent, 0.0, 1.0),
            ("latency", self.latency, 1.0, 1e3),
            ("branches", self.branches, 0.0, 1.0),
            ("branch_misses", self.branch_misses, 0.0, 1.0),
            ("memory_parallelism", self.memory_parallelism, 1.0, 1e3),
        ];
        let wrong = ranges.iter().find(|(_, value, least, most)| !(least..=most).contains(&value));
        wrong.map_or(Ok(()), |(name, value, least, most)| {
            Err(format!("character: {name} {value} found, expected {least} to {most}"))
        })
    }
}

/// The window that [`Character::memory_parallelism`] is stated for, instructions.
pub const MEMORY_WINDOW: f64 = 128.0;

/// The parallelism of a program by the size of the window (Karkhanis and Smith, ISCA 2004,
/// section 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parallelism {
    /// Instructions a cycle in a window of one; above 0.
    pub coefficient: f64,
    /// How it grows with the window, from 0 to 1.
    pub exponent: f64,
}

impl Parallelism {
    /// Instructions that can begin in a cycle, in a window of so many.
    #[must_use]
    pub fn in_window(self, window: f64) -> f64 {
        self.coefficient * window.powf(self.exponent)
    }
}
