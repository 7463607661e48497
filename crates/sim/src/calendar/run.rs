//! Entries in order, in a ring: for entries that come almost in order, as events do whose delays
//! are equal, or threads that have all run for a slice.
//!
//! The last are looked at when one comes: where it belongs among the last [`REACH`] it is put
//! there, otherwise it is not taken ([`crate::calendar::line`] then keeps it in a heap). Mostly it
//! belongs at the end, so that an entry costs one comparison, which a processor foretells, and the
//! first is taken by counting up. One that is taken out of the midst leaves a *gap*, an entry
//! without an owner, which is passed over once it is first.
//!
//! Places are counted on and on, and begin again at 0 after the last number; the ring holds place
//! `p` at `p` modulo its size, so that no place changes when it grows.

use crate::calendar::heap::{Entry, NO_OWNER, Positions};

/// How many entries one may have to pass to its place. Each costs a move; a place in a heap of few
/// entries costs one, of many about a dozen.
const REACH: u32 = 3;

/// Size of a ring that has been used.
const LEAST_SIZE: usize = 8;

/// Entries in order of rank.
#[derive(Debug)]
pub struct Run<E> {
    /// As many as a power of two, or none.
    ring: Vec<E>,
    /// Place of the first; never that of a gap.
    head: u32,
    /// The place behind the last.
    end: u32,
    gaps: u32,
}

impl<E> Default for Run<E> {
    fn default() -> Self {
        Self { ring: Vec::new(), head: 0, end: 0, gaps: 0 }
    }
}

impl<E: Entry> Run<E> {
    /// How many, gaps not counted.
    pub fn len(&self) -> usize {
        (self.span() - self.gaps) as usize
    }

    /// How many, gaps counted.
    fn span(&self) -> u32 {
        self.end.wrapping_sub(self.head)
    }

    /// The least.
    #[inline]
    pub fn first(&self) -> Option<&E> {
        if self.head == self.end { None } else { Some(self.at(self.head)) }
    }

