//! Machine files: TOML, read with the place of every error, written so that reading gives the same
//! machine again; and those that are built in. docs/simulate/machines.md describes them.

mod error;
mod kind;
mod preset;
mod read;
mod rule;
mod section;
mod write;

pub use error::{MachineError, Place};
pub use preset::{Preset, load, preset, presets};
pub use read::parse;
pub use write::to_toml;

/// The most bytes that a machine file may have: a hundred times the longest preset and more.
pub const MAX_FILE_BYTES: u64 = 1 << 20;
