//! The machine file: TOML, read with the place of every error, written so that reading gives the same machine again.
//! docs/machines.md describes it.

mod kind;
mod read;
mod rule;
mod section;
mod write;

/// The most bytes that a machine file may have: a hundred times the longest preset and more.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// The most logical cores that a machine may have. A bound, because a file states the number and pays nothing for it.
pub const MAX_CORES: u32 = 65_536;

/// Speed of each of two busy SMT siblings where nothing says. Source: machines.md of the specification.
pub(crate) const DEFAULT_SMT_SPEED: f64 = 0.6;
