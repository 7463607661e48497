//! Stdin, which `-` names in place of a file.

use std::io::{self, IsTerminal as _, Read as _};
use std::sync::OnceLock;

use anyhow::Context as _;

use crate::error::{Failure, Result, say};

/// Stands for stdin.
pub const NAME: &str = "-";

/// What stdin is called in messages about its content.
pub const CALLED: &str = "stdin";

/// What stdin was read as, and its content.
static READ: OnceLock<(&'static str, Vec<u8>)> = OnceLock::new();

/// All of stdin, up to `most` bytes and one more, as a machine or as a workload. It is read once,
/// however often this is called.
///
/// # Errors
/// It cannot be read; it has been read as something else.
pub fn read(what: &'static str, most: u64) -> Result<&'static [u8]> {
    if READ.get().is_none() {
        if io::stdin().is_terminal() {
            say("note", &format!("reading the {what} from the terminal; Ctrl-D ends it"));
        }
        let mut bytes = Vec::new();
        io::stdin()
            .take(most + 1)
            .read_to_end(&mut bytes)
            .context("cannot read stdin")
            .map_err(Failure::Failed)?;
        // No other thread exists yet: commands read their input before they make threads.
        let _ = READ.set((what, bytes));
    }
    match READ.get() {
        Some((read_as, bytes)) if *read_as == what => Ok(bytes),
        _ => Err(Failure::usage(format!(
            "the {what} cannot be read from stdin (-): something else is"
        ))),
    }
}
