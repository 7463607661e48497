//! Machine files, and the machines that are built in. A file is TOML; errors name their place, and
//! what is written reads as the same machine again. docs/simulate/machines.md describes them.

mod core;
mod error;
mod kind;
mod preset;
mod read;
mod rule;
mod section;
mod write;

pub use error::{MachineError, Place};
pub use preset::{Preset, canonical, load, preset, presets};
pub use read::parse;
pub use write::to_toml;

/// The most bytes that a machine file may have: more than a hundred times the longest preset.
pub const MAX_FILE_BYTES: u64 = 1 << 20;
