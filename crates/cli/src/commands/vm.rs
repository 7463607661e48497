//! `evenkeel vm`: a command in the hybrid VM lab.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use evenkeel_linux::program::Signals;
use evenkeel_machine::Nanos;
use evenkeel_vm::guest::{Contents, known_fault};
use evenkeel_vm::image::Busybox;
use evenkeel_vm::kernel::{Kernel, Store, Wanted, default_cache, from_file};
use evenkeel_vm::{Cores, Lab, Outcome, Stage, Streams, VmError, check_host};
use serde::Serialize;

use crate::args::vm::VmArgs;
use crate::error::{Failure, Result, say};
use crate::output::{self, OutputFile};
use crate::{progress, table};

/// Exit code of a command that took too long, as timeout(1) gives it.
const TIMED_OUT: u8 = 124;
/// Exit code where the lab failed, and not the command, as in containers.
const LAB_FAILED: u8 = 125;
/// Lines of the kernel's log that are shown where the guest died, at least.
const SHOWN: usize = 40;
/// The same, at most: from where the kernel says what has happened to it.
const SHOWN_AT_MOST: usize = 120;

/// `evenkeel vm`. The exit code is the command's.
///
/// # Errors
/// Wrong usage, something missing on this host, no kernel, files that are not brought back.
pub fn run(args: &VmArgs) -> Result<ExitCode> {
    let Some(cache) = default_cache() else {
        return Err(Failure::usage(
            "no folder for a cache: none of EVENKEEL_CACHE, XDG_CACHE_HOME and HOME is set",
        ));
    };
    let store = Store::open(&cache).map_err(failure)?;
    if args.list_kernels {
        return list(&store, args.json).map(|()| ExitCode::SUCCESS);
    }
    let named = Named::of(args).map_err(failure)?;
    let cores = if args.smt {
        args.cores.clone().in_pairs().map_err(Failure::usage)?
    } else {
        args.cores.clone()
    };
    check_host(&cores, args.force, &tell).map_err(failure)?;
    let kernel = match named {
        Named::File(kernel) => kernel,
        Named::Debian(wanted) => store.kernel(&wanted, &tell).map_err(failure)?,
    };
    for note in kernel.look().map_err(failure)? {
        say("note", &note);
    }
    let busybox = Busybox::find(&store, &tell).map_err(failure)?;
    // Other labs may fetch kernels while this lab runs.
    drop(store);
    // Before any thread is made, also that of output files: see `Signals`.
    let signals = Signals::hold().context("cannot hold back signals").map_err(Failure::Failed)?;
    let log = args.kernel_log.as_deref().map(OutputFile::begin).transpose()?;

    let lab = lab(args, kernel, cores);
    let (stdout, stderr) = (Captured::default(), Captured::default());
    let progress = progress::line("booting the guest");
    let shown = progress.clone();
    let booted = Box::new(move || shown.finish_and_clear());
    let streams = match args.json {
        true => {
            Streams { booted, stdout: Box::new(stdout.clone()), stderr: Box::new(stderr.clone()) }
        }
        false => Streams { booted, stdout: Box::new(io::stdout()), stderr: Box::new(io::stderr()) },
    };
    let outcome = lab.run(&busybox, &signals, streams, &|what| progress.suspend(|| tell(what)));
    progress.finish_and_clear();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(VmError::NoProgram { program, error }) if args.command.first() == Some(&program) => {
            return Err(Failure::not_started(&program, error));
        }
        Err(error) => return failed(error, log),
    };
    if let Some(log) = log {
        keep(log, &outcome.kernel_log)?;
    }
    if args.json {
        output::print_json(&Row::new(&lab, &outcome, stdout.text(), stderr.text()))?;
    }
    Ok(ExitCode::from(outcome.exit_code))
}

/// The lab that the command line describes, with its kernel and cores.
fn lab(args: &VmArgs, kernel: Kernel, cores: Cores) -> Lab {
    Lab {
        kernel,
        cores,
        memory_mib: args.memory,
        contents: Contents {
            command: args.command.clone(),
            programs: args
                .with
                .iter()
                .map(|it| (it.host.clone().into_os_string(), it.guest.clone()))
                .collect(),
            files: args
                .file
                .iter()
                .filter_map(|it| Some((it.host.clone(), it.guest.clone()?)))
                .collect(),
        },
        fetches: args.fetch.clone(),
        result: args.result.clone(),
        timeout: args.timeout.map(|time| Duration::from_nanos(time.0)),
    }
}

/// A kernel, as `--kernel` names it.
enum Named {
    File(Kernel),
    Debian(Wanted),
}

