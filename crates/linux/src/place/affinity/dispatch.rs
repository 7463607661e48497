//! Which thread gets which core.
//!
//! As in any mechanism of the contract: a thread that becomes ready takes an idle core that serves
//! its queue, by the queue's preference, or preempts where the policy lets it; a core without a
//! thread, or whose thread's slice has been used up, picks by its tiers. What is different here:
//! the kernel goes on scheduling below, so that a core is never without work while its queues'
//! threads may run there.

use evenkeel_machine::{CoreId, KindId, Nanos};
use evenkeel_mechanism::picking;
use evenkeel_policy::{Event, Interest, Order, QueueId, Slice, State, ThreadId};

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use super::thread::{Mask, Place};

impl<K: Kernel> Mechanism<K> {
    /// One round.
    pub(super) fn dispatch(&mut self) {
        self.end_slices();
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.retain(|&thread| {
            let state = &self.threads[thread.index()];
            let nowhere = state.runnable && !state.ended && state.place == Place::Nowhere;
            if nowhere {
                self.enqueue(thread);
            }
            nowhere
        });
        // A core that has just lost its thread picks by its tiers: a waiting thread must not lose
        // to one that happens to come now.
        for core in 0..self.placed.len() {
            if std::mem::take(&mut self.called[core]) {
                self.pick_if_free(CoreId(core as u32));
            }
        }
        for thread in arrivals.drain(..) {
            if matches!(self.threads[thread.index()].place, Place::Queue(_)) {
                self.find_core(thread);
            }
        }
        self.arrivals = arrivals;
        for core in 0..self.placed.len() {
            self.pick_if_free(CoreId(core as u32));
        }
    }

    fn pick_if_free(&mut self, core: CoreId) {
        if self.placed[core.index()].is_none()
            && self.services[core.index()].is_used()
            && self.cores[core.index()].online
        {
            self.pick_for(core);
        }
    }

    /// When the first slice will have been used up, of cores for which a thread waits.
    pub(super) fn next_slice_end(&self) -> Option<Nanos> {
        if self.waiting.iter().all(|&waiting| waiting == 0) {
            return None;
        }
        let ends = self.placed.iter().flatten().map(|&thread| {
            let state = &self.threads[thread.index()];
            self.now.saturating_add(self.slice_of(thread).saturating_sub(state.used))
        });
        ends.min().filter(|&end| end < Nanos::MAX)
    }

    /// How long the slice of a thread that has a core is, time on that core.
    fn slice_of(&self, thread: ThreadId) -> Nanos {
        let state = &self.threads[thread.index()];
        let Place::Core(core) = state.place else { return Nanos::MAX };
        let kind = self.machine.cores[core.index()].kind;
        let Slice { time, divided_to, .. } = state.slice;
        let whole = match (divided_to, self.stats[thread.index()].queue) {
            (Some(least), Some(queue)) => {
                let waiting = u64::from(self.waiting[queue.index()]);
                Nanos((time[kind].0 / (waiting + 1)).max(least.0))
            }
            _ => time[kind],
        };
        match state.left {
            Some(left) if state.slice.carry => Nanos((whole.0 as f64 * left) as u64),
            _ => whole,
        }
    }

    fn end_slices(&mut self) {
        let others = self.waiting.iter().any(|&waiting| waiting > 0);
        for core in 0..self.placed.len() {
            let Some(thread) = self.placed[core] else { continue };
            let slice = self.slice_of(thread);
            let state = &mut self.threads[thread.index()];
            if state.used < slice {
                continue;
            }
            let (number, batch) = (state.slice_number, state.slice.batch);
            let follows = number < batch && self.may_go_on(CoreId(core as u32), thread);
            let state = &mut self.threads[thread.index()];
            // The slice ended between two looks. What was run beyond it is taken off the next, if
            // slices are shares or come in a row.
            state.used =
                if state.slice.carry || follows { state.used - slice } else { Nanos::ZERO };
            state.left = None;
            state.slice_number = if follows { number + 1 } else { 1 };
            if follows {
                if let Some(queue) = self.stats[thread.index()].queue
                    && self.waiting[queue.index()] == 0
                {
                    self.raise_floor(thread, queue);
                }
                continue;
            }
            match &mut state.order {
                Order::Deadline { at, renew, .. } => *at = self.now.saturating_add(*renew),
                Order::Fixed { key, step } => *key = key.saturating_add(*step),
                Order::VirtualTime { .. } | Order::Arrival => {}
            }
            if self.interest.wants(Interest::SLICE_USED) {
                self.events.push(Event::SliceUsed(thread, CoreId(core as u32)));
            }
            if others {
                self.give_back(CoreId(core as u32));
                self.pick_for(CoreId(core as u32));
            } else if let Some(queue) = self.stats[thread.index()].queue {
                self.raise_floor(thread, queue);
            }
        }
    }

