//! `evenkeel-apps`: runs one of the nine programs and prints its checksum and the time of its
//! parallel part.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use evenkeel_apps::team::Slow;
use evenkeel_apps::{APPS, Outcome, Setting, Size, Version};
use serde_json::json;

/// Nine parallel programs, each serial, with pinned threads, and on Evenkeel's runtime.
#[derive(Debug, Parser)]
#[command(
    name = "evenkeel-apps",
    max_term_width = 110,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  evenkeel-apps list
  evenkeel-apps blackscholes --version serial
  evenkeel-apps fluidanimate --version pinned --size large --workers 4
  evenkeel-apps fluidanimate --version tasks --size large --machine this.toml
  evenkeel-apps swaptions --version tasks --cpus 0-3
  evenkeel-apps facesim --version loop-dynamic --machine two-kinds.toml --slow 1=3
  evenkeel-apps dedup --version pinned --json | jq .parallel_s

The checksum of an app and a size is the same in every version and with any number of workers.
Exit codes: 0 done, 1 a run failed, 2 wrong usage or bad input."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the apps, their shapes and their versions
    #[command(after_help = "\
Examples:
  evenkeel-apps list
  evenkeel-apps list --json | jq -r '.[].name'")]
    List {
        /// As an array of objects
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct Run {
    /// The app: one of those that `evenkeel-apps list` shows
    #[arg(required = true)]
    name: Option<String>,
    /// How the work comes to the cores
    #[arg(long, value_enum, default_value = "serial")]
    version: Version,
    /// How much there is to do: a few milliseconds, about a second, about ten seconds, all serially
    #[arg(long, value_enum, default_value = "medium")]
    size: Size,
    /// Workers, the fastest cores first; more than there are cores share them. Without it: one per
    /// core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// Only these CPUs, as 0-3,6. Without it: all that may be used
    #[arg(long, value_name = "LIST", value_parser = evenkeel_machine::parse_cpus)]
    cpus: Option<std::vec::Vec<u32>>,
    /// The machine that this is, in place of EVENKEEL_MACHINE and of what is detected: a preset's
    /// name, or a file as `evenkeel detect -o FILE` writes it
    #[arg(long, value_name = "FILE")]
    machine: Option<String>,
    /// Have each block take so many times as long on a CPU: a core that is slow all the time, where
    /// the lab's (`evenkeel lab`) comes and goes. Name a machine with such a core
    #[arg(long, value_name = "CPU=RATIO")]
    slow: Option<Slow>,
    /// As an object
    #[arg(long)]
    json: bool,
}

/// Why there is no result.
enum Failure {
    /// Wrong usage or bad input.
    Usage(anyhow::Error),
    Failed(anyhow::Error),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error),
    };
    let done = match cli.command {
        Some(Command::List { json }) => list(json),
        None => run(&cli.run),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(error)) => say(&error, 2),
        Err(Failure::Failed(error)) => say(&error, 1),
    }
}

fn run(args: &Run) -> Result<(), Failure> {
    let name = args.name.as_deref().unwrap_or_default();
    let app = evenkeel_apps::find(name).ok_or_else(|| {
        let known = APPS.iter().map(|app| app.name).collect::<Vec<_>>().join(", ");
        usage(format!("no app {name:?}, expected {known}"))
    })?;
    let workers = args.workers.map(usize::from);
    let (machine, cpus) = (args.machine.clone(), args.cpus.clone());
    let setting =
        Setting { size: args.size, version: args.version, workers, machine, cpus, slow: args.slow };
    let Outcome { checksum, parallel, workers, .. } = app.run(&setting).map_err(|error| {
        if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) }
    })?;
    let (version, seconds) = (args.version.name(), parallel.as_secs_f64());
    if args.json {
        return print(json!({
            "app": app.name, "version": version, "size": args.size, "workers": workers,
            "checksum": format!("{checksum:016x}"), "parallel_s": seconds,
        }));
    }
    print(format_args!(
        "{} {version}, {workers} worker{}: checksum {checksum:016x}, parallel part {seconds:.3} s",
        app.name,
        if workers == 1 { "" } else { "s" },
    ))
}

fn list(json: bool) -> Result<(), Failure> {
    if json {
        let apps = APPS
            .iter()
            .map(|app| json!({ "name": app.name, "about": app.about, "shape": app.shape, "versions": app.versions }));
        return print(serde_json::Value::from_iter(apps));
    }
    let versions = |versions: &[Version]| {
        versions.iter().map(|version| version.name()).collect::<Vec<_>>().join(", ")
    };
    let lines = APPS.iter().map(|app| {
        format!(
            "{:14}{}\n{:14}shape: {}\n{:14}versions: {}",
            app.name,
            app.about,
            "",
            app.shape,
            "",
            versions(app.versions)
        )
    });
    print(lines.collect::<Vec<_>>().join("\n"))
}

fn usage(what: String) -> Failure {
    Failure::Usage(anyhow::Error::msg(what))
}

fn print(what: impl fmt::Display) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{what}") {
        // The reader of our output may have gone.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(anyhow::Error::from(error).context("cannot write to stdout")))
        }
        _ => Ok(()),
    }
}

/// Help is no mistake, and is also reported this way.
fn not_parsed(error: &clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::DisplayHelp {
        // If the reader has gone, nothing is lost.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // Clap prints a paragraph for the mistake, one for a tip, and more for the usage.
    let text = error.to_string();
    let mistake = text
        .split("\n\nUsage:")
        .next()
        .unwrap_or(&text)
        .split("\n\nFor more")
        .next()
        .unwrap_or(&text);
    say(&anyhow::Error::msg(mistake.trim_start_matches("error: ").to_owned()), 2)
}

fn say(error: &anyhow::Error, code: u8) -> ExitCode {
    let line = format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
    // If stderr is gone, nothing can be done.
    let _ = writeln!(io::stderr(), "error: {line}");
    ExitCode::from(code)
}
