//! A thread's groups of counters: for each kind of core the event sets that it is watched by, of
//! which one counts at a time.
//!
//! A group counts as a whole or not at all, and only while the thread is on a CPU of its PMU. So
//! ratios of its counts need no making up for where the kernel lets groups take turns: a group that
//! had half of the time has counted half of everything.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use evenkeel_estimate::{
    Counters, Counts, Event, EventSet, EventSets, LEAST_TIME, Metric, modelled,
};
use evenkeel_machine::{Kind, Nanos};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::Pmu;
use super::codes::Code;
use crate::observe::perf_event::{self as perf, Attr, Flag, Target};
use crate::observe::watch::{Cpu, Tid};

/// Words before the counts: how many there are, time enabled, time running.
const HEAD: usize = 3;
/// Most events of a group.
const MOST: usize = Event::ALL.len();
/// For so long a group that is tried may wait for counters.
const TRIAL: Duration = Duration::from_millis(20);
/// What a read gives at most.
pub const MOST_WORDS: usize = HEAD + MOST;

/// What is asked of performance events: of the kernel, or of what stands for it in tests.
pub trait PerfEvents {
    /// An event that is open; dropped, it is closed.
    type Event;

    /// Opens an event for a thread, on whatever CPU. A leader does not count before it is told to;
    /// others count when theirs does.
    ///
    /// # Errors
    /// Those of `perf_event_open(2)`.
    fn open(
        &mut self,
        code: Code,
        tid: Tid,
        leader: Option<&Self::Event>,
    ) -> io::Result<Self::Event>;

    /// Has a leader and its group count, or not.
    ///
    /// # Errors
    /// Those of `ioctl(2)`.
    fn set_counting(&mut self, leader: &Self::Event, counts: bool) -> io::Result<()>;

    /// Tries, on the calling thread, which is bound to a CPU meanwhile, whether events count
    /// together.
    ///
    /// # Errors
    /// Which of them does not, and why; the first where the group is never given counters.
    fn try_group(&mut self, codes: &[Code], cpu: Cpu) -> Result<(), (usize, io::Error)>;

    /// Reads a group: how many counts, time enabled, time running, and the counts. Returns how many
    /// words there were; 0 where the kernel has given the group up.
    ///
    /// # Errors
    /// Those of `read(2)`.
    fn read(&mut self, leader: &Self::Event, into: &mut [u64; MOST_WORDS]) -> io::Result<usize>;
}

/// The kernel's. Events are counted in user mode alone, which needs no privilege.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelEvents;

impl PerfEvents for KernelEvents {
    type Event = OwnedFd;

    fn open(&mut self, code: Code, tid: Tid, leader: Option<&OwnedFd>) -> io::Result<OwnedFd> {
        let user = [Flag::ExcludeKernel, Flag::ExcludeHypervisor, Flag::Disabled];
        let flags = if leader.is_some() { &user[..2] } else { &user };
        let mut attr = Attr::new(code.kind, code.config, flags);
        attr.read_format = perf::FORMAT_TIMES | perf::FORMAT_GROUP;
        perf::open(&attr, Target::Thread(tid.0), None, leader.map(OwnedFd::as_fd))
    }

    fn set_counting(&mut self, leader: &OwnedFd, counts: bool) -> io::Result<()> {
        if counts { perf::enable(leader.as_fd()) } else { perf::disable(leader.as_fd()) }
    }

    fn try_group(&mut self, codes: &[Code], cpu: Cpu) -> Result<(), (usize, io::Error)> {
        let first = |error: rustix::io::Errno| (0, io::Error::from(error));
        let before = sched_getaffinity(None).map_err(first)?;
        let mut one = CpuSet::new();
        one.set(cpu.0 as usize);
        sched_setaffinity(None, &one).map_err(first)?;
        let counts = self.counts_together(codes);
        // It was its mask before.
        let _ = sched_setaffinity(None, &before);
        counts
    }

    fn read(&mut self, leader: &OwnedFd, into: &mut [u64; MOST_WORDS]) -> io::Result<usize> {
        perf::read_words(leader.as_fd(), into)
    }
}

impl KernelEvents {
    fn counts_together(&mut self, codes: &[Code]) -> Result<(), (usize, io::Error)> {
        let own = Tid(rustix::thread::gettid().as_raw_nonzero().get());
        let mut events: Vec<OwnedFd> = Vec::with_capacity(codes.len());
        for (i, &code) in codes.iter().enumerate() {
            let event = self.open(code, own, events.first()).map_err(|error| (i, error))?;
            events.push(event);
        }
        let Some(leader) = events.first() else { return Ok(()) };
        self.set_counting(leader, true).map_err(|error| (0, error))?;
        let start = Instant::now();
        let mut words = [0; MOST_WORDS];
        while start.elapsed() < TRIAL {
            self.read(leader, &mut words).map_err(|error| (0, error))?;
            if words[2] > 0 {
                return Ok(());
            }
        }
        Err((0, io::Error::other("others hold its counters, as kernel.nmi_watchdog does")))
    }
}

/// General counters of a kind whose file says nothing of them: those of an Intel core whose second
/// thread is in use. Ours; [`fit`] finds out if they are fewer.
const GENERAL: usize = 4;

