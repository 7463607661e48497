//! Windows of equal work from what counters showed of a run, and from runs that counted different
//! events.

use crate::metric::{Counts, Event};
use crate::trace::Window;

/// Cuts a run into windows of so many instructions. `readings` are what was counted since its
/// beginning, in order of time; between two of them everything is taken to be even. What is left at
/// the end is no window, unless it is the only one.
#[must_use]
pub fn cut(readings: &[Window], instructions: u64) -> Vec<Window> {
    let instructions = instructions.max(1);
    let mut windows = Vec::new();
    let mut from = Totals::default();
    let mut before = Totals::default();
    for reading in readings {
        let now = Totals::of(reading);
        while now.instructions() >= from.instructions() + instructions as f64 {
            let at = from.instructions() + instructions as f64;
            let end = before.towards(&now, at);
            windows.push(end.less(&from, reading));
            from = end;
        }
        before = now;
    }
    if windows.is_empty()
        && let Some(last) = readings.last()
    {
        windows.push(*last);
    }
    windows
}

/// Windows of runs of one program on one kind, each of which counted a set of events: those that
/// all have. Times are the first run's, and counts of others are per its instructions.
#[must_use]
pub fn together(runs: &[Vec<Window>]) -> Vec<Window> {
    let count = runs.iter().map(Vec::len).min().unwrap_or(0);
    let instructions = |window: &Window| window.counts.get(Event::Instructions).unwrap_or(0);
    let merged = |n: usize| {
        let mut all = runs[0][n];
        for window in runs[1..].iter().map(|run| &run[n]) {
            let factor = instructions(&all) as f64 / instructions(window).max(1) as f64;
            for event in window.counts.events() {
                if all.counts.get(event).is_none() {
                    let count = window.counts.get(event).unwrap_or(0) as f64;
                    all.counts.set(event, (count * factor).round() as u64);
                }
            }
        }
        all
    };
    (0..count).map(merged).collect()
}

/// What has been counted since the beginning.
#[derive(Clone, Copy, Default)]
struct Totals {
    time: f64,
    counts: [f64; Event::ALL.len()],
}

impl Totals {
    fn of(reading: &Window) -> Self {
        let count = |event| reading.counts.get(event).unwrap_or(0) as f64;
        Self { time: reading.time.0 as f64, counts: Event::ALL.map(count) }
    }

    fn instructions(&self) -> f64 {
        self.counts[Event::Instructions as usize]
    }

    /// On the way to a later reading, where so many instructions were done.
    fn towards(&self, later: &Self, instructions: f64) -> Self {
        let all = later.instructions() - self.instructions();
        let part = if all > 0.0 { (instructions - self.instructions()) / all } else { 0.0 };
        let between = |before: f64, after: f64| before + (after - before) * part;
        let mut counts = self.counts;
        for (count, &after) in counts.iter_mut().zip(&later.counts) {
            *count = between(*count, after);
        }
        counts[Event::Instructions as usize] = instructions;
        Self { time: between(self.time, later.time), counts }
    }

    /// The window since an earlier one, of the events that a reading has.
    fn less(&self, earlier: &Self, of: &Window) -> Window {
        let mut counts = Counts::default();
        for event in of.counts.events() {
            let count = self.counts[event as usize] - earlier.counts[event as usize];
            counts.set(event, count.round().max(0.0) as u64);
        }
        let time = (self.time - earlier.time).round().max(1.0) as u64;
        Window { time: evenkeel_machine::Nanos(time), counts }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::Nanos;
    use proptest::prelude::*;

    use super::*;

    fn window(time: u64, instructions: u64, event: Event, count: u64) -> Window {
        let mut counts = Counts::default();
        counts.set(Event::Instructions, instructions);
        counts.set(event, count);
        Window { time: Nanos(time), counts }
    }

    #[test]
    fn a_window_that_ends_between_two_readings_has_its_part_of_what_lies_between() {
        let readings = [
            window(10, 100, Event::CacheMisses, 50),
            window(30, 300, Event::CacheMisses, 50),
            window(70, 500, Event::CacheMisses, 90),
        ];
        let windows = cut(&readings, 200);
        assert_eq!(
            windows,
            [window(20, 200, Event::CacheMisses, 50), window(30, 200, Event::CacheMisses, 20),]
        );
    }

    #[test]
    fn a_run_that_is_shorter_than_a_window_is_one() {
        let readings = [window(10, 100, Event::Cycles, 7)];
        assert_eq!(cut(&readings, 200), readings);
        assert_eq!(cut(&[], 200), []);
    }

    #[test]
    fn runs_are_put_together_up_to_the_shortest_and_scaled_to_the_first() {
        let first = vec![window(5, 100, Event::Cycles, 300), window(6, 100, Event::Cycles, 400)];
        let other = vec![window(9, 50, Event::Branches, 10)];
        let mut expected = window(5, 100, Event::Cycles, 300);
        expected.counts.set(Event::Branches, 20);
        assert_eq!(together(&[first, other]), [expected]);
    }

    proptest! {
        #[test]
        fn no_more_is_in_the_windows_than_was_counted_and_less_than_a_window_is_left(
            steps in prop::collection::vec((1_u64..1_000, 0_u64..1_000, 0_u64..100), 1..40),
            length in 1_u64..2_000,
        ) {
            let mut so_far = (0, 0, 0);
            let readings: Vec<Window> = steps.iter().map(|&(time, instructions, misses)| {
                so_far = (so_far.0 + time, so_far.1 + instructions, so_far.2 + misses);
                window(so_far.0, so_far.1, Event::CacheMisses, so_far.2)
            }).collect();
            let windows = cut(&readings, length);
            let sum = |event| windows.iter().map(|it| it.counts.get(event).unwrap()).sum::<u64>();
            let last = readings.last().unwrap();
            let all = last.counts.get(Event::Instructions).unwrap();
            if all >= length {
                prop_assert_eq!(sum(Event::Instructions), all / length * length);
            }
            let misses = last.counts.get(Event::CacheMisses).unwrap();
            prop_assert!(sum(Event::CacheMisses) <= misses + windows.len() as u64);
        }
    }
}
