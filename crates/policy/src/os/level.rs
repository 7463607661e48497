//! Levelling: waiting threads go from the core with the greatest load to the one with the least, as
//! long as that helps.
//!
//! ```text
//! load(core) = sum of the weights of its threads / capacity
//! move of weight w from s to d helps  <=>  (W_d + w) / c_d < W_s / c_s
//! ```
//!
//! Each move takes the greatest weight that does not reverse the difference, else the least that
//! helps. It lowers the greater load of the two, so the loads in descending order fall
//! lexicographically and levelling ends. If no thread of the most loaded core may go to the least
//! loaded one, the next in order of load is tried. O(k log n) per move for n cores of k capacities,
//! beside the removal from a list, as long as threads may go where they are needed.

use std::collections::BTreeSet;
use std::ops::Bound;

use evenkeel_machine::MAX_KINDS;

use crate::contract::ThreadId;

/// The load of one core.
#[derive(Clone, Debug, Default)]
pub struct Lot {
    /// Capacity, of 1024; at least 1. Equal for all cores to ignore asymmetry.
    pub capacity: u64,
    /// Weight of all its threads.
    pub weight: u64,
    /// Those of them that may move, with their weights.
    pub movable: Vec<(u32, ThreadId)>,
}

/// Unit of loads.
const UNIT: u64 = 1 << 20;

impl Lot {
    fn load(&self) -> u64 {
        self.weight * UNIT / self.capacity
    }
}

/// The load of one thread of this weight on a core of this capacity, in the unit of `within` of
/// [`level`].
pub fn load_of(weight: u32, capacity: u64) -> u64 {
    u64::from(weight) * UNIT / capacity
}

/// True if a move of a thread of this weight helps.
fn helps(weight: u64, source: (u64, u64), target: (u64, u64)) -> bool {
    let ((source, of_source), (target, of_target)) = (source, target);
    (target + weight) * of_source < source * of_target
}

/// The greatest and the least weight of the lots of one capacity.
#[derive(Clone, Copy, Default)]
struct Extremes {
    capacity: u64,
    least: u64,
    most: u64,
}

/// False if [`level`] could move no thread, given lots by weight and capacity and a lower bound of
/// thread weights. Usually none can move, and this needs no sorting. Exact as far as weights go,
/// for up to as many capacities as there can be kinds.
pub fn may_help(lots: impl Iterator<Item = (u64, u64)>, lightest: u32, within: u64) -> bool {
    let mut classes = [Extremes::default(); MAX_KINDS];
    let mut last = 0;
    for (weight, capacity) in lots {
        // Usually that of the lot before.
        if classes[last].capacity != capacity {
            let known =
                classes.iter().position(|class| class.capacity == capacity || class.capacity == 0);
            let Some(place) = known else { return true };
            last = place;
        }
        let class = &mut classes[last];
        if class.capacity == 0 {
            *class = Extremes { capacity, least: weight, most: weight };
        }
        (class.least, class.most) = (class.least.min(weight), class.most.max(weight));
    }
    let classes = || classes.iter().take_while(|class| class.capacity > 0);
    classes().any(|source| {
        classes().any(|target| {
            let apart = (source.most * UNIT / source.capacity)
                .saturating_sub(target.least * UNIT / target.capacity);
            let (source, target) =
                ((source.most, source.capacity), (target.least, target.capacity));
            apart > within && helps(u64::from(lightest), source, target)
        })
    })
}

/// Takes threads out of `movable` that [`level`] would not move, so that they need not be sorted:
/// in each lot all but the last ones beyond its share. For threads of weight 1 that may go
/// anywhere, with `within` 0. Does nothing if a lot has too few movable threads, or if capacities
/// differ.
pub fn keep_surplus(lots: &mut [Lot]) {
    let Some(capacity) = lots.first().map(|lot| lot.capacity) else { return };
    let share = lots.iter().map(|lot| lot.weight).sum::<u64>() / lots.len() as u64;
    let beyond = |lot: &Lot| lot.weight.saturating_sub(share) as usize;
    if lots.iter().any(|lot| lot.capacity != capacity || lot.movable.len() < beyond(lot)) {
        return;
    }
    for lot in lots {
        let stay = lot.movable.len() - beyond(lot);
        if stay < lot.movable.len() {
            lot.movable.select_nth_unstable(stay);
        }
        lot.movable.drain(..stay);
    }
}

/// Lots in order of load, separately for each capacity: within a capacity, all lots that may be
/// given a weight stand before those that may not.
struct ByLoad {
    capacities: Vec<u64>,
    /// By capacity: load and number.
    lots: Vec<BTreeSet<(u64, usize)>>,
}

impl ByLoad {
    fn new(lots: &[Lot]) -> Self {
        let mut this = Self { capacities: Vec::new(), lots: Vec::new() };
        for (number, lot) in lots.iter().enumerate() {
            if !this.capacities.contains(&lot.capacity) {
                this.capacities.push(lot.capacity);
                this.lots.push(BTreeSet::new());
            }
            this.insert(number, lot);
        }
        this
    }

