//! `evenkeel`: schedulers for uneven cores, compared on models of real machines.

mod args;
mod commands;
mod error;
mod output;
mod parse;
mod plan;
mod progress;
mod proportion;
mod stdin;
mod table;

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::args::{Cli, Command, project};
use crate::error::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error),
    };
    let done = match cli.command {
        Command::Machines(args) => commands::machines::list(&args),
        Command::Policies(args) => commands::policies::list(&args),
        Command::Workloads(args) => commands::workloads::list(&args),
        Command::Show(args) => commands::show::run(&args),
        Command::Detect(args) => commands::detect::run(&args),
        Command::Simulate(args) => commands::simulate::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Advise(args) => commands::advise::run(&args),
        Command::Sweep(args) => {
            return commands::sweep::run(&args).unwrap_or_else(|failure| failure.report());
        }
        Command::Report(args) => commands::report::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Lab(args) => {
            return commands::lab::run(&args).unwrap_or_else(|failure| failure.report());
        }
        Command::Omp(args) => {
            return commands::omp::run(&args).unwrap_or_else(|failure| failure.report());
        }
        Command::Vm(args) => {
            return commands::vm::run(&args).unwrap_or_else(|failure| failure.report());
        }
        Command::Sensors(args) => commands::sensors::run(&args),
        Command::Record(args) => {
            return commands::record::run(&args).unwrap_or_else(|failure| failure.report());
        }
        Command::Sample(args) => commands::factors::sample::run(&args),
        Command::Train(args) => commands::factors::train::run(&args),
        Command::Predict(args) => commands::factors::predict::run(&args),
        Command::Run(args) => {
            return commands::live::run::run(&args).unwrap_or_else(|failure| failure.report());
        }
        Command::Schedule(args) => {
            return commands::live::schedule::run(&args).unwrap_or_else(|failure| failure.report());
        }
        Command::Service(command) => commands::service::run(&command),
        Command::New(project::NewCommand::Policy(args)) => commands::new::policy(&args),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Man { folder } => commands::generate::man(&folder),
    };
    done.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

/// Help and version are not mistakes, and are also reported this way.
fn not_parsed(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match error.print().map_err(Failure::stdout) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => failure.report(),
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If stderr is gone, nothing can be done.
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => Failure::usage(error::one_line(error)).report(),
    }
}
