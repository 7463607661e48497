//! A queue of threads that wait for a core: the least key first, equal keys first come, first
//! served.
//!
//! A thread waits in one queue at most, so the positions of all queues' threads live in one place,
//! and taking any thread out costs no search. The best thread *for one core* (postponed deadlines,
//! affinity) is found by looking through the line and leaving out whatever stands behind one that
//! is no better than the best found: in the usual case a few entries are looked at.

use evenkeel_policy::ThreadId;

use crate::calendar::heap::{Entry, NO_OWNER, Positions};
use crate::calendar::line::Line;

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
        self.thread = ThreadId(NO_OWNER);
    }
}

/// Threads that wait for a core.
#[derive(Debug, Default)]
pub struct RunQueue {
    line: Line<Waiting>,
    weight: u64,
    /// True if a thread has come from another queue since this one was empty. More will come and go
    /// in any order. As long as they are few they are kept in no order, and the first is looked for
    /// when it is asked for.
    mixed: bool,
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
    #[inline(always)]
    pub fn first(&self) -> Option<(ThreadId, u64)> {
        if self.mixed {
            return self.first_of_all();
        }
        self.line.first().map(|waiting| (waiting.thread, waiting.key))
    }

    /// The same where it may have to be looked for.
    #[inline(never)]
    fn first_of_all(&self) -> Option<(ThreadId, u64)> {
        self.line.first_of_all().map(|waiting| (waiting.thread, waiting.key))
    }

    /// Adds a thread. `sequence` is greater than that of all that came before.
    pub fn insert(
        &mut self,
        thread: ThreadId,
        key: u64,
        sequence: u64,
        weight: u32,
        places: &mut Places,
    ) {
        self.weight += u64::from(weight);
        let waiting = Waiting { key, sequence, thread, weight };
        if self.is_mixed() {
            self.line.insert_unseen(waiting, places);
        } else {
            self.line.insert(waiting, places);
        }
    }

    fn is_mixed(&self) -> bool {
        self.mixed && self.line.few_apart()
    }

    /// The same for one that comes from another queue: it may belong anywhere.
    #[inline]
    pub fn insert_anywhere(
        &mut self,
        thread: ThreadId,
        key: u64,
        sequence: u64,
        weight: u32,
        places: &mut Places,
    ) {
        self.weight += u64::from(weight);
        self.mixed = true;
        self.line.insert_unseen(Waiting { key, sequence, thread, weight }, places);
    }

    /// Looks for the first where that is not known, so that no later question has to.
    #[inline]
    pub fn look(&mut self) {
        if self.mixed {
            self.line.look();
            self.mixed = self.line.len() > 0;
        }
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
        if self.mixed {
            return self.exchange_first_unseen(thread, key, sequence, weight, places);
        }
        let gone = self.line.pop_first(places)?;
        self.line.insert(Waiting { key, sequence, thread, weight }, places);
        self.weight = self.weight + u64::from(weight) - u64::from(gone.weight);
        Some(gone.thread)
    }

    /// The same where threads come and go in any order.
    #[inline(never)]
    fn exchange_first_unseen(
        &mut self,
        thread: ThreadId,
        key: u64,
        sequence: u64,
        weight: u32,
        places: &mut Places,
    ) -> Option<ThreadId> {
        let waiting = Waiting { key, sequence, thread, weight };
        self.look();
        let gone = if self.is_mixed() {
            self.line.exchange_first_apart(waiting, places)?
        } else {
            let gone = self.line.pop_first(places)?;
            self.line.insert(waiting, places);
            gone
        };
        self.weight = self.weight + u64::from(weight) - u64::from(gone.weight);
        Some(gone.thread)
    }

    /// Takes a thread out that is in it; its key and its weight.
    #[inline]
    pub fn remove(&mut self, thread: ThreadId, places: &mut Places) -> Option<(u64, u32)> {
        let of = |gone: &Waiting| (gone.key, gone.weight);
        let (key, weight) = if self.is_mixed() {
            self.line.remove_unseen(thread.0, of, places)?
        } else {
            of(&self.line.remove(thread.0, places)?)
        };
        self.weight -= u64::from(weight);
        Some((key, weight))
    }

    /// All that wait, in no order, each with its sequence.
    pub fn threads(&self) -> Vec<(ThreadId, u64)> {
        let mut threads = Vec::with_capacity(self.len());
        self.line.look_through(|waiting| {
            threads.push((waiting.thread, waiting.sequence));
            true
        });
        threads
    }

    /// The thread whose key, after `adjust` (none: not for this core; otherwise at least the key),
    /// is the least, first come first, with that key.
    pub fn best(&self, adjust: impl Fn(ThreadId, u64) -> Option<u64>) -> Option<(ThreadId, u64)> {
        let mut best: Option<(u64, u64, ThreadId)> = None;
        self.line.look_through(|waiting| {
            if best
                .is_some_and(|(key, sequence, _)| (waiting.key, waiting.sequence) > (key, sequence))
            {
                return false;
            }
            if let Some(key) = adjust(waiting.thread, waiting.key)
                && best
                    .is_none_or(|(least, sequence, _)| (key, waiting.sequence) < (least, sequence))
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

        #[test]
        fn the_first_is_the_least_wherever_threads_come_from_and_however_they_go(
            // More come than go at first, and more go than come then: in no order while they are
            // few, in order, and in none again.
            growing in prop::collection::vec((prop_oneof![4 => 0u8..2, 1 => 2u8..6], 0u64..50, any::<prop::sample::Index>()), 0..80),
            shrinking in prop::collection::vec((prop_oneof![1 => 0u8..2, 2 => 2u8..6], 0u64..50, any::<prop::sample::Index>()), 0..120),
        ) {
            let mut places = Places::default();
            places.grow(200);
            let mut queue = RunQueue::default();
            let mut model: Vec<(u64, u64, ThreadId)> = Vec::new();
            for (sequence, (what, key, index)) in (0..).zip(growing.into_iter().chain(shrinking)) {
                let thread = ThreadId(sequence as u32);
                match what {
                    0 => queue.insert(thread, key, sequence, 1024, &mut places),
                    1 => queue.insert_anywhere(thread, key, sequence, 1024, &mut places),
                    2 => queue.look(),
                    3 => {
                        let expected = (!model.is_empty()).then(|| model.remove(0).2);
                        prop_assert_eq!(queue.exchange_first(thread, key, sequence, 1024, &mut places), expected);
                        if expected.is_none() {
                            continue;
                        }
                    }
                    _ if model.is_empty() => {}
                    _ => {
                        let (key, _, thread) = model.remove(index.index(model.len()));
                        prop_assert_eq!(queue.remove(thread, &mut places), Some((key, 1024)));
                    }
                }
                if matches!(what, 0 | 1 | 3) {
                    model.push((key, sequence, thread));
                    model.sort_unstable();
                }
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.weight(), 1024 * model.len() as u64);
                prop_assert_eq!(queue.first(), model.first().map(|&(key, _, thread)| (thread, key)));
            }
        }
    }
}