    /// All in order.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        (0..self.span())
            .map(|nth| self.at(self.head.wrapping_add(nth)))
            .filter(|entry| entry.owner() != NO_OWNER)
    }

    /// Where a place is in the ring, which is not empty.
    fn index(&self, place: u32) -> usize {
        place as usize & (self.ring.len() - 1)
    }

    fn at(&self, place: u32) -> &E {
        &self.ring[self.index(place)]
    }

    fn put(&mut self, place: u32, entry: E, positions: &mut Positions) {
        let index = self.index(place);
        self.ring[index] = entry;
        positions.set_in_run(entry.owner(), place);
    }

    /// Moves an entry or a gap.
    fn shift(&mut self, from: u32, to: u32, positions: &mut Positions) {
        let entry = *self.at(from);
        if entry.owner() == NO_OWNER {
            let index = self.index(to);
            self.ring[index] = entry;
        } else {
            self.put(to, entry, positions);
        }
    }

    /// Adds an entry of an owner that has none, if it belongs at the end or close to it.
    #[inline]
    pub fn insert(&mut self, entry: E, positions: &mut Positions) -> bool {
        let last = self.end.wrapping_sub(1);
        let is_last = self.head == self.end || self.at(last).rank() < entry.rank();
        if !is_last || self.span() as usize == self.ring.len() {
            return self.insert_with_effort(entry, positions);
        }
        self.put(self.end, entry, positions);
        self.end = self.end.wrapping_add(1);
        true
    }

    /// The same where others have to make room, or the ring is full.
    #[inline(never)]
    fn insert_with_effort(&mut self, entry: E, positions: &mut Positions) -> bool {
        if self.span() as usize == self.ring.len() {
            self.make_room(entry, positions);
        }
        let rank = entry.rank();
        let reach = self.span().min(REACH);
        let mut place = self.end;
        for passed in 0.. {
            if passed == REACH {
                return false;
            }
            if passed == reach || self.at(place.wrapping_sub(1)).rank() < rank {
                break;
            }
            place = place.wrapping_sub(1);
        }
        let mut free = self.end;
        while free != place {
            let from = free.wrapping_sub(1);
            self.shift(from, free, positions);
            free = from;
        }
        self.put(place, entry, positions);
        self.end = self.end.wrapping_add(1);
        true
    }

    /// Closes the gaps up if they are many, or else doubles the ring. `filler` is put into
    /// places that are not used.
    #[cold]
    fn make_room(&mut self, filler: E, positions: &mut Positions) {
        if self.gaps > self.span() / 2 {
            let mut free = self.head;
            for nth in 0..self.span() {
                let place = self.head.wrapping_add(nth);
                if self.at(place).owner() != NO_OWNER {
                    self.shift(place, free, positions);
                    free = free.wrapping_add(1);
                }
            }
            (self.end, self.gaps) = (free, 0);
            return;
        }
        let size = (self.ring.len() * 2).max(LEAST_SIZE);
        let mut ring = Vec::with_capacity(size);
        ring.resize(size, filler);
        for nth in 0..self.span() {
            let place = self.head.wrapping_add(nth);
            ring[place as usize & (size - 1)] = *self.at(place);
        }
        self.ring = ring;
    }

    /// Takes the least out.
    #[inline]
    pub fn pop_first(&mut self, positions: &mut Positions) -> Option<E> {
        let gone = *self.first()?;
        positions.set_absent(gone.owner());
        self.leave_head();
        Some(gone)
    }

    /// Gives up the first place, and gaps that follow.
    fn leave_head(&mut self) {
        self.head = self.head.wrapping_add(1);
        while self.gaps > 0 && self.at(self.head).owner() == NO_OWNER {
            self.gaps -= 1;
            self.head = self.head.wrapping_add(1);
        }
    }

    /// Takes the entry at a place, as [`Positions`] tells it, out.
    pub fn remove(&mut self, place: u32, positions: &mut Positions) -> E {
        let index = self.index(place);
        let gone = self.ring[index];
        positions.set_absent(gone.owner());
        if index == self.index(self.head) {
            self.leave_head();
        } else {
            self.ring[index].disown();
            self.gaps += 1;
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::heap::{Position, tests::Numbered};
    use proptest::prelude::*;

    #[test]
    fn entries_that_come_in_order_are_all_taken() {
        let (mut run, mut positions) = (Run::default(), Positions::default());
        positions.grow(1000);
        for owner in 0..1000 {
            assert!(run.insert(Numbered { rank: u64::from(owner), owner }, &mut positions));
        }
        assert_eq!(run.len(), 1000);
    }

    #[test]
    fn one_that_belongs_far_in_front_is_not_taken() {
        let (mut run, mut positions) = (Run::default(), Positions::default());
        positions.grow(REACH as usize + 1);
        for owner in 0..REACH {
            assert!(run.insert(Numbered { rank: 10, owner }, &mut positions));
        }
        assert!(!run.insert(Numbered { rank: 1, owner: REACH }, &mut positions));
    }

    proptest! {
        #[test]
        fn what_is_taken_is_kept_in_order_wherever_others_are_taken_out(
            steps in prop::collection::vec((0u32..60, 0u64..40, 0u8..4), 1..600),
            start in prop_oneof![Just(0), Just(u32::MAX - 20)],
        ) {
            let mut run = Run { head: start, end: start, ..Run::default() };
            let mut positions = Positions::default();
            positions.grow(60);
            let mut model: Vec<Numbered> = Vec::new();
            for (step, (owner, rank, what)) in (0..).zip(steps) {
                let present = model.iter().position(|entry| entry.owner == owner);
                match (what, present) {
                    (0, _) => {
                        let expected = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(run.pop_first(&mut positions), expected);
                    }
                    (_, Some(present)) => {
                        let Some(Position::Run(place)) = positions.of(owner) else { panic!("it is in the run") };
                        prop_assert_eq!(run.remove(place, &mut positions), model.remove(present));
                    }
                    (_, None) => {
                        // Unique, as ranks are.
                        let entry = Numbered { rank: (step * 3 + rank) * 1000 + step, owner };
                        if run.insert(entry, &mut positions) {
                            model.insert(model.partition_point(|other| other.rank <= entry.rank), entry);
                        } else {
                            prop_assert!(positions.of(owner).is_none());
                        }
                    }
                }
                prop_assert_eq!(run.len(), model.len());
                prop_assert_eq!(run.first(), model.first());
                prop_assert!(run.iter().eq(model.iter()));
            }
        }
    }
}
