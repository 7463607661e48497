//! `evenkeel completions` and `evenkeel man`: from the command line's own description.

use std::path::Path;

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::error::{Failure, Result};
use crate::output::{OutputFile, print};

/// Prints the completion script of a shell.
///
/// # Errors
/// Stdout cannot be written to.
pub fn completions(shell: clap_complete::Shell) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "evenkeel", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for each command.
///
/// # Errors
/// The folder cannot be made or written to.
pub fn man(folder: &Path) -> Result {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::usage(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    pages(&command, folder)
}

fn pages(command: &clap::Command, folder: &Path) -> Result {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page).map_err(|error| Failure::Failed(error.into()))?;
    OutputFile::begin(&folder.join(man.get_filename()))?.finish_with(&page)?;
    command.get_subcommands().filter(|it| !it.is_hide_set()).try_for_each(|it| pages(it, folder))
}
