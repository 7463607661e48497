//! A queue of threads that wait for a core: the least key first, equal keys first come, first served.
//!
//! A thread waits in one queue at most, so the positions of all queues' threads live in one place, and taking any thread out
//! costs no search. The best thread *for one core* (postponed deadlines, affinity) is found by looking through the line
//! and leaving out whatever stands behind one that is no better than the best found: in the usual case a few entries are looked at.

use evenkeel_policy::ThreadId;

use crate::heap::{Entry, NOBODY, Positions};
use crate::line::Line;

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

    fn owner(&self) -> u32 {
        self.thread.0
    }

    fn disown(&mut self) {
        self.thread = ThreadId(NOBODY);
    }
}

/// Threads that wait for a core.
#[derive(Debug, Default)]
pub struct RunQueue {
    line: Line<Waiting>,
    weight: u64,
}

impl RunQueue {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Sum of the weights of those that wait.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// The first: its thread and key.
    pub fn first(&self) -> Option<(ThreadId, u64)> {
        self.line.first().map(|waiting| (waiting.thread, waiting.key))
    }

    /// Adds a thread. `sequence` is greater than that of all who came before.
    pub fn insert(&mut self, thread: ThreadId, key: u64, sequence: u64, weight: u32, places: &mut Places) {
        self.weight += u64::from(weight);
        self.line.insert(Waiting { key, sequence, thread, weight }, places);
    }

    /// The same for one that comes from another queue: it may belong anywhere.
    #[inline]
    pub fn insert_anywhere(&mut self, thread: ThreadId, key: u64, sequence: u64, weight: u32, places: &mut Places) {
        self.weight += u64::from(weight);
        self.line.insert_apart(Waiting { key, sequence, thread, weight }, places);
    }

    /// Takes the first out and puts another in.
    pub fn exchange_first(
        &mut self,
        thread: ThreadId,
        key: u64,
        sequence: u64,
        weight: u32,
        places: &mut Places,
    ) -> Option<ThreadId> {
        let gone = self.line.pop_first(places)?;
        self.line.insert(Waiting { key, sequence, thread, weight }, places);
        self.weight = self.weight + u64::from(weight) - u64::from(gone.weight);
        Some(gone.thread)
    }

    /// Takes a thread out that is in it; its key and its weight.
    #[inline]
    pub fn remove(&mut self, thread: ThreadId, places: &mut Places) -> Option<(u64, u32)> {
        let gone = self.line.remove(thread.0, places)?;
        debug_assert_eq!(gone.thread, thread);
        self.weight -= u64::from(gone.weight);
        Some((gone.key, gone.weight))
    }

    /// The thread whose key, after `adjust` (none: not for this core; otherwise at least the key), is the least, first come first, with that key.
    pub fn best(&self, adjust: impl Fn(ThreadId, u64) -> Option<u64>) -> Option<(ThreadId, u64)> {
        let mut best: Option<(u64, u64, ThreadId)> = None;
        self.line.look_through(|waiting| {
            if best.is_some_and(|(key, sequence, _)| (waiting.key, waiting.sequence) > (key, sequence)) {
                return false;
            }
            if let Some(key) = adjust(waiting.thread, waiting.key)
                && best.is_none_or(|(least, sequence, _)| (key, waiting.sequence) < (least, sequence))
            {
                best = Some((key, waiting.sequence, waiting.thread));
            }
            true
        });
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
