//! `evenkeel schedule`: the whole machine, or some processes of it, under a policy until
//! interrupted.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use evenkeel_linux::affinity::journal::{directory, make_directory};
use evenkeel_linux::affinity::kernel::can_place_others;
use evenkeel_linux::live::{Finished, Session};
use evenkeel_linux::program::{Signal, Signals};
use evenkeel_linux::watch::{Tid, WatchError, Watcher};
use evenkeel_machine::Nanos;
use evenkeel_report::table as results;
use rustix::fs::{FlockOperation, flock};

use super::backend::{Choice, Members, Scope, Whose};
use super::energy::Watched;
use super::listener::Listener;
use super::record::{Of, Run, shortened};
use super::statistics::{Identity, Snapshot, Statistics};
use super::{
    Prepared, backend, begin, monitor, prepare, say_factors, say_uncounted, unwatchable,
    watch_options,
};
use crate::args::live::ScheduleArgs;
use crate::commands::simulate::threads;
use crate::error::{Failure, Result, say};
use crate::output::{print, print_json};
use crate::plan::Chosen;
use crate::table;

/// The most ended threads that are still reported one by one: `schedule` may go on for months.
const REMEMBERED: usize = 4096;

/// The signal of Ctrl-Z.
const STOP: Signal = Signal::TSTP;

/// Schedules until interrupted, until the duration is over, or until none of the named processes is
/// left.
///
/// # Errors
/// Bad input, a process that is not there, no permission, or another one at work.
pub fn run(args: &ScheduleArgs) -> Result<ExitCode> {
    if let Some(seconds) = args.monitor {
        return monitor::run(seconds, args.json);
    }
    // Before any thread is made: see `Signals`.
    let signals =
        Signals::hold_with(&[STOP]).context("cannot hold back signals").map_err(Failure::Failed)?;
    let prepared = prepare(&args.live, if args.threads { usize::MAX } else { REMEMBERED })?;
    let _lock = lock()?;
    // While the process still has every privilege.
    let listener = Listener::begin(&directory()).map_err(unmonitored).ok();
    let (machine, sysfs) = (prepared.machine.name.clone(), prepared.config.sysfs.clone());
    let Begun { session, policy, members, mechanism, what } = begin_session(args, prepared)?;
    // Its thread must have no more privileges than the session keeps.
    let sensors = Watched::begin(&sysfs);
    say(
        "note",
        &format!("scheduling {what} under {}; {}; Ctrl-C ends it", policy.label, session.source()),
    );
    say_factors(&args.live, &policy, &*session);
    let started = Instant::now();
    let mut schedule = Schedule {
        args,
        signals: &signals,
        started,
        end: args.duration.map(|duration| started + Duration::from_nanos(duration.0)),
        reporter: args.stats.map(|seconds| Reporter::new(seconds, args.json)),
        identity: Identity {
            pid: std::process::id(),
            policy: policy.label.clone(),
            machine,
            scope: what.clone(),
            mechanism: mechanism.to_owned(),
            source: session.source(),
        },
        session,
        members,
        listener,
        restarts: 0,
        refusal_told: false,
    };
    let outcome = schedule.go_on();
    let Schedule { session, members, listener: _listener, .. } = schedule;
    // Whatever failed, masks and classes are given back first.
    if let Some(members) = &members {
        members.release();
    }
    let finished = session.end();
    outcome?;
    let refused = finished.totals.refused + members.as_ref().map_or(0, Members::refused);
    if refused > 0 {
        say(
            "note",
            &format!(
                "{refused} threads were left alone: to place those of other users takes \
                 CAP_SYS_NICE"
            ),
        );
    }
    report(args, &what, &policy, &finished, sensors)?;
    if refused > 0 && finished.totals.calls <= finished.totals.refused {
        return Err(Failure::Failed(anyhow::anyhow!(
            "no thread could be placed: {what} is of other users, which takes CAP_SYS_NICE"
        )));
    }
    Ok(ExitCode::SUCCESS)
}

fn unmonitored(error: io::Error) {
    say("note", &format!("--monitor will find nobody: {error}"));
}

/// A session that has begun.
struct Begun {
    session: Box<dyn Session>,
    policy: Chosen,
    /// The threads that were put into SCHED_EXT, if they had to be.
    members: Option<Members>,
    /// The kernel may have refused the mechanism that was chosen.
    mechanism: &'static str,
    /// Description of what is scheduled.
    what: String,
}

