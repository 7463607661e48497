//! The guest: an emulator that runs a kernel, and the channels through which the lab talks to what
//! runs in it.
//!
//! | channel | is | carries |
//! | --- | --- | --- |
//! | console | the first serial port | what the kernel says |
//! | `evenkeel.stdout`, `evenkeel.stderr` | virtio ports | the command's output, byte for byte |
//! | `evenkeel.control` | a virtio port | `ready` from the guest; a line from the lab, once cores are slow; `exit CODE`; a line, once they no longer are; `done` |
//! | `evenkeel.files` | a virtio port | files brought back, a tar archive |
//!
//! Each ends on the host in a socket that the emulator was given, so that nothing has a name that
//! another process could take, and nothing is left when either side is killed.

mod conversation;
mod emulator;
mod files;

pub use conversation::{Conversation, Output};
pub use emulator::{Channels, Emulator, Settings, known_fault, look};
pub use files::{Contents, assemble};

/// Path in the guest of the description of its machine.
pub const MACHINE_FILE: &str = "/etc/evenkeel/machine.toml";
/// Default path at which a command leaves its result record.
pub const RESULT_FILE: &str = "/run/evenkeel/result.json";