    fn class_of(&mut self, lot: &Lot) -> &mut BTreeSet<(u64, usize)> {
        let class = self.capacities.iter().position(|&capacity| capacity == lot.capacity);
        &mut self.lots[class.unwrap_or(0)]
    }

    fn insert(&mut self, number: usize, lot: &Lot) {
        self.class_of(lot).insert((lot.load(), number));
    }

    fn remove(&mut self, number: usize, lot: &Lot) {
        self.class_of(lot).remove(&(lot.load(), number));
    }

    fn least(&self) -> Option<(u64, usize)> {
        self.lots.iter().filter_map(|lots| lots.first().copied()).min()
    }

    fn most(&self) -> Option<(u64, usize)> {
        self.lots.iter().filter_map(|lots| lots.last().copied()).max()
    }

    /// Lots that a move of a weight from a source with the load `most` would help, in order of
    /// load.
    fn targets<'a>(
        &'a self,
        lots: &'a [Lot],
        weight: u32,
        (most, source): (u64, usize),
        within: u64,
    ) -> impl Iterator<Item = usize> + 'a {
        let helps = move |&(load, target): &(u64, usize)| {
            let [source, target] =
                [source, target].map(|lot| (lots[lot].weight, lots[lot].capacity));
            most.saturating_sub(load) > within && helps(u64::from(weight), source, target)
        };
        let after = move |start: Bound<(u64, usize)>| {
            let next = move |lots: &BTreeSet<_>| {
                lots.range((start, Bound::Unbounded)).next().copied().filter(helps)
            };
            self.lots.iter().filter_map(next).min()
        };
        std::iter::successors(after(Bound::Unbounded), move |&before| {
            after(Bound::Excluded(before))
        })
        .map(|(_, target)| target)
    }
}

/// Levels until no move helps, or until greatest and least load differ by at most `within`. Returns
/// each moved thread with its new lot, in order; `may` tells if a thread may go to a lot.
pub fn level(
    lots: &mut [Lot],
    within: u64,
    may: impl Fn(ThreadId, usize) -> bool,
) -> Vec<(ThreadId, usize)> {
    for lot in lots.iter_mut() {
        lot.movable.sort_by_key(|&(weight, _)| weight);
    }
    let mut by_load = ByLoad::new(lots);
    let mut moves = Vec::new();
    // A lot from which no thread can move leaves `by_load`. It is not needed as a target, because
    // it has more than all others. As a source it could only give again after a lot that it may
    // give to has itself given; that is left to the next time.
    while let (Some((most, source)), Some((least, _))) = (by_load.most(), by_load.least()) {
        if most - least <= within {
            break;
        }
        by_load.remove(source, &lots[source]);
        // If not even the lightest thread helps, none does.
        let Some(&(lightest, _)) = lots[source].movable.first() else { continue };
        let found = by_load.targets(lots, lightest, (most, source), within).find_map(|target| {
            choose(&lots[source], &lots[target], |thread| may(thread, target))
                .map(|chosen| (target, chosen))
        });
        if let Some((target, chosen)) = found {
            by_load.remove(target, &lots[target]);
            let (weight, thread) = lots[source].movable.remove(chosen);
            lots[source].weight -= u64::from(weight);
            lots[target].weight += u64::from(weight);
            by_load.insert(source, &lots[source]);
            by_load.insert(target, &lots[target]);
            moves.push((thread, target));
        }
    }
    moves
}

