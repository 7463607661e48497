//! Home queues: for policies with a queue per core, the queue that each thread belongs to and the
//! load of each queue. The policy keeps this itself because many threads may start in one instant,
//! before the view shows any of them placed.
//!
//! Queues are in classes (a kind of core, or one class for all). The least loaded of a class is
//! known at all times, and a change costs O(log queues).

use super::tournament::Tournament;
use crate::contract::{QueueId, ThreadId, View};

/// The home queue of each thread, and the load of each queue: the sum of the weights of its
/// runnable threads.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    threads: Vec<Home>,
    queues: Vec<Queue>,
    classes: Vec<Class>,
    /// The least weight that any thread has had.
    lightest: Option<u32>,
    /// Queues whose loads have changed and are not in order yet.
    unordered: Vec<QueueId>,
}

/// The queues of a class, by rank.
#[derive(Clone, Debug, Default)]
struct Class {
    queues: Vec<QueueId>,
    /// Their loads; only of open queues.
    loads: Tournament,
}

/// Stands for no queue.
pub const NO_QUEUE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Home {
    /// By number, or [`NO_QUEUE`].
    queue: u32,
    /// Its weight there; 0 if it does not count.
    weight: u32,
}

impl Home {
    const NONE: Self = Self { queue: NO_QUEUE, weight: 0 };
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    class: usize,
    /// Its index among the queues of its class.
    place: usize,
    load: u64,
    open: bool,
    /// True if it is in `unordered`.
    unordered: bool,
}

/// The numbers of the queues that threads belong to.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a>(&'a [Home]);

impl Numbers<'_> {
    /// The number of the queue that a thread belongs to, or [`NO_QUEUE`].
    #[inline]
    pub fn of(self, thread: ThreadId) -> u32 {
        self.0.get(thread.index()).map_or(NO_QUEUE, |home| home.queue)
    }
}

impl Homes {
    /// Queues from 0, each with its class and, among queues of equal load, its rank (the least goes
    /// first). All are open.
    pub fn new(queues: impl IntoIterator<Item = (usize, u32)>) -> Self {
        let mut homes = Self::default();
        let mut ranked: Vec<Vec<(u32, QueueId)>> = Vec::new();
        for (class, rank) in queues {
            let queue = QueueId(homes.queues.len() as u32);
            homes.queues.push(Queue { class, place: 0, load: 0, open: true, unordered: false });
            if ranked.len() <= class {
                ranked.resize_with(class + 1, Vec::new);
            }
            ranked[class].push((rank, queue));
        }
        for mut class in ranked {
            class.sort_unstable();
            for (place, &(_, queue)) in class.iter().enumerate() {
                homes.queues[queue.index()].place = place;
            }
            let loads = Tournament::new(class.len());
            homes
                .classes
                .push(Class { queues: class.into_iter().map(|(_, queue)| queue).collect(), loads });
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

    /// The open queues of a class, by rank.
    pub fn open_queues(&self, class: usize) -> impl Iterator<Item = QueueId> + '_ {
        let queues = self.classes.get(class).map_or(&[][..], |class| &class.queues);
        queues.iter().copied().filter(|&queue| self.is_open(queue))
    }

    /// The least weight that any thread has had.
    pub fn lightest(&self) -> u32 {
        self.lightest.unwrap_or(0)
    }

    /// The load of a queue.
    pub fn load(&self, queue: QueueId) -> u64 {
        self.queues[queue.index()].load
    }

    /// The queue that a thread belongs to.
    pub fn of(&self, thread: ThreadId) -> Option<QueueId> {
        Some(self.numbers().of(thread)).filter(|&queue| queue != NO_QUEUE).map(QueueId)
    }

    /// The same for many threads, by number.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers(&self.threads)
    }

    /// A runnable thread belongs to this queue from now on, and weighs this much there.
    pub fn put(&mut self, thread: ThreadId, queue: QueueId, weight: u32) {
        self.put_unordered(thread, queue, weight);
        self.bring_into_order();
    }

