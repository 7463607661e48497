//! How a command ends when it does not end well, and what it says then: one line.

use std::fmt;
use std::io;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use crate::args::Cli;

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage or bad input: exit code 2.
    Usage(anyhow::Error),
    /// What was asked made sense, but failed: exit code 1.
    Failed(anyhow::Error),
    /// Somebody has had the kernel end our scheduler, and does not want it back: exit code 3.
    #[cfg(feature = "sched_ext")]
    Dismissed(anyhow::Error),
    /// It has been said already what failed: exit code 1.
    Said,
    /// Who reads our output has gone; that is their right.
    ClosedPipe,
}

/// Of a command.
pub type Result<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    /// Wrong usage, in a sentence.
    pub fn usage(what: impl fmt::Display) -> Self {
        Self::Usage(anyhow::anyhow!("{what}"))
    }

    /// Wrong usage or bad input, from a library's error.
    pub fn input(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Usage(error.into())
    }

    /// Writing to stdout failed.
    pub fn stdout(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Failed(anyhow::Error::from(error).context("cannot write to stdout")),
        }
    }

    /// Says it on stderr, where there is something to say.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Usage(error) => {
                say("error", &format!("{error:#}"));
                ExitCode::from(2)
            }
            Self::Failed(error) => {
                say("error", &format!("{error:#}"));
                ExitCode::FAILURE
            }
            #[cfg(feature = "sched_ext")]
            Self::Dismissed(error) => {
                say("error", &format!("{error:#}"));
                ExitCode::from(3)
            }
            Self::Said => ExitCode::FAILURE,
            Self::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

/// Says something on stderr, in one line, whatever it is made of. Nothing can be done where stderr is gone.
pub fn say(kind: &str, what: &str) {
    use io::Write as _;
    let mut line = String::new();
    for word in what.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(io::stderr(), "{kind}: {line}");
}

/// What clap has to say of a wrong command line, in one line: it takes a paragraph for the mistake, one for a tip,
/// and more for the usage.
pub fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let until_usage = text.split("\n\nUsage:").next().unwrap_or(&text);
    let mut line = String::new();
    for part in until_usage.split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
        if part.starts_with("For more information") {
            continue;
        }
        if !line.is_empty() {
            line.push_str("; ");
        }
        line.push_str(part.strip_prefix("error: ").unwrap_or(part));
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        // Clap knows them by their usage only, which does not name them.
        let is_of_show = text.contains("Usage: evenkeel show");
        let commands = Cli::command();
        let parent = if is_of_show { commands.find_subcommand("show") } else { Some(&commands) };
        let names: Vec<&str> =
            parent.into_iter().flat_map(clap::Command::get_subcommands).map(clap::Command::get_name).collect();
        line.push_str(&format!("; expected {}", names.join(", ")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn a_wrong_command_is_told_which_there_are() {
        let line = |args: &[&str]| one_line(&Cli::command().try_get_matches_from(args).unwrap_err());
        assert!(line(&["evenkeel", "list"]).ends_with(
            "; expected machines, policies, workloads, show, detect, simulate, compare, advise, reproduce, lab, vm, sensors, record, \
             run, schedule, completions, man"
        ));
        assert!(line(&["evenkeel", "show", "pixel6"]).ends_with("; expected machine, workload, policy"));
    }

    #[test]
    fn a_wrong_flag_and_the_tip_for_it_are_one_line() {
        let command = Command::new("x").arg(Arg::new("policy").long("policy"));
        let error = command.try_get_matches_from(["x", "--polcy", "a"]).unwrap_err();
        let line = one_line(&error);
        assert!(line.starts_with("unexpected argument '--polcy' found; tip: ") && !line.contains('\n'), "{line}");
        assert!(!line.contains("Usage"), "{line}");
    }
}
