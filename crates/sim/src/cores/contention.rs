//! Rates: how fast the thread on a core comes on, with clock, sibling and bandwidth.

use evenkeel_machine::PerKind;

use crate::cores::speed::share;
use crate::mechanism::{Mechanism, NONE};
use crate::trace::Listener;

/// Buffers of [`Mechanism::share_bandwidth`].
#[derive(Debug, Default)]
pub struct Scratch {
    cores: Vec<u32>,
    demands: Vec<f64>,
    order: Vec<u32>,
    granted: Vec<f64>,
}

impl<L: Listener> Mechanism<'_, L> {
    /// Sets the rate of a core's thread; the caller has concluded the core, and schedules
    /// it after.
    #[inline(always)]
    pub fn set_rate(&mut self, core: usize) {
        let state = &self.cores[core];
        let thread = &self.threads[state.running as usize];
        let mut speed = self.speeds.speed(thread.row, state.kind, self.clusters[state.cluster].opp);
        if state.sibling.is_some_and(|sibling| self.cores[sibling].busy) {
            speed *= self.machine.smt_speed;
        }
        let demand = if thread.wall || !self.speeds.memory {
            0.0
        } else {
            speed * self.speeds.character(thread.row).bytes
        };
        let state = &mut self.cores[core];
        state.speed = speed;
        if self.speeds.memory && demand != state.demand {
            state.demand = demand;
            self.bandwidth_changed = true;
        }
        if demand == 0.0 {
            state.granted = 1.0;
        }
        state.rate = speed * state.granted;
        self.note_stall(core);
        if let crate::Estimator::Sampled = self.config.estimator {
            self.sample(core);
        }
    }

    /// Shares the bandwidth of each cluster, then of the machine, among the cores that want it, and
    /// sets their rates.
    pub fn share_bandwidth(&mut self) {
        const BYTES_PER_SECOND_TO_NS: f64 = 1e-9;
        self.bandwidth_changed = false;
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch { cores, demands, order, granted } = &mut scratch;
        for state in &mut self.cores {
            state.wish = if state.running == NONE { 0.0 } else { state.demand };
        }
        for cluster in &self.machine.clusters {
            let Some(bandwidth) = cluster.bandwidth else { continue };
            cores.clear();
            cores.extend(
                cluster
                    .cores
                    .iter()
                    .filter(|core| self.cores[core.index()].wish > 0.0)
                    .map(|core| core.0),
            );
            demands.clear();
            demands.extend(cores.iter().map(|&core| self.cores[core as usize].wish));
            share(bandwidth as f64 * BYTES_PER_SECOND_TO_NS, demands, order, granted);
            for (&core, &granted) in cores.iter().zip(granted.iter()) {
                self.cores[core as usize].wish = granted;
            }
        }
        if let Some(bandwidth) = self.machine.bandwidth {
            cores.clear();
            cores.extend(
                (0..self.cores.len() as u32).filter(|&core| self.cores[core as usize].wish > 0.0),
            );
            demands.clear();
            demands.extend(cores.iter().map(|&core| self.cores[core as usize].wish));
            share(bandwidth as f64 * BYTES_PER_SECOND_TO_NS, demands, order, granted);
            for (&core, &granted) in cores.iter().zip(granted.iter()) {
                self.cores[core as usize].wish = granted;
            }
        }
        self.scratch = scratch;
        for core in 0..self.cores.len() {
            let state = &self.cores[core];
            if state.running == NONE || state.demand == 0.0 {
                continue;
            }
            let share = state.wish / state.demand;
            if share != state.granted {
                self.conclude(core);
                let state = &mut self.cores[core];
                state.granted = share;
                state.rate = state.speed * share;
                self.note_stall(core);
                self.schedule(core);
                if let crate::Estimator::Sampled = self.config.estimator {
                    self.sample(core);
                }
            }
        }
    }

    /// How much of its time a core's thread waits for memory from now on.
    #[inline(always)]
    fn note_stall(&mut self, core: usize) {
        if self.tracked.stalls {
            let state = &mut self.cores[core];
            let row = self.threads[state.running as usize].row;
            state.stall = self.speeds.character(row).stall(state.demand, state.granted);
        }
    }

    /// The sampling estimator sees the speed of a core's thread on the core's kind.
    fn sample(&mut self, core: usize) {
        let state = &self.cores[core];
        let index = state.running as usize;
        let thread = &mut self.threads[index];
        if thread.wall {
            return;
        }
        let seen = &mut thread.rare_mut().seen;
        seen[state.kind] = state.rate as f32;
        let seen = *seen;
        // A kind that it has not been seen on is taken to be as much faster or slower as its
        // capacity says.
        let here = state.rate as f32 / self.machine.kinds[state.kind.index()].capacity as f32;
        let mut speeds = PerKind::all(1.0);
        for (rank, kind) in self.machine.kinds.iter().enumerate() {
            let seen = seen.0[rank];
            speeds.0[rank] = if seen > 0.0 { seen } else { here * kind.capacity as f32 };
        }
        let slowest = speeds[self.machine.slowest()];
        self.stats[index].speedup = PerKind(speeds.0.map(|speed| speed / slowest));
    }
}
