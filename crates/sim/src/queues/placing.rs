//! A thread that becomes ready goes where it waits, and a core is found for it.

use evenkeel_machine::Nanos;
use evenkeel_policy::{Order, QueueId, Start, ThreadId};

use crate::mechanism::{Mechanism, NONE};
use crate::programs::thread::Place;
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    /// Notes that a thread is ready and must be placed.
    pub fn arrive(&mut self, thread: ThreadId) {
        self.place_of[thread.index()] = Place::Arriving;
        self.arrivals.push(thread);
    }

    /// Puts all threads that have become ready where they wait, and finds idle cores for them.
    pub fn place_arrivals(&mut self) {
        let mut next = 0;
        while next < self.arrivals.len() {
            let thread = self.arrivals[next];
            next += 1;
            if self.place_of[thread.index()] == Place::Arriving {
                self.place(thread);
            }
        }
        self.arrivals.clear();
    }

    pub fn place(&mut self, thread: ThreadId) {
        if !self.threads[thread.index()].normal() {
            return self.place_urgent(thread);
        }
        let stats = &mut self.stats[thread.index()];
        let queue = *stats.queue.get_or_insert(QueueId(0));
        if stats.restricted && !self.served_somewhere(thread, queue) {
            self.enter_clock(thread, queue);
            return self.place_locally(thread);
        }
        self.enqueue(thread, queue);
        if self.goes_on(thread, queue) {
            // Its core is about to pick. Where that takes another, the idle cores look for
            // themselves.
            self.sweep_due |= self.may_be_taken(queue);
        } else {
            self.find_core(thread, queue);
        }
    }

    /// True if a thread that arrives in the queue now only waits there: no thread arrives before
    /// it, and no core is to be found for it. Never with late answers: several may be carried out
    /// in one instant, and a thread that a later one assigns again keeps its place among the
    /// arrivals.
    pub fn is_only_queued(&self, queue: QueueId) -> bool {
        let at_once = self.config.decision_latency == Nanos::ZERO;
        let settled = self.arrivals.is_empty() && !self.sets.any_idle() && !self.restricted;
        at_once && settled && self.queues[queue].preemption.is_none()
    }

    /// True if a thread has just been taken off a core that picks next and may take it again: it is
    /// not sent to an idle core, or a busy thread would change cores whenever its slice ends beside
    /// one.
    pub fn goes_on(&self, thread: ThreadId, queue: QueueId) -> bool {
        let stats = &self.stats[thread.index()];
        let last = &self.cores[stats.core.index()];
        let displaced = stats.runs > 0 && !self.threads[thread.index()].woken;
        displaced && last.called && last.reserved == NONE && self.serves(stats.core.index(), queue)
    }

    /// True if a core has a queue in any of its tiers.
    pub fn serves(&self, core: usize, queue: QueueId) -> bool {
        self.queues[queue].served_by[core / 64] >> (core % 64) & 1 == 1
    }

    /// True if an idle core may find a thread that waits in a queue: it serves that, or threads
    /// wait at cores, too.
    fn may_be_taken(&self, queue: QueueId) -> bool {
        self.sets.any_idle()
            && (self.restricted || self.sets.is_one_idle(&self.queues[queue].served_by))
    }

    /// A thread that is placed takes up the start that its order says, and, if it has slept, is
    /// brought forward to the floor of its queue.
    pub fn enter_clock(&mut self, thread: ThreadId, queue: QueueId) {
        self.take_up_start(thread, queue);
        let (state, stats) = (&self.threads[thread.index()], &mut self.stats[thread.index()]);
        if state.woken && matches!(state.order, Order::VirtualTime { .. }) {
            stats.virtual_time = self.queues[queue].clock.woken(stats.virtual_time);
        }
    }

    /// A thread's virtual time starts where its order says, once.
    pub fn take_up_start(&mut self, thread: ThreadId, queue: QueueId) {
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        if let Order::VirtualTime { start, .. } = &mut state.order {
            let start = std::mem::replace(start, Start::Keep);
            stats.virtual_time = self.queues[queue].clock.started(stats.virtual_time, start);
        }
    }

    /// Puts a thread into a queue of the policy.
    pub fn enqueue(&mut self, thread: ThreadId, queue: QueueId) {
        self.enter_clock(thread, queue);
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        if let Order::Deadline { postpone, .. } = state.order {
            self.queues[queue].postpones |= postpone != [Nanos::ZERO; 3];
        }
        let (key, weight) = (state.order.key(stats.virtual_time), state.order.weight(stats.weight));
        let fresh = state.woken || stats.runs == 0;
        self.queues.insert(thread, queue, key, weight, fresh);
        self.place_of[thread.index()] =
            Place::Queue { queue: queue.0, by_time: state.is_by_time(), fresh };
    }

    /// Takes a thread out of wherever it waits for a core.
    #[inline]
    pub fn take_out(&mut self, thread: ThreadId) {
        match std::mem::take(&mut self.place_of[thread.index()]) {
            Place::Nowhere | Place::Arriving => {}
            Place::Queue { queue, fresh, .. } => self.queues.remove(thread, QueueId(queue), fresh),
            Place::Local(core) => {
                self.queues.remove_at(&mut self.cores[core as usize].local, thread);
            }
            Place::Urgent => self.queues.remove_urgent(thread),
            Place::Reserved(core) => self.cores[core as usize].reserved = NONE,
        }
    }

    pub fn served_somewhere(&self, thread: ThreadId, queue: QueueId) -> bool {
        let Some(cores) = self.cores_of(thread) else { return true };
        cores.iter().any(|core| {
            self.cores[core.index()].used
                && queue.index() < self.queues.len()
                && self.serves(core.index(), queue)
        })
    }

    /// No core that the policy has take from its queue may run it: it waits at one that may.
    pub fn place_locally(&mut self, thread: ThreadId) {
        let last = self.stats[thread.index()].core.index();
        let Some(cores) = self.cores_of(thread) else { return };
        let free = |core: &usize| self.cores[*core].running == NONE && !self.cores[*core].called;
        let load = |core: &usize| {
            self.cores[*core].local.len() * 2 + usize::from(self.cores[*core].running != NONE)
        };
        let candidates = || cores.iter().map(|core| core.index());
        let home = candidates()
            .find(|core| *core == last && free(core))
            .or_else(|| candidates().find(free))
            .or_else(|| candidates().min_by_key(load));
        let Some(home) = home else { return };
        let key = self.stats[thread.index()].virtual_time;
        let weight = self.stats[thread.index()].weight;
        self.queues.insert_at(&mut self.cores[home].local, thread, key, weight);
        self.place_of[thread.index()] = Place::Local(home as u32);
        if self.cores[home].running == NONE {
            self.call(home);
        }
    }

    /// Wakes an idle core for a thread that has come into a queue, or preempts, if the queue says
    /// so.
    pub fn find_core(&mut self, thread: ThreadId, queue: QueueId) {
        if self.may_be_taken(queue) {
            let fits = |core: usize| {
                let called = self.cores[core].called;
                self.sets.is_idle(core)
                    && !called
                    && self.serves(core, queue)
                    && self.allowed(thread, core)
            };
            let prefer = &self.queues[queue].prefer;
            let found = if !self.sets.is_one_free(&self.queues[queue].served_by) {
                None
            } else if prefer.is_empty() {
                let last = self.stats[thread.index()].core.index();
                Some(last)
                    .filter(|&core| fits(core))
                    .or_else(|| self.sets.idle_cores().find(|&core| fits(core)))
            } else {
                prefer.iter().map(|core| core.index()).find(|&core| fits(core))
            };
            self.check_idle_core(thread, queue, found);
            if let Some(core) = found {
                return self.call(core);
            }
            self.sweep_due = true;
        }
        if let Some(preemption) = self.queues[queue].preemption {
            let state = &self.threads[thread.index()];
            if preemption.synchronous || !(state.woken && state.synchronously) {
                self.preempt_for(thread, queue, preemption.margin);
            }
        }
    }

    pub fn preempt_for(&mut self, thread: ThreadId, queue: QueueId, margin: u64) {
        let key = self.threads[thread.index()].order.key(self.stats[thread.index()].virtual_time);
        let servers = std::mem::take(&mut self.queues[queue].servers);
        let mut victim: Option<(u64, usize)> = None;
        for &core in &servers {
            let core = core as usize;
            let running = self.cores[core].running;
            if running == NONE || self.cores[core].called || !self.allowed(thread, core) {
                continue;
            }
            let other = running as usize;
            if !self.threads[other].normal()
                || !self.stats[other]
                    .queue
                    .is_some_and(|other| self.cores[core].service.compares(queue, other))
            {
                continue;
            }
            self.account(core);
            let other_key = self.threads[other].order.key(self.stats[other].virtual_time);
            if other_key > key.saturating_add(margin)
                && victim.is_none_or(|(greatest, _)| other_key > greatest)
            {
                victim = Some((other_key, core));
            }
        }
        self.queues[queue].servers = servers;
        self.check_victim(thread, queue, margin, victim.map(|(_, core)| core));
        if let Some((_, core)) = victim {
            self.requeue(core);
        }
    }

    /// The thread belongs to another queue from now on; its virtual time is put into that queue's
    /// clock.
    pub fn belong(&mut self, thread: ThreadId, queue: QueueId) {
        let stats = &mut self.stats[thread.index()];
        let before = stats.queue.replace(queue);
        let Some(before) = before else { return };
        stats.virtual_time = self.queues.in_clock_of(before, queue, stats.virtual_time);
    }

    /// A thread that waits in one queue, by time, waits in another from now on. Of the thread
    /// nothing is read, which far away it may be: what it needs is in its place and in its entry.
    #[inline]
    pub fn change_queues(
        &mut self,
        thread: ThreadId,
        fresh: bool,
        before: QueueId,
        queue: QueueId,
    ) {
        if before == queue {
            return;
        }
        let Some(key) = self.queues.change(thread, before, queue, fresh) else { return };
        self.place_of[thread.index()] = Place::Queue { queue: queue.0, by_time: true, fresh };
        let stats = &mut self.stats[thread.index()];
        (stats.virtual_time, stats.queue) = (key, Some(queue));
    }
}
