//! The recorder: runs a program, and writes down when each of its threads had a core, and what woke
//! it.
//!
//! Listens to perf's records of switches, forks, names and exits and to the scheduler's tracepoint
//! `sched_waking`, on all CPUs: a thread may be woken by an interrupt on any of them. What is not
//! about the program is dropped as it is read.
//!
//! Switches are perf's own records and not the tracepoint `sched_switch`. Observed, on one machine
//! with Linux 6.18: the tracepoint told no switch of the idle thread of one CPU. The cause was not
//! found. The guess: perf counts in each thread the tracepoints that are under way there, so as not
//! to fall into itself, and drops what is met meanwhile; that thread had kept a count for ever.
//! Perf's own records are not kept back by that count.
//!
//! `evenkeel_files::recorded` makes the workload of it.

mod decode;
mod rings;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_files::perf_sched::Tracepoints;
use evenkeel_files::recorded::{Cpu, Fact, Follower, Selection, Tid, What};
use evenkeel_machine::Nanos;
use rustix::thread::sched_getaffinity;

use crate::observe::program::{Bond, Program, Signals};
use crate::observe::tracefs::{self, TracefsError};
use rings::Rings;

/// How often the rings are emptied, and the affinities of threads read. Each time takes a core from
/// the thread that has it.
const INTERVAL: Duration = Duration::from_millis(50);

/// With more threads than this, affinities are read of those only that were not there the last
/// time.
const FEW: usize = 256;

