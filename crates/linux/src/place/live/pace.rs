//! How often a session may look, so that looking stays within its budget.
//!
//! Between two looks there is never less than a pace: what a look costs, by the last while, divided
//! by the part of a core that looking may cost. So the cost stays bounded whatever the machine
//! does, at the price of later reactions. Where the whole session has cost more than that all the
//! same, the pace is stretched until it has not.
//!
//! A session may leave out what its thread is charged with while it sleeps ([`Pace::sleep`]): on a
//! virtual machine the kernel charges a thread that wakes on an idle CPU with what the virtual CPU
//! takes to come back from its halt (docs/simulate/record.md), which may be a hundred times what a
//! look costs, and is not saved by looking less often but by not sleeping. What is reported as the
//! session's cost is all of it.

use evenkeel_machine::Nanos;
use rustix::time::{ClockId, clock_gettime};

use super::Cost;

/// Least time between two looks while looking is cheap.
const PACE: Nanos = Nanos::from_millis(1);
/// Most time between two looks because of their cost.
const SLOWEST: Nanos = Nanos::from_millis(512);
/// Over how long the cost is measured before the pace is changed.
const WINDOW: Nanos = Nanos::from_millis(200);
/// Part of the budget that is aimed at.
const AIM: f64 = 0.6;
/// How much the last window counts for what a look costs.
const NEWEST: f64 = 0.3;
/// By how much the pace is stretched while the session as a whole is beyond its budget.
const STRETCH: f64 = 2.0;

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
    /// CPU time that was charged for sleeping.
    slept: Nanos,
    looks: u64,
    /// Looks before the window.
    looks_before: u64,
    /// CPU time of a look, ns; none has been measured yet: 0.
    look: f64,
    slowest: Nanos,
}

impl Pace {
    /// A session begins that may cost this part of one core.
    pub fn new(budget: f64, at: Nanos) -> Self {
        let cpu = cpu_time();
        Self {
            budget,
            pace: PACE,
            window: (at, cpu),
            began: (at, cpu),
            slept: Nanos::ZERO,
            looks: 0,
            looks_before: 0,
            look: 0.0,
            slowest: PACE,
        }
    }

    /// Least time from one look to the next.
    pub const fn least(&self) -> Nanos {
        self.pace
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
        if wall < WINDOW {
            return;
        }
        let cpu = cpu_time();
        let looks = (self.looks - self.looks_before) as f64;
        let look = cpu.saturating_sub(before).0 as f64 / looks;
        self.look = if self.look > 0.0 { self.look + NEWEST * (look - self.look) } else { look };
        self.looks_before = self.looks;
        let spent = cpu.saturating_sub(self.began.1).saturating_sub(self.slept);
        let ever = at.saturating_sub(self.began.0).0 as f64;
        let stretch = if spent.0 as f64 > self.budget * ever { STRETCH } else { 1.0 };
        let pace = self.look / (AIM * self.budget) * stretch;
        self.pace = Nanos(pace.clamp(PACE.0 as f64, SLOWEST.0 as f64) as u64);
        self.slowest = self.slowest.max(self.pace);
        self.window = (at, cpu);
    }

    /// Looks cost something else from now on.
    pub fn begin_anew(&mut self, at: Nanos) {
        (self.pace, self.look) = (PACE, 0.0);
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
