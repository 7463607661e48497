//! The source of records that is worth most: perf's side-band records, without samples and without
//! counting anything.
//!
//! Two rings on each CPU. One is for starts and ends of threads, and every record in it wakes us;
//! the other is for switches, which are a thousand times as many, and wakes us when it is half
//! full. Events that follow threads send their records to the rings of their CPU, so that following
//! a hundred running threads takes no more memory than following one. The rings are carried by
//! events of our own that see nothing.
//!
//! **Order.** Each ring is in order of time, the rings together are not: so they are merged, and
//! only up to an instant that was read before the first ring was looked at. Whatever caused a
//! record that we see was written before it, on whichever CPU, so up to that instant causes are
//! there too: a thread's start comes before its first switch, its leaving one core before its
//! taking another. A record that was still being written when its instant passed, on another CPU,
//! is told late; it is given the time of its neighbours then, so that time never runs backwards.
//! That is microseconds.

use std::{
    collections::BinaryHeap,
    fs, io,
    os::fd::{AsFd, OwnedFd},
};

use evenkeel_machine::Nanos;

use super::{
    Options, Seen, WatchError,
    poll_set::PollSet,
    record::{LONGEST, Record, WakeFormat, decode},
    tasks::Tasks,
};
use crate::observe::perf_event::{self as perf, Attr, Flag, Ring, Target};

/// Pages of a ring where memory may be locked freely: of 4 KiB, room for 32,000 switches or 18,000
/// starts and ends.
const PAGES: usize = 256;
/// The fewest pages that are tried.
const LEAST_PAGES: usize = 4;

/// The rings of one CPU.
#[derive(Debug)]
struct Core {
    cpu: u32,
    starts: usize,
    switches: Option<usize>,
}

/// A ring, and the first of its records that has not been told yet.
#[derive(Debug)]
struct Tap {
    ring: Ring,
    next: Option<Record>,
}

/// The heap's entry for a ring: the ring whose next record is earliest comes first, of equals the
/// one for starts.
type Turn = std::cmp::Reverse<(Nanos, usize)>;

/// Perf's rings, and the events that write to them.
#[derive(Debug)]
pub struct Perf {
    cores: Vec<Core>,
    taps: Vec<Tap>,
    turns: BinaryHeap<Turn>,
    /// They write for as long as they are open.
    events: Vec<OwnedFd>,
    /// Those that write of switches.
    of_switches: Vec<OwnedFd>,
    wakes: Option<WakeFormat>,
}

/// What every record is to say, and by which clock.
fn attr(kind: u32, config: u64, flags: &[Flag]) -> Attr {
    let common = [Flag::ExcludeHypervisor, Flag::SampleIdAll, Flag::UseClockId, Flag::Watermark];
    let mut attr = Attr::new(kind, config, &[&common[..], flags].concat());
    attr.sample_type = perf::SAMPLE_TID | perf::SAMPLE_TIME | perf::SAMPLE_CPU;
    attr.clock = libc::CLOCK_MONOTONIC;
    attr
}

/// An event that counts nothing, and so needs no privilege over the kernel.
fn dummy(flags: &[Flag]) -> Attr {
    attr(perf::TYPE_SOFTWARE, perf::SOFTWARE_DUMMY, &[&[Flag::ExcludeKernel], flags].concat())
}

/// The CPUs that there are, on or off.
fn present() -> Result<Vec<u32>, WatchError> {
    const PRESENT: &str = "/sys/devices/system/cpu/present";
    let text = fs::read_to_string(PRESENT)
        .map_err(|source| WatchError::Read { path: PRESENT.into(), source })?;
    evenkeel_machine::parse_cpus(text.trim()).map_err(|error| WatchError::Read {
        path: PRESENT.into(),
        source: io::Error::other(error.to_string()),
    })
}

/// What perf's refusal means.
fn refused(what: &'static str, source: io::Error) -> WatchError {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            let paranoid =
                fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            WatchError::NotAllowed { what, paranoid: paranoid.trim().to_owned() }
        }
        _ => WatchError::Open { what, source },
    }
}

/// Events are open files, two on each CPU for each thread that we attach to: as many as this
/// process may have at all. True if that is more than before.
fn allow_more_files() -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit { current: limit.maximum, ..limit };
    limit.current != limit.maximum && setrlimit(Resource::Nofile, all).is_ok()
}

/// A ring of one CPU. `Ok(None)` if the CPU is off.
fn ring(
    cpu: u32,
    pages: usize,
    wake_at: impl Fn(usize) -> usize,
) -> Result<Option<Ring>, WatchError> {
    let bytes = pages * rustix::param::page_size();
    let wakeup = u32::try_from(wake_at(bytes)).unwrap_or(u32::MAX);
    let mut carrier = dummy(&[Flag::Disabled]);
    carrier.wakeup = wakeup;
    match perf::open(&carrier, Target::Thread(0), Some(cpu), None) {
        Ok(event) => Ring::map(event, pages).map(Some).map_err(|source| refused(MAPPING, source)),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(error) => Err(refused("perf_event_open", error)),
    }
}

/// What fails when the memory for rings is more than we may lock.
const MAPPING: &str = "mapping perf's rings";

impl Perf {
    /// Rings on every CPU, and nothing that writes to them yet. What memory a user may lock
    /// (`perf_event_mlock_kb` for each CPU, and `ulimit -l`) is for all of them together, so if it
    /// does not suffice they are all made smaller.
    ///
    /// # Errors
    /// If perf's events are not allowed or not there.
    pub fn open(options: &Options, poll: &PollSet) -> Result<Self, WatchError> {
        let mut pages = options.ring_pages.unwrap_or(PAGES).next_power_of_two();
        let this = loop {
            match Self::open_with(pages, options) {
                Err(WatchError::NotAllowed { what: MAPPING, .. }) if pages > LEAST_PAGES => {
                    pages /= 2
                }
                other => break other?,
            }
        };
        for tap in &this.taps {
            poll.add(&tap.ring)?;
        }
        Ok(this)
    }

