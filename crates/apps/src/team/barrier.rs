//! The barrier between two phases of pinned threads.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long one spins before it sleeps. The suite's own barrier (`parsec_barrier`) spins for at
/// most 0.1 ms, too: phases are often shorter than it takes to be woken.
const PATIENCE: Duration = Duration::from_micros(100);
/// Looks between two looks at the clock.
const LOOKS: usize = 64;

/// Lets threads go on when all have come. Central, for a few threads: one counter of those who have
/// come, one of the times that all have.
pub(super) struct Barrier {
    members: usize,
    /// None where threads share cores: who spins there keeps those away that it waits for.
    patience: Duration,
    arrived: AtomicUsize,
    turns: AtomicUsize,
    sleepers: Mutex<usize>,
    turned: Condvar,
}

impl Barrier {
    /// For so many threads, on so many cores.
    pub(super) fn new(members: usize, cores: usize) -> Self {
        Self {
            members,
            patience: if members <= cores { PATIENCE } else { Duration::ZERO },
            arrived: AtomicUsize::new(0),
            turns: AtomicUsize::new(0),
            sleepers: Mutex::new(0),
            turned: Condvar::new(),
        }
    }

    /// Returns when all members have called it. What they wrote before, all can see after.
    pub(super) fn wait(&self) {
        let turn = self.turns.load(Ordering::Relaxed);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.turn();
        } else if !self.spin(turn) {
            self.sleep(turn);
        }
    }

    /// The last to come lets all go.
    fn turn(&self) {
        // Before the turn is seen: those who go on may be back at once.
        self.arrived.store(0, Ordering::Relaxed);
        let sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.turns.fetch_add(1, Ordering::Release);
        if *sleepers > 0 {
            self.turned.notify_all();
        }
    }

    fn has_turned(&self, turn: usize) -> bool {
        self.turns.load(Ordering::Acquire) != turn
    }

    fn spin(&self, turn: usize) -> bool {
        let since = Instant::now();
        while since.elapsed() < self.patience {
            for _ in 0..LOOKS {
                if self.has_turned(turn) {
                    return true;
                }
                spin_loop();
            }
        }
        false
    }

    fn sleep(&self, turn: usize) {
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        *sleepers += 1;
        while !self.has_turned(turn) {
            sleepers = self.turned.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_before_all_have_come_whether_they_spin_or_sleep() {
        for cores in [1, 3] {
            let (barrier, come) = (Barrier::new(3, cores), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for member in 0..3 {
                    let (barrier, come) = (&barrier, &come);
                    scope.spawn(move || {
                        for turn in 0..200 {
                            if turn % 50 == member {
                                // Longer than anybody's patience.
                                std::thread::sleep(2 * PATIENCE);
                            }
                            come.fetch_add(1, Ordering::Relaxed);
                            barrier.wait();
                            assert!(come.load(Ordering::Relaxed) >= 3 * (turn + 1));
                            barrier.wait();
                        }
                    });
                }
            });
            assert_eq!(come.into_inner(), 600);
        }
    }
}
