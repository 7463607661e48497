//! `evenkeel run`: a program under a policy.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::Context as _;
use evenkeel_linux::live::{Finished, Session};
use evenkeel_linux::program::{Held, Program, Signals, exit_code, find};
use evenkeel_linux::watch::{Tid, Watcher};
use evenkeel_machine::Nanos;
use evenkeel_report::table as results;
use rustix::process::{Pid, set_child_subreaper};

use super::backend::{Choice, Members, Scope, Whose};
use super::energy::Watched;
use super::record::{Of, Run, shortened};
use super::{
    Prepared, backend, begin, prepare, say_factors, say_uncounted, unwatchable, watch_options,
};
use crate::args::live::RunLiveArgs;
use crate::commands::simulate::threads;
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print_json};
use crate::plan::Chosen;
use crate::table;

/// Runs the program, and ends with its exit code.
///
/// # Errors
/// Bad input; the program cannot be started or watched; an output cannot be written.
pub fn run(args: &RunLiveArgs) -> Result<ExitCode> {
    // Before any thread is made: see `Signals`.
    let signals = Signals::hold().context("cannot hold back signals").map_err(Failure::Failed)?;
    let prepared = prepare(&args.live, usize::MAX)?;
    let file = args.output.as_deref().map(OutputFile::begin).transpose()?;
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failure::usage("no program to run"));
    };
    let held = hold(program, rest, &signals)?;
    let sysfs = prepared.config.sysfs.clone();
    let (mut session, policy) = begin_session(args, prepared, Tid(held.id() as i32))?;
    if !args.quiet {
        say_factors(&args.live, &policy, &*session);
    }
    // Its thread must have no more privileges than the session keeps.
    let sensors = Watched::begin(&sysfs);
    let mut program = match held.begin() {
        Ok(program) => program,
        Err(error) => {
            session.end();
            return Err(Failure::not_started(program, error));
        }
    };
    let status = match follow(&mut *session, &mut program, &signals, args.live.verbose) {
        Ok(status) => status,
        Err(trouble) => {
            // The program goes on with its CPUs back, and is waited for: the caller waits for the
            // program, not for the session.
            session.end();
            trouble.report();
            let status =
                program.wait().context("cannot wait for the program").map_err(Failure::Failed)?;
            return Ok(ExitCode::from(exit_code(status)));
        }
    };
    report(args, &policy, &session.end(), sensors, file)?;
    Ok(ExitCode::from(exit_code(status)))
}

/// A process in which the program has not begun yet.
fn hold<'a>(program: &OsString, rest: &[OsString], signals: &'a Signals) -> Result<Held<'a>> {
    find(program, std::env::var_os("PATH"))
        .map_err(|error| Failure::not_started(program, error))?;
    let mut command = Command::new(program);
    command.args(rest);
    let held =
        Held::new(command, signals).context("cannot start a process").map_err(Failure::Failed)?;
    // Processes whose parents have ended still belong to the program.
    set_child_subreaper(Pid::from_raw(held.id() as i32))
        .context("cannot become a subreaper")
        .map_err(Failure::Failed)?;
    Ok(held)
}

/// Chooses the mechanism, and begins to schedule the process.
fn begin_session(
    args: &RunLiveArgs,
    prepared: Prepared,
    process: Tid,
) -> Result<(Box<dyn Session>, Chosen)> {
    let choice = backend::choose(&args.live, &prepared, &Scope::Program);
    if !args.quiet {
        say("note", &choice.sentence());
    }
    let begun = match choice {
        Choice::Affinity(_) => None,
        // Only the program (`partial`): other programs keep the kernel's own scheduler, whose
        // threads the kernel runs before those in SCHED_EXT.
        Choice::SchedExt(_) => backend::begin_sched_ext(&prepared, &args.live, true)?,
    };
    let Some(begun) = begun else {
        let watcher = Watcher::program(process, &watch_options(&args.live)).map_err(unwatchable)?;
        return begin(prepared, watcher, &args.live);
    };
    Members::adopt(Whose::Processes(vec![process]))
        .context("cannot put the program into SCHED_EXT")
        .map_err(Failure::Failed)?;
    Ok(begun)
}

/// Schedules until the program has ended.
///
/// # Errors
/// The session cannot go on, or the program cannot be waited for.
fn follow(
    session: &mut dyn Session,
    program: &mut Program<'_>,
    signals: &Signals,
    verbose: bool,
) -> Result<ExitStatus> {
    loop {
        let stepped =
            session.step(Nanos::MAX, &[signals]).map_err(|error| backend::trouble(error, verbose));
        let ended =
            program.poll().context("cannot wait for the program").map_err(Failure::Failed)?;
        stepped?;
        if let Some(status) = ended {
            return Ok(status);
        }
    }
}

/// Writes the session's record where it was asked for.
fn report(
    args: &RunLiveArgs,
    policy: &Chosen,
    finished: &Finished,
    sensors: Watched,
    file: Option<OutputFile>,
) -> Result {
    let run = Run {
        workloads: vec![
            args.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
        ],
        policy,
        threads: args.threads,
        time: Of::Program,
    };
    let mut record = run.record(finished);
    sensors.tell(&mut record, finished);
    if !args.quiet {
        say_uncounted(finished);
    }
    if let Some(file) = file {
        let text =
            serde_json::to_vec_pretty(&record).map_err(|error| Failure::Failed(error.into()))?;
        file.finish_with(&text)?;
    }
    if args.json {
        print_json(&record)?;
    } else if !args.quiet {
        let text = results::simulate(&shortened(&record), table::style()) + &threads(&record);
        // If stderr is gone, nothing can be done.
        let _ = io::stderr().write_all(text.as_bytes());
    }
    Ok(())
}
