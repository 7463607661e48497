//! Thresholds for fast cores: both rise while too many threads qualify, and sink again while a fast
//! core idles.

use crate::contract::{Knobs, ThreadId};

/// Number of epochs for which the calibrating thread is watched (SAC 2016).
const WATCHED: u64 = 16;

/// Factor on the least share of the calibrating thread: `P_H` of similar threads exceeds the
/// product after five epochs (1 - 2^-5 > 15/16), whatever it was.
const MARGIN: f64 = 15.0 / 16.0;

/// A thread that never pauses comes near 1 and must qualify.
const GREATEST: f64 = 0.99;

/// The two thresholds, as shares of run time, 0 to 1.
#[derive(Clone, Debug)]
pub struct Thresholds {
    up: f64,
    down: f64,
    /// Their values at the start, or after calibration.
    start: (f64, f64),
    step: f64,
    watched: Option<Watched>,
}

/// The thread that calibrates.
#[derive(Clone, Copy, Debug)]
struct Watched {
    thread: ThreadId,
    epochs: u64,
    least: f64,
}

impl Thresholds {
    /// From the values of the knobs.
    pub fn of(knobs: &Knobs) -> Self {
        let (up, down) = (knobs.number("up") / 100.0, knobs.number("down") / 100.0);
        let calibrate = knobs.number("calibrate");
        let watched = (calibrate >= 0.0).then_some(Watched {
            thread: ThreadId(calibrate as u32),
            epochs: 0,
            least: 1.0,
        });
        Self { up, down, start: (up, down), step: knobs.number("step") / 100.0, watched }
    }

    /// Above it a thread qualifies.
    pub const fn up(&self) -> f64 {
        self.up
    }

    /// Below it a thread is disqualified.
    pub const fn down(&self) -> f64 {
        self.down
    }

    /// Raises `up`, because too many threads have qualified.
    pub fn raise_up(&mut self) {
        self.up = (self.up + self.step).min(GREATEST);
    }

    /// Raises `down`, because too many threads stay qualified.
    pub fn raise_down(&mut self) {
        self.down = (self.down + self.step).min(self.up);
    }

    /// Lowers both towards their start, because there is room for more threads.
    pub fn sink(&mut self) {
        self.up = (self.up - self.step).max(self.start.0);
        self.down = (self.down - self.step).max(self.start.1);
    }

    /// A thread has completed so many epochs, of which it ran this share.
    pub fn watch(&mut self, thread: ThreadId, epochs: u64, share: f64) {
        let Some(watched) = self.watched.as_mut().filter(|watched| watched.thread == thread) else {
            return;
        };
        watched.epochs += epochs;
        watched.least = watched.least.min(share);
        if watched.epochs < WATCHED {
            return;
        }
        let up = (watched.least * MARGIN).min(GREATEST);
        let ratio = if self.start.0 > 0.0 { self.start.1 / self.start.0 } else { 0.0 };
        self.start = (up, up * ratio);
        (self.up, self.down) = self.start;
        self.watched = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::knobs;

    fn thresholds(set: &[(&str, &str)]) -> Thresholds {
        let set: Vec<_> =
            set.iter().map(|&(name, value)| (name.to_string(), value.to_string())).collect();
        Thresholds::of(&knobs("mclas", &set).unwrap())
    }

    #[test]
    fn thresholds_rise_by_steps_to_a_bound_and_sink_to_where_they_started_and_no_further() {
        let mut thresholds = thresholds(&[("up", "90"), ("down", "40"), ("step", "5")]);
        (0..3).for_each(|_| thresholds.raise_up());
        thresholds.raise_down();
        assert_eq!((thresholds.up(), (thresholds.down() * 100.0).round()), (GREATEST, 45.0));
        (0..40).for_each(|_| thresholds.raise_down());
        assert_eq!(
            thresholds.down(),
            thresholds.up(),
            "whoever qualifies is not disqualified by it"
        );
        (0..40).for_each(|_| thresholds.sink());
        assert_eq!((thresholds.up(), thresholds.down()), (0.9, 0.4));
    }

    #[test]
    fn after_sixteen_epochs_of_the_thread_that_calibrates_its_like_qualify() {
        let mut thresholds = thresholds(&[("calibrate", "3")]);
        thresholds.watch(ThreadId(2), 16, 0.01);
        for epoch in 0..15 {
            thresholds.watch(ThreadId(3), 1, if epoch == 7 { 0.32 } else { 0.4 });
        }
        assert_eq!((thresholds.up(), thresholds.down()), (0.75, 0.5), "not yet");
        thresholds.watch(ThreadId(3), 1, 0.4);
        // 15/16 of 0.32, and 50/75 of that.
        let percent = |thresholds: &Thresholds| {
            [thresholds.up(), thresholds.down()].map(|share| (share * 100.0).round())
        };
        assert_eq!(percent(&thresholds), [30.0, 20.0]);
        (0..100).for_each(|_| thresholds.sink());
        thresholds.watch(ThreadId(3), 16, 0.9);
        assert_eq!(
            percent(&thresholds),
            [30.0, 20.0],
            "this is where they start now, once and for all"
        );
    }
}
