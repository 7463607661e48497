//! How long iterations took the last time: who runs a loop again need not find out anew how many make a chunk.

use std::cell::Cell;

/// Loops that are told apart; two that share a place find out anew each time that they take turns.
const LOOPS: usize = 16;

/// Of one worker, by the loops that it has called: what is called identifies a loop, and nanoseconds per iteration.
#[derive(Default)]
pub struct Paces([Cell<(usize, f64)>; LOOPS]);

impl Paces {
    fn place(&self, code: usize) -> &Cell<(usize, f64)> {
        // Functions begin at multiples of 16.
        &self.0[(code >> 4) % LOOPS]
    }

    /// Of the loop whose code is at this address.
    pub fn last(&self, code: usize) -> Option<f64> {
        let (known, pace) = self.place(code).get();
        (known == code).then_some(pace)
    }

    /// It has taken so long.
    pub fn learn(&self, code: usize, pace: f64) {
        self.place(code).set((code, pace));
    }
}
