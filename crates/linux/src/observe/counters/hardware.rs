//! Instructions and cycles of a thread, apart by the kind of core that it ran on.
//!
//! A PMU counts only while the thread is on one of its CPUs, so its counts are what the thread did
//! on that kind, and the time that it counted is the time there. If the hardware has fewer counters
//! than are wanted at once, the kernel lets them take turns, and every PMU has counted for a part
//! of its time only. How the time was divided between the kinds in the rest is not known; it is
//! taken to be as in what was seen: all counts are multiplied by the thread's time over the sum of
//! what the PMUs counted. Without turns that is 1.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use evenkeel_machine::Nanos;

use super::Pmu;
use crate::observe::perf_event::{self as perf, Attr, Flag, Target};
use crate::observe::watch::{Cpu, Tid};

/// What a read gives: number of events, time enabled, time running, and the two counts.
const WORDS: usize = 5;

/// Why a thread is not counted for.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    /// The kernel refuses, or the PMU cannot.
    #[error("{pmu}: no counters for thread {tid}: {source}")]
    Open {
        /// The PMU.
        pmu: String,
        /// The thread.
        tid: i32,
        /// `EACCES`: `kernel.perf_event_paranoid` above 2 and no `CAP_PERFMON`; `ESRCH`: the thread
        /// is gone; `EMFILE`: too many open files.
        source: io::Error,
    },
    /// They cannot be read.
    #[error("reading a counter: {0}")]
    Read(io::Error),
}

/// What a thread did on the CPUs of one PMU, since its counters were opened. In user mode only:
/// that needs no privilege.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnPmu {
    /// Instructions retired.
    pub instructions: u64,
    /// Cycles.
    pub cycles: u64,
    /// Time on these CPUs.
    pub time: Nanos,
}

/// The counters of one thread: two descriptors for each PMU.
#[derive(Debug)]
pub struct ThreadCounters {
    /// The leader of each PMU's group, and the other.
    groups: Vec<(OwnedFd, OwnedFd)>,
}

/// One PMU's reading, as the kernel gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    enabled: u64,
    running: u64,
    instructions: u64,
    cycles: u64,
}

