//! Sums over pairs of particles that may be on two sides of a border.

use std::iter::zip;

use crate::shared::Blocks;
use crate::vector::{Vector, plus};

/// Sums over pairs for the particles of each slab: the slab's own values, and those for particles
/// of the next slab.
pub(super) struct Sums<T> {
    pub(super) own: Blocks<Vec<T>>,
    pub(super) border: Blocks<Vec<T>>,
}

impl<T: Copy> Sums<T> {
    pub(super) fn new(slabs: usize) -> Self {
        let none = || Blocks::new(vec![Vec::new(); slabs]);
        Self { own: none(), border: none() }
    }

    /// Resets the sums for this number of particles in the slab and in the next.
    pub(super) fn clear(&self, slab: usize, own: usize, border: usize, zero: T) {
        for (sums, count) in [(&self.own, own), (&self.border, border)] {
            let mut sums = sums.write(slab);
            sums.clear();
            sums.resize(count, zero);
        }
    }

    /// Adds the values that the slab before has computed for this one.
    pub(super) fn add_border(&self, slab: usize, add: impl Fn(&mut T, T)) {
        if slab > 0 {
            for (sum, &border) in zip(&mut *self.own.write(slab), &*self.border.read(slab - 1)) {
                add(sum, border);
            }
        }
    }
}

pub(super) fn add_number(sum: &mut f64, border: f64) {
    *sum += border;
}

pub(super) fn add_vector(sum: &mut Vector, border: Vector) {
    *sum = plus(*sum, 1.0, border);
}
