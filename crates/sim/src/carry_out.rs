//! Directives, carried out. One that names what is not there (any more) is dropped: it came late.

use evenkeel_machine::CoreId;
use evenkeel_policy::{Clock, Directive, Order, QueueId, State, ThreadId, Tier};

use crate::mechanism::{Mechanism, NONE, Queue};
use crate::thread::{CHARGE_SHIFT, Place};
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    /// Does what a policy says.
    pub fn carry_out(&mut self, directive: Directive) {
        match directive {
            Directive::MakeQueue(clock) => self.make_queue(clock),
            Directive::Assign(thread, queue) if self.is_queue(queue) && self.is_placed(thread) => {
                self.reassign(thread, queue);
            }
            Directive::AssignAll(threads) => self.reassign_all(&threads),
            Directive::Order(thread, order) if self.is_placed(thread) => {
                self.reorder(thread, order)
            }
            Directive::Charge(thread, charge) if self.is_placed(thread) => {
                self.account_thread(thread);
                self.threads[thread.index()].charge = charge;
                self.renew_rate_of(thread);
            }
            Directive::Slice(thread, slice) if self.is_placed(thread) => {
                self.threads[thread.index()].slice = slice;
            }
            Directive::Serve { core, tiers, adopt } if self.is_core(core) => {
                self.serve(core, tiers, adopt)
            }
            Directive::Host { core, guests, behind } if self.is_core(core) => {
                let queues = self.queues.len();
                let core = &mut self.cores[core.index()];
                core.guests = guests.into_iter().filter(|queue| queue.index() < queues).collect();
                core.behind = behind;
            }
            Directive::Prefer(queue, mut cores) if self.is_queue(queue) => {
                cores.retain(|&core| self.is_core(core));
                self.queues[queue.index()].prefer = cores;
            }
            Directive::Preemption(queue, margin) if self.is_queue(queue) => {
                self.queues[queue.index()].preemption = margin;
            }
            Directive::Sleeper(queue, credit) if self.is_queue(queue) => {
                self.queues[queue.index()].sleeper = credit
            }
            Directive::Swap(a, b) => self.swap(a, b),
            Directive::Move(thread, core) if self.is_core(core) && self.is_placed(thread) => {
                self.hand_over(thread, core)
            }
            Directive::Preempt(core) if self.is_core(core) => {
                let running = self.cores[core.index()].running;
                if running != NONE && self.threads[running as usize].normal() {
                    self.requeue(core.index());
                }
            }
            Directive::Timer(period) => self.set_timer(period),
            _ => {}
        }
    }

    fn is_queue(&self, queue: QueueId) -> bool {
        queue.index() < self.queues.len()
    }

    fn is_core(&self, core: CoreId) -> bool {
        core.index() < self.cores.len()
    }

    /// Whether it exists, has not ended, and is the policy's to place.
    fn is_placed(&self, thread: ThreadId) -> bool {
        let ended = |index: usize| self.stats[index].state == State::Exited;
        self.threads
            .get(thread.index())
            .is_some_and(|state| state.normal() && !ended(thread.index()))
    }

    fn make_queue(&mut self, clock: Clock) {
        let served_by = vec![0; self.idle_bits.len()];
        self.queues.push(Queue { own_clock: clock == Clock::Own, served_by, ..Queue::default() });
        self.waiting.push(0);
    }

    fn reassign(&mut self, thread: ThreadId, queue: QueueId) {
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
        self.assign(thread, queue);
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
    fn reassign_all(&mut self, threads: &[(ThreadId, QueueId)]) {
        for &(thread, queue) in threads {
            if !self.is_queue(queue) {
                continue;
            }
            match self.place_of.get(thread.index()) {
                Some(&Place::Queue { queue: before, by_time: true, fresh })
                    if self.is_only_queued(queue) =>
                {
                    self.change_queues(thread, fresh, QueueId(before), queue);
                }
                _ if self.is_placed(thread) => self.reassign(thread, queue),
                _ => {}
            }
        }
    }

    fn reorder(&mut self, thread: ThreadId, order: Order) {
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

    fn serve(&mut self, core: CoreId, mut tiers: Vec<Tier>, adopt: Option<QueueId>) {
        let queues = self.queues.len();
        for tier in &mut tiers {
            tier.queues.retain(|queue| queue.index() < queues);
        }
        tiers.retain(|tier| !tier.queues.is_empty());
        let index = core.index();
        let (word, bit) = (index / 64, 1 << (index % 64));
        for before in
            std::mem::take(&mut self.cores[index].tiers).iter().flat_map(|tier| &tier.queues)
        {
            let queue = &mut self.queues[before.index()];
            queue.servers.retain(|&server| server != core.0);
            queue.served_by[word] &= !bit;
        }
        for queue in tiers.first().map_or(&[][..], |tier| &tier.queues) {
            self.queues[queue.index()].servers.push(core.0);
        }
        for queue in tiers.iter().flat_map(|tier| &tier.queues) {
            self.queues[queue.index()].served_by[word] |= bit;
        }
        let state = &mut self.cores[index];
        state.used = !tiers.is_empty();
        state.only = match tiers.first().map(|tier| &tier.queues[..]) {
            Some(&[queue]) => queue.0,
            _ => NONE,
        };
        state.tiers = tiers;
        state.adopt = adopt.filter(|queue| queue.index() < queues);
        if !state.used && state.running != NONE && self.threads[state.running as usize].normal() {
            self.requeue(index);
        }
        let reserved = ThreadId(self.cores[index].reserved);
        if !self.cores[index].used && reserved.0 != NONE {
            self.take_out(reserved);
            self.arrive(reserved);
        }
        self.note_idle(index);
        self.stirred = true;
        if self.restricted {
            self.place_restricted_again();
        }
    }

    /// Who serves what has changed: threads that may run on some cores only may have lost theirs,
    /// or found one.
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

    fn swap(&mut self, a: ThreadId, b: ThreadId) {
        if a == b || !self.is_placed(a) || !self.is_placed(b) {
            return;
        }
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
        self.swaps += 1;
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
