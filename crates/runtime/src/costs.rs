//! Costs of tasks by name and kind of core, learnt as they run.

use std::sync::{Mutex, PoisonError};

use evenkeel_machine::{KindId, Nanos, PerKind};

use crate::sync::{AtomicU64, Ordering};

/// A name of tasks, as a number. 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label(pub u32);

/// The most names. Tasks with further names are not learnt.
const LABELS: usize = 255;
/// A new time counts one part in so many, the average before it the rest: what changes is known
/// after about as many tasks.
const MEMORY: u64 = 8;
/// Averages are in parts of a nanosecond: an iteration may take few.
const PARTS: u64 = 256;

/// The cost of tasks of one name on one kind of core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The name.
    pub label: &'static str,
    /// The kind.
    pub kind: KindId,
    /// A moving average.
    pub time: Nanos,
}

/// How much faster tasks of one name are on one kind of core than on the slowest: their speedup
/// factor, by the runtime's own timings.
#[derive(Clone, Debug, PartialEq)]
pub struct Speedup {
    /// The name.
    pub label: &'static str,
    /// The kind.
    pub kind: KindId,
    /// Time on the slowest kind / time on this one.
    pub factor: f64,
}

/// Moving averages of what tasks take, by name and kind of core.
pub struct Costs {
    labels: Mutex<Vec<&'static str>>,
    /// Indexed by label, by kind, in [`PARTS`] of a nanosecond; 0: never seen.
    times: Box<[PerKind<AtomicTime>]>,
}

#[derive(Default)]
struct AtomicTime(AtomicU64);

impl Default for Costs {
    fn default() -> Self {
        let times = || PerKind(std::array::from_fn(|_| AtomicTime::default()));
        Self { labels: Mutex::default(), times: (0..LABELS).map(|_| times()).collect() }
    }
}

impl Costs {
    /// The number of a name. Searched for under a lock: workers keep what they have found.
    pub fn label(&self, name: &'static str) -> Label {
        let mut labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        let known = labels.iter().position(|&label| label == name);
        let number = known.or_else(|| {
            let is_room = labels.len() < LABELS;
            is_room.then(|| {
                labels.push(name);
                labels.len() - 1
            })
        });
        number.map_or(Label::default(), |number| Label(number as u32 + 1))
    }

    /// Names by label, less 1.
    pub fn names(&self) -> Vec<&'static str> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A task of this name took so long. Two at the same time may count as one: it is an average.
    pub fn learn(&self, label: Label, kind: KindId, time: Nanos) {
        self.learn_mean(label, kind, time, 1);
    }

    /// So many iterations, at least one, took so long together.
    pub fn learn_mean(&self, label: Label, kind: KindId, time: Nanos, iterations: u64) {
        let Some(times) = (label.0 as usize).checked_sub(1).and_then(|label| self.times.get(label))
        else {
            return;
        };
        let AtomicTime(average) = &times.0[kind.index()];
        let before = average.load(Ordering::Relaxed);
        let time = time.0.saturating_mul(PARTS) / iterations;
        let after = if before == 0 { time } else { before - before / MEMORY + time / MEMORY };
        average.store(after.max(1), Ordering::Relaxed);
    }

    /// The cost of tasks of this name on this kind, if any has run there.
    pub fn of(&self, label: Label, kind: KindId) -> Option<Nanos> {
        let times = self.times.get((label.0 as usize).checked_sub(1)?)?;
        let average = times.0[kind.index()].0.load(Ordering::Relaxed);
        (average > 0).then_some(Nanos(average / PARTS))
    }

    /// Factors of all names that have run on the slowest kind, on each kind where they have run.
    pub fn speedups(&self, slowest: KindId) -> Vec<Speedup> {
        let base = |label| self.averages().find(|it| (it.0, it.1) == (label, slowest));
        let factor = |(label, kind, average): (&'static str, KindId, u64)| {
            let factor = base(label)?.2 as f64 / average as f64;
            Some(Speedup { label, kind, factor })
        };
        self.averages().filter_map(factor).collect()
    }

    /// All that has been learnt.
    pub fn all(&self) -> Vec<Cost> {
        let cost = |(label, kind, average)| Cost { label, kind, time: Nanos(average / PARTS) };
        self.averages().map(cost).collect()
    }

    /// Names and kinds that have been seen, with their averages.
    fn averages(&self) -> impl Iterator<Item = (&'static str, KindId, u64)> + '_ {
        let of = |(label, times): (&'static str, &PerKind<AtomicTime>)| {
            let times = times.0.each_ref().map(|it| it.0.load(Ordering::Relaxed));
            let seen = times.into_iter().zip(0..).filter(|&(time, _)| time > 0);
            seen.map(move |(time, kind)| (label, KindId(kind), time))
        };
        self.names().into_iter().zip(&self.times).flat_map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_of_a_name_follows_its_times_on_each_kind() {
        let costs = Costs::default();
        let (step, other) = (costs.label("step"), costs.label("other"));
        assert!(step != other && costs.label("step") == step);
        (0..100).for_each(|_| costs.learn(step, KindId(0), Nanos(800)));
        (0..100).for_each(|_| costs.learn(step, KindId(2), Nanos(2_400)));
        costs.learn(step, KindId(2), Nanos(3_200));
        let cost = |kind, time| Cost { label: "step", kind: KindId(kind), time: Nanos(time) };
        assert_eq!(costs.all(), [cost(0, 800), cost(2, 2_500)]);
        let speedup = |kind, factor| Speedup { label: "step", kind: KindId(kind), factor };
        assert_eq!(costs.speedups(KindId(2)), [speedup(0, 3.125), speedup(2, 1.0)]);
        assert_eq!(costs.speedups(KindId(1)), []);
        let short = costs.label("iteration");
        (0..100).for_each(|_| costs.learn_mean(short, KindId(0), Nanos(190), 100));
        (0..100).for_each(|_| costs.learn_mean(short, KindId(2), Nanos(420), 100));
        let factor = costs.speedups(KindId(2))[2].factor;
        assert!((factor - 4.2 / 1.9).abs() < 0.02, "{factor}");
        assert_eq!(
            [0, 1, 2].map(|kind| costs.of(step, KindId(kind))),
            [Some(Nanos(800)), None, Some(Nanos(2_500))]
        );
        assert_eq!([other, Label(0)].map(|label| costs.of(label, KindId(0))), [None; 2]);
    }

    #[test]
    fn names_beyond_those_that_are_told_apart_are_not_learnt() {
        let costs = Costs::default();
        let names: Vec<&'static str> = (0..=LABELS).map(|i| &*format!("{i}").leak()).collect();
        let labels: Vec<_> = names.iter().map(|name| costs.label(name)).collect();
        assert_eq!((labels[LABELS - 1], labels[LABELS]), (Label(LABELS as u32), Label(0)));
        costs.learn(Label(0), KindId(0), Nanos(1));
        assert!(costs.all().is_empty());
    }
}
