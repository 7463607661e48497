//! A program run from its beginning to its end on some CPUs, and what counters show of it on the
//! way.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use evenkeel_estimate::{Counters, Counts, Event, EventSet, EventSets, Metric, Window};
use evenkeel_machine::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::{KernelEvents, Pmu, Refused, fit};
use crate::observe::perf_event::{self as perf, Attr, Flag, Target};
use crate::observe::program::{Held, Output, Signals};
use crate::observe::watch::{Cpu, Tid};

/// How often counters are read on the way.
const INTERVAL: Duration = Duration::from_millis(10);

/// Why a program could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The kernel does not count.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It could not be started, bound or read.
    #[error("{what}: {source}")]
    Io {
        /// What could not be done.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The program failed.
    #[error("the program failed, in run {run}: {status}")]
    Program {
        /// In which run, from 1.
        run: usize,
        /// How it ended.
        status: ExitStatus,
    },
}

/// What a PMU can count, found out by asking the kernel.
#[derive(Clone, Debug)]
pub struct Countable {
    /// Its counters.
    pub counters: Counters,
    /// Events that are counted in turn, one set a run.
    pub sets: EventSets,
}

impl Countable {
    /// Of a PMU that has so many counters, as far as is known, tried on one of its CPUs.
    ///
    /// # Errors
    /// Not even instructions and cycles can be counted.
    pub fn of(pmu: &Pmu, cpu: Cpu, counters: &Counters) -> Result<Self, Refused> {
        let fit = |metrics: &[Metric]| fit(&mut KernelEvents, pmu, cpu, metrics, counters.clone());
        fit(&[Metric::Ipc])?;
        let mut metrics: Vec<Metric> =
            Metric::ALL.into_iter().filter(|&metric| fit(&[metric]).is_ok()).collect();
        loop {
            match fit(&metrics) {
                Ok((counters, sets)) => return Ok(Self { counters, sets }),
                Err(refused) if metrics.is_empty() => return Err(refused),
                // Each can be counted, and not all of them in turn: the last is left out.
                Err(_) => metrics.pop(),
            };
        }
    }
}

/// One descriptor an event; the first leads.
fn open(pmu: &Pmu, events: &[Event], tid: Tid) -> Result<Vec<OwnedFd>, (Event, io::Error)> {
    let mut opened: Vec<OwnedFd> = Vec::with_capacity(events.len());
    for &event in events {
        let code = pmu.code(event);
        let all = [
            Flag::ExcludeKernel,
            Flag::ExcludeHypervisor,
            Flag::Inherit,
            Flag::Disabled,
            Flag::EnableOnExec,
        ];
        let flags = if opened.is_empty() { &all[..] } else { &all[..3] };
        let mut attr = Attr::new(code.kind, code.config, flags);
        attr.read_format = perf::FORMAT_TIMES;
        let leader = opened.first().map(OwnedFd::as_fd);
        let fd = perf::open(&attr, Target::Thread(tid.0), None, leader);
        opened.push(fd.map_err(|error| (event, error))?);
    }
    Ok(opened)
}

/// Runs a program on some CPUs and counts a set of events, from its first instruction on, with all
/// that it forks: what had been counted at each of many times. Its input is empty.
///
/// # Errors
/// See [`CountError`].
pub fn count(
    command: &[OsString],
    pmu: &Pmu,
    cpus: &[Cpu],
    set: &EventSet,
    signals: &Signals,
    output: Output,
) -> Result<Vec<Window>, CountError> {
    let io = |what| move |source| CountError::Io { what, source };
    let (name, rest) = command.split_first().map_or((None, &[][..]), |(a, b)| (Some(a), b));
    let mut program = Command::new(name.map_or_else(Default::default, OsString::clone));
    program.args(rest).stdin(Stdio::null());
    output.of(&mut program);
    let held = Held::new(program, signals).map_err(io("cannot start a process"))?;
    let mut mask = CpuSet::new();
    cpus.iter().for_each(|cpu| mask.set(cpu.0 as usize));
    let pid = Pid::from_raw(held.id() as i32);
    sched_setaffinity(pid, &mask)
        .map_err(|error| io("cannot bind it to CPUs of the kind")(error.into()))?;
    let events = open(pmu, set.events(), Tid(held.id() as i32))
        .map_err(|(event, source)| Refused { pmu: pmu.name.clone(), event, source })?;
    let mut program = held.begin().map_err(io("cannot execute it"))?;
    let mut readings = Vec::new();
    let status = loop {
        let ended = program.poll().map_err(io("cannot wait for it"))?;
        readings.push(read(&events, set).map_err(io("cannot read a counter"))?);
        if let Some(status) = ended {
            break status;
        }
        wait(signals);
    };
    if !status.success() {
        return Err(CountError::Program { run: 1, status });
    }
    Ok(readings)
}

/// Until the next reading, or a signal.
fn wait(signals: &Signals) {
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(INTERVAL.subsec_nanos()) };
    // Whatever ends it, the program is looked at next.
    let _ = poll(&mut [PollFd::new(signals, PollFlags::IN)], Some(&timeout));
}

/// What has been counted; where the kernel had events take turns, made up for.
fn read(events: &[OwnedFd], set: &EventSet) -> io::Result<Window> {
    let mut counts = Counts::default();
    let mut time = 0;
    for (fd, &event) in events.iter().zip(set.events()) {
        let mut words = [0_u64; 3];
        perf::read_words(fd.as_fd(), &mut words)?;
        let [count, enabled, running] = words;
        let whole = u128::from(count) * u128::from(enabled) / u128::from(running.max(1));
        counts.set(event, u64::try_from(whole).unwrap_or(u64::MAX));
        time = time.max(enabled);
    }
    Ok(Window { time: Nanos(time), counts })
}
