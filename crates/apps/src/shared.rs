//! Memory that the workers of a phase share. In one phase no worker writes what another reads; the
//! end of a phase separates them. The types here express this for the compiler.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// One value per block, each behind a lock. In a correct app no thread ever waits for a lock, which
/// costs a few nanoseconds a block.
#[derive(Debug, Default)]
pub struct Blocks<T>(Vec<RwLock<T>>);

impl<T> Blocks<T> {
    /// Makes a block for each value.
    pub fn new(values: impl IntoIterator<Item = T>) -> Self {
        Self(values.into_iter().map(RwLock::new).collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A block that no worker writes in this phase.
    pub fn read(&self, block: usize) -> RwLockReadGuard<'_, T> {
        // A panic poisons it; the team passes that panic on anyway.
        self.0[block].read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block that no other worker uses in this phase.
    pub fn write(&self, block: usize) -> RwLockWriteGuard<'_, T> {
        self.0[block].write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blocks<f64> {
    /// Their sum, added in the order of the blocks: the same bits whichever workers computed them.
    pub fn sum(&self) -> f64 {
        (0..self.len()).map(|block| *self.read(block)).sum()
    }
}

/// Numbers that any worker may read, each of which at most one worker writes in a phase. Relaxed
/// atomics compile to plain loads and stores; the price is that the compiler uses no vector
/// instructions.
#[derive(Debug, Default)]
pub struct SharedF64s(Vec<AtomicU64>);

impl SharedF64s {
    /// Makes `count` zeros.
    pub fn zeros(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    /// The number at a place.
    pub fn get(&self, index: usize) -> f64 {
        f64::from_bits(self.0[index].load(Ordering::Relaxed))
    }

    /// Puts a number in its place.
    pub fn set(&self, index: usize, number: f64) {
        self.0[index].store(number.to_bits(), Ordering::Relaxed);
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)))
    }
}

/// Part `index` of `count` items that are dealt out to `parts` as equally as whole items allow.
pub fn part(count: usize, parts: usize, index: usize) -> Range<usize> {
    count * index / parts..count * (index + 1) / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_items_once_and_differ_by_one_at_most() {
        for (count, parts) in [(64, 3), (5, 7), (0, 2), (10, 1)] {
            let all: Vec<Range<usize>> =
                (0..parts).map(|index| part(count, parts, index)).collect();
            assert_eq!(
                all.iter().cloned().flatten().collect::<Vec<_>>(),
                (0..count).collect::<Vec<_>>()
            );
            let lengths = || all.iter().map(Range::len);
            assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
        }
    }
}
