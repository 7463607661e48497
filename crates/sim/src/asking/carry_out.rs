//! Directives, carried out. One that names what is not there (any more) is dropped: it came late.

use std::rc::Rc;

use evenkeel_machine::{CoreId, Nanos, PerKind};
use evenkeel_mechanism::{Directed, Guests, Service, carry_out};
use evenkeel_policy::{Clock, Directive, Order, Preemption, QueueId, Slice, State, ThreadId};

use crate::mechanism::{Mechanism, NONE};
use crate::programs::thread::{CHARGE_SHIFT, Place};
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    /// Does what a policy says.
    pub fn carry_out(&mut self, directive: Directive) {
        // What names a thread that has ended came late.
        let _ = carry_out(self, directive);
    }
}

impl<L: Listener> Directed for Mechanism<'_, L> {
    fn queue_count(&self) -> usize {
        self.queues.len()
    }

    fn core_count(&self) -> usize {
        self.cores.len()
    }

    fn is_placed(&self, thread: ThreadId) -> bool {
        let ended = |index: usize| self.stats[index].state == State::Exited;
        self.threads
            .get(thread.index())
            .is_some_and(|state| state.normal() && !ended(thread.index()))
    }

    fn make_queue(&mut self, clock: Clock) {
        self.queues.make(clock, self.sets.words());
    }

    fn assign(&mut self, thread: ThreadId, queue: QueueId) {
        if self.stats[thread.index()].queue == Some(queue) {
            return;
        }
        let place = self.place_of[thread.index()];
        let waits = matches!(place, Place::Queue { .. } | Place::Local(_));
        if waits {
            self.take_out(thread);
        } else {
            self.account_thread(thread);
        }
        self.belong(thread, queue);
        if !waits {
            return;
        }
        if self.is_only_queued(queue) {
            self.enqueue(thread, queue);
        } else {
            self.arrive(thread);
        }
    }

    /// Threads change queues: by the short way where all that becomes of a thread is that it waits
    /// elsewhere.
    fn assign_all(&mut self, threads: &[(ThreadId, QueueId)]) {
        for &(thread, queue) in threads {
            if queue.index() >= self.queues.len() {
                continue;
            }
            match self.place_of.get(thread.index()) {
                Some(&Place::Queue { queue: before, by_time: true, fresh })
                    if self.is_only_queued(queue) =>
                {
                    self.change_queues(thread, fresh, QueueId(before), queue);
                }
                _ if self.is_placed(thread) => self.assign(thread, queue),
                _ => {}
            }
        }
    }

    fn order(&mut self, thread: ThreadId, order: Order) {
        let queued = matches!(self.place_of[thread.index()], Place::Queue { .. });
        if queued {
            self.take_out(thread);
        } else {
            self.account_thread(thread);
        }
        self.threads[thread.index()].order = order;
        if queued {
            self.arrive(thread);
        } else if self.stats[thread.index()].state == State::Running {
            // At once, not when it next waits: one that is far behind might never have to.
            if let Some(queue) = self.stats[thread.index()].queue {
                self.take_up_start(thread, queue);
            }
            self.renew_rate_of(thread);
        }
    }

    fn serve(&mut self, core: CoreId, service: Service) {
        let index = core.index();
        let (word, bit) = (index / 64, 1 << (index % 64));
        for before in std::mem::take(&mut self.cores[index].service).queues() {
            let queue = &mut self.queues[before];
            queue.servers.retain(|&server| server != core.0);
            queue.served_by[word] &= !bit;
        }
        for &queue in service.first_tier() {
            self.queues[queue].servers.push(core.0);
        }
        for queue in service.queues() {
            self.queues[queue].served_by[word] |= bit;
        }
        let state = &mut self.cores[index];
        state.used = service.is_used();
        state.only = service.only_queue().map_or(NONE, |queue| queue.0);
        state.service = service;
        if !state.used && state.running != NONE && self.threads[state.running as usize].normal() {
            self.requeue(index);
        }
        let reserved = ThreadId(self.cores[index].reserved);
        if !self.cores[index].used && reserved.0 != NONE {
            self.take_out(reserved);
            self.arrive(reserved);
        }
        self.note_idle(index);
        self.sweep_due = true;
        if self.restricted {
            self.place_restricted_again();
        }
    }

    fn swap(&mut self, a: ThreadId, b: ThreadId) {
        let (of_a, of_b) = (&self.stats[a.index()], &self.stats[b.index()]);
        if of_a.state != State::Running || of_b.state != State::Running {
            return;
        }
        let (core_a, core_b) = (of_a.core.index(), of_b.core.index());
        if !self.allowed(a, core_b) || !self.allowed(b, core_a) {
            return;
        }
        self.stop(core_a);
        self.stop(core_b);
        self.reserve(a, core_b);
        self.reserve(b, core_a);
        self.totals.swaps += 1;
        if L::HEARS {
            self.listener.swapped(self.now, a, b);
        }
    }

    fn hand_over(&mut self, thread: ThreadId, core: CoreId) {
        let target = core.index();
        let stats = &self.stats[thread.index()];
        let runs_there = stats.state == State::Running && stats.core == core;
        if runs_there || !self.allowed(thread, target) || !self.core_stats[target].online {
            return;
        }
        let displaced = self.cores[target].running;
        if displaced != NONE && !self.threads[displaced as usize].normal() {
            return;
        }
        match stats.state {
            State::Running => {
                let from = stats.core.index();
                self.stop(from);
                self.call(from);
            }
            State::Ready => self.take_out(thread),
            State::Blocked | State::Exited => return,
        }
        self.requeue(target);
        self.reserve(thread, target);
    }

    fn charge(&mut self, thread: ThreadId, charge: PerKind<u32>) {
        self.account_thread(thread);
        self.threads[thread.index()].charge = charge;
        self.renew_rate_of(thread);
    }

    fn slice(&mut self, thread: ThreadId, slice: Rc<Slice>) {
        self.threads[thread.index()].slice = slice;
    }

    fn host(&mut self, core: CoreId, guests: Guests) {
        self.cores[core.index()].guests = guests;
    }

    fn prefer(&mut self, queue: QueueId, cores: Vec<CoreId>) {
        self.queues[queue].prefer = cores;
    }

    fn preemption(&mut self, queue: QueueId, preemption: Option<Preemption>) {
        self.queues[queue].preemption = preemption;
    }

    fn sleeper(&mut self, queue: QueueId, credit: u64) {
        self.queues[queue].clock.set_sleeper(credit);
    }

    fn preempt(&mut self, core: CoreId) {
        let running = self.cores[core.index()].running;
        if running != NONE && self.threads[running as usize].normal() {
            self.requeue(core.index());
        }
    }

    fn timer(&mut self, period: Nanos) {
        self.set_timer(period);
    }
}