    fn open_with(pages: usize, options: &Options) -> Result<Self, WatchError> {
        let cpus = present()?;
        let (mut cores, mut taps) = (Vec::with_capacity(cpus.len()), Vec::new());
        let mut tap = |ring: Ring| {
            taps.push(Tap { ring, next: None });
            taps.len() - 1
        };
        for cpu in cpus {
            let Some(starts) = ring(cpu, pages, |_| 1)?.map(&mut tap) else { continue };
            let switches = if options.switches || options.wakeups {
                ring(cpu, pages, |bytes| bytes / 2)?
            } else {
                None
            };
            cores.push(Core { cpu, starts, switches: switches.map(&mut tap) });
        }
        let turns = BinaryHeap::with_capacity(taps.len());
        Ok(Self { cores, taps, turns, events: Vec::new(), of_switches: Vec::new(), wakes: None })
    }

    /// Cores that it has rings for.
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// Opens an event on every CPU that sends its records to one of the CPU's rings. False if what
    /// it was to follow is gone.
    fn send(
        &mut self,
        attr: &Attr,
        target: Target<'_>,
        to: impl Fn(&Core) -> Option<usize>,
    ) -> Result<bool, WatchError> {
        for core in &self.cores {
            let Some(tap) = to(core) else { continue };
            let opened = match perf::open(attr, target, Some(core.cpu), None) {
                Err(error) if error.raw_os_error() == Some(libc::EMFILE) && allow_more_files() => {
                    perf::open(attr, target, Some(core.cpu), None)
                }
                other => other,
            };
            match opened {
                Ok(event) => {
                    // Only now: a record without a ring to go to would be dropped.
                    perf::set_output(event.as_fd(), &self.taps[tap].ring)
                        .and_then(|()| perf::enable(event.as_fd()))
                        .map_err(|source| WatchError::Open {
                            what: "directing a perf event",
                            source,
                        })?;
                    self.events.push(event);
                }
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(false),
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(refused("perf_event_open", error)),
            }
        }
        Ok(true)
    }

    /// Follows one thread and what it forks from now on. False if it is gone.
    ///
    /// # Errors
    /// If that is not allowed.
    pub fn follow(&mut self, target: Target<'_>, options: &Options) -> Result<bool, WatchError> {
        let inherit: &[Flag] =
            if matches!(target, Target::Thread(_)) { &[Flag::Inherit] } else { &[] };
        let event = |flags: &[Flag]| dummy(&[&[Flag::Disabled], inherit, flags].concat());
        // Switches first: once starts are told, nothing that follows them is to be missed.
        if options.switches {
            let others = self.events.len();
            let sent = self.send(&event(&[Flag::ContextSwitch]), target, |core| core.switches);
            self.of_switches.extend(self.events.drain(others..));
            if !sent? {
                return Ok(false);
            }
        }
        self.send(&event(&[Flag::Task, Flag::Comm, Flag::CommExec]), target, |core| {
            Some(core.starts)
        })
    }

    /// Has no more switches told. Those that were written are still to be drained.
    pub fn stop_switches(&mut self) {
        // The kernel also ends what threads have inherited of them.
        self.of_switches.clear();
    }

    /// Has all wake-ups told.
    ///
    /// # Errors
    /// If that is not allowed.
    pub fn wakeups(&mut self, tracepoint: u64, format: WakeFormat) -> Result<(), WatchError> {
        let mut attr = attr(perf::TYPE_TRACEPOINT, tracepoint, &[Flag::Disabled]);
        attr.sample_type |= perf::SAMPLE_RAW;
        attr.sample_period = 1;
        self.send(&attr, Target::All, |core| core.switches)?;
        self.wakes = Some(format);
        Ok(())
    }

    /// Reads on in a ring to the next record that says something.
    fn advance(tap: &mut Tap, wakes: Option<&WakeFormat>) -> Option<Nanos> {
        let mut bytes = [0; LONGEST];
        tap.next = None;
        while tap.next.is_none() {
            let length = tap.ring.next(&mut bytes)?;
            tap.next = decode(&bytes[..length], wakes);
        }
        tap.next.map(|record| record.at)
    }

    /// What has been written since, in order of time, up to `now`.
    pub fn drain(&mut self, now: Nanos, tasks: &mut Tasks, into: &mut Vec<Seen>) {
        let wakes = self.wakes;
        self.turns.clear();
        for (number, tap) in self.taps.iter_mut().enumerate() {
            let there = tap.ring.refresh();
            // So full that the next record may have found no room: the kernel says so only with the
            // record after that.
            if there + LONGEST > tap.ring.size() {
                tasks.set_stale();
            }
            let next = match tap.next {
                Some(record) => Some(record.at),
                None => Self::advance(tap, wakes.as_ref()),
            };
            self.turns.extend(next.map(|at| std::cmp::Reverse((at, number))));
        }
        while let Some(mut turn) = self.turns.peek_mut() {
            let std::cmp::Reverse((at, number)) = *turn;
            if at > now {
                break;
            }
            let tap = &mut self.taps[number];
            if let Some(record) = tap.next {
                tasks.admit(record, into);
            }
            match Self::advance(tap, wakes.as_ref()) {
                Some(at) => *turn = std::cmp::Reverse((at, number)),
                None => drop(std::collections::binary_heap::PeekMut::pop(turn)),
            }
        }
        for tap in &mut self.taps {
            tap.ring.release();
        }
    }
}
