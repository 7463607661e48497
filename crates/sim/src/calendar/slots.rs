//! The engine: a calendar of what happens next. It knows nothing of scheduling.
//!
//! What can have an event owns a *slot*, and a slot has one event at most: a core has the end of
//! what it runs, a thread the end of its sleep. Rescheduling moves the slot's entry in place, so
//! there are no stale events to skip and nothing is allocated after the start. Events of one
//! instant come by priority, then those first that were scheduled longest before, then by slot:
//! determinism is in the key (time, priority, lead, slot), not in anybody's care. Nothing in the
//! key depends on how many other events there have been: see [`crate::asking::quiet`].

use evenkeel_machine::Nanos;

use crate::calendar::heap::{Entry, NO_OWNER, Positions};
use crate::calendar::line::Line;

/// What can have an event, dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub u32);

#[derive(Clone, Copy, Debug)]
struct Happening {
    time: u64,
    /// Priority in the top byte, how long before it was scheduled below, then the slot: unique.
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
        self.slot = NO_OWNER;
    }
}

/// Bits of a lead in nanoseconds: 4.3 s, and what is longer counts as that.
const LEAD_BITS: u32 = 32;
/// Bits of a slot: 16.7 million, and what is beyond counts as the last.
const SLOT_BITS: u32 = 24;

/// What happens next.
#[derive(Debug, Default)]
pub struct Calendar {
    line: Line<Happening>,
    positions: Positions,
    now: Nanos,
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

    /// Schedules the event of a slot, in place of the one that it had. Lower priorities come first
    /// within an instant; what has another than the lowest is taken to be rare, and far off.
    pub fn set(&mut self, slot: Slot, at: Nanos, priority: u8) {
        self.set_as_of(self.now, slot, at, priority);
    }

    /// The same, as if it had been scheduled then.
    pub fn set_as_of(&mut self, then: Nanos, slot: Slot, at: Nanos, priority: u8) {
        const LONGEST: u64 = (1 << LEAD_BITS) - 1;
        const LAST: u64 = (1 << SLOT_BITS) - 1;
        let lead = at.saturating_sub(then).0.min(LONGEST);
        let order = (LONGEST - lead) << SLOT_BITS | u64::from(slot.0).min(LAST);
        let tie = u64::from(priority) << (LEAD_BITS + SLOT_BITS) | order;
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

    /// The slot of the next event, if that is at this time.
    pub fn first_at(&self, now: Nanos) -> Option<Slot> {
        self.line
            .first()
            .filter(|happening| happening.time == now.0)
            .map(|happening| Slot(happening.slot))
    }

    /// Takes the next event if it is at this time.
    pub fn pop_at(&mut self, now: Nanos) -> Option<Slot> {
        if self.line.first()?.time != now.0 {
            return None;
        }
        self.now = now;
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
    fn events_of_one_instant_come_by_priority_then_by_lead_then_by_slot() {
        let mut calendar = Calendar::default();
        calendar.grow(4);
        calendar.set(Slot(0), Nanos(5), 1);
        calendar.set(Slot(2), Nanos(5), 0);
        calendar.set(Slot(3), Nanos(4), 9);
        assert_eq!(calendar.next_time(), Some(Nanos(4)));
        assert_eq!(calendar.pop_at(Nanos(4)), Some(Slot(3)));
        calendar.set(Slot(1), Nanos(5), 0);
        assert_eq!(calendar.first_at(Nanos(5)), Some(Slot(2)));
        calendar.set_as_of(Nanos(0), Slot(1), Nanos(5), 0);
        let rest: Vec<_> = std::iter::from_fn(|| calendar.pop_at(Nanos(5))).collect();
        assert_eq!(rest, [Slot(1), Slot(2), Slot(0)]);
    }

    proptest! {
        #[test]
        fn pops_in_the_order_of_a_sorted_list(steps in prop::collection::vec((0u32..40, 0u64..100, 0u8..3, any::<bool>()), 1..400)) {
            let mut calendar = Calendar::default();
            calendar.grow(40);
            let mut model: Vec<Option<(u64, u8)>> = vec![None; 40];
            for &(slot, time, priority, cancel) in &steps {
                if cancel {
                    calendar.cancel(Slot(slot));
                    model[slot as usize] = None;
                } else {
                    calendar.set(Slot(slot), Nanos(time), priority);
                    model[slot as usize] = Some((time, priority));
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
