//! What loops take: with what is the program's own, and with what is ours.

use crate::phase::Phase;

/// Time of loops in a window, in nanoseconds: several periods of a scheduler. Ours.
pub const WINDOW_NS: u64 = 5_000_000;
/// Instances after which a window of short loops ends. Ours.
pub const WINDOW_INSTANCES: u32 = 64;
/// What is changed is kept where it saves this part of the time. Ours.
pub const KEPT: f64 = 0.01;
/// Windows in a row without a gain, after which a loop gets back what was its own. Ours.
const STRIKES: u32 = 2;

/// What one thread did in an instance of the region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub ns: u64,
    pub iterations: u64,
    pub executions: u64,
}

/// Sums over executions of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub executions: u64,
    pub makespan_ns: u64,
    pub waiting_ns: u64,
}

impl Cost {
    const NONE: Self = Self { executions: 0, makespan_ns: 0, waiting_ns: 0 };

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
    pub fn each_ns(&self) -> f64 {
        self.makespan_ns as f64 / self.executions.max(1) as f64
    }
}

/// What a loop took, in all and in the present window.
#[derive(Debug)]
pub struct Costs {
    /// With what is the program's own, and with what is ours.
    pub stock: Cost,
    pub ours: Cost,
    /// What equal shares would have taken in whole windows with ours, by the speeds of each window;
    /// and what ours took there. The work of a loop may change, so that `stock` is not comparable.
    pub equal_ns: f64,
    pub instead_ns: f64,
    /// Windows with what is ours.
    pub windows: u32,
    least: u64,
    window: Cost,
    instances: u32,
    strikes: u32,
}

impl Costs {
    /// `least`: executions in the first window.
    pub const fn new(least: u64) -> Self {
        Self {
            least,
            stock: Cost::NONE,
            ours: Cost::NONE,
            equal_ns: 0.0,
            instead_ns: 0.0,
            windows: 0,
            window: Cost::NONE,
            instances: 0,
            strikes: 0,
        }
    }

    /// Takes in an instance; says whether it had the loop, and ends a window. The first window has
    /// some executions, however long they are.
    pub fn add(&mut self, samples: &[Sample], phase: Phase) -> bool {
        let cost = Cost::of(samples);
        if cost.executions == 0 {
            return false;
        }
        if phase.is_ours() { &mut self.ours } else { &mut self.stock }.add(cost);
        self.window.add(cost);
        self.instances += 1;
        let is_full = self.window.makespan_ns >= WINDOW_NS || self.instances >= WINDOW_INSTANCES;
        is_full && (phase != Phase::Watched || self.window.executions >= self.least)
    }

    /// Mean of an execution in this window.
    pub fn each_ns(&self) -> f64 {
        self.window.each_ns()
    }

    /// Counts what equal shares would have taken in this window: `each_ns` an execution.
    pub fn add_equal(&mut self, each_ns: f64) {
        self.equal_ns += each_ns * self.window.executions as f64;
        self.instead_ns += self.window.makespan_ns as f64;
    }

    /// Ends a window.
    pub fn next_window(&mut self) {
        self.window = Cost::NONE;
        self.instances = 0;
    }

    /// Counts a window; true where `is_poor` has been true for some in a row.
    pub fn counts_poor(&mut self, is_poor: bool) -> bool {
        self.windows = self.windows.saturating_add(1);
        self.strikes = if is_poor { self.strikes + 1 } else { 0 };
        let is_enough = self.strikes >= STRIKES;
        if is_enough {
            self.strikes = 0;
        }
        is_enough
    }

    /// Counts a window with what is ours. True where it has not paid for some windows.
    pub fn is_lost(&mut self) -> bool {
        self.windows = self.windows.saturating_add(1);
        let pays = self.each_ns() <= (1.0 - KEPT) * self.stock.each_ns();
        self.strikes = if pays { 0 } else { self.strikes + 1 };
        self.strikes >= STRIKES
    }
}
