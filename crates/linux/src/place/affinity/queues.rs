//! The policy's queues: which threads wait in which, in what order, and the virtual times.
//!
//! A queue is a plain list: the first is looked for when a core picks, which happens a few hundred
//! times a second at most. That is what sets this mechanism apart from one inside the kernel.

use evenkeel_policy::{Order, QueueId, Start, ThreadId};

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use super::thread::Place;

impl<K: Kernel> Mechanism<K> {
    /// The thread belongs to another queue from now on; its virtual time is put into that queue's
    /// clock.
    pub(super) fn belong(&mut self, thread: ThreadId, queue: QueueId) {
        let stats = &mut self.stats[thread.index()];
        let Some(before) = stats.queue.replace(queue) else { return };
        stats.virtual_time = self.queues[before.index()]
            .clock
            .in_clock_of(&self.queues[queue.index()].clock, stats.virtual_time);
    }

    /// Takes up the start that its order says, and brings a sleeper forward to the floor of its
    /// queue.
    pub(super) fn enter_clock(&mut self, thread: ThreadId, queue: QueueId) {
        self.take_up_start(thread, queue);
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        state.waits_woken |= state.woken;
        if matches!(state.order, Order::VirtualTime { .. }) && std::mem::take(&mut state.woken) {
            stats.virtual_time = self.queues[queue.index()].clock.woken(stats.virtual_time);
        }
    }

    /// A core takes a thread from a queue, or the thread goes on since no other waits.
    pub(super) fn raise_floor(&mut self, thread: ThreadId, queue: QueueId) {
        self.queues[queue.index()].clock.note_picked(self.stats[thread.index()].virtual_time);
    }

    /// A thread's virtual time starts where its order says, once.
    pub(super) fn take_up_start(&mut self, thread: ThreadId, queue: QueueId) {
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        if let Order::VirtualTime { start, .. } = &mut state.order {
            let start = std::mem::replace(start, Start::Keep);
            stats.virtual_time =
                self.queues[queue.index()].clock.started(stats.virtual_time, start);
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
}
