//! Reading event sets in turn, without mixing two phases of a thread: see [`Rounds`].

use evenkeel_machine::Nanos;

use crate::metric::{Counts, Metric, MetricValues};
use crate::sets::EventSets;

/// How often counters are read (section 4.3 of the ACFS study).
pub const PERIOD: Nanos = Nanos(200_000_000);

/// What a new sample weighs in the running average of the IPC. PMCTrack's for its samples of IPC;
/// the study does not state its own.
const SAMPLE_WEIGHT: f64 = 0.35;
/// How far a sample's IPC is from the running average, relative to it, where another phase has
/// begun. Ours: the study says "sudden".
const SUDDEN_CHANGE: f64 = 0.3;

/// What a sample has brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Round {
    /// The thread did not run, or an event of the set was not counted: the set is to be counted
    /// once more.
    Nothing,
    /// The next set is to be counted.
    Sampled,
    /// Another phase has begun, and a round with it. What was sampled before is discarded.
    Changed,
    /// All sets are counted: the values of their metrics. The next round begins.
    Whole(MetricValues),
}

/// A thread's way through the event sets of a kind of core (section 4.3 of the ACFS study).
///
/// IPC is in every set. A sample whose IPC is far from the thread's running average means another
/// phase: the samples of this round are discarded. Where one set is enough each sample is a round,
/// and nothing is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    set: usize,
    values: MetricValues,
    instructions: f64,
    cycles: f64,
    /// Running average.
    usual_ipc: Option<f64>,
}

impl Rounds {
    /// The set to count now, an index into [`EventSets`].
    #[must_use]
    pub const fn set(&self) -> usize {
        self.set
    }

    /// Counts of [`Rounds::set`] over a period in which the thread was on one kind of core.
    pub fn sample(&mut self, sets: &EventSets, counts: &Counts) -> Round {
        let Some(ipc) = Metric::Ipc.of(counts).filter(|&ipc| ipc > 0.0) else {
            return Round::Nothing;
        };
        let of_set = sets.metrics(self.set).iter().map(|&metric| (metric, metric.of(counts)));
        let mut values = self.values;
        for (metric, value) in of_set {
            let Some(value) = value else { return Round::Nothing };
            values[metric] = value;
        }
        if sets.len() > 1 && self.is_sudden(ipc) {
            *self = Self { usual_ipc: Some(ipc), ..Self::default() };
            return Round::Changed;
        }
        let usual = self.usual_ipc.unwrap_or(ipc);
        self.usual_ipc = Some(usual + SAMPLE_WEIGHT * (ipc - usual));
        let cycles = counts.get(crate::Event::Cycles).unwrap_or_default() as f64;
        self.values = values;
        self.instructions += ipc * cycles;
        self.cycles += cycles;
        self.set += 1;
        if self.set < sets.len() {
            return Round::Sampled;
        }
        values[Metric::Ipc] = self.instructions / self.cycles;
        *self = Self { usual_ipc: self.usual_ipc, ..Self::default() };
        Round::Whole(values)
    }

    /// Its counters were lost: a round begins, and nothing is usual.
    pub fn begin_anew(&mut self) {
        *self = Self::default();
    }

    fn is_sudden(&self, ipc: f64) -> bool {
        self.usual_ipc.is_some_and(|usual| (ipc - usual).abs() > SUDDEN_CHANGE * usual)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::Event;
    use crate::sets::Counters;

    /// Misses of data and of branches, which two general counters count in two sets.
    fn two_sets() -> EventSets {
        let fixed = vec![Event::Instructions, Event::Cycles];
        let metrics = [Metric::LlcMisses, Metric::BranchMissRate];
        EventSets::new(&metrics, &Counters { general: 2, fixed }).unwrap()
    }

    /// Counts of a set in which every event beside instructions and cycles has happened so often.
    fn counts(sets: &EventSets, set: usize, instructions: u64, other: u64) -> Counts {
        let mut counts = Counts::default();
        for &event in sets.events(set).events() {
            counts.set(event, other);
        }
        counts.set(Event::Instructions, instructions);
        counts.set(Event::Cycles, 1_000_000);
        counts
    }

    #[test]
    fn a_round_has_the_metrics_of_all_sets_and_the_ipc_of_the_whole() {
        let (sets, mut rounds) = (two_sets(), Rounds::default());
        let first = counts(&sets, 0, 1_000_000, 2_000);
        let second = counts(&sets, 1, 1_200_000, 5_000);
        assert_eq!(rounds.sample(&sets, &first), Round::Sampled);
        let Round::Whole(values) = rounds.sample(&sets, &second) else { panic!("{rounds:?}") };
        assert_eq!(values[Metric::LlcMisses], 2.0);
        assert_eq!(values[Metric::BranchMissRate], 1.0);
        assert!((values[Metric::Ipc] - 1.1).abs() < 1e-12);
        assert_eq!(rounds.set(), 0);
    }

    #[test]
    fn a_sample_without_an_event_of_its_set_is_taken_once_more() {
        let (sets, mut rounds) = (two_sets(), Rounds::default());
        let mut refused = Counts::default();
        refused.set(Event::Instructions, 1_000_000);
        refused.set(Event::Cycles, 1_000_000);
        assert_eq!(rounds.sample(&sets, &refused), Round::Nothing);
        let idle = counts(&sets, 0, 0, 0);
        assert_eq!(rounds.sample(&sets, &idle), Round::Nothing);
        assert_eq!(rounds, Rounds::default());
    }

    #[test]
    fn where_one_set_is_enough_each_sample_is_a_round_whatever_came_before() {
        let fixed = vec![Event::Instructions, Event::Cycles];
        let metrics = [Metric::LlcMisses];
        let sets = EventSets::new(&metrics, &Counters { general: 1, fixed }).unwrap();
        let mut rounds = Rounds::default();
        for instructions in [1_000_000, 3_000_000, 100_000] {
            let counts = counts(&sets, 0, instructions, 10);
            assert!(matches!(rounds.sample(&sets, &counts), Round::Whole(_)));
        }
    }

    proptest! {
        /// The misses tell of which phase a sample is: a whole round has one phase's alone.
        #[test]
        fn no_round_mixes_samples_across_a_sudden_change(
            phases in prop::collection::vec((1_usize..5, 1_usize..12), 1..20),
        ) {
            let (sets, mut rounds) = (two_sets(), Rounds::default());
            let mut level = 0;
            for (phase, &(up, samples)) in phases.iter().enumerate() {
                level = (level + up) % 5;
                let ipc = [0.2, 0.4, 0.8, 1.6, 3.2][level];
                for _ in 0..samples {
                    let set = rounds.set();
                    let counts = counts(&sets, set, (ipc * 1e6) as u64, phase as u64 + 1);
                    if let Round::Whole(values) = rounds.sample(&sets, &counts) {
                        let misses = values[Metric::LlcMisses] * ipc * 1e3;
                        prop_assert!((misses - (phase as f64 + 1.0)).abs() < 0.5, "{misses}");
                        prop_assert!((values[Metric::Ipc] - ipc).abs() < 1e-5);
                    }
                }
            }
        }
    }
}