    /// The same for one of many changes: the least loaded queue is not known before
    /// [`Homes::bring_into_order`]. Threads that trade places change no load.
    pub fn put_unordered(&mut self, thread: ThreadId, queue: QueueId, weight: u32) {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Home::NONE);
        }
        let home = Home { queue: queue.0, weight };
        let before = std::mem::replace(&mut self.threads[thread.index()], home);
        if before == home {
            return;
        }
        if before.weight > 0 {
            self.change(QueueId(before.queue), |load| load - u64::from(before.weight));
        }
        self.lightest = Some(self.lightest.map_or(weight, |lightest| lightest.min(weight)));
        self.change(queue, |load| load + u64::from(weight));
    }

    /// A thread is no longer runnable; its home stays.
    pub fn leave(&mut self, thread: ThreadId) {
        self.leave_unordered(thread);
        self.bring_into_order();
    }

    fn leave_unordered(&mut self, thread: ThreadId) {
        let Some(home) = self.threads.get_mut(thread.index()) else { return };
        let (queue, weight) = (home.queue, std::mem::take(&mut home.weight));
        if weight > 0 {
            self.change(QueueId(queue), |load| load - u64::from(weight));
        }
    }

    /// Sets if threads may be placed in this queue: its core is online and in use.
    pub fn open(&mut self, queue: QueueId, open: bool) {
        self.queues[queue.index()].open = open;
        self.change(queue, |load| load);
        self.bring_into_order();
    }

    /// True if threads may be placed in this queue.
    pub fn is_open(&self, queue: QueueId) -> bool {
        self.queues[queue.index()].open
    }

    /// The open queue of a class with the least load that satisfies `will_do`, and its load. O(1)
    /// or, if the least loaded of all does not, O(queues).
    pub fn least(&self, class: usize, will_do: impl Fn(QueueId) -> bool) -> Option<(u64, QueueId)> {
        debug_assert!(self.unordered.is_empty());
        let Class { queues, loads } = self.classes.get(class)?;
        let (load, place) = loads.first()?;
        if will_do(queues[place]) {
            return Some((load, queues[place]));
        }
        // Of equal ones the first, which has the least rank.
        let others = self.open_queues(class).filter(|&queue| will_do(queue));
        others.map(|queue| (self.load(queue), queue)).min_by_key(|&(load, _)| load)
    }

    /// The load of the least loaded open queue of a class. O(1).
    pub fn least_load(&self, class: usize) -> Option<u64> {
        debug_assert!(self.unordered.is_empty());
        Some(self.classes.get(class)?.loads.first()?.0)
    }

    /// Recounts from the view, since cores may have taken threads over: O(threads).
    pub fn sync(&mut self, view: &View<'_>, weight: impl Fn(ThreadId) -> u32) {
        for &thread in view.live {
            let stats = view.thread(thread);
            match stats.queue {
                Some(queue) if stats.runnable() && queue.index() < self.queues.len() => {
                    let home = Home { queue: queue.0, weight: weight(thread) };
                    if self.threads.get(thread.index()) != Some(&home) {
                        self.put_unordered(thread, queue, home.weight);
                    }
                }
                _ => self.leave_unordered(thread),
            }
        }
        self.bring_into_order();
    }

    #[inline]
    fn change(&mut self, queue: QueueId, new: impl Fn(u64) -> u64) {
        let state = &mut self.queues[queue.index()];
        state.load = new(state.load);
        if !std::mem::replace(&mut state.unordered, true) {
            self.unordered.push(queue);
        }
    }

    /// Brings changed queues into order, so that the least loaded is known.
    #[inline]
    pub fn bring_into_order(&mut self) {
        for queue in self.unordered.drain(..) {
            let state = &mut self.queues[queue.index()];
            state.unordered = false;
            self.classes[state.class].loads.set(state.place, state.open.then_some(state.load));
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
