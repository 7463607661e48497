//! A thread's groups of counters: for each kind of core the event sets that it is watched by, of
//! which one counts at a time.
//!
//! A group counts as a whole or not at all, and only while the thread is on a CPU of its PMU. So
//! ratios of its counts need no making up for where the kernel lets groups take turns: a group that
//! had half of the time has counted half of everything.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use evenkeel_estimate::{Counts, EventSet, EventSets, LEAST_TIME};
use evenkeel_machine::Nanos;

use super::Pmu;
use super::codes::Code;
use crate::observe::perf_event::{self as perf, Attr, Flag, Target};
use crate::observe::watch::Tid;

/// `PERF_FORMAT_TOTAL_TIME_ENABLED`, `_TOTAL_TIME_RUNNING`, `_GROUP`.
const READ_FORMAT: u64 = 1 | 2 | 8;
/// Words before the counts: how many there are, time enabled, time running.
const HEAD: usize = 3;
/// Most events of a group.
const MOST: usize = evenkeel_estimate::Event::ALL.len();
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
        attr.read_format = READ_FORMAT;
        perf::open(&attr, Target::Thread(tid.0), None, leader.map(OwnedFd::as_fd))
    }

    fn set_counting(&mut self, leader: &OwnedFd, counts: bool) -> io::Result<()> {
        if counts { perf::enable(leader.as_fd()) } else { perf::disable(leader.as_fd()) }
    }

    fn read(&mut self, leader: &OwnedFd, into: &mut [u64; MOST_WORDS]) -> io::Result<usize> {
        let mut bytes = [0; MOST_WORDS * 8];
        let length = rustix::io::read(leader, &mut bytes)?;
        for (word, bytes) in into.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        Ok(length / 8)
    }
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
    ) -> Result<Self, (evenkeel_estimate::Event, io::Error)> {
        let open = |perf: &mut P, set: &EventSet| {
            let mut events = set.events().iter();
            let mut open = |event: evenkeel_estimate::Event, leader: Option<&E>| {
                perf.open(pmu.code(event), tid, leader).map_err(|error| (event, error))
            };
            let first = *events.next().unwrap_or(&evenkeel_estimate::Event::Instructions);
            let leader = open(first, None)?;
            let others = events.map(|&event| open(event, Some(&leader)));
            let others = others.collect::<Result<_, _>>()?;
            Ok(Group { leader, _others: others, before: (0, [0; MOST]) })
        };
        let sets = (0..sets.len()).map(|set| open(perf, sets.events(set)));
        let mut groups = Self { sets: sets.collect::<Result<_, _>>()?, counting: 0 };
        groups.turn(perf, 0).map_err(|error| (evenkeel_estimate::Event::Instructions, error))?;
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