/// Chooses the mechanism, and begins to schedule by it.
fn begin_session(args: &ScheduleArgs, prepared: Prepared) -> Result<Begun> {
    let whole = args.pid.is_empty() && args.cgroup.is_none();
    let whose = named(args)?;
    let scope = whose.clone().map_or(Scope::Machine, Scope::Running);
    let choice = backend::choose(&args.live, &prepared, &scope);
    if args.partial && matches!(choice, Choice::Affinity(_)) {
        return Err(Failure::usage(format!(
            "--partial is of sched_ext, and threads would be placed {}; by affinity, --pid and \
             --cgroup choose",
            choice.sentence()
        )));
    }
    say("note", &choice.sentence());
    let begun = match choice {
        Choice::Affinity(_) => None,
        Choice::SchedExt(_) => {
            backend::begin_sched_ext(&prepared, &args.live, args.partial || !whole)?
        }
    };
    let Some((session, policy)) = begun else { return begin_affinity(args, prepared) };
    let adopt = |whose| {
        Members::adopt(whose)
            .with_context(|| format!("{}: cannot be put into SCHED_EXT", scope_of(args)))
            .map_err(Failure::Failed)
    };
    let members = whose.map(adopt).transpose()?;
    let what = if args.partial { "threads of SCHED_EXT".to_owned() } else { scope_of(args) };
    Ok(Begun { session, policy, members, mechanism: "sched_ext", what })
}

fn begin_affinity(args: &ScheduleArgs, prepared: Prepared) -> Result<Begun> {
    if args.partial {
        return Err(Failure::Failed(anyhow::anyhow!(
            "--partial takes sched_ext, which cannot be had here"
        )));
    }
    check_rights(args)?;
    let watcher = watcher(args)?;
    let (session, policy) = begin(prepared, watcher, &args.live)?;
    Ok(Begun { session, policy, members: None, mechanism: "affinity", what: scope_of(args) })
}

/// A session under way, and those that are told of it.
struct Schedule<'a> {
    args: &'a ScheduleArgs,
    signals: &'a Signals,
    session: Box<dyn Session>,
    members: Option<Members>,
    listener: Option<Listener>,
    reporter: Option<Reporter>,
    identity: Identity,
    started: Instant,
    end: Option<Instant>,
    /// How often the session had begun anew, as last reported.
    restarts: u32,
    /// True once threads that are left alone have been reported.
    refusal_told: bool,
}

impl Schedule<'_> {
    /// Schedules until it is over or a signal asks for its end.
    fn go_on(&mut self) -> Result {
        while !self.is_over() && !interrupted(self.signals)? {
            self.step()?;
        }
        Ok(())
    }

    /// True if the duration is over, or none of the named processes is left.
    fn is_over(&self) -> bool {
        let pids = &self.args.pid;
        // A session may not know yet of existing threads that have just been put into SCHED_EXT.
        let is_empty = || self.session.is_over() && pids.iter().all(|&pid| owner(pid).is_none());
        self.end.is_some_and(|end| Instant::now() >= end) || !pids.is_empty() && is_empty()
    }

    /// Waits for something to look at, looks, and tells those that wait for news.
    fn step(&mut self) -> Result {
        let mut others: Vec<&dyn AsFd> = vec![self.signals];
        others.extend(self.listener.iter().map(|listener| listener as &dyn AsFd));
        let soonest = self.reporter.iter().map(|reporter| reporter.next).chain(self.end).min();
        let within = soonest.map_or(Nanos::MAX, |at| {
            let left = at.saturating_duration_since(Instant::now());
            Nanos(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX))
        });
        self.session
            .step(within, &others)
            .map_err(|error| backend::trouble(error, self.args.live.verbose))?;
        if let Some(members) = &mut self.members {
            members.follow();
        }
        self.note_changes();
        let (session, identity, started) = (&*self.session, &self.identity, self.started);
        let snapshot = || Snapshot::of(identity.clone(), session, started.elapsed());
        if let Some(reporter) = &mut self.reporter {
            reporter.report(snapshot)?;
        }
        if let Some(Err(error)) = self.listener.as_ref().map(|listener| listener.answer(snapshot)) {
            unmonitored(error);
            self.listener = None;
        }
        Ok(())
    }

    /// Says what is new about the session, and worth a note.
    fn note_changes(&mut self) {
        if !self.refusal_told && self.session.totals().refused > 0 {
            self.refusal_told = true;
            say(
                "note",
                "some threads are left alone: to place those of other users takes CAP_SYS_NICE",
            );
        }
        if self.session.restarts() != self.restarts {
            self.restarts = self.session.restarts();
            say("note", "CPUs came or went: the scheduler was loaded anew");
        }
    }
}

/// Prints the session's record.
fn report(
    args: &ScheduleArgs,
    what: &str,
    policy: &Chosen,
    finished: &Finished,
    sensors: Watched,
) -> Result {
    let run =
        Run { workloads: vec![what.to_owned()], policy, threads: args.threads, time: Of::Session };
    let mut record = run.record(finished);
    sensors.tell(&mut record, finished);
    say_uncounted(finished);
    if args.json {
        print_json(&record)
    } else {
        print(&(results::simulate(&shortened(&record), table::style()) + &threads(&record)))
    }
}

