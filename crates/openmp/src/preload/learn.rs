//! What is learned of the loops of one region that have one trip count.
//!
//! A loop begins *watched*: the runtime's own shares, and each thread's time from init to fini.
//! After a window it is known how fast each kind of core is in this loop, and what shares by speed
//! would take. If that is worth it, they are *applied*, measured, adjusted, and *frozen*. A loop
//! that does not come out faster than it was gets its own shares back, and keeps them.
//!
//! Speeds are those of a kind, over all of its threads, so that a thread that was interrupted once
//! counts for little. Nothing here knows OpenMP; a mechanism calls [`Loop::observe`] after each
//! instance of the region, when no thread is in it.

use crate::layout::MAX_KINDS;
use crate::phase::Phase;
use crate::shares::{divide, equal, makespan};

/// Time of loops in a window, in nanoseconds: several periods of a scheduler. Ours.
pub const WINDOW_NS: u64 = 5_000_000;
/// Instances after which a window of short loops ends. Ours.
pub const WINDOW_INSTANCES: u32 = 64;
/// Loops shorter than this are left alone: to measure one costs a hundredth of it. Ours.
pub const SHORTEST_NS: u64 = 15_000;
/// Shares by speed are tried where they promise this part of the time, and kept where they save
/// [`KEPT`]. Ours.
pub const PROMISED: f64 = 0.03;
pub const KEPT: f64 = 0.01;
/// Windows in a row without a gain, after which a loop gets its own shares back. Ours.
const STRIKES: u32 = 2;
/// Shares that move less than this are frozen, in parts of the loop; and after so many windows.
const STEADY: f64 = 0.01;
const MOST_WINDOWS: u32 = 6;

/// What one thread did in an instance of the region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub ns: u64,
    pub iterations: u64,
    pub executions: u64,
}

/// Sums over executions of a loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub executions: u64,
    pub makespan_ns: u64,
    pub waiting_ns: u64,
}

impl Cost {
    fn of(samples: &[Sample]) -> Self {
        let longest = samples.iter().map(|sample| sample.ns).max().unwrap_or(0);
        let worked: u64 = samples.iter().map(|sample| sample.ns).sum();
        Self {
            executions: samples.iter().map(|sample| sample.executions).max().unwrap_or(0),
            makespan_ns: longest,
            waiting_ns: longest * samples.len() as u64 - worked,
        }
    }

    fn add(&mut self, other: Self) {
        self.executions += other.executions;
        self.makespan_ns += other.makespan_ns;
        self.waiting_ns += other.waiting_ns;
    }

    /// Mean of an execution.
    fn each_ns(&self) -> f64 {
        self.makespan_ns as f64 / self.executions.max(1) as f64
    }
}

#[derive(Debug)]
pub struct Loop {
    pub phase: Phase,
    pub trip: u64,
    /// With the runtime's own shares, and with ours.
    pub stock: Cost,
    pub ours: Cost,
    /// Windows in which shares by speed were measured.
    pub windows: u32,
    window: Cost,
    instances: u32,
    by_kind: [(u64, u64); MAX_KINDS],
    strikes: u32,
}

impl Loop {
    pub const fn new(trip: u64) -> Self {
        let none = Cost { executions: 0, makespan_ns: 0, waiting_ns: 0 };
        Self {
            phase: Phase::Watched,
            trip,
            stock: none,
            ours: none,
            windows: 0,
            window: none,
            instances: 0,
            by_kind: [(0, 0); MAX_KINDS],
            strikes: 0,
        }
    }

