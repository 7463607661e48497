//! How often a session may look, so that looking stays within its budget.
//!
//! Between two looks there is never less than a pace. What looking costs is measured, over the last while and over the whole session;
//! where either comes near the budget the pace is stretched, so that the cost stays bounded whatever the machine does, at the price of
//! later reactions.

use evenkeel_machine::Nanos;
use rustix::time::{ClockId, clock_gettime};

use super::Cost;

/// Least time between two looks while looking is cheap.
const PACE: Nanos = Nanos::from_millis(1);
/// Most time between two looks because of their cost.
const SLOWEST: Nanos = Nanos::from_millis(256);
/// Over how long the cost is measured before the pace is changed.
const WINDOW: Nanos = Nanos::from_millis(200);
/// Parts of the budget above which the pace is stretched, and below which it is let go again.
const HIGH: f64 = 0.75;
const LOW: f64 = 0.4;
const STRETCH: f64 = 1.5;

/// CPU time of this thread.
fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// See the file's head. Times are `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub struct Pace {
    budget: f64,
    pace: Nanos,
    /// Wall time and CPU time at the beginning of the window.
    window: (Nanos, Nanos),
    began: (Nanos, Nanos),
    looks: u64,
    slowest: Nanos,
}

impl Pace {
    /// A session begins that may cost this part of one core.
    pub fn new(budget: f64, at: Nanos) -> Self {
        let cpu = cpu_time();
        Self { budget, pace: PACE, window: (at, cpu), began: (at, cpu), looks: 0, slowest: PACE }
    }

    /// Least time from one look to the next.
    pub const fn least(&self) -> Nanos {
        self.pace
    }

    /// There was a look.
    pub fn looked(&mut self, at: Nanos) {
        self.looks += 1;
        let (since, before) = self.window;
        let wall = at.saturating_sub(since);
        if wall < WINDOW {
            return;
        }
        let cpu = cpu_time();
        let share = |cpu: Nanos, wall: Nanos| cpu.0 as f64 / wall.0.max(1) as f64;
        let ever = share(cpu.saturating_sub(self.began.1), at.saturating_sub(self.began.0));
        let cost = share(cpu.saturating_sub(before), wall).max(ever);
        let stretched = |factor: f64| Nanos((self.pace.0 as f64 * factor) as u64);
        if cost > HIGH * self.budget {
            self.pace = stretched(STRETCH).min(SLOWEST);
        } else if cost < LOW * self.budget {
            self.pace = stretched(1.0 / STRETCH).max(PACE);
        }
        self.slowest = self.slowest.max(self.pace);
        self.window = (at, cpu);
    }

    /// What it has cost so far.
    pub fn cost(&self, at: Nanos) -> Cost {
        Cost {
            cpu: cpu_time().saturating_sub(self.began.1),
            wall: at.saturating_sub(self.began.0),
            looks: self.looks,
            slowest_pace: self.slowest,
        }
    }
}
