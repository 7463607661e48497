//! The engine: a calendar of what happens next. It knows nothing of scheduling.
//!
//! Whoever can have an event owns a *slot*, and a slot has one event at most: a core has the end of what
//! it runs, a thread the end of its sleep. Rescheduling moves the slot's entry in place, so there are
//! no stale events to skip and nothing is allocated after the start. Events of one instant come by
//! priority of their slot, then in the order in which they were scheduled: determinism is in the key
//! (time, priority, sequence), not in anybody's care.
//!
//! A four-ary heap with a position per slot: shallow, and its children share a cache line or two.

use evenkeel_machine::Nanos;

/// Whoever can have an event, dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub u32);

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    /// Priority in the top byte, sequence below: unique.
    tie: u64,
    slot: u32,
}

impl Entry {
    /// Time and tie as one number: a comparison without a branch, where there is no telling which is less.
    fn rank(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.tie)
    }

    fn before(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }
}

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;
const SEQUENCE_BITS: u32 = 56;

/// What happens next.
#[derive(Debug, Default)]
pub struct Calendar {
    heap: Vec<Entry>,
    position: Vec<u32>,
    sequence: u64,
}

impl Calendar {
    /// Asks for memory for slots below `count` at once.
    pub fn reserve(&mut self, count: usize) {
        self.position.reserve_exact(count);
    }

    /// Makes room for slots below `count`.
    pub fn grow(&mut self, count: usize) {
        if count > self.position.len() {
            self.position.resize(count, ABSENT);
        }
    }

    /// Schedules the event of a slot, in place of the one that it had. Lower priorities come first within an instant.
    pub fn set(&mut self, slot: Slot, at: Nanos, priority: u8) {
        let tie = u64::from(priority) << SEQUENCE_BITS | self.sequence;
        self.sequence += 1;
        let entry = Entry { time: at.0, tie, slot: slot.0 };
        match self.position[slot.0 as usize] {
            ABSENT => {
                self.heap.push(entry);
                self.sift_up(self.heap.len() - 1, entry);
            }
            position => {
                let position = position as usize;
                if entry.before(&self.heap[position]) {
                    self.sift_up(position, entry);
                } else {
                    self.sift_down(position, entry);
                }
            }
        }
    }

    /// Takes the event of a slot back, if it has one.
    pub fn cancel(&mut self, slot: Slot) {
        let position = self.position[slot.0 as usize];
        if position != ABSENT {
            self.remove(position as usize);
        }
    }

    /// When the next event is.
    pub fn next_time(&self) -> Option<Nanos> {
        self.heap.first().map(|entry| Nanos(entry.time))
    }

    /// Takes the next event if it is at this time.
    pub fn pop_at(&mut self, now: Nanos) -> Option<Slot> {
        let first = *self.heap.first()?;
        if first.time != now.0 {
            return None;
        }
        self.remove(0);
        Some(Slot(first.slot))
    }

    /// Number of slots that have an event.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    fn remove(&mut self, position: usize) {
        let gone = self.heap[position];
        self.position[gone.slot as usize] = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        if position < self.heap.len() {
            if last.before(&gone) {
                self.sift_up(position, last);
            } else {
                self.sift_down(position, last);
            }
        }
    }

    fn put(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.position[entry.slot as usize] = position as u32;
    }

    fn sift_up(&mut self, mut position: usize, entry: Entry) {
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            let moved = self.heap[parent];
            self.put(position, moved);
            position = parent;
        }
        self.put(position, entry);
    }

    fn sift_down(&mut self, mut position: usize, entry: Entry) {
        loop {
            let first = position * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let last = (first + ARITY).min(self.heap.len());
            let mut least = first;
            let mut rank = self.heap[first].rank();
            for (position, child) in self.heap[..last].iter().enumerate().skip(first + 1) {
                let other = child.rank();
                least = if other < rank { position } else { least };
                rank = rank.min(other);
            }
            let child = self.heap[least];
            if !child.before(&entry) {
                break;
            }
            self.put(position, child);
            position = least;
        }
        self.put(position, entry);
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