impl<L: Listener> Mechanism<'_, L> {
    fn account_thread(&mut self, thread: ThreadId) {
        let stats = &self.stats[thread.index()];
        if stats.state == State::Running {
            let core = stats.core.index();
            self.account(core);
        }
    }

    fn renew_rate_of(&mut self, thread: ThreadId) {
        let stats = &self.stats[thread.index()];
        if stats.state == State::Running {
            self.renew_virtual_rate(stats.core.index());
        }
    }

    /// The virtual time of a core's thread grows by its charge and weight from now on.
    #[inline(always)]
    pub fn renew_virtual_rate(&mut self, core: usize) {
        let core = &mut self.cores[core];
        let thread = core.running as usize;
        let (state, stats) = (&self.threads[thread], &self.stats[thread]);
        let charge = u64::from(state.charge[core.kind]) << CHARGE_SHIFT;
        core.virtual_rate = charge / u64::from(state.order.weight(stats.weight));
    }

    /// Places threads with an affinity again, after cores have changed the queues that they serve:
    /// a thread may have lost its cores, or found one.
    fn place_restricted_again(&mut self) {
        for index in 0..self.threads.len() {
            let thread = ThreadId(index as u32);
            if self.stats[index].restricted
                && matches!(self.place_of[index], Place::Queue { .. } | Place::Local(_))
            {
                self.take_out(thread);
                self.arrive(thread);
            }
        }
    }

    /// The thread, which is nowhere now, is the next on a core, whose former next goes back to its
    /// queue.
    fn reserve(&mut self, thread: ThreadId, core: usize) {
        if let Some(queue) = self.stats[thread.index()].queue {
            self.enter_clock(thread, queue);
        }
        let former = std::mem::replace(&mut self.cores[core].reserved, thread.0);
        self.place_of[thread.index()] = Place::Reserved(core as u32);
        if former != NONE && former != thread.0 {
            self.arrive(ThreadId(former));
        }
        self.call(core);
    }
}
