//! What comes next: a [`Run`] for entries that come almost in order, a [`Heap`] for the rest. The
//! first of the two firsts is the first of all.
//!
//! A heap alone would do; but what comes to a calendar or a run queue mostly belongs at its end,
//! and a heap sorts it in nevertheless. Where nothing comes in order everything is in the heap.
//! A run that has been emptied takes any entry again.

use crate::calendar::heap::{Entry, Heap, Position, Positions};
use crate::calendar::run::Run;

/// A run and a heap as one line of entries, least rank first.
#[derive(Debug)]
pub struct Line<E> {
    run: Run<E>,
    heap: Heap<E>,
}

impl<E> Default for Line<E> {
    fn default() -> Self {
        Self { run: Run::default(), heap: Heap::default() }
    }
}

impl<E: Entry> Line<E> {
    /// How many.
    pub fn len(&self) -> usize {
        self.run.len() + self.heap.len()
    }

    /// The least.
    #[inline]
    pub fn first(&self) -> Option<&E> {
        match (self.run.first(), self.heap.first()) {
            (Some(a), Some(b)) => Some(if b.rank() < a.rank() { b } else { a }),
            (first, None) | (None, first) => first,
        }
    }

    /// Adds an entry of an owner that has none.
    #[inline]
    pub fn insert(&mut self, entry: E, positions: &mut Positions) {
        if !self.run.insert(entry, positions) {
            self.heap.insert(entry, positions);
        }
    }

    /// Adds an entry that would be in the way of many that come before it, or that belongs
    /// anywhere.
    #[inline]
    pub fn insert_apart(&mut self, entry: E, positions: &mut Positions) {
        self.heap.insert(entry, positions);
    }

    /// Takes the least out. Part of every context switch: a call would cost as much as it does.
    #[inline(always)]
    pub fn pop_first(&mut self, positions: &mut Positions) -> Option<E> {
        match (self.run.first(), self.heap.first()) {
            (Some(a), Some(b)) if b.rank() < a.rank() => self.heap.pop_first(positions),
            (None, Some(_)) => self.heap.pop_first(positions),
            _ => self.run.pop_first(positions),
        }
    }

    /// Takes an owner's entry out, if it has one. It must be in this line.
    pub fn remove(&mut self, owner: u32, positions: &mut Positions) -> Option<E> {
        match positions.of(owner)? {
            Position::Run(place) => Some(self.run.remove(place, positions)),
            Position::Heap(position) => Some(self.heap.remove(position, positions)),
        }
    }

    /// As [`Line::insert_apart`], unseen: see [`Heap`].
    #[inline]
    pub fn insert_unseen(&mut self, entry: E, positions: &mut Positions) {
        self.heap.insert_unseen(entry, positions);
    }

    /// As [`Line::remove`], unseen; what is wanted `of` the entry, which is not passed on as a
    /// whole.
    #[inline]
    pub fn remove_unseen<T>(
        &mut self,
        owner: u32,
        of: impl Fn(&E) -> T,
        positions: &mut Positions,
    ) -> Option<T> {
        match positions.of(owner)? {
            Position::Run(place) => Some(of(&self.run.remove(place, positions))),
            Position::Heap(position) => Some(of(&self.heap.remove_unseen(position, positions))),
        }
    }

    /// The least, also where some have come and gone unseen.
    pub fn first_of_all(&self) -> Option<&E> {
        match (self.run.first(), self.heap.first_of_all()) {
            (Some(a), Some(b)) => Some(if b.rank() < a.rank() { b } else { a }),
            (first, None) | (None, first) => first,
        }
    }

    /// Looks for the least after some have come and gone unseen.
    pub fn look(&mut self) {
        self.heap.look();
    }

    /// True if those apart are few.
    pub fn few_apart(&self) -> bool {
        self.heap.is_few()
    }

    /// Takes the least out and adds another apart, unseen. Those apart must be few, and have been
    /// looked at.
    pub fn exchange_first_apart(&mut self, entry: E, positions: &mut Positions) -> Option<E> {
        if self.run.first().is_none() {
            return self.heap.replace_least_of_few(entry, positions);
        }
        let gone = self.pop_first(positions)?;
        self.heap.insert_unseen(entry, positions);
        Some(gone)
    }

    /// Shows entries, and those that stand behind one as long as `goes_on` with it: none of them is
    /// less than it.
    pub fn look_through(&self, mut goes_on: impl FnMut(&E) -> bool) {
        for entry in self.run.iter() {
            if !goes_on(entry) {
                break;
            }
        }
        self.heap.look_through(goes_on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::heap::tests::Numbered;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_out_as_from_a_sorted_list(
            steps in prop::collection::vec((0u32..80, 0u64..1000, 0u64..60, 0u8..5), 1..800), slope in 0u64..20,
        ) {
            let (mut line, mut positions) = (Line::default(), Positions::default());
            positions.grow(80);
            let mut model: Vec<Numbered> = Vec::new();
            for (step, (owner, anywhere, spread, what)) in (0..).zip(steps) {
                let present = model.iter().position(|entry| entry.owner == owner);
                match (what, present) {
                    (0 | 1, _) => {
                        let expected = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(line.pop_first(&mut positions), expected);
                    }
                    (_, Some(present)) => {
                        prop_assert_eq!(line.remove(owner, &mut positions), Some(model.remove(present)));
                    }
                    (what, None) => {
                        // Unique, as ranks are.
                        let rank = (if what == 2 { anywhere } else { step * slope + spread }) * 1000 + step;
                        let entry = Numbered { rank, owner };
                        if anywhere % 16 == 0 {
                            line.insert_apart(entry, &mut positions);
                        } else {
                            line.insert(entry, &mut positions);
                        }
                        model.insert(model.partition_point(|other| other.rank < rank), entry);
                    }
                }
                prop_assert_eq!(line.len(), model.len());
                prop_assert_eq!(line.first(), model.first());
            }
            let mut seen = Vec::new();
            line.look_through(|entry| { seen.push(*entry); true });
            seen.sort_unstable_by_key(|entry| entry.rank);
            prop_assert_eq!(seen, model);
        }
    }
}
