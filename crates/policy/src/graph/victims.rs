//! The order in which an idle worker tries its victims. Shared by `steal`, `steal-kind` and the
//! runtime, whose workers are threads.

use evenkeel_machine::KindId;

/// Groups of workers, one group after another; within a group in turn from a random one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Victims {
    /// Group after group, each by number.
    workers: Box<[usize]>,
    /// End of each group.
    ends: Box<[usize]>,
}

impl Victims {
    /// All other workers, whatever their kinds: `steal`.
    pub fn blind(thief: usize, workers: usize) -> Self {
        Self::grouped((0..workers).filter(|&other| other != thief).collect(), |_| ())
    }

    /// All other workers, those on the slowest kind first and those on the fastest last:
    /// `steal-kind`. A thief on the slowest kind takes from any.
    ///
    /// `kinds`: by worker, `None` for those that have not been seen yet, which come last.
    /// `slowest`: the slowest kind of all.
    pub fn by_kind(thief: usize, kinds: &[Option<KindId>], slowest: Option<KindId>) -> Self {
        if kinds.get(thief).is_none_or(|&own| own == slowest) {
            return Self::blind(thief, kinds.len());
        }
        let others = (0..kinds.len()).filter(|&other| other != thief);
        Self::grouped(others.collect(), |&other| std::cmp::Reverse(kinds[other]))
    }

    fn grouped<K: Ord>(mut workers: Vec<usize>, key: impl Fn(&usize) -> K) -> Self {
        workers.sort_by_key(&key);
        let ends = workers.chunk_by(|a, b| key(a) == key(b)).scan(0, |end, group| {
            *end += group.len();
            Some(*end)
        });
        Self { ends: ends.collect(), workers: workers.into() }
    }

    /// All victims; each group in turn from the first worker numbered `from` or above.
    pub fn round(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).flat_map(move |(&start, &end)| {
            let group = &self.workers[start..end];
            let (below, above) = group.split_at(group.partition_point(|&worker| worker < from));
            above.iter().chain(below).copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_kind(thief: usize, kinds: &[u8], from: usize) -> Vec<usize> {
        let kinds: Vec<_> = kinds.iter().map(|&kind| Some(KindId(kind))).collect();
        Victims::by_kind(thief, &kinds, kinds.iter().copied().max().flatten()).round(from).collect()
    }

    #[test]
    fn a_fast_thief_goes_to_the_slowest_first_and_a_slow_one_to_anybody() {
        assert_eq!(by_kind(0, &[0, 0, 1, 2, 2], 0), [3, 4, 2, 1]);
        assert_eq!(by_kind(0, &[0, 0, 1, 2, 2], 4), [4, 3, 2, 1]);
        assert_eq!(by_kind(4, &[0, 0, 1, 2, 2], 1), [1, 2, 3, 0]);
    }

    #[test]
    fn who_has_not_been_seen_comes_last_and_who_is_alone_has_no_victims() {
        let kinds = [None, Some(KindId(0)), Some(KindId(0)), Some(KindId(1))];
        assert!(Victims::by_kind(1, &kinds, Some(KindId(1))).round(0).eq([3, 2, 0]));
        assert_eq!(Victims::blind(0, 1).round(0).next(), None);
        assert!(Victims::blind(1, 4).round(2).eq([2, 3, 0]));
    }
}
