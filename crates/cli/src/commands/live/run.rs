//! `evenkeel run`: a program under a policy.

use std::io::{self, Write as _};
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use evenkeel_linux::program::{Held, Signals, exit_code, find};
use evenkeel_linux::watch::{Tid, Watcher};
use evenkeel_machine::Nanos;
use evenkeel_report::table as results;
use rustix::process::{Pid, set_child_subreaper};

use super::backend::{Choice, Members, Scope, Whose};
use super::energy::Watched;
use super::record::{Of, Run, shortened};
use super::{backend, begin, prepare, unwatchable, watch_options};
use crate::args::live::RunLiveArgs;
use crate::commands::simulate::threads;
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print_json};
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
    find(program, std::env::var_os("PATH"))
        .map_err(|error| Failure::not_started(program, error))?;
    let mut command = Command::new(program);
    command.args(rest);
    let held =
        Held::new(command, &signals).context("cannot start a process").map_err(Failure::Failed)?;
    // Processes whose parents have ended still belong to the program.
    set_child_subreaper(Pid::from_raw(held.id() as i32))
        .context("cannot become a subreaper")
        .map_err(Failure::Failed)?;
    let process = Tid(held.id() as i32);
    let sysfs = prepared.config.sysfs.clone();
    let choice = backend::choose(&args.live, &prepared, &Scope::Program);
    if !args.quiet {
        say("note", &choice.sentence());
    }
    let begun = match choice {
        Choice::Affinity(_) => None,
        // The program alone: other programs stay with the kernel's own scheduler, which is served
        // first.
        Choice::SchedExt(_) => backend::begin_sched_ext(&prepared, &args.live, true)?,
    };
    let (mut session, policy) = match begun {
        Some(begun) => {
            Members::adopt(Whose::Processes(vec![process]))
                .context("cannot put the program into SCHED_EXT")
                .map_err(Failure::Failed)?;
            begun
        }
        None => {
            let watcher =
                Watcher::program(process, &watch_options(&args.live)).map_err(unwatchable)?;
            begin(prepared, watcher, &args.live)?
        }
    };
    // Its thread must have no more privileges than the session keeps.
    let sensors = Watched::begin(&sysfs);
    let mut program = match held.begin() {
        Ok(program) => program,
        Err(error) => {
            session.end();
            return Err(Failure::not_started(program, error));
        }
    };
    let mut status = None;
    let mut trouble = None;
    while status.is_none() && trouble.is_none() {
        trouble = session
            .step(Nanos::MAX, &[&signals])
            .err()
            .map(|error| backend::trouble(error, args.live.verbose));
        match program.poll() {
            Ok(ended) => status = ended,
            Err(error) => {
                trouble = Some(Failure::Failed(
                    anyhow::Error::from(error).context("cannot wait for the program"),
                ))
            }
        }
    }
    if let Some(trouble) = trouble {
        // The program goes on with its CPUs back, and is waited for: the caller waits for the
        // program, not for the session.
        session.end();
        trouble.report();
        let status =
            program.wait().context("cannot wait for the program").map_err(Failure::Failed)?;
        return Ok(ExitCode::from(exit_code(status)));
    }
    let run = Run {
        workloads: vec![
            args.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
        ],
        policy: &policy,
        threads: args.threads,
        time: Of::Program,
    };
    let finished = session.end();
    let mut record = run.record(&finished);
    sensors.tell(&mut record, &finished);
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
    Ok(status.map_or(ExitCode::FAILURE, |status| ExitCode::from(exit_code(status))))
}
