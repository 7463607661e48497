//! The policy's queues, and what all that wait have in common.

use std::ops::{Index, IndexMut};

use evenkeel_machine::CoreId;
use evenkeel_mechanism::QueueClock;
use evenkeel_policy::{Clock, Preemption, QueueId, ThreadId};

use crate::queues::run_queue::{Places, RunQueue};

/// A queue that the policy made.
#[derive(Default)]
pub struct Queue {
    pub waiting: RunQueue,
    pub clock: QueueClock,
    pub prefer: Vec<CoreId>,
    pub preemption: Option<Preemption>,
    /// Cores that have it in their first tier: those that an arrival may preempt.
    pub servers: Vec<u32>,
    /// Cores that have it in any tier, as bits.
    pub served_by: Vec<u64>,
    /// True if any of its threads has a deadline that is postponed by distance.
    pub postpones: bool,
    /// How many wait that have woken or started, and not run since.
    pub fresh: u32,
}

/// All queues. A thread waits in one at most, here or at a core.
#[derive(Default)]
pub struct Queues {
    queues: Vec<Queue>,
    /// By queue, how many wait: what the policy is shown.
    counts: Vec<u32>,
    /// Threads of a higher class.
    urgent: RunQueue,
    places: Places,
    sequence: u64,
    /// How many threads wait in queues of whatever sort.
    ready: u32,
}

impl Queues {
    /// One queue more, on a machine whose cores are so many words of bits.
    pub fn make(&mut self, clock: Clock, words: usize) {
        let clock = QueueClock::new(clock);
        self.queues.push(Queue { clock, served_by: vec![0; words], ..Queue::default() });
        self.counts.push(0);
    }

    /// How many queues there are.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// By queue, how many wait.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// How many threads wait, in queues of the policy and elsewhere.
    #[inline]
    pub fn ready(&self) -> u32 {
        self.ready
    }

    /// Threads of a higher class that wait for a core.
    #[inline]
    pub fn urgent(&self) -> &RunQueue {
        &self.urgent
    }

    /// The sequence of the next thread that comes into a queue.
    pub fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// Room for so many threads.
    pub fn reserve(&mut self, threads: usize) {
        self.places.reserve(threads);
    }

    /// There are so many threads.
    pub fn grow(&mut self, threads: usize) {
        self.places.grow(threads);
    }

    #[inline]
    fn take_sequence(&mut self) -> u64 {
        let sequence = self.sequence;
        self.sequence += 1;
        sequence
    }

    /// A thread waits in a queue from now on.
    #[inline]
    pub fn insert(&mut self, thread: ThreadId, queue: QueueId, key: u64, weight: u32, fresh: bool) {
        let sequence = self.take_sequence();
        let target = &mut self.queues[queue.index()];
        target.waiting.insert(thread, key, sequence, weight, &mut self.places);
        target.fresh += u32::from(fresh);
        self.counts[queue.index()] += 1;
        self.ready += 1;
    }

    /// A thread does not wait in a queue any more.
    #[inline]
    pub fn remove(&mut self, thread: ThreadId, queue: QueueId, fresh: bool) {
        let from = &mut self.queues[queue.index()];
        from.waiting.remove(thread, &mut self.places);
        from.fresh -= u32::from(fresh);
        self.counts[queue.index()] -= 1;
        self.ready -= 1;
    }

    /// A thread waits at a core, in the queue that this has for those that no other core may run.
    pub fn insert_at(&mut self, local: &mut RunQueue, thread: ThreadId, key: u64, weight: u32) {
        let sequence = self.take_sequence();
        local.insert(thread, key, sequence, weight, &mut self.places);
        self.ready += 1;
    }

    /// A thread does not wait at a core any more.
    pub fn remove_at(&mut self, local: &mut RunQueue, thread: ThreadId) {
        local.remove(thread, &mut self.places);
        self.ready -= 1;
    }

    /// A thread of a higher class waits.
    pub fn insert_urgent(&mut self, thread: ThreadId, key: u64) {
        let sequence = self.take_sequence();
        self.urgent.insert(thread, key, sequence, 0, &mut self.places);
        self.ready += 1;
    }

    /// A thread of a higher class does not wait any more.
    pub fn remove_urgent(&mut self, thread: ThreadId) {
        self.urgent.remove(thread, &mut self.places);
        self.ready -= 1;
    }

    /// The first of a queue is taken out, and a thread waits there in its place.
    #[inline]
    pub fn exchange_first(
        &mut self,
        queue: QueueId,
        thread: ThreadId,
        key: u64,
        weight: u32,
    ) -> Option<ThreadId> {
        let sequence = self.take_sequence();
        let waiting = &mut self.queues[queue.index()].waiting;
        waiting.exchange_first(thread, key, sequence, weight, &mut self.places)
    }

    /// A thread that waits in one queue, by virtual time, waits in another from now on. Its virtual
    /// time in the clock of that one, unless it was not there.
    #[inline]
    pub fn change(
        &mut self,
        thread: ThreadId,
        from: QueueId,
        to: QueueId,
        fresh: bool,
    ) -> Option<u64> {
        let source = &mut self.queues[from.index()];
        let (key, weight) = source.waiting.remove(thread, &mut self.places)?;
        source.fresh -= u32::from(fresh);
        let key = self.in_clock_of(from, to, key);
        let sequence = self.take_sequence();
        let target = &mut self.queues[to.index()];
        target.waiting.insert_anywhere(thread, key, sequence, weight, &mut self.places);
        target.fresh += u32::from(fresh);
        self.counts[from.index()] -= 1;
        self.counts[to.index()] += 1;
        Some(key)
    }

    /// A virtual time of one queue in the clock of another.
    #[inline]
    pub fn in_clock_of(&self, from: QueueId, to: QueueId, virtual_time: u64) -> u64 {
        self.queues[from.index()].clock.in_clock_of(&self.queues[to.index()].clock, virtual_time)
    }
}

impl Index<QueueId> for Queues {
    type Output = Queue;

    #[inline]
    fn index(&self, queue: QueueId) -> &Queue {
        &self.queues[queue.index()]
    }
}

impl IndexMut<QueueId> for Queues {
    #[inline]
    fn index_mut(&mut self, queue: QueueId) -> &mut Queue {
        &mut self.queues[queue.index()]
    }
}
