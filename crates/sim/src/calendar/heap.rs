//! A four-ary heap whose entries know where they stand: any of them can be taken out or moved
//! without a search.
//!
//! Four-ary is shallow, and the children of an entry share a cache line or two. Ranks are compared
//! as one number and without a branch: which of four children is the least is nothing that a
//! processor could foretell.
//!
//! Few entries are in no order at all; only which of them is the least is known. Most of those that
//! come and go are not it, and cost nothing but their place; when it goes, all are looked at. Where
//! many come and go before anybody asks, they may do so *unseen*: then one look is for all of them.

/// What a heap holds.
pub trait Entry: Copy {
    /// Less comes first; no two entries of a heap have the same.
    fn rank(&self) -> u128;
    /// Its owner: where its position is kept.
    fn owner(&self) -> u32;
    /// Takes its owner away: [`NO_OWNER`] stands for it from now on.
    fn disown(&mut self);
}

/// In place of an owner.
pub const NO_OWNER: u32 = u32::MAX;

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// In a [`Heap`].
    Heap(usize),
    /// In a [`crate::calendar::run::Run`]: the place modulo 2^30, of which the ring's size is a
    /// part.
    Run(u32),
}

/// Where the entry of each owner stands. Shared by all of which an owner is in one at most.
#[derive(Debug, Default)]
pub struct Positions(Vec<u32>);

const ABSENT: u32 = u32::MAX;
/// Told apart from places in a heap by this bit.
const IN_RUN: u32 = 1 << 31;
/// What is kept of a place in a run: not all, or one of them would be [`ABSENT`].
const RUN_PLACES: u32 = (1 << 30) - 1;
const ARITY: usize = 4;

impl Positions {
    /// Asks for memory for owners below `count` at once.
    pub fn reserve(&mut self, count: usize) {
        self.0.reserve_exact(count);
    }

    /// Makes room for owners below `count`.
    pub fn grow(&mut self, count: usize) {
        if count > self.0.len() {
            self.0.resize(count, ABSENT);
        }
    }

    /// Where the entry of an owner stands, if it has one.
    pub fn of(&self, owner: u32) -> Option<Position> {
        match self.0[owner as usize] {
            ABSENT => None,
            position if position & IN_RUN != 0 => Some(Position::Run(position & !IN_RUN)),
            position => Some(Position::Heap(position as usize)),
        }
    }

    /// An owner's entry is at a place of a run.
    pub fn set_in_run(&mut self, owner: u32, place: u32) {
        self.0[owner as usize] = place & RUN_PLACES | IN_RUN;
    }

    /// An owner has no entry any more.
    pub fn set_absent(&mut self, owner: u32) {
        self.0[owner as usize] = ABSENT;
    }
}

/// More entries than this are brought into order. To look at so many costs what it costs to bring
/// one or two to their places in a heap.
const FEW: usize = 16;

/// Entries, of which the least is known.
#[derive(Debug)]
pub struct Heap<E> {
    entries: Vec<E>,
    /// True if they are in a heap's order.
    in_order: bool,
    /// Where the least is: in a heap's order, at the beginning; [`UNKNOWN`] after one has come or
    /// gone unseen.
    least: usize,
}

/// The position of a least that has to be looked for.
const UNKNOWN: usize = usize::MAX;

impl<E> Default for Heap<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), in_order: false, least: 0 }
    }
}

impl<E: Entry> Heap<E> {
    /// How many.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The least.
    #[inline]
    pub fn first(&self) -> Option<&E> {
        debug_assert!(self.least != UNKNOWN);
        self.entries.get(self.least)
    }

    /// True if they are in no order: they are few, or none.
    pub fn is_few(&self) -> bool {
        !self.in_order
    }

    /// The least, also where some have come and gone unseen.
    pub fn first_of_all(&self) -> Option<&E> {
        self.entries.get(if self.least == UNKNOWN { self.position_of_least() } else { self.least })
    }

    /// Looks for the least after some have come and gone unseen.
    pub fn look(&mut self) {
        if self.least == UNKNOWN {
            self.find_least();
        }
    }

    /// Takes the least out, if there is one.
    pub fn pop_first(&mut self, positions: &mut Positions) -> Option<E> {
        (!self.entries.is_empty()).then(|| self.remove(self.least, positions))
    }

