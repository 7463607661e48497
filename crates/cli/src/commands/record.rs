//! `evenkeel record`: records a run on this machine, or reads perf's recording, as a workload.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use evenkeel_files::recorded::{Places, Recorded, Selection, Tid, infer};
use evenkeel_files::{native, perf_sched};
use evenkeel_linux::lab::{LAB_VARIABLE, MACHINE_VARIABLE};
use evenkeel_linux::program::{Signals, exit_code, find};
use evenkeel_linux::record::{self, RecordError};
use evenkeel_machine::Machine;
use serde_json::json;

use crate::args::RecordArgs;
use crate::commands::machines;
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print_json};
use crate::table;

/// Records, or reads a recording, and writes the workload. The exit code is that of the command.
///
/// # Errors
/// Bad input; recording is not allowed; the file could not be written.
pub fn run(args: &RecordArgs) -> Result<ExitCode> {
    writable(&args.output)?;
    match &args.from {
        Some(file) => from_perf(args, file).map(|()| ExitCode::SUCCESS),
        None => from_command(args),
    }
}

/// Checks before the long work that the file can be written. Leaves nothing behind.
fn writable(output: &Path) -> Result {
    let folder =
        output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() && !output.is_dir() {
        return Ok(());
    }
    OutputFile::begin(output).map(drop)
}

fn from_perf(args: &RecordArgs, file: &Path) -> Result {
    let bytes =
        fs::read(file).with_context(|| file.display().to_string()).map_err(Failure::Usage)?;
    let shown = file.display().to_string();
    let data = perf_sched::read(&bytes, &shown).map_err(Failure::input)?;
    let selection = match (&args.comm, args.pid) {
        (Some(name), _) => Selection::Name(name.clone()),
        (None, Some(pid)) => Selection::Process(Tid(pid)),
        (None, None) => Selection::Command,
    };
    let lost = data.lost;
    let places = match machine(args)? {
        Some(machine) => Places::of(&machine),
        None => Places::default(),
    };
    let recorded = perf_sched::program(data, selection, &places, &shown).map_err(Failure::input)?;
    finish(args, recorded, lost, None)
}

fn from_command(args: &RecordArgs) -> Result<ExitCode> {
    // Before any thread is made: see `Signals`.
    let signals = Signals::hold().context("cannot hold back signals").map_err(Failure::Failed)?;
    let places = match machine(args)? {
        Some(machine) if std::env::var_os(LAB_VARIABLE).is_some() => Places::equal(&machine),
        Some(machine) => Places::of(&machine),
        None => Places::unknown(&record::cpus().map_err(|error| Failure::Failed(error.into()))?),
    };
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failure::usage("no command: give one after --, or --from FILE"));
    };
    find(program, std::env::var_os("PATH"))
        .map_err(|error| Failure::not_started(program, error))?;
    let mut command = Command::new(program);
    command.args(rest);
    if args.json {
        // Stdout is for the JSON object alone.
        command.stdout(Stdio::from(std::io::stderr()));
    }
    let recording = record::record(command, Some(&signals)).map_err(|error| match error {
        RecordError::Start { source, .. } => Failure::not_started(program, source),
        _ => Failure::Failed(error.into()),
    })?;
    let recorded = infer(recording.facts, &places, &recording.name);
    finish(args, recorded, recording.lost, Some(recording.wall.as_secs_f64()))?;
    Ok(ExitCode::from(exit_code(recording.status)))
}

/// The machine that was asked for, or whose file the environment names.
fn machine(args: &RecordArgs) -> Result<Option<Machine>> {
    let named = args.machine.clone().or_else(|| std::env::var(MACHINE_VARIABLE).ok());
    named.map(|name| machines::load(&name)).transpose()
}

/// Writes the workload, and reports what is in it.
fn finish(args: &RecordArgs, recorded: Recorded, lost: u64, wall_s: Option<f64>) -> Result {
    let (app, found) = (recorded.application, recorded.summary);
    let mut file = OutputFile::begin(&args.output)?;
    let text =
        native::write(std::slice::from_ref(&app)).map_err(|error| Failure::Failed(error.into()))?;
    file.write_all(text.as_bytes()).context("workload").map_err(Failure::Failed)?;
    file.finish()?;
    if lost > 0 {
        say(
            "warning",
            &format!("{lost} events were lost: the workload is a guess where they were"),
        );
    }
    let work_s = found.work_ns as f64 / 1e9;
    if args.json {
        let mut object = json!({
            "name": app.name, "file": args.output,
            "wall_s": wall_s, "work_s": work_s, "lost": lost
        });
        if let (Some(object), Ok(serde_json::Value::Object(counts))) =
            (object.as_object_mut(), serde_json::to_value(found))
        {
            object.extend(counts);
        }
        return print_json(&object);
    }
    let count =
        |number: u64, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
    let threads = format!("{}, {} of them forked by others", found.threads, found.forks);
    let time = wall_s.map_or(String::new(), |wall| format!(" in {wall:.3} s"));
    let work =
        format!("{work_s:.3} s on the fastest core{time}, in {}", count(found.bursts, "burst"));
    let blocks = format!(
        "{}: {}, {} by others of the program",
        found.blocks,
        count(found.sleeps, "sleep"),
        count(found.wakes, "wake-up")
    );
    let objects = [
        format!("{} ({})", count(found.barriers, "barrier"), count(found.meetings, "meeting")),
        count(found.joins, "join"),
        count(found.semaphores, "semaphore"),
    ];
    let facts = table::facts(&[
        ("workload", &format!("{} in {}", app.name, args.output.display())),
        ("threads", &threads),
        ("work", &work),
        ("blocks", &blocks),
        ("found", &objects.join(", ")),
    ]);
    // Stdout has the command's output.
    let _ = std::io::stderr().write_all(facts.as_bytes());
    Ok(())
}
