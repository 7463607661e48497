//! Power and energy: piecewise constant, integrated exactly whenever it changes.

use evenkeel_machine::{ClusterId, CoreId, FemtoJoules, Machine, MicroWatts, Nanos};
use evenkeel_policy::{Interest, ThreadId};

use crate::calendar::owners::Owners;
use crate::config::Governor;
use crate::mechanism::{Mechanism, NONE, priority};
use crate::outcome::SensorLog;
use crate::trace::Listener;

/// Integrates a power.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    power: MicroWatts,
    since: Nanos,
    energy: FemtoJoules,
}

impl Meter {
    /// Starts at time 0 with a power.
    pub fn new(power: MicroWatts) -> Self {
        Self { power, ..Self::default() }
    }

    /// The power from now on.
    pub fn set(&mut self, now: Nanos, power: MicroWatts) {
        self.energy += FemtoJoules::integral(self.power, now - self.since);
        self.since = now;
        self.power = power;
    }

    /// The power at present.
    pub fn power(&self) -> MicroWatts {
        self.power
    }

    /// The energy up to the last change.
    pub fn energy(&self) -> FemtoJoules {
        self.energy
    }
}

/// What is measured of power in a run.
pub struct Energy {
    /// True if the machine has a model of it.
    pub is_modelled: bool,
    pub sensors: Option<SensorLog>,
}

impl Energy {
    /// Before the first reading.
    pub fn new(machine: &Machine) -> Self {
        let log = |interval| {
            let microwatts = vec![Vec::new(); machine.clusters.len()];
            SensorLog { interval, microwatts }
        };
        Self { is_modelled: machine.has_power_model(), sensors: machine.sensor_interval.map(log) }
    }
}

impl<L: Listener> Mechanism<'_, L> {
    pub fn read_sensors(&mut self) {
        let Some(sensors) = &mut self.energy.sensors else { return };
        let clusters = self.clusters.iter().zip(&self.machine.clusters);
        for ((state, cluster), readings) in clusters.zip(&mut sensors.microwatts) {
            let cores = cluster.cores.iter().map(|core| self.cores[core.index()].meter.power());
            let power: MicroWatts = cores.sum();
            readings.push((power + state.meter.power()).0);
        }
        self.calendar.set(Owners::SENSORS, self.now + sensors.interval, priority::SENSOR);
    }

    /// Power of an idle core; two siblings share that of their physical core.
    pub fn idle_power(&self, core: usize) -> MicroWatts {
        let kind = &self.machine.kinds[self.cores[core].kind.index()];
        let power = kind.idle_power.unwrap_or_default();
        if self.cores[core].sibling.is_some() { MicroWatts(power.0 / 2) } else { power }
    }

    /// Sets the power of a core to what it does now.
    #[inline(always)]
    pub fn repower(&mut self, core: usize) {
        if !self.energy.is_modelled {
            return;
        }
        let state = &self.cores[core];
        let power = if state.running == NONE {
            self.idle_power(core)
        } else {
            let opp = self.clusters[state.cluster].opp;
            let row = self.threads[state.running as usize].row;
            let busy = self.speeds.power(row, state.kind, opp);
            // Two busy siblings draw the power of one core together.
            let shared = state.sibling.is_some_and(|sibling| self.cores[sibling].busy);
            if shared { MicroWatts(busy.0 / 2) } else { busy }
        };
        let meter = &mut self.cores[core].meter;
        if meter.power() != power {
            meter.set(self.now, power);
            if L::HEARS {
                self.listener.power(self.now, CoreId(core as u32), power);
            }
        }
    }

    /// Sets the power of a cluster to what its clock and its cores ask for.
    fn repower_cluster(&mut self, cluster: usize) {
        let kind = self.machine.clusters[cluster].kind;
        let group = &mut self.clusters[cluster];
        let power = match group.busy {
            0 => MicroWatts::ZERO,
            _ => self.machine.kinds[kind.index()].opps[group.opp].cluster_power.unwrap_or_default(),
        };
        group.meter.set(self.now, power);
    }

    /// Notes that a core has become busy or idle, where that is so: for its cluster, its sibling,
    /// its load, and the set of idle cores.
    #[inline]
    pub fn settle_core(&mut self, core: usize) {
        let busy = self.cores[core].running != NONE;
        if busy == self.cores[core].busy {
            self.note_idle(core);
            return;
        }
        if self.tracked.utilisation {
            self.note_utilisation(core);
        }
        let state = &mut self.cores[core];
        state.busy = busy;
        if !busy && state.demand > 0.0 {
            state.demand = 0.0;
            self.bandwidth_changed = true;
        }
        let cluster = state.cluster;
        let sibling = state.sibling;
        let group = &mut self.clusters[cluster];
        let before = group.busy;
        group.busy = if busy { before + 1 } else { before - 1 };
        if self.energy.is_modelled && (before == 0 || group.busy == 0) {
            self.repower_cluster(cluster);
        }
        self.note_idle(core);
        if let Some(sibling) = sibling
            && self.cores[sibling].running != NONE
        {
            self.conclude(sibling);
            self.set_rate(sibling);
            self.repower(sibling);
            self.schedule(sibling);
        }
        self.note_governed(core);
    }

    /// A cluster's governor has something to look at, at the end of the instant: in its midst,
    /// cores are between two threads.
    #[inline]
    pub fn note_governed(&mut self, core: usize) {
        if self.config.governor == Governor::Schedutil {
            let group = &mut self.clusters[self.cores[core].cluster];
            self.governed |= !group.to_govern;
            group.to_govern = true;
        }
    }

    /// Keeps the set of idle cores.
    #[inline]
    pub fn note_idle(&mut self, core: usize) {
        let idle = self.cores[core].running == NONE
            && self.cores[core].used
            && self.core_stats[core].online;
        self.sets.set_idle(core, idle);
    }

    /// Sets the clock of a cluster.
    pub fn set_clock(&mut self, cluster: usize, opp: usize) {
        let cores: Vec<usize> =
            self.machine.clusters[cluster].cores.iter().map(|core| core.index()).collect();
        for &core in &cores {
            self.note_utilisation(core);
            if self.cores[core].running != NONE {
                self.conclude(core);
            }
        }
        let group = &mut self.clusters[cluster];
        group.opp = opp;
        group.changed_at = self.now;
        group.ever_changed = true;
        self.hear_clock(cluster);
        if self.energy.is_modelled {
            self.repower_cluster(cluster);
        }
        for &core in &cores {
            if self.cores[core].running != NONE {
                if self.interest.wants(Interest::CLOCK) {
                    self.note_load(ThreadId(self.cores[core].running));
                }
                self.set_rate(core);
                self.repower(core);
                self.schedule(core);
            }
        }
    }

    /// Tells the listener of the clocks and powers that a run starts with, since it hears of
    /// changes only.
    pub fn hear_start(&mut self) {
        if L::HEARS {
            (0..self.clusters.len()).for_each(|cluster| self.hear_clock(cluster));
            for core in (0..self.cores.len()).filter(|_| self.energy.is_modelled) {
                self.listener.power(self.now, CoreId(core as u32), self.cores[core].meter.power());
            }
        }
    }

    /// Tells the listener of a cluster's clock.
    fn hear_clock(&mut self, cluster: usize) {
        if L::HEARS {
            let kind = self.machine.clusters[cluster].kind;
            let khz = self.machine.kinds[kind.index()].opps[self.clusters[cluster].opp].khz;
            self.listener.frequency(self.now, ClusterId(cluster as u32), khz);
        }
    }
}
