//! What all CPUs do, from rings that the kernel writes to.

use std::io;

use evenkeel_files::perf_sched::Tracepoints;
use evenkeel_files::recorded::Seen;
use evenkeel_machine::Nanos;
use rustix::fd::{AsFd as _, OwnedFd};

use super::RecordError;
use super::decode::{Decoded, decode};
use crate::observe::perf_event::{
    self as perf, Attr, Flag, Ring, SAMPLE_CPU, SAMPLE_RAW, SAMPLE_TID, SAMPLE_TIME,
    SOFTWARE_DUMMY, TYPE_SOFTWARE, TYPE_TRACEPOINT, Target,
};
use crate::observe::watch::now;

/// Pages of a CPU's ring: 2 MiB where pages have 4 KiB, some 20,000 events.
const PAGES: usize = 512;

/// What a user may lock without a privilege is less; with less than this, events are lost at any
/// rate.
const LEAST_PAGES: usize = 16;

/// A record is in its ring so long after the time that it bears, at the latest. Assumption: it is
/// written with interrupts off.
const IN_FLIGHT: Nanos = Nanos(1_000_000);

/// The longest record.
const LONGEST: usize = 1 << 16;

/// Rings on every CPU.
pub struct Rings {
    rings: Vec<Ring>,
    /// They write to the rings for as long as they are open.
    events: Vec<OwnedFd>,
    tracepoints: Tracepoints,
    /// Read, and not told yet, because something earlier may come still.
    pending: Vec<Seen>,
    /// Events that the kernel could not write.
    pub lost: u64,
}

fn attr(kind: u32, config: u64, more: &[Flag]) -> Attr {
    let mut attr = Attr::new(
        kind,
        config,
        &[&[Flag::Disabled, Flag::SampleIdAll, Flag::UseClockId], more].concat(),
    );
    attr.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_RAW;
    attr.clock = libc::CLOCK_MONOTONIC;
    attr
}

impl Rings {
    /// Begins to listen on these CPUs, to the tracepoint of wake-ups that has this number. A CPU
    /// that is off is left out.
    ///
    /// # Errors
    /// If that is not allowed.
    pub fn open(cpus: &[u32], tracepoints: Tracepoints, waking: u64) -> Result<Self, RecordError> {
        let mut pages = PAGES;
        loop {
            match Self::with_pages(cpus, waking, pages) {
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied && pages > LEAST_PAGES =>
                {
                    pages /= 2
                }
                Err(error) => return Err(RecordError::refused("perf events of all CPUs", error)),
                Ok((rings, events)) => {
                    return Ok(Self { rings, events, tracepoints, pending: Vec::new(), lost: 0 });
                }
            }
        }
    }

    fn with_pages(
        cpus: &[u32],
        waking: u64,
        pages: usize,
    ) -> io::Result<(Vec<Ring>, Vec<OwnedFd>)> {
        let (mut rings, mut events) = (Vec::new(), Vec::new());
        for &cpu in cpus {
            let tasks = attr(
                TYPE_SOFTWARE,
                SOFTWARE_DUMMY,
                &[Flag::Task, Flag::Comm, Flag::CommExec, Flag::ContextSwitch],
            );
            let carrier = match perf::open(&tasks, Target::All, Some(cpu), None) {
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                carrier => carrier?,
            };
            let ring = Ring::map(carrier, pages)?;
            let mut waking = attr(TYPE_TRACEPOINT, waking, &[]);
            waking.sample_period = 1;
            let event = perf::open(&waking, Target::All, Some(cpu), None)?;
            perf::set_output(event.as_fd(), &ring)?;
            events.push(event);
            rings.push(ring);
        }
        for ring in &rings {
            perf::enable(ring.as_fd())?;
        }
        for event in &events {
            perf::enable(event.as_fd())?;
        }
        Ok((rings, events))
    }

    /// What has been seen and was not told before, in the order of time. What is so recent that
    /// something earlier may still be on its way is told the next time.
    pub fn drain(&mut self) -> Vec<Seen> {
        let until = now().saturating_sub(IN_FLIGHT);
        self.read();
        let later = self.pending.partition_point(|seen| seen.at <= until);
        let rest = self.pending.split_off(later);
        std::mem::replace(&mut self.pending, rest)
    }

    /// Stops listening, and tells the rest.
    pub fn finish(mut self) -> (Vec<Seen>, u64) {
        self.events.clear();
        self.read();
        (self.pending, self.lost)
    }

    fn read(&mut self) {
        let mut record = [0; LONGEST];
        for ring in &mut self.rings {
            ring.refresh();
            while let Some(length) = ring.next(&mut record) {
                match decode(&record[..length], &self.tracepoints) {
                    Some(Decoded::Seen(seen)) => self.pending.push(seen),
                    Some(Decoded::Lost(events)) => self.lost += events,
                    None => {}
                }
            }
            ring.release();
        }
        self.pending.sort_by_key(|seen| seen.at);
    }
}