    /// Shows all entries; but where `goes_on` with one says no, those that are not less than it may
    /// be left out.
    pub fn look_through(&self, mut goes_on: impl FnMut(&E) -> bool) {
        if !self.in_order {
            return self.entries.iter().for_each(|entry| _ = goes_on(entry));
        }
        // Depth times arity bounds what is pending at once; 64 covers 4^16 entries.
        let mut pending = [0usize; 64];
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let position = pending[count];
            if !goes_on(&self.entries[position]) {
                continue;
            }
            let first = (position * ARITY + 1).min(self.entries.len());
            for child in (first..(first + ARITY).min(self.entries.len())).rev() {
                pending[count] = child;
                count += 1;
            }
        }
    }

    /// Adds an entry of an owner that has none.
    #[inline]
    pub fn insert(&mut self, entry: E, positions: &mut Positions) {
        if !self.in_order
            && self.entries.get(self.least).is_some_and(|least| entry.rank() < least.rank())
        {
            self.least = self.entries.len();
        }
        self.append(entry, positions);
    }

    /// The same, unseen: from then on only [`Heap::first_of_all`] knows the least, and all others
    /// again after [`Heap::look`].
    #[inline]
    pub fn insert_unseen(&mut self, entry: E, positions: &mut Positions) {
        if !self.in_order {
            self.least = UNKNOWN;
        }
        self.append(entry, positions);
    }

    /// Puts an entry at the end, and from there to its place if there is an order. It is not passed
    /// on as a whole, for a copy would be read right after it has been written piece by piece,
    /// which makes a processor wait.
    #[inline]
    fn append(&mut self, entry: E, positions: &mut Positions) {
        let position = self.entries.len();
        positions.0[entry.owner() as usize] = position as u32;
        self.entries.push(entry);
        if self.in_order || position >= FEW {
            self.put_last_in_order(positions);
        }
    }

    #[inline(never)]
    fn put_last_in_order(&mut self, positions: &mut Positions) {
        if self.in_order {
            let last = self.entries.len() - 1;
            self.sift_up(last, self.entries[last], positions);
        } else {
            self.bring_into_order(positions);
        }
    }

    #[cold]
    fn bring_into_order(&mut self, positions: &mut Positions) {
        (self.in_order, self.least) = (true, 0);
        for position in (0..self.entries.len().div_ceil(ARITY)).rev() {
            self.sift_down(position, self.entries[position], positions);
        }
    }

    /// Puts an entry of an owner that has none in the place of the least, which goes, unseen. They
    /// must be few, and have been looked at.
    pub fn replace_least_of_few(&mut self, entry: E, positions: &mut Positions) -> Option<E> {
        let gone = std::mem::replace(self.entries.get_mut(self.least)?, entry);
        positions.set_absent(gone.owner());
        positions.0[entry.owner() as usize] = self.least as u32;
        self.least = UNKNOWN;
        Some(gone)
    }

    /// Takes the entry at a position out.
    #[inline]
    pub fn remove(&mut self, position: usize, positions: &mut Positions) -> E {
        if self.in_order {
            return self.remove_in_order(position, positions);
        }
        let gone = self.entries.swap_remove(position);
        positions.set_absent(gone.owner());
        if let Some(moved) = self.entries.get(position) {
            positions.0[moved.owner() as usize] = position as u32;
        }
        if position == self.least {
            self.find_least();
        } else if self.least == self.entries.len() {
            self.least = position;
        }
        gone
    }

    /// The same, unseen.
    #[inline]
    pub fn remove_unseen(&mut self, position: usize, positions: &mut Positions) -> E {
        if self.in_order {
            return self.remove_in_order(position, positions);
        }
        // The last comes into its place, if need be into its own: which of both is nothing that a
        // processor could foretell.
        let (gone, last) = (self.entries[position], self.entries.len() - 1);
        let moved = self.entries[last];
        self.entries[position] = moved;
        self.entries.truncate(last);
        positions.0[moved.owner() as usize] = position as u32;
        positions.set_absent(gone.owner());
        self.least = UNKNOWN;
        gone
    }

    fn find_least(&mut self) {
        self.least = self.position_of_least();
    }

    /// The beginning where there are none.
    fn position_of_least(&self) -> usize {
        let (mut least, mut rank) = (0, u128::MAX);
        for (position, entry) in self.entries.iter().enumerate() {
            least = if entry.rank() < rank { position } else { least };
            rank = rank.min(entry.rank());
        }
        least
    }

    fn remove_in_order(&mut self, position: usize, positions: &mut Positions) -> E {
        let gone = self.entries[position];
        positions.set_absent(gone.owner());
        if let Some(last) = self.entries.pop()
            && position < self.entries.len()
        {
            if last.rank() < gone.rank() {
                self.sift_up(position, last, positions);
            } else {
                self.sift_down(position, last, positions);
            }
        }
        // Its order is given up, but not while the next few that come would bring it back.
        self.in_order = self.entries.len() > FEW / 2;
        gone
    }

    fn put(&mut self, position: usize, entry: E, positions: &mut Positions) {
        self.entries[position] = entry;
        positions.0[entry.owner() as usize] = position as u32;
    }

    fn sift_up(&mut self, mut position: usize, entry: E, positions: &mut Positions) {
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if entry.rank() >= self.entries[parent].rank() {
                break;
            }
            self.put(position, self.entries[parent], positions);
            position = parent;
        }
        self.put(position, entry, positions);
    }

    fn sift_down(&mut self, mut position: usize, entry: E, positions: &mut Positions) {
        loop {
            let first = position * ARITY + 1;
            let mut least = first;
            let mut rank = match self.entries.get(first..first + ARITY) {
                // The usual case, without a loop.
                Some([a, b, c, d]) => {
                    let (ab, lower) =
                        if b.rank() < a.rank() { (b.rank(), 1) } else { (a.rank(), 0) };
                    let (cd, upper) =
                        if d.rank() < c.rank() { (d.rank(), 3) } else { (c.rank(), 2) };
                    least += if cd < ab { upper } else { lower };
                    ab.min(cd)
                }
                _ => match self.entries.get(first) {
                    Some(child) => child.rank(),
                    None => break,
                },
            };
            if first + ARITY > self.entries.len() {
                for (place, child) in self.entries.iter().enumerate().skip(first + 1) {
                    least = if child.rank() < rank { place } else { least };
                    rank = rank.min(child.rank());
                }
            }
            if rank >= entry.rank() {
                break;
            }
            self.put(position, self.entries[least], positions);
            position = least;
        }
        self.put(position, entry, positions);
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the structures of this crate are tried with.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Numbered {
        pub rank: u64,
        pub owner: u32,
    }

    impl Entry for Numbered {
        fn rank(&self) -> u128 {
            u128::from(self.rank)
        }

        fn owner(&self) -> u32 {
            self.owner
        }

        fn disown(&mut self) {
            self.owner = NO_OWNER;
        }
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_whoever_comes_and_goes(
            // More come than go at first, and more go than come then, so that it grows beyond what
            // it keeps in no order, and shrinks again.
            growing in prop::collection::vec((prop::bool::weighted(0.8), 0u64..1000, any::<prop::sample::Index>(), any::<bool>()), 0..150),
            shrinking in prop::collection::vec((prop::bool::weighted(0.3), 0u64..1000, any::<prop::sample::Index>(), any::<bool>()), 0..300),
        ) {
            let (mut heap, mut positions) = (Heap::default(), Positions::default());
            positions.grow(1000);
            let mut model = Vec::new();
            for (comes, rank, index, unseen) in growing.into_iter().chain(shrinking) {
                let entry = Numbered { rank, owner: rank as u32 };
                if comes && !model.contains(&entry) {
                    if unseen {
                        heap.insert_unseen(entry, &mut positions);
                    } else {
                        heap.insert(entry, &mut positions);
                    }
                    model.push(entry);
                } else if !comes && !model.is_empty() {
                    let entry = model.remove(index.index(model.len()));
                    let Some(Position::Heap(position)) = positions.of(entry.owner) else { panic!("it is in the heap") };
                    let gone = if unseen { heap.remove_unseen(position, &mut positions) } else { heap.remove(position, &mut positions) };
                    prop_assert_eq!(gone, entry);
                    prop_assert!(positions.of(entry.owner).is_none());
                }
                model.sort_unstable_by_key(|entry| entry.rank);
                prop_assert_eq!(heap.first_of_all(), model.first());
                if !unseen {
                    heap.look();
                    prop_assert_eq!(heap.first(), model.first());
                }
                prop_assert_eq!(heap.len(), model.len());
            }
        }
    }
}
