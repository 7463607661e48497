//! The engine: a calendar of what happens next. It knows nothing of scheduling.
//!
//! Whoever can have an event owns a *slot*, and a slot has one event at most: a core has the end of what
//! it runs, a thread the end of its sleep. Rescheduling moves the slot's entry in place, so there are
//! no stale events to skip and nothing is allocated after the start. Events of one instant come by
//! priority of their slot, then in the order in which they were scheduled: determinism is in the key
//! (time, priority, sequence), not in anybody's care.

use evenkeel_machine::Nanos;

use crate::heap::{Entry, NOBODY, Positions};
use crate::line::Line;

/// Whoever can have an event, dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub u32);

#[derive(Clone, Copy, Debug)]
struct Happening {
    time: u64,
    /// Priority in the top byte, sequence below: unique.
    tie: u64,
    slot: u32,
}

impl Entry for Happening {
    fn rank(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.tie)
    }

    fn owner(&self) -> u32 {
        self.slot
    }

    fn disown(&mut self) {
        self.slot = NOBODY;
    }
}

const SEQUENCE_BITS: u32 = 56;

/// What happens next.
#[derive(Debug, Default)]
pub struct Calendar {
    line: Line<Happening>,
    positions: Positions,
    sequence: u64,
}

impl Calendar {
    /// Asks for memory for slots below `count` at once.
    pub fn reserve(&mut self, count: usize) {
        self.positions.reserve(count);
    }

    /// Makes room for slots below `count`.
    pub fn grow(&mut self, count: usize) {
        self.positions.grow(count);
    }

    /// Schedules the event of a slot, in place of the one that it had. Lower priorities come first within an instant; what has
    /// another than the lowest is taken to be rare, and far off.
    pub fn set(&mut self, slot: Slot, at: Nanos, priority: u8) {
        let tie = u64::from(priority) << SEQUENCE_BITS | self.sequence;
        self.sequence += 1;
        let happening = Happening { time: at.0, tie, slot: slot.0 };
        self.line.remove(slot.0, &mut self.positions);
        if priority == 0 {
            self.line.insert(happening, &mut self.positions);
        } else {
            self.line.insert_apart(happening, &mut self.positions);
        }
    }

    /// Takes the event of a slot back, if it has one.
    pub fn cancel(&mut self, slot: Slot) {
        self.line.remove(slot.0, &mut self.positions);
    }

    /// When the next event is.
    pub fn next_time(&self) -> Option<Nanos> {
        self.line.first().map(|happening| Nanos(happening.time))
    }

    /// Takes the next event if it is at this time.
    pub fn pop_at(&mut self, now: Nanos) -> Option<Slot> {
        if self.line.first()?.time != now.0 {
            return None;
        }
        self.line.pop_first(&mut self.positions).map(|happening| Slot(happening.slot))
    }

    /// Number of slots that have an event.
    pub fn len(&self) -> usize {
        self.line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_of_one_instant_come_by_priority_then_in_order_of_scheduling() {
        let mut calendar = Calendar::default();
        calendar.grow(4);
        calendar.set(Slot(0), Nanos(5), 1);
        calendar.set(Slot(1), Nanos(5), 0);
        calendar.set(Slot(2), Nanos(5), 0);
        calendar.set(Slot(3), Nanos(4), 9);
        assert_eq!(calendar.next_time(), Some(Nanos(4)));
        assert_eq!(calendar.pop_at(Nanos(4)), Some(Slot(3)));
        let rest: Vec<_> = std::iter::from_fn(|| calendar.pop_at(Nanos(5))).collect();
        assert_eq!(rest, [Slot(1), Slot(2), Slot(0)]);
    }

    proptest! {
        #[test]
        fn pops_in_the_order_of_a_sorted_list(steps in prop::collection::vec((0u32..40, 0u64..100, 0u8..3, any::<bool>()), 1..400)) {
            let mut calendar = Calendar::default();
            calendar.grow(40);
            let mut model: Vec<Option<(u64, u8, usize)>> = vec![None; 40];
            for (sequence, &(slot, time, priority, cancel)) in steps.iter().enumerate() {
                if cancel {
                    calendar.cancel(Slot(slot));
                    model[slot as usize] = None;
                } else {
                    calendar.set(Slot(slot), Nanos(time), priority);
                    model[slot as usize] = Some((time, priority, sequence));
                }
            }
            let mut expected: Vec<_> = model.iter().enumerate().filter_map(|(slot, key)| key.map(|key| (key, slot as u32))).collect();
            expected.sort_unstable();
            for ((time, ..), slot) in expected {
                prop_assert_eq!(calendar.next_time(), Some(Nanos(time)));
                prop_assert_eq!(calendar.pop_at(Nanos(time)), Some(Slot(slot)));
            }
            prop_assert_eq!(calendar.len(), 0);
        }
    }
}
