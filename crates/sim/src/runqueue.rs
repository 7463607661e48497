//! A queue of threads that wait for a core: the least key first, equal keys first come, first served.
//!
//! A thread waits in one queue at most, so the positions of all queues' threads live in one place, and taking any thread out
//! costs no search. A heap is not sorted, but it is ordered along every path from the root, which is enough to find the best
//! thread *for one core* (postponed deadlines, affinity) by walking down and leaving out every branch whose root is no
//! better than the best found: in the usual case a few entries around the top.

use evenkeel_policy::ThreadId;

use crate::heap::{Entry, Heap, Positions};

/// Where each thread stands in its queue; by thread.
pub type Places = Positions;

#[derive(Clone, Copy, Debug)]
struct Waiting {
    key: u64,
    sequence: u64,
    thread: ThreadId,
    weight: u32,
}

impl Entry for Waiting {
    fn rank(&self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.sequence)
    }

    fn owner(&self) -> usize {
        self.thread.index()
    }
}

/// Threads that wait for a core.
#[derive(Debug, Default)]
pub struct RunQueue {
    heap: Heap<Waiting>,
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
        self.weight += u64::from(weight);
        self.heap.insert(Waiting { key, sequence, thread, weight }, places);
    }

    /// Takes the first out and puts another in, at the cost of one of the two.
    pub fn exchange_first(
        &mut self,
        thread: ThreadId,
        key: u64,
        sequence: u64,
        weight: u32,
        places: &mut Places,
    ) -> Option<ThreadId> {
        let gone = self.heap.exchange_first(Waiting { key, sequence, thread, weight }, places)?;
        self.weight = self.weight + u64::from(weight) - u64::from(gone.weight);
        Some(gone.thread)
    }

    /// Takes a thread out that is in it.
    pub fn remove(&mut self, thread: ThreadId, places: &mut Places) {
        if let Some(place) = places.of(thread.index()) {
            let gone = self.heap.remove(place, places);
            debug_assert_eq!(gone.thread, thread);
            self.weight -= u64::from(gone.weight);
        }
    }

    /// The thread whose key, after `adjust` (none: not for this core; otherwise at least the key), is the least, first come first, with that key.
    pub fn best(&self, adjust: impl Fn(ThreadId, u64) -> Option<u64>) -> Option<(ThreadId, u64)> {
        let mut best: Option<(u64, u64, ThreadId)> = None;
        // Depth times arity bounds what is pending at once; 64 covers 4^16 threads.
        let mut pending = [0usize; 64];
        let mut count = usize::from(self.heap.len() > 0);
        while count > 0 {
            count -= 1;
            let place = pending[count];
            let waiting = self.heap.at(place);
            if best.is_some_and(|(key, sequence, _)| (waiting.key, waiting.sequence) > (key, sequence)) {
                continue;
            }
            if let Some(key) = adjust(waiting.thread, waiting.key)
                && best.is_none_or(|(least, sequence, _)| (key, waiting.sequence) < (least, sequence))
            {
                best = Some((key, waiting.sequence, waiting.thread));
            }
            for child in self.heap.children(place).rev() {
                pending[count] = child;
                count += 1;
            }
        }
        best.map(|(key, _, thread)| (thread, key))
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
