//! Which cores are idle, and which need a thread.

/// Sets of cores, as bits and counts.
pub struct CoreSets {
    /// Cores that idle and take threads.
    idle: Vec<u64>,
    idle_count: u32,
    /// Cores that need a thread, in the order in which they take one up.
    called: Vec<u32>,
    called_bits: Vec<u64>,
}

impl CoreSets {
    /// For a machine of so many cores. None is idle, none is called.
    pub fn new(cores: usize) -> Self {
        let bits = vec![0; cores.div_ceil(64)];
        Self { idle: bits.clone(), idle_count: 0, called: Vec::new(), called_bits: bits }
    }

    /// How many words of bits a set of cores is.
    pub fn words(&self) -> usize {
        self.idle.len()
    }

    /// True if any core idles that takes threads.
    #[inline]
    pub fn any_idle(&self) -> bool {
        self.idle_count > 0
    }

    #[inline]
    pub fn is_idle(&self, core: usize) -> bool {
        self.idle[core / 64] >> (core % 64) & 1 == 1
    }

    /// Notes whether a core is idle.
    #[inline]
    pub fn set_idle(&mut self, core: usize, idle: bool) {
        let bit = 1_u64 << (core % 64);
        let word = &mut self.idle[core / 64];
        if idle != (*word & bit != 0) {
            *word ^= bit;
            self.idle_count = if idle { self.idle_count + 1 } else { self.idle_count - 1 };
        }
    }

    /// One word of the idle cores' bits.
    pub fn idle_word(&self, word: usize) -> u64 {
        self.idle[word]
    }

    /// Idle cores by number.
    pub fn idle_cores(&self) -> impl Iterator<Item = usize> + '_ {
        self.idle.iter().enumerate().flat_map(|(word, &bits)| {
            let next = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
            let rests = std::iter::successors(Some(bits).filter(|bits| *bits != 0), next);
            rests.map(move |rest| word * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// True if one of these cores is idle.
    pub fn is_one_idle(&self, of: &[u64]) -> bool {
        self.idle.iter().zip(of).any(|(idle, of)| idle & of != 0)
    }

    /// True if one of these cores is idle and has not been called yet. Where many threads come at
    /// once, most find none.
    pub fn is_one_free(&self, of: &[u64]) -> bool {
        let bits = self.idle.iter().zip(&self.called_bits).zip(of);
        bits.into_iter().any(|((idle, called), of)| idle & !called & of != 0)
    }

    /// A core that has not been called needs a thread.
    #[inline]
    pub fn call(&mut self, core: usize) {
        self.called_bits[core / 64] |= 1 << (core % 64);
        self.called.push(core as u32);
    }

    /// True if no core needs a thread.
    #[inline]
    pub fn is_none_called(&self) -> bool {
        self.called.is_empty()
    }

    /// The core that takes a thread up at this place in the order. Others may be called meanwhile:
    /// they come last.
    #[inline]
    pub fn take_called(&mut self, place: usize) -> Option<usize> {
        let core = *self.called.get(place)? as usize;
        self.called_bits[core / 64] &= !(1 << (core % 64));
        Some(core)
    }

    /// All that were called have been taken.
    #[inline]
    pub fn end_calls(&mut self) {
        self.called.clear();
    }

    /// Cores that had a thread come first, then those that were idle, each by number: an idle core
    /// does not take over what a core between two threads goes on with.
    pub fn order_calls(&mut self) {
        if self.called.len() < 2 {
            return;
        }
        self.called.clear();
        for idle in [false, true] {
            for (word, called) in self.called_bits.iter().enumerate() {
                let idle_bits = self.idle[word];
                let mut rest = called & if idle { idle_bits } else { !idle_bits };
                while rest != 0 {
                    self.called.push(word as u32 * 64 + rest.trailing_zeros());
                    rest &= rest - 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_called(sets: &mut CoreSets) -> Vec<usize> {
        (0..).map_while(|place| sets.take_called(place)).collect()
    }

    #[test]
    fn cores_that_had_a_thread_are_called_before_idle_ones_and_by_number() {
        let mut sets = CoreSets::new(70);
        [1, 66].iter().for_each(|&core| sets.set_idle(core, true));
        [66, 65, 1, 3].iter().for_each(|&core| sets.call(core));
        sets.order_calls();
        assert_eq!(all_called(&mut sets), [3, 65, 1, 66]);
        sets.end_calls();
        assert!(sets.is_none_called() && all_called(&mut sets).is_empty());
    }

    #[test]
    fn a_free_core_is_idle_and_not_called() {
        let mut sets = CoreSets::new(4);
        sets.set_idle(2, true);
        sets.set_idle(2, true);
        assert!(sets.any_idle() && sets.is_idle(2) && !sets.is_idle(1));
        assert!(sets.is_one_idle(&[0b100]) && !sets.is_one_idle(&[0b011]));
        assert!(sets.is_one_free(&[0b100]));
        sets.call(2);
        assert!(!sets.is_one_free(&[0b100]) && sets.is_one_idle(&[0b100]));
        assert_eq!(sets.idle_cores().collect::<Vec<_>>(), [2]);
        sets.set_idle(2, false);
        assert!(!sets.any_idle());
    }
}
