//! Results of a loop that any thread may write, each by its number.

use std::sync::atomic::{AtomicU64, Ordering};

use super::cases;

/// Plain stores: relaxed atomics cost nothing more.
pub struct Slots(Vec<AtomicU64>);

impl Slots {
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn get(&self, i: usize) -> u64 {
        self.0[i].load(Ordering::Relaxed)
    }

    pub fn set(&self, i: usize, value: u64) {
        self.0[i].store(value, Ordering::Relaxed);
    }

    pub fn clear(&self) {
        self.0.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
    }

    pub fn check(&self) -> u64 {
        cases::check(self.0.iter().map(|slot| slot.load(Ordering::Relaxed)))
    }
}

/// What the cases write.
pub struct Results {
    prices: Slots,
    few: Slots,
    cells: Slots,
    coarse: Slots,
}

impl Results {
    pub fn new() -> Self {
        Self {
            prices: Slots::new(cases::OPTIONS),
            few: Slots::new(cases::SHORT_LOOP),
            cells: Slots::new(cases::CELLS),
            coarse: Slots::new(cases::COARSE),
        }
    }

    pub fn price(&self, i: usize) {
        self.prices.set(i, cases::price(i).to_bits());
    }

    pub fn short(&self, i: usize) {
        self.few.set(i, cases::short(i));
    }

    pub fn cell(&self, i: usize) {
        self.cells.set(i, cases::cell(i, self.cells.get(i)));
    }

    pub fn coarse(&self, i: usize) {
        self.coarse.set(i, cases::coarse(i));
    }

    /// What has to be put back before a case runs again.
    pub fn reset(&self) {
        self.cells.clear();
        self.coarse.clear();
    }

    /// Of what a case wrote.
    pub fn check(&self, case: &str) -> u64 {
        match case.split('-').next() {
            Some("prices") => self.prices.check(),
            Some("short") => self.few.check(),
            Some("frames") => self.cells.check(),
            Some("coarse") => self.coarse.check(),
            _ => 0,
        }
    }
}
