//! How a command ends after an error, and its one-line message.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap::error::ErrorKind;
use evenkeel_linux::program::{Signal, not_started};

use crate::args::Cli;

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage or bad input: exit code 2.
    Usage(anyhow::Error),
    /// What was asked made sense, but failed: exit code 1.
    Failed(anyhow::Error),
    /// The kernel was asked to end our scheduler, and it is not to be loaded again: exit code 3.
    #[cfg(feature = "sched_ext")]
    Dismissed(anyhow::Error),
    /// The failure has been reported already: exit code 1.
    Said,
    /// The reader of our output has gone: exit code 141, that of a program that SIGPIPE ended.
    ClosedPipe,
    /// A signal ended it: exit code 128 + signal.
    Interrupted(i32),
    /// The program that was to be run cannot be: exit code 127 where it is not there, 126 where it
    /// is.
    NotStarted {
        /// Its name or path.
        program: String,
        /// Why.
        error: io::Error,
    },
}

/// The result of a command.
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

    /// A program that cannot be started.
    pub fn not_started(program: &OsStr, error: io::Error) -> Self {
        Self::NotStarted { program: program.to_string_lossy().into_owned(), error }
    }

    /// Writing to stdout failed.
    pub fn stdout(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Failed(anyhow::Error::from(error).context("cannot write to stdout")),
        }
    }

    /// Prints the message on stderr, if there is one.
    pub fn report(&self) -> ExitCode {
        let (error, code) = match self {
            Self::Usage(error) => (causes(error), 2),
            Self::Failed(error) => (causes(error), 1),
            #[cfg(feature = "sched_ext")]
            Self::Dismissed(error) => (causes(error), 3),
            Self::NotStarted { program, error } => {
                (format!("cannot run '{program}': {error}"), not_started(error))
            }
            Self::Said => return ExitCode::FAILURE,
            Self::ClosedPipe => return ExitCode::from(ended_by(Signal::PIPE.as_raw())),
            Self::Interrupted(signal) => return ExitCode::from(ended_by(*signal)),
        };
        say("error", &error);
        ExitCode::from(code)
    }
}

/// The exit code of a process that this signal ended, as shells give it.
pub fn ended_by(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// An error and its causes, each once: messages of libraries often contain their cause already.
pub fn causes(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// Prints a message on stderr, in one line, whatever it contains. If stderr is gone, nothing can be
/// done.
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

/// Clap's message about a wrong command line, in one line: clap prints a paragraph for the mistake,
/// one for a tip, and more for the usage.
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
        // Clap's message for an unknown subcommand does not name the commands.
        let commands = Cli::command();
        let names: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
        line.push_str(&format!("; expected {}", names.join(", ")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn each_cause_is_said_once() {
        let cause = || io::Error::other("permission denied");
        let bare = anyhow::Error::from(cause()).context("cannot write x");
        assert_eq!(causes(&bare), "cannot write x: permission denied");
        let twice = anyhow::Error::from(cause())
            .context("x: permission denied; try sudo")
            .context("cannot write x");
        assert_eq!(causes(&twice), "cannot write x: x: permission denied; try sudo");
    }

    #[test]
    fn a_wrong_command_is_told_which_there_are() {
        let line =
            |args: &[&str]| one_line(&Cli::command().try_get_matches_from(args).unwrap_err());
        assert!(line(&["evenkeel", "list"]).ends_with(
            "; expected machines, policies, workloads, show, detect, simulate, compare, advise, \
             sweep, report, reproduce, lab, omp, vm, sensors, record, sample, train, predict, \
             run, schedule, service, new, completions, man"
        ));
    }

    #[test]
    fn a_wrong_flag_and_the_tip_for_it_are_one_line() {
        let command = Command::new("x").arg(Arg::new("policy").long("policy"));
        let error = command.try_get_matches_from(["x", "--polcy", "a"]).unwrap_err();
        let line = one_line(&error);
        assert!(
            line.starts_with("unexpected argument '--polcy' found; tip: ") && !line.contains('\n'),
            "{line}"
        );
        assert!(!line.contains("Usage"), "{line}");
    }
}
