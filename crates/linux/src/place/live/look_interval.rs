//! How often a session may look, so that looking stays within its budget.
//!
//! Between two looks there is never less than an interval: what a look costs, by the last while,
//! divided by the part of a core that looking may cost. So the cost stays bounded whatever the
//! machine does, at the price of later reactions. Where the whole session has cost more than that
//! all the same, the interval is stretched until it has not.
//!
//! A session may leave out what its thread is charged with while it sleeps
//! ([`LookInterval::sleep`]): on a virtual machine the kernel charges a thread that wakes on an
//! idle CPU with what the virtual CPU takes to come back from its halt (docs/simulate/record.md),
//! which may be a hundred times what a look costs, and is not saved by looking less often but by
//! not sleeping. What is reported as the session's cost is all of it.

use evenkeel_machine::Nanos;
use rustix::time::{ClockId, clock_gettime};

use super::Cost;

/// Least time between two looks while looking is cheap.
const MIN_INTERVAL: Nanos = Nanos::from_millis(1);
/// Most time between two looks because of their cost.
const MAX_INTERVAL: Nanos = Nanos::from_millis(512);
/// Over how long the cost is measured before the interval is changed.
const COST_WINDOW: Nanos = Nanos::from_millis(200);
/// Part of the budget that is aimed at.
const TARGET_SHARE: f64 = 0.6;
/// How much the last window counts for what a look costs.
const LAST_WINDOW_WEIGHT: f64 = 0.3;
/// By how much the interval is stretched while the session as a whole is beyond its budget.
const OVER_BUDGET_STRETCH: f64 = 2.0;

/// CPU time of this thread.
fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The least time between two looks of a session, from what looking has cost. Times are
/// `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub struct LookInterval {
    budget: f64,
    interval: Nanos,
    /// Wall time and CPU time at the beginning of the window.
    window: (Nanos, Nanos),
    began: (Nanos, Nanos),
    /// CPU time that was charged for sleeping.
    slept: Nanos,
    looks: u64,
    /// Looks before the window.
    looks_before: u64,
    /// CPU time of a look, ns; none has been measured yet: 0.
    look: f64,
    slowest: Nanos,
}

impl LookInterval {
    /// A session begins that may cost this part of one core.
    pub fn new(budget: f64, at: Nanos) -> Self {
        let cpu = cpu_time();
        Self {
            budget,
            interval: MIN_INTERVAL,
            window: (at, cpu),
            began: (at, cpu),
            slept: Nanos::ZERO,
            looks: 0,
            looks_before: 0,
            look: 0.0,
            slowest: MIN_INTERVAL,
        }
    }

    /// Least time from one look to the next.
    pub const fn least(&self) -> Nanos {
        self.interval
    }

    /// Does what is not looking, and is not to count as such.
    pub fn leave_out<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = cpu_time();
        let done = work();
        let spent = cpu_time().saturating_sub(before);
        self.window.1 = self.window.1.saturating_add(spent);
        self.began.1 = self.began.1.saturating_add(spent);
        done
    }

    /// Sleeps.
    pub fn sleep<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        let before = cpu_time();
        let woken = wait();
        let charged = cpu_time().saturating_sub(before);
        self.window.1 = self.window.1.saturating_add(charged);
        self.slept = self.slept.saturating_add(charged);
        woken
    }

    /// There was a look.
    pub fn looked(&mut self, at: Nanos) {
        self.looks += 1;
        let (since, before) = self.window;
        let wall = at.saturating_sub(since);
        if wall < COST_WINDOW {
            return;
        }
        let cpu = cpu_time();
        let looks = (self.looks - self.looks_before) as f64;
        let look = cpu.saturating_sub(before).0 as f64 / looks;
        self.look = if self.look > 0.0 {
            self.look + LAST_WINDOW_WEIGHT * (look - self.look)
        } else {
            look
        };
        self.looks_before = self.looks;
        let spent = cpu.saturating_sub(self.began.1).saturating_sub(self.slept);
        let ever = at.saturating_sub(self.began.0).0 as f64;
        let stretch = if spent.0 as f64 > self.budget * ever { OVER_BUDGET_STRETCH } else { 1.0 };
        let interval = self.look / (TARGET_SHARE * self.budget) * stretch;
        self.interval = Nanos(interval.clamp(MIN_INTERVAL.0 as f64, MAX_INTERVAL.0 as f64) as u64);
        self.slowest = self.slowest.max(self.interval);
        self.window = (at, cpu);
    }

    /// Looks cost something else from now on.
    pub fn begin_anew(&mut self, at: Nanos) {
        (self.interval, self.look) = (MIN_INTERVAL, 0.0);
        (self.window, self.looks_before) = ((at, cpu_time()), self.looks);
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
