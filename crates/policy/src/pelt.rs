//! Per-entity load tracking: the average of a signal with a half-life of 32 periods of 1024 us.
//!
//! Linux adds up periods. Between changes of the signal that sum is an exponential, so here it is
//! computed as one: exact at any instant, with nothing to do in between. Not modelled: the kernel
//! rounds to whole periods and updates only at ticks and switches.

use evenkeel_machine::{FULL_CAPACITY, Nanos};

/// Half-life: 32 periods of 1024 us (kernel/sched/pelt.c, `LOAD_AVG_PERIOD`).
pub const HALF_LIFE: Nanos = Nanos(32 * 1_024_000);

/// An average that follows a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pelt {
    average: f64,
    since: Nanos,
}

impl Pelt {
    /// Starts at a value.
    pub const fn new(average: f64, since: Nanos) -> Self {
        Self { average, since }
    }

    /// The average now, if the signal has been `signal` since the last update.
    pub fn at(&self, now: Nanos, signal: f64) -> f64 {
        let elapsed = now.saturating_sub(self.since);
        signal + (self.average - signal) * (-(elapsed.0 as f64) / HALF_LIFE.0 as f64).exp2()
    }

    /// Updates the average: the signal was `signal` until now.
    pub fn update(&mut self, now: Nanos, signal: f64) {
        self.average = self.at(now, signal);
        self.since = now;
    }

    /// Time from the last update until the average exceeds `level` if the signal stays; none if it
    /// never does.
    pub fn until_above(&self, level: f64, signal: f64) -> Option<Nanos> {
        if self.average > level {
            return Some(Nanos::ZERO);
        }
        if signal <= level {
            return None;
        }
        let half_lives = ((signal - self.average) / (signal - level)).log2();
        Some(Nanos((half_lives * HALF_LIFE.0 as f64).ceil() as u64 + 1))
    }
}

/// How busy a core is, as policies see it: [`crate::contract::CoreStats::utilisation`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Utilisation(Pelt);

impl Utilisation {
    fn signal(is_busy: bool) -> f64 {
        if is_busy { f64::from(FULL_CAPACITY) } else { 0.0 }
    }

    /// Brings it up to now: the core has been busy, or not, since the last time.
    pub fn note(&mut self, is_busy: bool, now: Nanos) {
        self.0.update(now, Self::signal(is_busy));
    }

    /// Utilisation now, 0 to 1024, if the core has been busy, or not, since the last time.
    pub fn shown(&self, is_busy: bool, now: Nanos) -> u32 {
        self.0.at(now, Self::signal(is_busy)) as u32
    }
}

/// The load of a thread: an average, and the signal that it follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    average: Pelt,
    signal: f64,
}

impl Load {
    /// Load of a thread that starts: zero.
    pub const fn new(since: Nanos) -> Self {
        Self { average: Pelt::new(0.0, since), signal: 0.0 }
    }

    /// Changes the signal from now on.
    pub fn follow(&mut self, signal: f64, now: Nanos) {
        self.average.update(now, self.signal);
        self.signal = signal;
    }

    /// The present signal.
    pub const fn signal(&self) -> f64 {
        self.signal
    }

    /// The load as policies see it in every mechanism: [`crate::contract::ThreadStats::load`].
    pub fn shown(&self, now: Nanos) -> u16 {
        self.average.at(now, self.signal).round() as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_full_load_is_reached_after_one_half_life() {
        let pelt = Pelt::default();
        assert!((pelt.at(HALF_LIFE, 1024.0) - 512.0).abs() < 1e-9);
    }

    #[test]
    fn a_level_is_crossed_when_foretold() {
        let pelt = Pelt::new(100.0, Nanos::ZERO);
        let when = pelt.until_above(700.0, 1024.0).unwrap();
        assert!(pelt.at(when, 1024.0) > 700.0);
        assert!(pelt.at(Nanos(when.0 - 1000), 1024.0) < 700.0);
        assert_eq!(pelt.until_above(1024.0, 1024.0), None);
    }
}
