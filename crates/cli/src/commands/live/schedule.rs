//! `evenkeel schedule`: the whole machine, or some processes of it, under a policy until interrupted.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use evenkeel_linux::affinity::journal::{directory, make_directory};
use evenkeel_linux::program::{Signal, Signals};
use evenkeel_linux::watch::{Tid, Watcher};
use evenkeel_machine::Nanos;
use evenkeel_report::table as results;
use rustix::fs::{FlockOperation, flock};

use super::energy::Watched;
use super::listener::Listener;
use super::record::{Run, shortened};
use super::statistics::{Identity, Snapshot, Statistics};
use super::{backend, begin, monitor, prepare, unwatchable, watch_options};
use crate::args::live::{Backend, ScheduleArgs};
use crate::commands::simulate::threads;
use crate::error::{Failure, Result, say};
use crate::output::{print, print_json};
use crate::table;

/// Threads that have ended and are still told of one by one: `schedule` may go on for months.
const REMEMBERED: usize = 4096;

/// What Ctrl-Z sends.
const STOP: Signal = Signal::SIGTSTP;

/// Schedules until interrupted, until the duration is over, or until no process that was named is left.
///
/// # Errors
/// Bad input, a process that is not there, no permission, or another one at work.
pub fn run(args: &ScheduleArgs) -> Result<ExitCode> {
    if let Some(seconds) = args.monitor {
        return monitor::run(seconds, args.json);
    }
    // Before any thread is made: see `Signals`.
    let signals = Signals::hold_with(&[STOP]).context("cannot hold back signals").map_err(Failure::Failed)?;
    let prepared = prepare(&args.live, if args.threads { usize::MAX } else { REMEMBERED })?;
    let _lock = lock()?;
    // While every privilege is there still.
    let unmonitored = |error: io::Error| say("note", &format!("--monitor will find nobody: {error}"));
    let mut listener = Listener::begin(&directory()).map_err(unmonitored).ok();
    let machine = prepared.machine.name.clone();
    let whole = args.pid.is_empty() && args.cgroup.is_none();
    let chosen = backend::for_machine(&args.live, &prepared, whole);
    let sysfs = prepared.config.sysfs.clone();
    let (mut session, policy, what) = match chosen {
        Backend::Affinity if args.partial => {
            return Err(Failure::usage("--partial is of --backend sched_ext; by affinity, --pid and --cgroup choose"));
        }
        Backend::Affinity => {
            let (watcher, what) = watcher(args)?;
            let (session, policy) = begin(prepared, watcher, &args.live)?;
            (session, policy, what)
        }
        Backend::SchedExt if !whole => {
            return Err(Failure::usage(
                "--pid and --cgroup are of --backend affinity; with sched_ext, --partial leaves the choice to the threads",
            ));
        }
        Backend::SchedExt => {
            let (session, policy) = backend::begin_sched_ext(prepared, &args.live, args.partial)?;
            let what = if args.partial { "threads of SCHED_EXT" } else { "the whole machine" };
            (session, policy, what.to_owned())
        }
    };
    // Its thread is to have no more privileges than the session has kept.
    let sensors = Watched::begin(&sysfs);
    say("note", &format!("scheduling {what} under {}; {}; Ctrl-C ends it", policy.label, session.source()));
    let started = Instant::now();
    let end = args.duration.map(|duration| started + Duration::from_nanos(duration.0));
    let mut reporter = args.stats.map(|seconds| Reporter::new(seconds, args.json));
    let identity = Identity {
        pid: std::process::id(),
        policy: policy.label.clone(),
        machine,
        scope: what.clone(),
        mechanism: match chosen {
            Backend::Affinity => "affinity".to_owned(),
            Backend::SchedExt => "sched_ext".to_owned(),
        },
        source: session.source(),
    };
    let mut restarts = 0;
    let mut go_on = || -> Result<bool> {
        let over = end.is_some_and(|end| Instant::now() >= end) || !args.pid.is_empty() && session.is_over();
        if over || interrupted(&signals)? {
            return Ok(false);
        }
        let mut others: Vec<&dyn AsFd> = vec![&signals];
        others.extend(listener.iter().map(|listener| listener as &dyn AsFd));
        let soonest = reporter.iter().map(|reporter| reporter.next).chain(end).min();
        let within = soonest.map_or(Nanos::MAX, |at| {
            let left = at.saturating_duration_since(Instant::now());
            Nanos(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX))
        });
        session.step(within, &others).map_err(|error| backend::trouble(error, args.live.verbose))?;
        if session.restarts() != restarts {
            restarts = session.restarts();
            say("note", "CPUs came or went: the scheduler was loaded anew");
        }
        let snapshot = || Snapshot::of(identity.clone(), &*session, started.elapsed());
        if let Some(reporter) = &mut reporter {
            reporter.report(snapshot)?;
        }
        if let Some(Err(error)) = listener.as_ref().map(|listener| listener.answer(snapshot)) {
            unmonitored(error);
            listener = None;
        }
        Ok(true)
    };
    let outcome = loop {
        match go_on() {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let run = Run { workloads: vec![what], policy: &policy, threads: args.threads };
    // Whatever went wrong: masks are given back first.
    let finished = session.end();
    outcome?;
    let totals = finished.totals;
    if totals.refused > 0 {
        say(
            "note",
            &format!("{} threads were left alone: to place those of other users takes CAP_SYS_NICE", totals.refused),
        );
    }
    let mut record = run.record(&finished);
    sensors.tell(&mut record, &finished);
    if args.json {
        print_json(&record)?;
    } else {
        print(&(results::simulate(&shortened(&record), table::style()) + &threads(&record)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Watches what is to be scheduled by affinity; and what that is, for people.
fn watcher(args: &ScheduleArgs) -> Result<(Watcher, String)> {
    let options = watch_options(&args.live);
    let (watcher, what) = match (&args.pid[..], &args.cgroup) {
        ([], None) => (Watcher::machine(&options), "the whole machine".to_owned()),
        ([], Some(cgroup)) => {
            if !cgroup.join("cgroup.procs").is_file() {
                return Err(Failure::usage(format!(
                    "{}: no cgroup found, expected a folder with cgroup.procs, as /sys/fs/cgroup/user.slice",
                    cgroup.display()
                )));
            }
            (Watcher::cgroup(cgroup, &options), cgroup.display().to_string())
        }
        (pids, _) => {
            let tids: Vec<Tid> = pids.iter().map(|&pid| Tid(pid)).collect();
            let list = pids.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
            (Watcher::threads(&tids, &options), format!("process {list}"))
        }
    };
    Ok((watcher.map_err(unwatchable)?, what))
}

/// Whether somebody wants us to end. Every signal that waits is taken: one that was left would be answered when they are held back no longer.
fn interrupted(signals: &Signals) -> Result<bool> {
    let mut is_to_end = false;
    while let Some(caught) = signals.poll().context("cannot read signals").map_err(Failure::Failed)? {
        is_to_end |= caught.is_to_end();
        if caught.signal == STOP {
            say(
                "note",
                "it cannot be suspended, the threads that wait for their turn would wait for it; Ctrl-C ends it",
            );
        }
    }
    Ok(is_to_end)
}

/// O_NOFOLLOW: a link at the lock's place is not followed.
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

/// The one who schedules has this file locked for as long as it lives.
fn lock() -> Result<File> {
    let directory = directory();
    let path = directory.join("schedule.lock");
    let failed = |error: io::Error| Failure::Failed(anyhow::Error::from(error).context(path.display().to_string()));
    make_directory(&directory).map_err(failed)?;
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(NO_LINK)
        .open(&path)
        .map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut other = String::new();
            // Who it is, as far as it has said so.
            let _ = file.read_to_string(&mut other);
            let other = other.trim();
            return Err(Failure::Failed(anyhow::anyhow!(
                "another evenkeel schedules already (process {}): two would undo each other's work",
                if other.is_empty() { "unknown" } else { other }
            )));
        }
        Err(error) => return Err(failed(error.into())),
    }
    let own = std::process::id().to_string();
    file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(own.as_bytes())).map_err(failed)?;
    Ok(file)
}

/// Prints what has happened since it last did.
struct Reporter {
    every: Duration,
    next: Instant,
    before: Snapshot,
    /// Where stdout is for one JSON object.
    on_stderr: bool,
}

impl Reporter {
    fn new(seconds: u32, on_stderr: bool) -> Self {
        let every = Duration::from_secs(u64::from(seconds));
        Self { every, next: Instant::now() + every, before: Snapshot::default(), on_stderr }
    }

    fn report(&mut self, snapshot: impl Fn() -> Snapshot) -> Result {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.next += self.every;
        let now = snapshot();
        let line = Statistics::since(&self.before, &now).line();
        if self.on_stderr {
            // Nothing can be done where stderr is gone.
            let _ = io::stderr().write_all(line.as_bytes());
        } else {
            print(&line)?;
        }
        self.before = now;
        Ok(())
    }
}