fn scaled(count: u64, to: u64, from: u64) -> u64 {
    let scaled = u128::from(count) * u128::from(to) / u128::from(from.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Makes up for turns: see the head of this file.
fn whole(readings: &[Reading], into: &mut [OnPmu]) {
    let enabled = readings.iter().map(|reading| reading.enabled).max().unwrap_or(0);
    let running: u64 = readings.iter().map(|reading| reading.running).sum();
    // The clocks of two PMUs are not read at one instant: a little more than the whole is the
    // whole.
    let enabled = enabled.max(running);
    for (reading, on) in readings.iter().zip(into) {
        *on = OnPmu {
            instructions: scaled(reading.instructions, enabled, running),
            cycles: scaled(reading.cycles, enabled, running),
            time: Nanos(scaled(reading.running, enabled, running)),
        };
    }
}

/// Begins to count the instructions of whatever runs on a CPU of a PMU, outside the kernel.
///
/// # Errors
/// If that is not allowed (`CAP_PERFMON`), or the PMU cannot.
pub fn instructions_on(pmu: &Pmu, cpu: Cpu) -> io::Result<OwnedFd> {
    let attr =
        Attr::new(pmu.kind, pmu.instructions, &[Flag::ExcludeKernel, Flag::ExcludeHypervisor]);
    perf::open(&attr, Target::All, Some(cpu.0), None)
}

impl ThreadCounters {
    /// PMUs that are counted with at most.
    pub const MOST_PMUS: usize = 8;

    /// Begins to count for a thread, with each of the PMUs; those after the eighth are left out.
    ///
    /// # Errors
    /// If that is not allowed, or the PMU cannot.
    pub fn open(pmus: &[Pmu], tid: Tid) -> Result<Self, CounterError> {
        let open = |pmu: &Pmu| {
            let event = |config, group: Option<&OwnedFd>| {
                let mut attr =
                    Attr::new(pmu.kind, config, &[Flag::ExcludeKernel, Flag::ExcludeHypervisor]);
                attr.read_format = perf::FORMAT_TIMES | perf::FORMAT_GROUP;
                perf::open(&attr, Target::Thread(tid.0), None, group.map(OwnedFd::as_fd)).map_err(
                    |source| CounterError::Open { pmu: pmu.name.clone(), tid: tid.0, source },
                )
            };
            let leader = event(pmu.instructions, None)?;
            let other = event(pmu.cycles, Some(&leader))?;
            Ok((leader, other))
        };
        Ok(Self { groups: pmus.iter().take(Self::MOST_PMUS).map(open).collect::<Result<_, _>>()? })
    }

    /// What it did on each PMU's CPUs, in the order of the PMUs: a system call for each, no
    /// allocation. `into` has a place for each; more are left as they are.
    ///
    /// # Errors
    /// If a counter cannot be read.
    pub fn read(&self, into: &mut [OnPmu]) -> Result<(), CounterError> {
        let mut readings = [Reading::default(); Self::MOST_PMUS];
        for ((leader, _), reading) in self.groups.iter().zip(&mut readings) {
            let mut words = [0; WORDS];
            perf::read_words(leader.as_fd(), &mut words).map_err(CounterError::Read)?;
            let [_, enabled, running, instructions, cycles] = words;
            *reading = Reading { enabled, running, instructions, cycles };
        }
        whole(&readings[..self.groups.len()], into);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `PERF_COUNT_SW_TASK_CLOCK` in place of instructions, `PERF_COUNT_SW_CPU_CLOCK` in place of
    /// cycles: the same path, on machines without counters.
    fn clocks() -> Pmu {
        Pmu {
            name: "software".into(),
            cpus: None,
            kind: perf::TYPE_SOFTWARE,
            instructions: 1,
            cycles: 0,
            named: [None; evenkeel_estimate::Event::ALL.len()],
        }
    }

    fn own() -> Tid {
        Tid(rustix::thread::gettid().as_raw_nonzero().get())
    }

    #[test]
    fn counts_grow_with_what_the_thread_does_and_are_as_long_as_it_ran() {
        let counters = match ThreadCounters::open(&[clocks()], own()) {
            Ok(counters) => counters,
            Err(error) => return println!("skipped: {error}"),
        };
        let mut on = [OnPmu::default()];
        // The second clock of a group is brought up to date by the kernel's tick only.
        while on[0].time < Nanos(2_000_000) || on[0].cycles == 0 {
            counters.read(&mut on).unwrap();
        }
        let [OnPmu { instructions, time, .. }] = on;
        // Nanoseconds both: the event's own clock, and that of its context, read at most an
        // interrupt apart.
        assert!(instructions > 0 && instructions <= time.0 * 11 / 10, "{instructions} in {time:?}");
    }

    #[test]
    fn a_thread_that_is_gone_and_a_pmu_that_is_not_there_are_said_in_one_line() {
        let gone = std::thread::spawn(own).join().unwrap();
        // Joined is not yet gone: the kernel takes it off the list a moment later.
        let error = loop {
            if let Err(error) = ThreadCounters::open(&[clocks()], gone) {
                break error.to_string();
            }
        };
        assert!(
            error.starts_with(&format!("software: no counters for thread {}", gone.0)),
            "{error}"
        );
        let none = Pmu { name: "cpu_moon".into(), kind: 0xffff, ..clocks() };
        let error = ThreadCounters::open(&[none], own()).unwrap_err().to_string();
        assert!(error.starts_with("cpu_moon: no counters"), "{error}");
    }

    #[test]
    fn without_turns_a_count_is_what_was_counted_however_long_the_thread_was_elsewhere() {
        // 30 ms on one kind, 70 ms on the other: each PMU was enabled all the while.
        let reading =
            |running, instructions| Reading { enabled: 100, running, instructions, cycles: 0 };
        let mut on = [OnPmu::default(); 2];
        whole(&[reading(30, 600), reading(70, 700)], &mut on);
        assert_eq!(on.map(|on| (on.instructions, on.time)), [(600, Nanos(30)), (700, Nanos(70))]);
        // Both could count for half of the time only.
        whole(&[reading(15, 300), reading(35, 350)], &mut on);
        assert_eq!(on.map(|on| (on.instructions, on.time)), [(600, Nanos(30)), (700, Nanos(70))]);
    }

    proptest! {
        /// Times on the kinds sum to the thread's time, and rates are what was counted.
        #[test]
        fn making_up_for_turns_keeps_rates_and_fills_the_time(
            running in prop::collection::vec(0u64..1_000_000_000, 1..4),
            turns in 1u64..5,
        ) {
            let sum: u64 = running.iter().sum();
            prop_assume!(sum > 0);
            let enabled = sum * turns;
            let readings: Vec<Reading> = running
                .iter()
                .map(|&running| Reading { enabled, running, instructions: running * 3, cycles: running * 2 })
                .collect();
            let mut on = vec![OnPmu::default(); running.len()];
            whole(&readings, &mut on);
            prop_assert_eq!(on.iter().map(|on| on.time.0).sum::<u64>(), enabled);
            for on in on {
                prop_assert_eq!((on.instructions, on.cycles), (on.time.0 * 3, on.time.0 * 2));
            }
        }
    }
}
