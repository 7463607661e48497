//! A queue of threads that wait for a core: the least key first, equal keys first come, first served.
//!
//! A four-ary heap. A thread waits in one queue at most, so the positions of all queues' threads live in
//! one array, [`Places`], and taking any thread out costs no search. A heap is not sorted, but it is
//! ordered along every path from the root, which is enough to find the best thread *for one core*
//! (postponed deadlines, affinity) by walking down and leaving out every branch whose root is no
//! better than the best found: in the usual case a few entries around the top.

use evenkeel_policy::ThreadId;

/// Where each thread stands in its queue; by thread.
#[derive(Debug, Default)]
pub struct Places(Vec<u32>);

const NOWHERE: u32 = u32::MAX;
const ARITY: usize = 4;

impl Places {
    /// Asks for memory for threads below `count` at once.
    pub fn reserve(&mut self, count: usize) {
        self.0.reserve_exact(count);
    }

    /// Makes room for threads below `count`.
    pub fn grow(&mut self, count: usize) {
        if count > self.0.len() {
            self.0.resize(count, NOWHERE);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    key: u64,
    sequence: u64,
    thread: ThreadId,
    weight: u32,
}

impl Waiting {
    /// Key and sequence as one number: a comparison without a branch, where there is no telling which is less.
    fn rank(&self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.sequence)
    }

    fn before(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }
}

/// Threads that wait for a core.
#[derive(Debug, Default)]
pub struct RunQueue {
    heap: Vec<Waiting>,
    weight: u64,
}

impl RunQueue {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Sum of the weights of those that wait.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// The first: its thread and key.
    pub fn first(&self) -> Option<(ThreadId, u64)> {
        self.heap.first().map(|waiting| (waiting.thread, waiting.key))
    }

    /// Adds a thread. `sequence` is greater than that of all who came before.
    pub fn insert(&mut self, thread: ThreadId, key: u64, sequence: u64, weight: u32, places: &mut Places) {
        let waiting = Waiting { key, sequence, thread, weight };
        self.weight += u64::from(weight);
        self.heap.push(waiting);
        self.sift_up(self.heap.len() - 1, waiting, places);
    }

    /// Takes a thread out that is in it.
    pub fn remove(&mut self, thread: ThreadId, places: &mut Places) {
        let place = places.0[thread.index()] as usize;
        let gone = self.heap[place];
        debug_assert_eq!(gone.thread, thread);
        places.0[thread.index()] = NOWHERE;
        self.weight -= u64::from(gone.weight);
        let Some(last) = self.heap.pop() else { return };
        if place < self.heap.len() {
            if last.before(&gone) {
                self.sift_up(place, last, places);
            } else {
                self.sift_down(place, last, places);
            }
        }
    }

    /// The thread whose key, after `adjust` (none: not for this core; otherwise at least the key), is the least, first come first, with that key.
    pub fn best(&self, adjust: impl Fn(ThreadId, u64) -> Option<u64>) -> Option<(ThreadId, u64)> {
        let mut best: Option<(u64, u64, ThreadId)> = None;
        // Depth times arity bounds what is pending at once; 64 covers 4^16 threads.
        let mut pending = [0usize; 64];
        let mut count = usize::from(!self.heap.is_empty());
        while count > 0 {
            count -= 1;
            let place = pending[count];
            let waiting = &self.heap[place];
            if best.is_some_and(|(key, sequence, _)| (waiting.key, waiting.sequence) > (key, sequence)) {
                continue;
            }
            if let Some(key) = adjust(waiting.thread, waiting.key)
                && best.is_none_or(|(least, sequence, _)| (key, waiting.sequence) < (least, sequence))
            {
                best = Some((key, waiting.sequence, waiting.thread));
            }
            let first = place * ARITY + 1;
            for child in (first..(first + ARITY).min(self.heap.len())).rev() {
                pending[count] = child;
                count += 1;
            }
        }
        best.map(|(key, _, thread)| (thread, key))
    }

    fn put(&mut self, place: usize, waiting: Waiting, places: &mut Places) {
        self.heap[place] = waiting;
        places.0[waiting.thread.index()] = place as u32;
    }

    fn sift_up(&mut self, mut place: usize, waiting: Waiting, places: &mut Places) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !waiting.before(&self.heap[parent]) {
                break;
            }
            let moved = self.heap[parent];
            self.put(place, moved, places);
            place = parent;
        }
        self.put(place, waiting, places);
    }

    fn sift_down(&mut self, mut place: usize, waiting: Waiting, places: &mut Places) {
        loop {
            let first = place * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let last = (first + ARITY).min(self.heap.len());
            let mut least = first;
            let mut rank = self.heap[first].rank();
            for (place, child) in self.heap[..last].iter().enumerate().skip(first + 1) {
                let other = child.rank();
                least = if other < rank { place } else { least };
                rank = rank.min(other);
            }
            let child = self.heap[least];
            if !child.before(&waiting) {
                break;
            }
            self.put(place, child, places);
            place = least;
        }
        self.put(place, waiting, places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_for_a_core_is_the_one_a_full_search_finds(
            keys in prop::collection::vec(0u64..50, 1..120),
            gone in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
            postpone in prop::collection::vec(prop::option::weighted(0.8, 0u64..30), 120),
        ) {
            let mut places = Places::default();
            places.grow(keys.len());
            let mut queue = RunQueue::default();
            let mut model = Vec::new();
            for (i, &key) in keys.iter().enumerate() {
                queue.insert(ThreadId(i as u32), key, i as u64, 1024, &mut places);
                model.push((key, i as u64, ThreadId(i as u32)));
            }
            for index in gone {
                if model.is_empty() { break; }
                let (.., thread) = model.remove(index.index(model.len()));
                queue.remove(thread, &mut places);
            }
            prop_assert_eq!(queue.weight(), 1024 * model.len() as u64);
            let adjust = |thread: ThreadId, key: u64| postpone[thread.index()].map(|by| key + by);
            let expected = model.iter()
                .filter_map(|&(key, sequence, thread)| adjust(thread, key).map(|key| (key, sequence, thread)))
                .min().map(|(key, _, thread)| (thread, key));
            prop_assert_eq!(queue.best(adjust), expected);
            let first = model.iter().min().map(|&(key, _, thread)| (thread, key));
            prop_assert_eq!(queue.first(), first);
            model.sort_unstable();
            for (_, _, thread) in model {
                prop_assert_eq!(queue.first().map(|(thread, _)| thread), Some(thread));
                queue.remove(thread, &mut places);
            }
        }
    }
}