impl Named {
    fn of(args: &VmArgs) -> std::result::Result<Self, VmError> {
        let path = Path::new(&args.kernel);
        if args.kernel.contains('/') || path.is_file() {
            return from_file(path, args.config.as_deref()).map(Self::File);
        }
        args.kernel.parse().map(Self::Debian)
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Row {
    kernel: String,
    cores: String,
    smt: bool,
    exit_code: u8,
    seconds: f64,
    /// True if slowed cores stand still for no longer than their periods.
    beat: bool,
    /// Longest time that a CPU of this host did not run meanwhile; null without the beat.
    longest_pause_s: Option<f64>,
    stdout: String,
    stderr: String,
    /// The command's result, if it is JSON.
    result: Option<serde_json::Value>,
}

impl Row {
    fn new(lab: &Lab, outcome: &Outcome, stdout: String, stderr: String) -> Self {
        let result = outcome.result.as_deref().and_then(|bytes| {
            let read = serde_json::from_slice(bytes);
            read.inspect_err(|error| {
                say(
                    "warning",
                    &format!("{} in the guest is no JSON: {error}", lab.result.display()),
                )
            })
            .ok()
        });
        Self {
            kernel: lab.kernel.release.clone(),
            cores: lab.cores.to_string(),
            smt: lab.cores.are_in_pairs(),
            exit_code: outcome.exit_code,
            seconds: outcome.seconds,
            beat: outcome.longest_pause.is_some(),
            longest_pause_s: outcome.longest_pause.map(Nanos::as_secs_f64),
            stdout,
            stderr,
            result,
        }
    }
}

/// Output that is collected until it is complete.
#[derive(Clone, Default)]
struct Captured {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Captured {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
            .into_owned()
    }
}

impl Write for Captured {
    fn write(&mut self, some: &[u8]) -> io::Result<usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).write(some)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A row of `--list-kernels`.
#[derive(Serialize)]
struct KernelRow {
    release: String,
    series: String,
    cached: bool,
    malformed_btf: bool,
}

fn list(store: &Store, is_json: bool) -> Result {
    let kernels = store.available(&tell).map_err(failure)?;
    let rows: Vec<KernelRow> = kernels
        .iter()
        .filter(|kernel| is_json || kernel.release.flavour() == "amd64")
        .map(|kernel| KernelRow {
            release: kernel.release.to_string(),
            series: kernel.release.series(),
            cached: kernel.is_cached,
            malformed_btf: kernel.has_malformed_btf,
        })
        .collect();
    if is_json {
        return output::print_json(&rows);
    }
    let mut table = table::plain(["release", "series", "cached", "sched_ext"]);
    for row in rows {
        let note = if row.malformed_btf { "malformed BTF: no scheduler loads" } else { "" };
        table.add_row([
            row.release,
            row.series,
            if row.cached { "yes" } else { "" }.to_owned(),
            note.to_owned(),
        ]);
    }
    output::print(
        &(table::text(table) + "\nEach is there as rt and cloud, too: --kernel 6.18-rt-amd64.\n"),
    )
}

/// The last lines of a kernel's log, and all of its last fault before them: the line that names a
/// fault is the first of many.
fn last_words(log: &str) -> Vec<&str> {
    let lines: Vec<&str> = log.lines().collect();
    let last = |count: usize| lines.len().saturating_sub(count);
    let names_fault = |line: &&str| {
        ["Oops: ", "BUG: ", "general protection fault", "rcu: INFO: "]
            .iter()
            .any(|name| line.contains(name))
    };
    let named = lines[last(SHOWN_AT_MOST)..]
        .iter()
        .position(names_fault)
        .map(|place| last(SHOWN_AT_MOST) + place);
    lines[named.map_or(last(SHOWN), |named| named.min(last(SHOWN)))..].to_vec()
}

/// Reports a lab that ended before its command did.
fn failed(error: VmError, log: Option<OutputFile>) -> Result<ExitCode> {
    if let Some(text) = error.log() {
        match log {
            Some(log) => keep(log, text)?,
            None => {
                for line in last_words(text) {
                    // If stderr is gone, nothing can be done.
                    let _ = writeln!(io::stderr(), "{line}");
                }
            }
        }
    }
    let code = match &error {
        VmError::TimedOut { stage: Stage::Command, .. } => TIMED_OUT,
        VmError::TimedOut { .. } | VmError::Died { .. } => LAB_FAILED,
        VmError::Interrupted { signal } => return Err(Failure::Interrupted(*signal)),
        _ => return Err(failure(error)),
    };
    if let (VmError::Died { .. }, Some(fault)) = (&error, known_fault()) {
        say("note", &fault);
    }
    say("error", &error.to_string());
    Ok(ExitCode::from(code))
}

fn keep(mut file: OutputFile, log: &str) -> Result {
    file.write_all(log.as_bytes())
        .context("cannot write the kernel's log")
        .map_err(Failure::Failed)?;
    file.finish()
}

fn tell(what: &str) {
    say("note", what);
}

fn failure(error: VmError) -> Failure {
    match error {
        VmError::OutputGone => Failure::ClosedPipe,
        error if error.is_usage() => Failure::Usage(error.into()),
        error => Failure::Failed(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_kernel_begin_with_what_happened_to_it() {
        let log = |before: usize, fault: &str, after: usize| {
            let all = [vec!["boot"; before], vec![fault], vec!["registers"; after]].concat();
            all.join("\n")
        };
        for (after, shown) in [(5, SHOWN), (60, 61), (SHOWN_AT_MOST, SHOWN)] {
            for fault in [
                "[ 67.8] Oops: int3: 0000 [#1] SMP",
                "[ 47.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
            ] {
                let log = log(500, fault, after);
                let words = last_words(&log);
                assert_eq!(words.len(), shown);
                assert_eq!(words[0] == fault, shown == 61, "{after}");
            }
        }
        assert_eq!(last_words("one\ntwo"), ["one", "two"]);
    }
}
