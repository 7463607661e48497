//! Whether it pays to steal. The lines of memory that a thief needs are in its victim's cache, and have to go back there: where tasks are shorter than that takes,
//! both are slower together than the victim would be alone. So a thief times one steal of some, and what it has stolen; where the taking was the longer, it
//! holds off for a while, and for twice as long if it finds the same again.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::worker::LOOKING;

/// Of so many steals one is timed: two looks at the clock cost some 50 ns.
const SAMPLED: u32 = 16;
/// How long it holds off at first.
const FIRST: Duration = Duration::from_micros(2);
/// And at most: as long as whoever has nothing to do looks around.
const LONGEST: Duration = LOOKING;

/// What a worker remembers of its steals.
#[derive(Default)]
pub struct Thrift {
    steals: Cell<u32>,
    held_off: Cell<Duration>,
}

impl Thrift {
    /// Before a steal: when it began, if it is to be timed.
    #[inline]
    pub fn begin(&self) -> Option<Instant> {
        let steals = self.steals.get().wrapping_add(1);
        self.steals.set(steals);
        steals.is_multiple_of(SAMPLED).then(Instant::now)
    }

    /// How long to hold off, after a steal that took so long and a task of such a length.
    pub fn hold_off(&self, taking: Duration, task: Duration) -> Duration {
        let next = if taking <= task { Duration::ZERO } else { (2 * self.held_off.get()).clamp(FIRST, LONGEST) };
        self.held_off.set(next);
        next
    }

    /// The victim did nothing about its tasks meanwhile: it has something else to do, and they are the thief's.
    pub fn was_for_nothing(&self) {
        self.held_off.set(Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(ns: u64) -> Duration {
        Duration::from_nanos(ns)
    }

    #[test]
    fn one_steal_of_sixteen_is_timed() {
        let thrift = Thrift::default();
        assert_eq!((0..160).filter(|_| thrift.begin().is_some()).count(), 10);
    }

    #[test]
    fn who_steals_what_is_shorter_than_its_taking_holds_off_for_longer_and_longer() {
        let thrift = Thrift::default();
        let waits = [(); 7].map(|()| thrift.hold_off(ns(200), ns(100)).as_micros());
        assert_eq!(waits, [2, 4, 8, 16, 32, 50, 50]);
    }

    #[test]
    fn a_task_that_is_worth_it_or_a_victim_that_is_busy_ends_that() {
        let thrift = Thrift::default();
        let waits = [100, 100, 300, 100].map(|task| thrift.hold_off(ns(200), ns(task)).as_micros());
        assert_eq!(waits, [2, 4, 0, 2]);
        thrift.was_for_nothing();
        assert_eq!(thrift.hold_off(ns(200), ns(100)).as_micros(), 2);
    }
}
