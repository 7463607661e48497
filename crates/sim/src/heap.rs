//! A four-ary heap whose entries know where they stand: any of them can be taken out or moved without a search.
//!
//! Four-ary is shallow, and the children of an entry share a cache line or two. Ranks are compared as one number and without a
//! branch: which of four children is the least is nothing that a processor could foretell.

/// What a heap holds.
pub trait Entry: Copy {
    /// Less comes first; no two entries of a heap have the same.
    fn rank(&self) -> u128;
    /// Whose it is: where its position is kept.
    fn owner(&self) -> usize;
}

/// Where the entry of each owner stands. Shared by heaps of which an owner is in one at most.
#[derive(Debug, Default)]
pub struct Positions(Vec<u32>);

const ABSENT: u32 = u32::MAX;
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
    pub fn of(&self, owner: usize) -> Option<usize> {
        match self.0[owner] {
            ABSENT => None,
            position => Some(position as usize),
        }
    }
}

/// Entries, the least first.
#[derive(Debug)]
pub struct Heap<E>(Vec<E>);

impl<E> Default for Heap<E> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<E: Entry> Heap<E> {
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The least.
    pub fn first(&self) -> Option<&E> {
        self.0.first()
    }

    /// The entry at a position.
    pub fn at(&self, position: usize) -> &E {
        &self.0[position]
    }

    /// Positions of the children of one. A child is never less than its parent.
    pub fn children(&self, position: usize) -> std::ops::Range<usize> {
        let first = position * ARITY + 1;
        first.min(self.0.len())..(first + ARITY).min(self.0.len())
    }

    /// Adds an entry of an owner that has none.
    pub fn insert(&mut self, entry: E, positions: &mut Positions) {
        self.0.push(entry);
        self.sift_up(self.0.len() - 1, entry, positions);
    }

    /// Leaves the place of the least empty: nothing else may be done before `fill_first` or `close_first`.
    pub fn open_first(&mut self, positions: &mut Positions) -> Option<E> {
        let gone = *self.0.first()?;
        positions.0[gone.owner()] = ABSENT;
        Some(gone)
    }

    /// Puts an entry of an owner that has none into the empty first place.
    pub fn fill_first(&mut self, entry: E, positions: &mut Positions) {
        self.sift_down(0, entry, positions);
    }

    /// Closes the empty first place up.
    pub fn close_first(&mut self, positions: &mut Positions) {
        if let Some(last) = self.0.pop()
            && !self.0.is_empty()
        {
            self.sift_down(0, last, positions);
        }
    }

    /// Takes the least out and puts another in.
    pub fn exchange_first(&mut self, entry: E, positions: &mut Positions) -> Option<E> {
        let gone = self.open_first(positions)?;
        self.fill_first(entry, positions);
        Some(gone)
    }

    /// Puts an entry in the place of the one at a position, of the same owner.
    pub fn replace(&mut self, position: usize, entry: E, positions: &mut Positions) {
        if entry.rank() < self.0[position].rank() {
            self.sift_up(position, entry, positions);
        } else {
            self.sift_down(position, entry, positions);
        }
    }

    /// Takes the entry at a position out.
    pub fn remove(&mut self, position: usize, positions: &mut Positions) -> E {
        let gone = self.0[position];
        positions.0[gone.owner()] = ABSENT;
        if let Some(last) = self.0.pop()
            && position < self.0.len()
        {
            if last.rank() < gone.rank() {
                self.sift_up(position, last, positions);
            } else {
                self.sift_down(position, last, positions);
            }
        }
        gone
    }

    fn put(&mut self, position: usize, entry: E, positions: &mut Positions) {
        self.0[position] = entry;
        positions.0[entry.owner()] = position as u32;
    }

    fn sift_up(&mut self, mut position: usize, entry: E, positions: &mut Positions) {
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if entry.rank() >= self.0[parent].rank() {
                break;
            }
            self.put(position, self.0[parent], positions);
            position = parent;
        }
        self.put(position, entry, positions);
    }

    fn sift_down(&mut self, mut position: usize, entry: E, positions: &mut Positions) {
        loop {
            let first = position * ARITY + 1;
            let mut least = first;
            let mut rank = match self.0.get(first..first + ARITY) {
                // The usual case, without a loop.
                Some([a, b, c, d]) => {
                    let (ab, lower) = if b.rank() < a.rank() { (b.rank(), 1) } else { (a.rank(), 0) };
                    let (cd, upper) = if d.rank() < c.rank() { (d.rank(), 3) } else { (c.rank(), 2) };
                    least += if cd < ab { upper } else { lower };
                    ab.min(cd)
                }
                _ => match self.0.get(first) {
                    Some(child) => child.rank(),
                    None => break,
                },
            };
            if first + ARITY > self.0.len() {
                for (place, child) in self.0.iter().enumerate().skip(first + 1) {
                    least = if child.rank() < rank { place } else { least };
                    rank = rank.min(child.rank());
                }
            }
            if rank >= entry.rank() {
                break;
            }
            self.put(position, self.0[least], positions);
            position = least;
        }
        self.put(position, entry, positions);
    }
}