/// Why a program could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A privilege is missing.
    #[error(
        "{what}: {source}; to record takes CAP_PERFMON and to read tracefs: be root, or `setcap \
         cap_perfmon,cap_dac_read_search+ep` \
         on evenkeel"
    )]
    Refused {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel has no such tracepoint, or describes it in a way that is not understood.
    #[error("tracepoint {0}: not described as expected by this kernel")]
    Unknown(&'static str),
    /// The kernel does not say which CPUs there are.
    #[error("{path}: {what}")]
    Cpus {
        /// File.
        path: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The program cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Its end could not be awaited.
    #[error("cannot wait for {program}: {source}")]
    Wait {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
}

impl RecordError {
    fn refused(what: impl Display, source: impl Into<io::Error>) -> Self {
        Self::Refused { what: what.to_string(), source: source.into() }
    }
}

/// A program's run.
#[derive(Debug)]
pub struct Recording {
    /// What its threads did, from when it began (exec) to when its first process ended.
    pub facts: Vec<Fact>,
    /// Its name.
    pub name: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Events that the kernel could not write down: the workload is a guess there.
    pub lost: u64,
    /// From before it was started until it had ended.
    pub wall: Duration,
}

/// The CPUs that there are, on or off.
///
/// # Errors
/// If the kernel does not say.
pub fn cpus() -> Result<Vec<u32>, RecordError> {
    const PATH: &str = "/sys/devices/system/cpu/present";
    let wrong = |what: String| RecordError::Cpus { path: PATH, what };
    let text = std::fs::read_to_string(PATH).map_err(|error| wrong(error.to_string()))?;
    evenkeel_machine::parse_cpus(text.trim()).map_err(|error| wrong(error.to_string()))
}

/// Runs a command to its end, and records it and whatever it forks meanwhile. With `signals` those
/// that are meant for it are passed on, and Ctrl-C ends it and not the recording. The tracepoint of
/// wake-ups: how it is read, and its number.
fn waking() -> Result<(Tracepoints, u64), RecordError> {
    let text = tracefs::waking().map_err(|error| match error {
        TracefsError::Read { path, source } => RecordError::refused(path.display(), source),
        TracefsError::NotMounted(source) => {
            RecordError::refused("tracefs, which is not mounted", source)
        }
    })?;
    let known = Tracepoints::parse(&text);
    let id = known.id(tracefs::WAKING).ok_or(RecordError::Unknown(tracefs::WAKING))?;
    Ok((known, id))
}

/// Runs a command to its end, and records it and whatever it forks meanwhile.
///
/// # Errors
/// See [`RecordError`].
pub fn record(command: Command, signals: Option<&Signals>) -> Result<Recording, RecordError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (tracepoints, waking) = waking()?;
    let mut rings = Rings::open(&cpus()?, tracepoints, waking)?;
    let began = Instant::now();
    let running = Running::start(command, signals);
    let running =
        running.map_err(|source| RecordError::Start { program: program.clone(), source })?;
    let root = Tid(i32::try_from(running.id()).unwrap_or(0));
    let mut course = Course::new(root);
    let ended = AtomicBool::new(false);
    let (status, wall) = thread::scope(|scope| {
        let listener = scope.spawn(|| {
            while !ended.load(Ordering::Acquire) {
                thread::park_timeout(INTERVAL);
                course.take(rings.drain());
                course.read_affinities();
            }
        });
        let status = running.wait();
        let wall = began.elapsed();
        ended.store(true, Ordering::Release);
        listener.thread().unpark();
        (status, wall)
    });
    let status = status.map_err(|source| RecordError::Wait { program: program.clone(), source })?;
    let (rest, lost) = rings.finish();
    course.take(rest);
    let name = course.follower.name().unwrap_or(&program).to_owned();
    Ok(Recording { facts: course.facts, name, status, lost, wall })
}

/// The command.
enum Running<'a> {
    /// With its signals passed on to it.
    InFront(Program<'a>),
    /// As any child.
    Behind(Child),
}

impl<'a> Running<'a> {
    fn start(mut command: Command, signals: Option<&'a Signals>) -> io::Result<Self> {
        match signals {
            Some(signals) => Program::start(command, Bond::Loose, signals).map(Self::InFront),
            None => command.spawn().map(Self::Behind),
        }
    }

    fn id(&self) -> u32 {
        match self {
            Self::InFront(program) => program.id(),
            Self::Behind(child) => child.id(),
        }
    }

    fn wait(self) -> io::Result<ExitStatus> {
        match self {
            Self::InFront(program) => program.wait(),
            Self::Behind(mut child) => child.wait(),
        }
    }
}

/// What is known of the program so far.
struct Course {
    follower: Follower,
    facts: Vec<Fact>,
    /// Of each living thread, the CPUs that it may run on, where they were read.
    allowed: BTreeMap<Tid, Option<Vec<Cpu>>>,
}

impl Course {
    fn new(root: Tid) -> Self {
        let follower = Follower::new(Selection::Program(root));
        Self { follower, facts: Vec::new(), allowed: BTreeMap::new() }
    }

    fn take(&mut self, seen: Vec<evenkeel_files::recorded::Seen>) {
        let before = self.facts.len();
        seen.into_iter().for_each(|seen| self.follower.take(seen, &mut self.facts));
        for fact in &self.facts[before..] {
            match fact.what {
                What::Began { .. } => drop(self.allowed.insert(fact.tid, None)),
                What::Exited => drop(self.allowed.remove(&fact.tid)),
                _ => {}
            }
        }
    }

    /// Threads say themselves where they may run, by a system call that is not recorded: it is
    /// looked at now and then.
    fn read_affinities(&mut self) {
        let at = self.facts.last().map_or(Nanos::ZERO, |fact| fact.at);
        let few = self.allowed.len() <= FEW;
        for (&tid, known) in self.allowed.iter_mut().filter(|(_, known)| few || known.is_none()) {
            let Some(set) = rustix::process::Pid::from_raw(tid.0)
                .and_then(|pid| sched_getaffinity(Some(pid)).ok())
            else {
                continue;
            };
            let cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
            let cpus: Vec<Cpu> = cpus.filter_map(|cpu| u32::try_from(cpu).ok()).map(Cpu).collect();
            if known.as_ref() != Some(&cpus) {
                self.facts.push(Fact { at, tid, what: What::Allowed(cpus.clone()) });
                *known = Some(cpus);
            }
        }
    }
}
