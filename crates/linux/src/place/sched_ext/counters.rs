//! Speedup factors from what threads retire on each kind of core (`counters.bpf.h`), where the
//! hardware counts that.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use evenkeel_machine::{KindId, Machine, Nanos, PerKind};

use super::shared::Slot;
use crate::observe::counters::{IpcSampler, instructions_on, pmus};
use crate::observe::watch::Cpu;

/// How often a thread's counts are looked at.
const PERIOD: Nanos = Nanos::from_millis(200);
/// What lies so long back, in a thread's own running time, counts half, as in the affinity
/// mechanism.
const HALF_LIFE: Nanos = Nanos::from_secs(1);

/// A counter of instructions per CPU. None: the hardware has none for some core, or does not let
/// us.
pub fn open(sysfs: &Path, machine: &Machine) -> Option<Vec<(u32, OwnedFd)>> {
    let pmus = pmus(sysfs).ok()?;
    let on = |cpu: u32| {
        let counts = |cpus: &Vec<Cpu>| cpus.contains(&Cpu(cpu));
        let pmu = pmus.iter().find(|pmu| pmu.cpus.as_ref().is_none_or(counts))?;
        Some((cpu, instructions_on(pmu, Cpu(cpu)).ok()?))
    };
    machine.cores.iter().map(|core| on(core.cpu)).collect()
}

/// What is known of one thread.
#[derive(Debug)]
pub struct Sampled {
    sampler: IpcSampler,
    at: Nanos,
    instructions: PerKind<u64>,
    time_on: PerKind<u64>,
}

impl Sampled {
    /// Nothing yet.
    pub fn new(at: Nanos) -> Self {
        Self {
            sampler: IpcSampler::new(HALF_LIFE),
            at,
            instructions: PerKind::all(0),
            time_on: PerKind::all(0),
        }
    }

    /// True if its counts are to be looked at now: a period has passed since they last were.
    pub fn is_due(&mut self, now: Nanos) -> bool {
        let due = now.saturating_sub(self.at) >= PERIOD;
        if due {
            self.at = now;
        }
        due
    }

    /// Its slot begins to count from nothing.
    pub fn begin_anew(&mut self) {
        (self.instructions, self.time_on) = (PerKind::all(0), PerKind::all(0));
    }

    /// Takes in what a slot has counted since; factors relative to the slowest kind where they are
    /// known.
    pub fn take_in(
        &mut self,
        slot: &Slot,
        machine: &Machine,
        mut factors: PerKind<f32>,
    ) -> Option<PerKind<f32>> {
        let kinds = (0..machine.kinds.len() as u8).map(KindId);
        for kind in kinds.clone() {
            let (instructions, time) = (
                slot.instructions[kind.index()].load(Relaxed),
                slot.counted_on[kind.index()].load(Relaxed),
            );
            let retired = instructions.saturating_sub(self.instructions[kind]);
            let ran = Nanos(time.saturating_sub(self.time_on[kind]));
            if ran > Nanos::ZERO && retired > 0 {
                self.sampler.feed(kind, retired, ran);
                (self.instructions[kind], self.time_on[kind]) = (instructions, time);
            }
        }
        let slowest = machine.slowest();
        let mut known = false;
        for kind in kinds {
            if let Some(speedup) = self.sampler.speedup(kind, slowest) {
                factors[kind] = speedup as f32;
                known |= kind != slowest;
            }
        }
        known.then_some(factors)
    }
}