    /// Takes in an instance of the region: what each thread did, on which kind of core. Says
    /// whether `counts`, the iterations of each thread, are new; they hold from the next instance
    /// on.
    pub fn observe(&mut self, samples: &[Sample], kinds: &[u8], counts: &mut [u64]) -> bool {
        let cost = Cost::of(samples);
        if cost.executions == 0 || !self.phase.is_measured() {
            return false;
        }
        let total = if self.phase.is_ours() { &mut self.ours } else { &mut self.stock };
        total.add(cost);
        self.window.add(cost);
        self.instances += 1;
        for (sample, &kind) in samples.iter().zip(kinds) {
            let (ns, iterations) = &mut self.by_kind[usize::from(kind)];
            *ns += sample.ns;
            *iterations += sample.iterations;
        }
        // The first window is the base of all that follows: it has two instances, if not more.
        let is_full = self.window.makespan_ns >= WINDOW_NS || self.instances >= WINDOW_INSTANCES;
        if !is_full || (self.phase == Phase::Watched && self.instances < 2) {
            return false;
        }
        let changed = self.judge(kinds, counts);
        self.window = Cost::default();
        self.instances = 0;
        self.by_kind = [(0, 0); MAX_KINDS];
        changed
    }

    fn judge(&mut self, kinds: &[u8], counts: &mut [u64]) -> bool {
        let each_ns = self.window.each_ns();
        match self.phase {
            Phase::Watched => self.after_watching(each_ns, kinds, counts),
            Phase::Applied | Phase::Frozen => {
                self.windows = self.windows.saturating_add(1);
                if each_ns > (1.0 - KEPT) * self.stock.each_ns() {
                    self.strikes += 1;
                    if self.strikes >= STRIKES {
                        self.phase = Phase::Withdrawn;
                        return false;
                    }
                } else {
                    self.strikes = 0;
                }
                self.phase == Phase::Applied && self.adjust(kinds, counts)
            }
            Phase::Short
            | Phase::Balanced
            | Phase::Withdrawn
            | Phase::Few
            | Phase::Unplaced
            | Phase::Given => false,
        }
    }

    fn after_watching(&mut self, each_ns: f64, kinds: &[u8], counts: &mut [u64]) -> bool {
        let threads = kinds.len() as u64;
        if each_ns < SHORTEST_NS as f64 {
            self.phase = Phase::Short;
            return false;
        }
        if self.trip < 2 * threads {
            self.phase = Phase::Few;
            return false;
        }
        let Some(speeds) = self.speeds() else {
            self.phase = Phase::Balanced;
            return false;
        };
        let of_threads = |kind: &u8| speeds[usize::from(*kind)];
        let speeds: Vec<f64> = kinds.iter().map(of_threads).collect();
        for (thread, count) in counts.iter_mut().enumerate() {
            *count = equal(self.trip, threads, thread as u64);
        }
        let same = makespan(&speeds, counts);
        divide(self.trip, &speeds, counts);
        if makespan(&speeds, counts) > (1.0 - PROMISED) * same {
            self.phase = Phase::Balanced;
            return false;
        }
        self.phase = Phase::Applied;
        true
    }

    /// Shares by the speeds of this window, where they differ from those that hold.
    fn adjust(&mut self, kinds: &[u8], counts: &mut [u64]) -> bool {
        let Some(speeds) = self.speeds() else { return false };
        let speeds: Vec<f64> = kinds.iter().map(|&kind| speeds[usize::from(kind)]).collect();
        let mut new = vec![0; counts.len()];
        divide(self.trip, &speeds, &mut new);
        let moved: u64 = new.iter().zip(&*counts).map(|(new, old)| new.abs_diff(*old)).sum();
        let is_steady = moved as f64 <= 2.0 * STEADY * self.trip as f64;
        if is_steady || self.windows >= MOST_WINDOWS {
            self.phase = Phase::Frozen;
        }
        if is_steady {
            return false;
        }
        counts.copy_from_slice(&new);
        true
    }

    /// Iterations in a nanosecond, by kind; none where a kind has done nothing.
    fn speeds(&self) -> Option<[f64; MAX_KINDS]> {
        let mut speeds = [0.0; MAX_KINDS];
        for (speed, &(ns, iterations)) in speeds.iter_mut().zip(&self.by_kind) {
            if iterations > 0 {
                *speed = iterations as f64 / ns.max(1) as f64;
            } else if ns > 0 {
                return None;
            }
        }
        Some(speeds)
    }
}