/// Description of what is scheduled, for people.
fn scope_of(args: &ScheduleArgs) -> String {
    match (&args.pid[..], &args.cgroup) {
        ([], None) => "the whole machine".to_owned(),
        ([], Some(cgroup)) => cgroup.display().to_string(),
        (pids, _) => {
            format!("process {}", pids.iter().map(i32::to_string).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The processes or the control group that are named, checked beforehand.
///
/// # Errors
/// There is no such process or group.
fn named(args: &ScheduleArgs) -> Result<Option<Whose>> {
    Ok(Some(match (&args.pid[..], &args.cgroup) {
        ([], None) => return Ok(None),
        ([], Some(cgroup)) => {
            check_cgroup(cgroup)?;
            Whose::Cgroup(cgroup.clone())
        }
        (pids, _) => {
            let gone = |pid: &&i32| owner(**pid).is_none();
            if let Some(pid) = pids.iter().find(gone) {
                return Err(Failure::input(WatchError::Gone(*pid)));
            }
            Whose::Processes(pids.iter().map(|&pid| Tid(pid)).collect())
        }
    }))
}

fn check_cgroup(cgroup: &Path) -> Result {
    match fs::metadata(cgroup.join("cgroup.procs")) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Failure::usage(format!("{}: {error}", cgroup.display())));
        }
        Err(_) => {}
    }
    Err(Failure::usage(format!(
        "{}: no cgroup found, expected a folder with cgroup.procs, as /sys/fs/cgroup/user.slice",
        cgroup.display()
    )))
}

/// The user of a process: the kernel compares it with the user that wants to place its threads.
/// `None`: the process has ended.
fn owner(pid: i32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    if status.lines().any(|line| line.starts_with("State:\tZ") || line.starts_with("State:\tX")) {
        return None;
    }
    // Real, effective, saved and file system user.
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Reports beforehand the processes whose threads cannot be placed.
///
/// # Errors
/// None of the processes that are named may be placed.
fn check_rights(args: &ScheduleArgs) -> Result {
    let own = rustix::process::geteuid().as_raw();
    let foreign: Vec<i32> = args
        .pid
        .iter()
        .copied()
        .filter(|&pid| owner(pid).is_some_and(|user| user != own))
        .collect();
    if foreign.is_empty() || can_place_others() {
        return Ok(());
    }
    let list = foreign.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
    let why = format!(
        "process {list} is of another user: to place its threads takes CAP_SYS_NICE (sudo)"
    );
    if foreign.len() == args.pid.len() {
        return Err(Failure::Failed(anyhow::anyhow!("{why}; nothing can be placed")));
    }
    say("note", &why);
    Ok(())
}

/// Watches what is to be scheduled by affinity.
fn watcher(args: &ScheduleArgs) -> Result<Watcher> {
    let options = watch_options(&args.live);
    let watcher = match (&args.pid[..], &args.cgroup) {
        ([], None) => Watcher::machine(&options),
        ([], Some(cgroup)) => Watcher::cgroup(cgroup, &options),
        (pids, _) => {
            Watcher::threads(&pids.iter().map(|&pid| Tid(pid)).collect::<Vec<_>>(), &options)
        }
    };
    let watcher = watcher.map_err(unwatchable)?;
    if !watcher.left_out().is_empty() {
        let list = watcher
            .left_out()
            .iter()
            .map(|process| process.0.to_string())
            .collect::<Vec<_>>()
            .join(", ");
        say(
            "note",
            &format!(
                "process {list} is of another user, and is left alone: to watch it takes \
                 CAP_PERFMON"
            ),
        );
    }
    Ok(watcher)
}

/// True if a signal asks this process to end. All pending signals are taken: one that was left
/// would act when signals are held back no longer.
fn interrupted(signals: &Signals) -> Result<bool> {
    let mut is_to_end = false;
    while let Some(caught) =
        signals.poll().context("cannot read signals").map_err(Failure::Failed)?
    {
        is_to_end |= caught.is_to_end();
        if caught.signal == STOP {
            say(
                "note",
                "it cannot be suspended, the threads that wait for their turn would wait for it; \
                 Ctrl-C ends it",
            );
        }
    }
    Ok(is_to_end)
}

/// O_NOFOLLOW: a link at the lock's place is not followed.
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

/// The lock's file. The process that schedules holds the lock for as long as it lives.
fn lock() -> Result<File> {
    let directory = directory();
    let path = directory.join("schedule.lock");
    let failed = |error: io::Error| {
        Failure::Failed(anyhow::Error::from(error).context(path.display().to_string()))
    };
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
            // The process that holds the lock, as far as it has written this.
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
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(own.as_bytes()))
        .map_err(failed)?;
    Ok(file)
}

/// Prints what has happened since the line before.
struct Reporter {
    every: Duration,
    next: Instant,
    before: Snapshot,
    /// True if stdout is for one JSON object.
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
            // If stderr is gone, nothing can be done.
            let _ = io::stderr().write_all(line.as_bytes());
        } else {
            print(&line)?;
        }
        self.before = now;
        Ok(())
    }
}
