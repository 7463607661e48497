//! From whom a worker steals, in which order: `steal` and `steal-kind` of crates/policy, where each worker is a thread.

use evenkeel_machine::KindId;

/// Groups of workers: one group after the other, each from a random one round.
pub struct Victims(Box<[Box<[usize]>]>);

impl Victims {
    /// Of a worker in a team. `knows_kinds`: a fast one goes to the slowest kind first and to its own and faster ones last.
    pub fn of(thief: usize, kinds: &[KindId], knows_kinds: bool) -> Self {
        let others = || (0..kinds.len()).filter(|&other| other != thief);
        let slowest = kinds.iter().max();
        if !knows_kinds || slowest == kinds.get(thief) {
            return Self([others().collect()].into());
        }
        let mut ranks: Vec<KindId> = kinds.to_vec();
        ranks.sort_unstable_by(|a, b| b.cmp(a));
        ranks.dedup();
        let group = |kind: KindId| others().filter(|&other| kinds[other] == kind).collect::<Box<[usize]>>();
        Self(ranks.into_iter().map(group).filter(|group| !group.is_empty()).collect())
    }

    /// The groups.
    pub fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.0.iter().map(|group| &**group).filter(|group| !group.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(thief: usize, kinds: &[u8], knows_kinds: bool) -> Vec<Vec<usize>> {
        let kinds: Vec<_> = kinds.iter().copied().map(KindId).collect();
        Victims::of(thief, &kinds, knows_kinds).iter().map(<[usize]>::to_vec).collect()
    }

    #[test]
    fn a_fast_thief_goes_to_the_slowest_first_and_a_slow_one_to_anybody() {
        assert_eq!(groups(0, &[0, 0, 1, 2, 2], true), [vec![3, 4], vec![2], vec![1]]);
        assert_eq!(groups(4, &[0, 0, 1, 2, 2], true), [vec![0, 1, 2, 3]]);
    }

    #[test]
    fn who_does_not_know_kinds_goes_to_anybody_and_who_is_alone_to_nobody() {
        assert_eq!(groups(0, &[0, 1], false), [vec![1]]);
        assert!(groups(0, &[0], true).is_empty());
    }
}
