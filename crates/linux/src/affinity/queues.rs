//! The policy's queues: who waits in which, in what order, and the virtual times.
//!
//! A queue is a plain list: the first is looked for when a core picks, which happens a few hundred
//! times a second at most. That is what sets this mechanism apart from one inside the kernel.

use evenkeel_machine::CoreId;
use evenkeel_policy::{Choose, Clock, Order, Preemption, QueueId, Start, ThreadId, Tier};

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use super::thread::Place;

/// One queue.
#[derive(Debug)]
pub struct Queue {
    pub clock: Clock,
    pub floor: u64,
    pub sleeper: u64,
    pub preemption: Option<Preemption>,
    pub prefer: Vec<CoreId>,
    /// In order of arrival.
    pub waiting: Vec<ThreadId>,
}

impl Queue {
    /// An empty one.
    pub const fn new(clock: Clock) -> Self {
        Self {
            clock,
            floor: 0,
            sleeper: 0,
            preemption: None,
            prefer: Vec::new(),
            waiting: Vec::new(),
        }
    }
}

/// What one core takes from.
#[derive(Debug, Default)]
pub struct Service {
    pub tiers: Vec<Tier>,
    pub adopt: Option<QueueId>,
    /// Queues to whose threads the core is host if they are further behind than by so much.
    pub guests: Vec<QueueId>,
    pub behind: u64,
}

impl Service {
    /// Whether the core is to have threads of the policy's: one that was given no tiers, or of
    /// which nothing was said yet, is left alone.
    pub fn is_used(&self) -> bool {
        !self.tiers.is_empty()
    }

    /// The first queue of the first tier.
    pub fn own_queue(&self) -> Option<QueueId> {
        self.tiers.first()?.queues.first().copied()
    }

    /// Whether any tier has the queue.
    pub fn serves(&self, queue: QueueId) -> bool {
        self.tiers.iter().any(|tier| tier.queues.contains(&queue))
    }

    /// Whether the first tier has the queue, and chooses by key between threads of it and of
    /// another, which may be the same.
    pub fn compares(&self, queue: QueueId, other: QueueId) -> bool {
        let Some(tier) = self.tiers.first() else { return false };
        let has = |queue: QueueId| tier.queues.contains(&queue);
        has(queue) && (queue == other || tier.choose == Choose::LeastKey && has(other))
    }

    /// Whether the first tier has the queue.
    pub fn serves_first(&self, queue: QueueId) -> bool {
        self.tiers.first().is_some_and(|tier| tier.queues.contains(&queue))
    }
}

impl<K: Kernel> Mechanism<K> {
    /// The thread belongs to another queue from now on; its virtual time is put into that queue's
    /// clock.
    pub(super) fn assign(&mut self, thread: ThreadId, queue: QueueId) {
        let stats = &mut self.stats[thread.index()];
        let Some(before) = stats.queue.replace(queue) else { return };
        let (from, to) = (&self.queues[before.index()], &self.queues[queue.index()]);
        if from.clock == Clock::Own && to.clock == Clock::Own {
            let ahead = i128::from(stats.virtual_time) - i128::from(from.floor);
            stats.virtual_time =
                (i128::from(to.floor) + ahead).clamp(0, i128::from(u64::MAX)) as u64;
        }
    }

    /// Takes up the start that its order says, and brings a sleeper forward to the floor of its
    /// queue.
    pub(super) fn enter_clock(&mut self, thread: ThreadId, queue: QueueId) {
        self.take_up_start(thread, queue);
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        state.waits_woken |= state.woken;
        if matches!(state.order, Order::VirtualTime { .. }) && std::mem::take(&mut state.woken) {
            let target = &self.queues[queue.index()];
            stats.virtual_time =
                stats.virtual_time.max(target.floor.saturating_sub(target.sleeper));
        }
    }

    /// A queue's floor is the greatest virtual time of those picked from it, those who go on
    /// because nobody else waits among them: whoever comes beside one that has run alone for long
    /// is not to have all that time before it.
    pub(super) fn raise_floor(&mut self, thread: ThreadId, queue: QueueId) {
        let floor = &mut self.queues[queue.index()].floor;
        *floor = (*floor).max(self.stats[thread.index()].virtual_time);
    }

    /// A thread's virtual time starts where its order says, once.
    pub(super) fn take_up_start(&mut self, thread: ThreadId, queue: QueueId) {
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        if let Order::VirtualTime { start, .. } = &mut state.order {
            match std::mem::replace(start, Start::Keep) {
                Start::Floor => stats.virtual_time = self.queues[queue.index()].floor,
                Start::At(at) => stats.virtual_time = at,
                Start::Keep => {}
            }
        }
    }

    /// Puts a thread, which is nowhere, into its queue; into queue 0 where the policy is late.
    pub(super) fn enqueue(&mut self, thread: ThreadId) {
        if self.queues.is_empty() {
            return;
        }
        let queue = *self.stats[thread.index()].queue.get_or_insert(QueueId(0));
        self.enter_clock(thread, queue);
        let state = &mut self.threads[thread.index()];
        state.place = Place::Queue(queue);
        state.sequence = self.sequence;
        self.sequence += 1;
        self.queues[queue.index()].waiting.push(thread);
        self.waiting[queue.index()] += 1;
        self.change(thread);
    }

    /// Takes a thread out of its queue.
    pub(super) fn dequeue(&mut self, thread: ThreadId) {
        let Place::Queue(queue) = self.threads[thread.index()].place else { return };
        let waiting = &mut self.queues[queue.index()].waiting;
        if let Some(at) = waiting.iter().position(|&other| other == thread) {
            waiting.remove(at);
            self.waiting[queue.index()] -= 1;
        }
        self.threads[thread.index()].place = Place::Nowhere;
        self.change(thread);
    }

    /// First of a queue, as this core sees it: thread and key.
    pub(super) fn first_for(&self, core: CoreId, queue: QueueId) -> Option<(ThreadId, u64)> {
        let waiting = self.queues[queue.index()].waiting.iter().copied();
        let keyed = waiting.filter(|&thread| self.allowed(thread, core)).map(|thread| {
            let (state, stats) = (&self.threads[thread.index()], &self.stats[thread.index()]);
            let key = state.order.key(stats.virtual_time);
            let key = match state.order {
                Order::Deadline { postpone, .. }
                    if !state.woken && self.last_on[stats.core.index()] == Some(thread) =>
                {
                    key.saturating_add(postpone[self.machine.distance(stats.core, core)].0)
                }
                _ => key,
            };
            (key, state.sequence, thread)
        });
        keyed.min().map(|(key, _, thread)| (thread, key))
    }
}
