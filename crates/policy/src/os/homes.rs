//! Who belongs where: for policies with a queue per core, the queue that each thread belongs to and what runnable threads
//! each queue has. Kept by the policy itself, because many threads may start in one instant, before the view shows any of them placed.
//!
//! Queues are in classes (a kind of core, or one class for all); the least loaded of a class is found in O(log n).

use std::collections::BTreeSet;

use crate::contract::{QueueId, ThreadId, View};

/// Where threads belong, and the load of each queue: the sum of the weights of its runnable threads.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    threads: Vec<Option<Home>>,
    queues: Vec<Queue>,
    /// Per class, its open queues by load; ties by rank.
    classes: Vec<BTreeSet<(u64, u32, QueueId)>>,
}

#[derive(Clone, Copy, Debug)]
struct Home {
    queue: QueueId,
    weight: u32,
    counted: bool,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    class: usize,
    rank: u32,
    load: u64,
    open: bool,
}

impl Homes {
    /// Queues from 0, each with its class and, among queues of equal load, its rank (the least goes first). All are open.
    pub fn new(queues: impl IntoIterator<Item = (usize, u32)>) -> Self {
        let mut homes = Self::default();
        for (class, rank) in queues {
            let queue = QueueId(homes.queues.len() as u32);
            homes.queues.push(Queue { class, rank, load: 0, open: true });
            if homes.classes.len() <= class {
                homes.classes.resize_with(class + 1, BTreeSet::new);
            }
            homes.classes[class].insert((0, rank, queue));
        }
        homes
    }

    /// Number of queues.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes.len()
    }

    /// The class of a queue.
    pub fn class(&self, queue: QueueId) -> usize {
        self.queues[queue.index()].class
    }

    /// The load of a queue.
    pub fn load(&self, queue: QueueId) -> u64 {
        self.queues[queue.index()].load
    }

    /// The queue that a thread belongs to.
    pub fn of(&self, thread: ThreadId) -> Option<QueueId> {
        self.threads.get(thread.index()).copied().flatten().map(|home| home.queue)
    }

    /// A runnable thread belongs to this queue from now on, and weighs this much there.
    pub fn put(&mut self, thread: ThreadId, queue: QueueId, weight: u32) {
        self.leave(thread);
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, None);
        }
        self.threads[thread.index()] = Some(Home { queue, weight, counted: true });
        self.change(queue, |load| load + u64::from(weight));
    }

    /// A thread is not runnable any more; it still belongs where it did.
    pub fn leave(&mut self, thread: ThreadId) {
        if let Some(Some(home)) = self.threads.get_mut(thread.index())
            && std::mem::take(&mut home.counted)
        {
            let (queue, weight) = (home.queue, u64::from(home.weight));
            self.change(queue, |load| load - weight);
        }
    }

    /// Whether threads may be placed in this queue: its core is there and in use.
    pub fn open(&mut self, queue: QueueId, open: bool) {
        self.queues[queue.index()].open = open;
        self.change(queue, |load| load);
    }

    /// Whether threads may be placed in this queue.
    pub fn is_open(&self, queue: QueueId) -> bool {
        self.queues[queue.index()].open
    }

    /// The open queue of a class with the least load that will do, and its load. Cost O(log n) plus one per queue that will not do.
    pub fn least(&self, class: usize, will_do: impl Fn(QueueId) -> bool) -> Option<(u64, QueueId)> {
        let open = self.classes.get(class)?.iter();
        open.map(|&(load, _, queue)| (load, queue)).find(|&(_, queue)| will_do(queue))
    }

    /// Counts anew from the view, where cores may have taken threads over: O(threads).
    pub fn sync(&mut self, view: &View<'_>, weight: impl Fn(ThreadId) -> u32) {
        for &thread in view.live {
            let stats = view.thread(thread);
            match stats.queue {
                Some(queue) if stats.runnable() && queue.index() < self.queues.len() => {
                    self.put(thread, queue, weight(thread));
                }
                _ => self.leave(thread),
            }
        }
    }

    fn change(&mut self, queue: QueueId, new: impl Fn(u64) -> u64) {
        let state = &mut self.queues[queue.index()];
        let class = &mut self.classes[state.class];
        class.remove(&(state.load, state.rank, queue));
        state.load = new(state.load);
        if state.open {
            class.insert((state.load, state.rank, queue));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: fn(QueueId) -> bool = |_| true;

    #[test]
    fn the_least_loaded_queue_comes_first_and_rank_breaks_ties() {
        let mut homes = Homes::new([(0, 1), (0, 0), (1, 0)]);
        assert_eq!(homes.least(0, ALL), Some((0, QueueId(1))));
        homes.put(ThreadId(0), QueueId(1), 1024);
        assert_eq!(homes.least(0, ALL), Some((0, QueueId(0))));
        assert_eq!(homes.least(1, ALL), Some((0, QueueId(2))));
        assert_eq!(homes.least(2, ALL), None);
    }

    #[test]
    fn a_closed_queue_is_not_offered_though_its_load_is_kept() {
        let mut homes = Homes::new([(0, 0), (0, 1)]);
        homes.open(QueueId(0), false);
        homes.put(ThreadId(0), QueueId(0), 5);
        assert_eq!(homes.least(0, ALL), Some((0, QueueId(1))));
        homes.open(QueueId(0), true);
        assert_eq!(homes.least(0, |queue| queue == QueueId(0)), Some((5, QueueId(0))));
    }

    proptest! {
        #[test]
        fn the_load_of_a_queue_is_the_weight_of_its_runnable_threads(
            steps in prop::collection::vec((0u32..6, prop::option::of(0u32..3)), 0..60),
        ) {
            let mut homes = Homes::new([(0, 0), (0, 1), (0, 2)]);
            let mut model = [None; 6];
            for (thread, queue) in steps {
                match queue {
                    Some(queue) => homes.put(ThreadId(thread), QueueId(queue), thread + 1),
                    None => homes.leave(ThreadId(thread)),
                }
                model[thread as usize] = queue;
                for queue in 0..3 {
                    let of = |t: &usize| model[*t] == Some(queue);
                    let weight: u64 = (0..6).filter(of).map(|t| t as u64 + 1).sum();
                    prop_assert_eq!(homes.load(QueueId(queue)), weight);
                }
                let least = (0..3).map(|queue| homes.load(QueueId(queue))).min();
                prop_assert_eq!(homes.least(0, ALL).map(|(load, _)| load), least);
            }
        }
    }
}