/// What a kind can count at once, as far as its file says.
#[must_use]
pub fn stated_counters(kind: &Kind) -> Counters {
    kind.core.as_ref().map_or_else(
        || Counters { general: GENERAL, fixed: vec![Event::Instructions, Event::Cycles] },
        modelled::counters,
    )
}

/// The kernel does not count.
#[derive(Debug, thiserror::Error)]
#[error("{pmu}: the kernel does not count {event}: {source}")]
pub struct Refused {
    /// The PMU.
    pub pmu: String,
    /// The event.
    pub event: Event,
    /// `EACCES`: `kernel.perf_event_paranoid` above 2 and no `CAP_PERFMON`; `ENOENT`: the PMU has
    /// no such event; `EINVAL`: it cannot count so many at once.
    pub source: io::Error,
}

/// Sets of events for metrics that a PMU counts, which has so many counters at most: the kernel may
/// have fewer to give.
///
/// # Errors
/// What the kernel said last, where even the fewest are too many.
pub fn fit<P: PerfEvents>(
    perf: &mut P,
    pmu: &Pmu,
    cpu: Cpu,
    metrics: &[Metric],
    mut counters: Counters,
) -> Result<(Counters, EventSets), Refused> {
    let mut refused = None;
    while let Some(sets) = EventSets::new(metrics, &counters) {
        let mut refuses = |set: usize| {
            let events = sets.events(set).events();
            let codes: Vec<Code> = events.iter().map(|&event| pmu.code(event)).collect();
            let (i, source) = perf.try_group(&codes, cpu).err()?;
            Some(Refused { pmu: pmu.name.clone(), event: events[i], source })
        };
        match (0..sets.len()).find_map(&mut refuses) {
            None => return Ok((counters, sets)),
            Some(by) => refused = Some(by),
        }
        if counters.general == 0 {
            break;
        }
        counters.general -= 1;
    }
    Err(refused.unwrap_or_else(|| Refused {
        pmu: pmu.name.clone(),
        event: Event::Cycles,
        source: io::Error::other("too few counters"),
    }))
}

/// A set of events, open for a thread.
#[derive(Debug)]
struct Group<E> {
    leader: E,
    /// They count with the leader, as long as they are open.
    _others: Vec<E>,
    /// Time running, and the counts, when they were last taken.
    before: (u64, [u64; MOST]),
}

/// A thread's groups on the PMU of one kind of core.
#[derive(Debug)]
pub struct Groups<E> {
    sets: Vec<Group<E>>,
    counting: usize,
}

/// What a look at a group has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The thread has not been on the kind for long enough: it goes on counting.
    TooShort,
    /// Counts since they were last taken.
    Counts(Counts),
    /// The kernel has given the group up, or it cannot be read.
    Lost,
}

impl<E> Groups<E> {
    /// Opens all sets for a thread; the first of them counts.
    ///
    /// # Errors
    /// What the kernel says to the first event that it refuses, and which that is.
    pub fn open<P: PerfEvents<Event = E>>(
        perf: &mut P,
        pmu: &Pmu,
        sets: &EventSets,
        tid: Tid,
    ) -> Result<Self, (Event, io::Error)> {
        let open = |perf: &mut P, set: &EventSet| {
            let mut events = set.events().iter();
            let mut open = |event: Event, leader: Option<&E>| {
                perf.open(pmu.code(event), tid, leader).map_err(|error| (event, error))
            };
            let first = *events.next().unwrap_or(&Event::Instructions);
            let leader = open(first, None)?;
            let others = events.map(|&event| open(event, Some(&leader)));
            let others = others.collect::<Result<_, _>>()?;
            Ok(Group { leader, _others: others, before: (0, [0; MOST]) })
        };
        let sets = (0..sets.len()).map(|set| open(perf, sets.events(set)));
        let mut groups = Self { sets: sets.collect::<Result<_, _>>()?, counting: 0 };
        groups.turn(perf, 0).map_err(|error| (Event::Instructions, error))?;
        Ok(groups)
    }

    /// Has another set count.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn turn<P: PerfEvents<Event = E>>(&mut self, perf: &mut P, to: usize) -> io::Result<()> {
        if to != self.counting {
            perf.set_counting(&self.sets[self.counting].leader, false)?;
        }
        self.counting = to;
        perf.set_counting(&self.sets[to].leader, true)
    }

    /// The set that counts.
    #[must_use]
    pub fn counting(&self) -> usize {
        self.counting
    }

    /// Takes what the set that counts has counted, if the thread was on the kind for long enough.
    /// `events` are those of the set. One system call, no allocation.
    pub fn take<P: PerfEvents<Event = E>>(&mut self, perf: &mut P, events: &EventSet) -> Look {
        let group = &mut self.sets[self.counting];
        let mut words = [0; MOST_WORDS];
        let count = events.events().len();
        match perf.read(&group.leader, &mut words) {
            Ok(length) if length >= HEAD + count => {}
            _ => return Look::Lost,
        }
        let running = words[2];
        let (before, counted) = &group.before;
        if Nanos(running.saturating_sub(*before)) < LEAST_TIME {
            return Look::TooShort;
        }
        let mut counts = Counts::default();
        let mut now = [0; MOST];
        now[..count].copy_from_slice(&words[HEAD..HEAD + count]);
        for (i, &event) in events.events().iter().enumerate() {
            counts.set(event, now[i].saturating_sub(counted[i]));
        }
        group.before = (running, now);
        Look::Counts(counts)
    }
}
