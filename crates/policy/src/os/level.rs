//! Levelling: waiting threads go from the core with the greatest load to the one with the least, as long as that helps.
//!
//! ```text
//! load(core) = sum of the weights of its threads / capacity
//! move of weight w from s to d helps  <=>  (W_d + w) / c_d < W_s / c_s
//! ```
//!
//! Each move takes the greatest weight that does not turn the difference round, else the least that helps. It lowers the greater
//! load of the two, so the loads in descending order fall lexicographically and levelling ends. Where no thread of the most loaded core may
//! go to the least loaded one, the next in order of load is tried. O(log n) a move for n cores, beside the removal from a list, as long
//! as threads may go where they are needed.

use std::collections::BTreeSet;

use crate::contract::ThreadId;

/// What one core has.
#[derive(Clone, Debug, Default)]
pub struct Lot {
    /// Capacity, of 1024; at least 1. All the same where asymmetry is not to count.
    pub capacity: u64,
    /// Weight of all its threads.
    pub weight: u64,
    /// Those of them that may move, with their weights.
    pub movable: Vec<(u32, ThreadId)>,
}

/// Loads are compared as fractions of this.
const UNIT: u64 = 1 << 20;

impl Lot {
    fn load(&self) -> u64 {
        self.weight * UNIT / self.capacity
    }
}

/// The load of one thread of this weight on a core of this capacity: what `within` of [`level`] is said in.
pub fn load_of(weight: u32, capacity: u64) -> u64 {
    u64::from(weight) * UNIT / capacity
}

/// What a move must do to be worth a closer look, whatever thread and cores it is about.
#[derive(Clone, Copy)]
struct Bound {
    /// Load that the lightest thread adds, at least.
    lightest: u64,
    /// Loads are exact: where all capacities are equal, a load that is reached is not undercut.
    strict: bool,
    within: u64,
}

impl Bound {
    /// `capacities`: least and greatest.
    fn new(lightest: u32, capacities: (u64, u64), within: u64) -> Self {
        Self { lightest: load_of(lightest, capacities.1), strict: capacities.0 == capacities.1, within }
    }

    fn may_help(self, least: u64, most: u64) -> bool {
        let reached = least.saturating_add(self.lightest);
        most.saturating_sub(least) > self.within && if self.strict { reached < most } else { reached <= most }
    }
}

/// Whether [`level`] could move anybody at all: given lots by weight and capacity, and a weight that no thread is below. Mostly nobody can, and nothing
/// need be sorted to see that.
pub fn may_help(lots: impl Iterator<Item = (u64, u64)>, lightest: u32, within: u64) -> bool {
    let none = (u64::MAX, 0);
    let (mut loads, mut capacities) = (none, none);
    for (weight, capacity) in lots {
        let load = weight * UNIT / capacity;
        loads = (load.min(loads.0), load.max(loads.1));
        capacities = (capacity.min(capacities.0), capacity.max(capacities.1));
    }
    loads != none && Bound::new(lightest, capacities, within).may_help(loads.0, loads.1)
}

/// Of threads of weight 1 that may go anywhere, leaves those out of the movable that [`level`], within nothing, would not move: of each lot the last go, as
/// many as it has beyond its share. So that not all have to be sorted who might have gone. Where a lot has not as many that may move, or capacities
/// differ, all stay in.
pub fn leave_out_who_stays(lots: &mut [Lot]) {
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

/// Levels until no move helps, or greatest and least load differ by no more than `within`. Returns who goes to which lot,
/// in order; `may` tells whether a thread may.
pub fn level(lots: &mut [Lot], within: u64, may: impl Fn(ThreadId, usize) -> bool) -> Vec<(ThreadId, usize)> {
    for lot in lots.iter_mut() {
        lot.movable.sort_by_key(|&(weight, _)| weight);
    }
    let mut by_load: BTreeSet<(u64, usize)> = lots.iter().enumerate().map(|(i, lot)| (lot.load(), i)).collect();
    let mut moves = Vec::new();
    let capacities = || lots.iter().map(|lot| lot.capacity);
    let capacities = (capacities().min().unwrap_or(1), capacities().max().unwrap_or(1));
    // A lot from which nothing can move leaves `by_load`. It is not needed as a target, for it has more than all the others, and as a
    // source not before some other lot that it may give to has given in its turn: that is left to the next time.
    while let (Some(&(most, source)), Some(&(least, _))) = (by_load.last(), by_load.first()) {
        if most - least <= within {
            break;
        }
        by_load.remove(&(most, source));
        // Beyond these not even the lightest thread helps.
        let Some(&(lightest, _)) = lots[source].movable.first() else { continue };
        let bound = Bound::new(lightest, capacities, within);
        let targets = by_load.iter().take_while(|&&(load, _)| bound.may_help(load, most));
        let found = targets.copied().find_map(|(load, target)| {
            choose(&lots[source], &lots[target], |thread| may(thread, target)).map(|chosen| (load, target, chosen))
        });
        if let Some((load, target, chosen)) = found {
            by_load.remove(&(load, target));
            let (weight, thread) = lots[source].movable.remove(chosen);
            lots[source].weight -= u64::from(weight);
            lots[target].weight += u64::from(weight);
            by_load.insert((lots[source].load(), source));
            by_load.insert((lots[target].load(), target));
            moves.push((thread, target));
        }
    }
    moves
}

/// Which of the source's movable threads to give to the target.
fn choose(source: &Lot, target: &Lot, may: impl Fn(ThreadId) -> bool) -> Option<usize> {
    let ideal = (source.weight * target.capacity).saturating_sub(target.weight * source.capacity)
        / (source.capacity + target.capacity);
    let split = source.movable.partition_point(|&(weight, _)| u64::from(weight) <= ideal);
    let allowed = |&i: &usize| may(source.movable[i].1);
    let chosen = (0..split).rev().find(allowed).or_else(|| (split..source.movable.len()).find(allowed))?;
    let weight = u64::from(source.movable[chosen].0);
    ((target.weight + weight) * source.capacity < source.weight * target.capacity).then_some(chosen)
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

    proptest! {
        #[test]
        fn whoever_is_left_out_would_have_stayed(
            counts in prop::collection::vec((prop::collection::vec(any::<bool>(), 0..40), 1u64..=2), 1..6), alike in any::<bool>(),
        ) {
            let mut next = 0;
            let lots: Vec<_> = counts.iter().map(|(threads, capacity)| {
                let capacity = if alike { 1024 } else { capacity * 512 };
                // Those that run count, and may not move.
                let movable = threads.iter().filter(|&&ready| ready).map(|_| { next += 7; (1, ThreadId(next % 199)) });
                Lot { capacity, weight: threads.len() as u64, movable: movable.collect() }
            }).collect();
            let sorted = |mut lots: Vec<Lot>| {
                lots.iter_mut().for_each(|lot| lot.movable.sort_unstable());
                lots
            };
            let mut few = lots.clone();
            leave_out_who_stays(&mut few);
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