/// Index of the thread to move from the source to the target.
fn choose(source: &Lot, target: &Lot, may: impl Fn(ThreadId) -> bool) -> Option<usize> {
    let ideal = (source.weight * target.capacity).saturating_sub(target.weight * source.capacity)
        / (source.capacity + target.capacity);
    let split = source.movable.partition_point(|&(weight, _)| u64::from(weight) <= ideal);
    let allowed = |&i: &usize| may(source.movable[i].1);
    let chosen =
        (0..split).rev().find(allowed).or_else(|| (split..source.movable.len()).find(allowed))?;
    let weight = u64::from(source.movable[chosen].0);
    helps(weight, (source.weight, source.capacity), (target.weight, target.capacity))
        .then_some(chosen)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lot(capacity: u64, weights: &[u32]) -> Lot {
        Lot {
            capacity,
            weight: weights.iter().map(|&weight| u64::from(weight)).sum(),
            movable: weights.iter().map(|&weight| (weight, ThreadId(weight))).collect(),
        }
    }

    #[test]
    fn equal_counts_differ_by_one_at_most() {
        let mut lots = [lot(1, &[1; 7]), lot(1, &[]), lot(1, &[1])];
        level(&mut lots, 0, |_, _| true);
        let mut counts = lots.map(|lot| lot.weight);
        counts.sort_unstable();
        assert_eq!(counts, [2, 3, 3]);
    }

    #[test]
    fn a_core_twice_as_fast_gets_twice_the_weight() {
        let mut lots = [lot(1024, &[]), lot(512, &[1; 6])];
        level(&mut lots, 0, |_, _| true);
        assert_eq!(lots.map(|lot| lot.weight), [4, 2]);
    }

    #[test]
    fn what_may_not_move_stays() {
        let mut lots = [lot(1, &[1; 4]), lot(1, &[])];
        assert_eq!(level(&mut lots, 0, |_, _| false), []);
    }

    #[test]
    fn a_thread_that_may_not_go_to_the_least_loaded_goes_to_the_next() {
        let mut lots = [lot(1, &[1; 4]), lot(1, &[]), lot(1, &[1])];
        let moves = level(&mut lots, 0, |_, target| target != 1);
        assert_eq!(moves.into_iter().map(|(_, target)| target).collect::<Vec<_>>(), [2]);
    }

    /// The same by trying all moves.
    fn level_by_trying(
        lots: &mut [Lot],
        within: u64,
        may: impl Fn(ThreadId, usize) -> bool,
    ) -> Vec<(ThreadId, usize)> {
        lots.iter_mut().for_each(|lot| lot.movable.sort_by_key(|&(weight, _)| weight));
        let mut left: Vec<usize> = (0..lots.len()).collect();
        let mut moves = Vec::new();
        loop {
            left.sort_by_key(|&lot| (lots[lot].load(), lot));
            let Some(source) = left.pop() else { return moves };
            let far = |&&target: &&usize| lots[source].load() - lots[target].load() > within;
            let found = left.iter().filter(far).find_map(|&target| {
                choose(&lots[source], &lots[target], |thread| may(thread, target))
                    .map(|chosen| (target, chosen))
            });
            if let Some((target, chosen)) = found {
                let (weight, thread) = lots[source].movable.remove(chosen);
                lots[source].weight -= u64::from(weight);
                lots[target].weight += u64::from(weight);
                moves.push((thread, target));
                left.push(source);
            }
        }
    }

    proptest! {
        #[test]
        fn levelling_is_what_trying_all_comes_to_and_happens_only_where_it_is_said_to_be_possible(
            lots in prop::collection::vec((0usize..4, prop::collection::vec(1u32..40, 0..9), 0u64..60), 0..7),
            light in 1u32..3, within in prop_oneof![Just(0), 0u64..100_000], bound in any::<bool>(),
        ) {
            let mut next = 0;
            let mut lots: Vec<_> = lots.into_iter().map(|(capacity, threads, running)| {
                let threads = threads.into_iter().map(|weight| { next += 1; (weight * light, ThreadId(next)) });
                let movable: Vec<_> = threads.collect();
                let weight = running + movable.iter().map(|&(weight, _)| u64::from(weight)).sum::<u64>();
                Lot { capacity: [1024, 512, 377, 800][capacity], weight, movable }
            }).collect();
            let may = |thread: ThreadId, lot: usize| !bound || !(thread.0 as usize + lot).is_multiple_of(3);
            let may_help = may_help(lots.iter().map(|lot| (lot.weight, lot.capacity)), light, within);
            let mut model = lots.clone();
            let moves = level(&mut lots, within, may);
            prop_assert_eq!(&moves, &level_by_trying(&mut model, within, may));
            prop_assert!(may_help || moves.is_empty());
        }

        #[test]
        fn whoever_is_left_out_would_have_stayed(
            counts in prop::collection::vec((prop::collection::vec(any::<bool>(), 0..40), 1u64..=2), 1..6), alike in any::<bool>(),
        ) {
            let mut next = 0;
            let lots: Vec<_> = counts.iter().map(|(threads, capacity)| {
                let capacity = if alike { 1024 } else { capacity * 512 };
                // Running threads count, but may not move.
                let movable = threads.iter().filter(|&&ready| ready).map(|_| { next += 7; (1, ThreadId(next % 199)) });
                Lot { capacity, weight: threads.len() as u64, movable: movable.collect() }
            }).collect();
            let sorted = |mut lots: Vec<Lot>| {
                lots.iter_mut().for_each(|lot| lot.movable.sort_unstable());
                lots
            };
            let mut few = lots.clone();
            keep_surplus(&mut few);
            prop_assert_eq!(level(&mut sorted(few), 0, |_, _| true), level(&mut sorted(lots), 0, |_, _| true));
        }

        #[test]
        fn levelling_loses_nobody_and_never_raises_the_greatest_load(
            weights in prop::collection::vec((1u64..=4, prop::collection::vec(1u32..2000, 0..12)), 1..6),
        ) {
            let mut lots: Vec<_> = weights.iter().map(|(capacity, weights)| lot(capacity * 256, weights)).collect();
            let most = |lots: &[Lot]| lots.iter().map(Lot::load).max();
            let total = |lots: &[Lot]| lots.iter().map(|lot| lot.weight).sum::<u64>();
            let before = (most(&lots), total(&lots));
            let moves = level(&mut lots, 0, |_, _| true);
            prop_assert!(most(&lots) <= before.0);
            prop_assert_eq!(total(&lots), before.1);
            let stayed: usize = lots.iter().map(|lot| lot.movable.len()).sum();
            let threads: usize = weights.iter().map(|(_, weights)| weights.len()).sum();
            prop_assert_eq!(stayed + moves.len(), threads);
        }
    }
}
