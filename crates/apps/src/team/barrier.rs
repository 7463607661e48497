//! The barrier between two phases of pinned threads.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a thread spins before it sleeps. The suite's own barrier (`parsec_barrier`) also spins
/// for at most 0.1 ms: phases are often shorter than a wake-up takes.
const SPIN_TIMEOUT: Duration = Duration::from_micros(100);
/// Checks of the barrier between two checks of the clock.
const LOOKS: usize = 64;

/// A barrier for a few threads. It is central: one counter of the threads that have arrived, and
/// one of the turns, which count how often all have.
pub(super) struct Barrier {
    members: usize,
    /// 0 if threads share cores: a spinning thread would keep off its core a thread that it waits
    /// for.
    spin_timeout: Duration,
    arrived: AtomicUsize,
    turns: AtomicUsize,
    sleepers: Mutex<usize>,
    turned: Condvar,
}

impl Barrier {
    /// A barrier for `members` threads on `cores` cores.
    pub(super) fn new(members: usize, cores: usize) -> Self {
        Self {
            members,
            spin_timeout: if members <= cores { SPIN_TIMEOUT } else { Duration::ZERO },
            arrived: AtomicUsize::new(0),
            turns: AtomicUsize::new(0),
            sleepers: Mutex::new(0),
            turned: Condvar::new(),
        }
    }

    /// Returns when all members have called it. Each then sees what the others wrote before.
    pub(super) fn wait(&self) {
        let turn = self.turns.load(Ordering::Relaxed);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.turn();
        } else if !self.spin(turn) {
            self.sleep(turn);
        }
    }

    /// Lets all threads go on; the last to arrive calls this.
    fn turn(&self) {
        // Reset before the turn is visible: a thread that goes on may arrive again at once.
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
        while since.elapsed() < self.spin_timeout {
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
                                // Longer than the spin timeout.
                                std::thread::sleep(2 * SPIN_TIMEOUT);
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