    /// True if a thread may have another slice in a row. Its core must serve its queue, and no new
    /// arrival, woken or started without a core since, may wait in the core's first tier or among
    /// its guests.
    fn may_go_on(&self, core: CoreId, thread: ThreadId) -> bool {
        let service = &self.services[core.index()];
        let queues = || service.first_tier().iter().chain(self.guests[core.index()].queues());
        let fresh = |&thread: &ThreadId| {
            let (state, stats) = (&self.threads[thread.index()], &self.stats[thread.index()]);
            state.waits_woken || stats.runs == 0
        };
        let comes = |thread: &ThreadId| {
            let (state, stats) = (&self.threads[thread.index()], &self.stats[thread.index()]);
            let queued = stats.queue.is_none_or(|queue| queues().any(|&other| other == queue));
            state.runnable && !state.ended && (state.woken || stats.runs == 0) && queued
        };
        self.stats[thread.index()].queue.is_some_and(|queue| service.serves(queue))
            && !queues().any(|queue| self.queues[queue.index()].waiting.iter().any(fresh))
            && !self.arrivals.iter().any(comes)
    }

    /// The core's thread goes back to its queue.
    pub(super) fn give_back(&mut self, core: CoreId) {
        if let Some(thread) = self.placed[core.index()] {
            self.unplace(core);
            self.enqueue(thread);
        }
    }

    fn find_core(&mut self, thread: ThreadId) {
        let Some(queue) = self.stats[thread.index()].queue else { return };
        let state = &self.threads[thread.index()];
        // A found thread runs where the kernel has it. It is given the core that it would have been
        // given at its start.
        let here = state.on.filter(|_| !(state.found && state.mask == Mask::Untouched));
        let prefer = &self.queues[queue.index()].prefer;
        let found = picking::idle_core(self, thread, queue, prefer, here);
        if let Some(core) = found {
            return self.put(thread, core);
        }
        if let Some(preemption) = self.queues[queue.index()].preemption {
            self.preempt_for(thread, queue, preemption.margin);
        }
    }

    fn preempt_for(&mut self, thread: ThreadId, queue: QueueId, margin: u64) {
        let cores = self.machine.cores.iter().map(|core| core.id);
        let victim = picking::victim(self, &self.candidate(thread), queue, margin, cores);
        if let Some(core) = victim {
            self.give_back(core);
            self.put(thread, core);
        }
    }

    fn pick_for(&mut self, core: CoreId) {
        if let Some(thread) = picking::pick(self, core) {
            self.put(thread, core);
        }
    }

    /// A thread that waits, or is nowhere, gets a free core.
    pub(super) fn put(&mut self, thread: ThreadId, core: CoreId) {
        if let (Place::Nowhere, Some(queue)) =
            (self.threads[thread.index()].place, self.stats[thread.index()].queue)
        {
            self.enter_clock(thread, queue);
        }
        if let Place::Queue(queue) = self.threads[thread.index()].place {
            self.dequeue(thread);
            self.raise_floor(thread, queue);
            let key = self.candidate(thread).key();
            if let Some(adopt) = picking::adopted_into(self, core, queue, key) {
                self.belong(thread, adopt);
            }
        }
        let state = &mut self.threads[thread.index()];
        state.place = Place::Core(core);
        state.woken = false;
        state.waits_woken = false;
        state.slice_number = 1;
        state.overdue = false;
        // What was used before is in `left`.
        state.used = Nanos::ZERO;
        self.placed[core.index()] = Some(thread);
        if let Some(shown) = self.cores[core.index()].running.replace(thread)
            && shown != thread
            && self.stats[shown.index()].state == State::Running
        {
            // A loose thread: it may still run there, but was not put there.
            self.stats[shown.index()].state = State::Ready;
        }
        let stats = &mut self.stats[thread.index()];
        let moved = stats.core != core || stats.state != State::Running;
        if stats.state != State::Running {
            stats.since = self.now;
        }
        stats.state = State::Running;
        stats.core = core;
        stats.runs += u64::from(moved);
        if moved && self.interest.wants(Interest::PICKED) {
            self.events.push(Event::Picked(thread, core));
        }
        self.note_load(thread);
        self.change(thread);
    }

    /// A thread is taken from wherever it has been put.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        match self.threads[thread.index()].place {
            Place::Queue(_) => self.dequeue(thread),
            Place::Core(core) => self.unplace(core),
            Place::Nowhere => self.change(thread),
        }
    }

    /// The core has no thread any more; the thread is nowhere.
    pub(super) fn unplace(&mut self, core: CoreId) {
        let Some(thread) = self.placed[core.index()].take() else { return };
        self.cores[core.index()].running = None;
        self.called[core.index()] = true;
        let left = self.share_left(thread, self.machine.cores[core.index()].kind);
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        state.place = Place::Nowhere;
        state.left = left;
        if stats.state == State::Running {
            stats.state = State::Ready;
            stats.since = self.now;
        }
        self.note_load(thread);
        self.change(thread);
    }

    /// What is left of a carried slice.
    fn share_left(&self, thread: ThreadId, kind: KindId) -> Option<f64> {
        let state = &self.threads[thread.index()];
        let whole = state.slice.time[kind].0;
        (state.slice.carry && state.used.0 < whole && whole > 0)
            .then(|| state.left.unwrap_or(1.0) - state.used.0 as f64 / whole as f64)
            .filter(|left| *left > 0.0)
    }
}
