//! A thread that takes a CPU away for a share of every period.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use evenkeel_machine::Nanos;

use super::LabError;
use crate::lab::realtime::{StartError, now, sleep_until, start};
use crate::observe::watch::Cpu;

/// What it has not taken in its turn, having been woken late, it takes later: up to this many
/// turns' worth.
const MOST_OWED_TURNS: i64 = 4;

/// Longest time from the end of a timer to the thread that waits for it that is taken to be the
/// cost of switching: in a virtual machine whose host has guests of its own it may be some tens of
/// microseconds.
const LONGEST_SWITCH: Nanos = Nanos::from_micros(100);

/// A thief, stopped and gone when dropped.
pub struct Thief {
    cpu: Cpu,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Between the thief and its owner. Each field is independent of the others: no order is needed
/// among them.
struct Shared {
    /// From one turn to the next, nanoseconds.
    period: AtomicU64,
    /// Nanoseconds to take of every period; 0: sleep until told otherwise.
    busy: AtomicU64,
    /// Turns taken so far.
    turns: AtomicU64,
    end: AtomicBool,
}

impl Thief {
    /// A thief on `cpu` that takes nothing yet.
    ///
    /// # Errors
    /// The thread cannot be made, tied to the CPU, or be made real-time.
    pub fn start(cpu: Cpu, period: Nanos, priority: i32) -> Result<Self, LabError> {
        let shared = Arc::new(Shared {
            period: AtomicU64::new(period.0),
            busy: AtomicU64::new(0),
            turns: AtomicU64::new(0),
            end: AtomicBool::new(false),
        });
        let its = Arc::clone(&shared);
        let thread = start(format!("lab-thief-{}", cpu.0), cpu, priority, move || steal(&its));
        let thread = thread.map_err(|error| match error {
            StartError::Thread(error) => LabError::Thread(error),
            StartError::Fifo(error) => LabError::real_time(error),
            StartError::Pin(error) => LabError::Pin { cpu, error },
        })?;
        Ok(Self { cpu, shared, thread: Some(thread) })
    }

    /// Where it is.
    pub fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// From one turn to the next.
    pub fn period(&self) -> Nanos {
        Nanos(self.shared.period.load(Ordering::Relaxed))
    }

    /// Has turns begin so far apart, when it takes something again.
    pub fn set_period(&self, period: Nanos) {
        self.take(0.0);
        self.shared.period.store(period.0, Ordering::Relaxed);
    }

    /// From now on it takes this share of its CPU: 0, or enough to be a nanosecond of the period,
    /// and less than 1.
    pub fn take(&self, share: f64) {
        let busy = (share.clamp(0.0, 1.0) * self.period().0 as f64).round() as u64;
        self.shared.busy.store(busy, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// How many turns it has taken. On its own CPU a change means that it has just given the CPU
    /// back.
    pub fn turns(&self) -> u64 {
        self.shared.turns.load(Ordering::Relaxed)
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::Relaxed);
        self.take(0.0);
        if let Some(thread) = self.thread.take() {
            // Whether it ended well or in a panic, it is gone.
            let _ = thread.join();
        }
    }
}

/// The thief's life. Its turns begin at multiples of the period and not a period after the last
/// one, so that they are not late by a little more each time; what a late start has kept from it,
/// it takes in the turns that follow.
fn steal(shared: &Shared) {
    let mut next = now();
    let mut owed = 0_i64;
    while !shared.end.load(Ordering::Relaxed) {
        let busy = shared.busy.load(Ordering::Relaxed);
        if busy == 0 {
            thread::park();
            (next, owed) = (now(), 0);
            continue;
        }
        let period = Nanos(shared.period.load(Ordering::Relaxed));
        next += period;
        sleep_until(next);
        let woken = now();
        if woken > next + period {
            // The process was stopped, or the host did not run us: time that no thread had is not
            // owed.
            next = woken;
        }
        // A new period and what to take of it are two fields: for one turn they may not belong
        // together.
        let busy = busy.min(period.0);
        // What lies between the timer's end and here, the interrupt and the switch, is lost to
        // others already: it counts as taken. Only a long wait is another thread's, which was
        // running where no switch is possible.
        let since = if woken.saturating_sub(next) < LONGEST_SWITCH { next } else { woken };
        let due = busy as i64 + owed;
        // However much is owed, half of what a turn leaves to others stays theirs.
        let latest = next + period - Nanos(period.saturating_sub(Nanos(busy)).0 / 2);
        let until = Nanos(since.0.saturating_add_signed(due)).min(latest);
        let mut time = woken;
        while time < until {
            std::hint::spin_loop();
            time = now();
        }
        let most = MOST_OWED_TURNS * busy as i64;
        owed = (due - time.saturating_sub(since).0 as i64).clamp(-most, most);
        shared.turns.fetch_add(1, Ordering::Relaxed);
    }
}
