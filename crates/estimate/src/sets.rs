//! Which events are counted together, where a kind of core has few counters.

use crate::metric::{Event, Metric};

/// Counters of a kind of core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// How many events of any sort can be counted at once.
    pub general: usize,
    /// Events that have a counter of their own.
    pub fixed: Vec<Event>,
}

impl Counters {
    /// True if the events can be counted at once.
    fn can_count(&self, events: &EventSet) -> bool {
        events.events.iter().filter(|event| !self.fixed.contains(event)).count() <= self.general
    }
}

/// Events that are counted at once. Instructions and cycles are in every set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSet {
    /// Ascending.
    events: Vec<Event>,
}

impl EventSet {
    fn of(metrics: &[Metric]) -> Self {
        let mut events: Vec<Event> = metrics.iter().flat_map(|metric| metric.events()).collect();
        events.extend(Metric::Ipc.events());
        events.sort_unstable();
        events.dedup();
        Self { events }
    }

    /// The events, ascending.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

/// The sets that a round counts in turn, with the metrics of each. IPC is of all sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSets {
    sets: Vec<(EventSet, Vec<Metric>)>,
}

impl EventSets {
    /// Puts metrics into as few sets as the first fit finds, in their order. `None` if one of them
    /// cannot be counted at all: the counters do not suffice for it, instructions and cycles.
    #[must_use]
    pub fn new(metrics: &[Metric], counters: &Counters) -> Option<Self> {
        let mut sets: Vec<(EventSet, Vec<Metric>)> = Vec::new();
        for &metric in metrics.iter().filter(|&&metric| metric != Metric::Ipc) {
            let with = |others: &[Metric]| [others, &[metric]].concat();
            let fits = |others: &[Metric]| counters.can_count(&EventSet::of(&with(others)));
            match sets.iter_mut().find(|(_, others)| fits(others)) {
                Some((set, others)) => {
                    others.push(metric);
                    *set = EventSet::of(others);
                }
                None if fits(&[]) => sets.push((EventSet::of(&[metric]), vec![metric])),
                None => return None,
            }
        }
        if sets.is_empty() {
            let alone = EventSet::of(&[]);
            if !counters.can_count(&alone) {
                return None;
            }
            sets.push((alone, Vec::new()));
        }
        Some(Self { sets })
    }

    /// Number of sets: so many samples make a round. At least 1.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.sets.len()
    }

    /// False: there is always a set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// The events of a set.
    #[must_use]
    pub fn events(&self, set: usize) -> &EventSet {
        &self.sets[set].0
    }

    /// The metrics that a set is for, IPC left out.
    #[must_use]
    pub fn metrics(&self, set: usize) -> &[Metric] {
        &self.sets[set].1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counters(general: usize, fixed: &[Event]) -> Counters {
        Counters { general, fixed: fixed.to_vec() }
    }

    #[test]
    fn two_counters_beside_the_fixed_ones_take_a_set_for_two_misses_and_one_for_a_rate() {
        let counters = counters(2, &[Event::Instructions, Event::Cycles]);
        let metrics = [Metric::LlcMisses, Metric::BranchMissRate, Metric::DtlbMisses];
        let sets = EventSets::new(&metrics, &counters).unwrap();
        assert_eq!(sets.len(), 2);
        assert_eq!(sets.metrics(0), [Metric::LlcMisses, Metric::DtlbMisses]);
        assert_eq!(sets.metrics(1), [Metric::BranchMissRate]);
    }

    #[test]
    fn what_cannot_be_counted_beside_instructions_and_cycles_is_refused() {
        assert_eq!(EventSets::new(&[Metric::BranchMissRate], &counters(3, &[])), None);
        assert!(EventSets::new(&[Metric::BranchMissRate], &counters(4, &[])).is_some());
        assert_eq!(EventSets::new(&[], &counters(1, &[])), None);
        assert_eq!(EventSets::new(&[Metric::Ipc], &counters(2, &[])).unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn each_metric_is_in_one_set_that_can_be_counted_with_instructions_and_cycles(
            chosen in prop::sample::subsequence(Metric::ALL.to_vec(), 0..=Metric::ALL.len()),
            general in 2_usize..8,
            fixed in prop::sample::subsequence(Event::ALL.to_vec(), 0..4),
        ) {
            let counters = counters(general, &fixed);
            let Some(sets) = EventSets::new(&chosen, &counters) else {
                prop_assert!(general < 4);
                return Ok(());
            };
            let mut found = Vec::new();
            for set in 0..sets.len() {
                let events = sets.events(set).events();
                let needed = sets.metrics(set).iter().chain([&Metric::Ipc]);
                for event in needed.flat_map(|metric| metric.events()) {
                    prop_assert!(events.contains(&event));
                }
                prop_assert!(counters.can_count(sets.events(set)));
                found.extend_from_slice(sets.metrics(set));
            }
            found.sort_unstable();
            let wanted: Vec<_> = chosen.into_iter().filter(|it| *it != Metric::Ipc).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
