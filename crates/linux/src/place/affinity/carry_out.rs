//! Directives, carried out. One that names what is not there (any more) is dropped: it came late.

use std::rc::Rc;

use evenkeel_machine::{Core, CoreId, Nanos, PerKind};
use evenkeel_mechanism::{Directed, Guests, Service, carry_out_all};
use evenkeel_policy::{Clock, Order, Preemption, QueueId, Slice, State, ThreadId};

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use super::queue::Queue;
use super::thread::Place;

impl<K: Kernel> Mechanism<K> {
    /// Does what has been said, new queues first.
    pub(super) fn carry_out_all(&mut self) {
        let mut said = std::mem::take(&mut self.directives);
        carry_out_all(self, &mut said);
        self.directives = said;
    }

    /// Where the threads of each queue may wait: cores that have it in the first tier, and those
    /// that are faster and have it in any; where there are none, everywhere. Cores that are offline
    /// do not count.
    ///
    /// A thread that waits or sleeps is not looked at again before it runs: a fast core that idles
    /// by then is open to it.
    pub(super) fn find_homes(&mut self) {
        for queue in (0..self.queues.len() as u32).map(QueueId) {
            let online =
                || self.machine.cores.iter().filter(|core| self.cores[core.id.index()].online);
            let first = |core: &&Core| self.services[core.id.index()].serves_first(queue);
            let fastest = online().filter(first).map(|core| core.kind).min();
            let mut home = rustix::thread::CpuSet::new();
            for core in online() {
                let service = &self.services[core.id.index()];
                let faster = fastest.is_none_or(|kind| core.kind < kind);
                if service.serves_first(queue) || faster && service.serves(queue) {
                    home.set(core.cpu as usize);
                }
            }
            self.homes[queue.index()] = if home.count() > 0 { home } else { self.everywhere };
        }
        self.changed.extend_from_slice(&self.live);
    }
}

impl<K: Kernel> Directed for Mechanism<K> {
    fn queue_count(&self) -> usize {
        self.queues.len()
    }

    fn core_count(&self) -> usize {
        self.cores.len()
    }

    fn is_placed(&self, thread: ThreadId) -> bool {
        self.threads.get(thread.index()).is_some_and(|state| state.announced && !state.ended)
    }

    fn make_queue(&mut self, clock: Clock) {
        self.queues.push(Queue::new(clock));
        self.waiting.push(0);
        self.homes.push(self.everywhere);
    }

    fn assign(&mut self, thread: ThreadId, queue: QueueId) {
        if self.stats[thread.index()].queue == Some(queue) {
            return;
        }
        self.count(thread, self.now);
        if let Place::Queue(_) = self.threads[thread.index()].place {
            self.dequeue(thread);
            self.belong(thread, queue);
            self.arrivals.push(thread);
        } else {
            self.belong(thread, queue);
            self.change(thread);
        }
    }

    fn order(&mut self, thread: ThreadId, order: Order) {
        self.count(thread, self.now);
        let waits = matches!(self.threads[thread.index()].place, Place::Queue(_));
        let runs = self.stats[thread.index()].state == State::Running;
        self.threads[thread.index()].order = order;
        let Some(queue) = self.stats[thread.index()].queue else { return };
        if waits {
            self.enter_clock(thread, queue);
        } else if runs {
            // At once, not when it next waits: one that is far behind might never have to.
            self.take_up_start(thread, queue);
        }
    }

    fn serve(&mut self, core: CoreId, service: Service) {
        let is_used = service.is_used();
        self.services[core.index()] = service;
        if !is_used {
            self.give_back(core);
        }
        self.find_homes();
    }

    fn swap(&mut self, a: ThreadId, b: ThreadId) {
        let (of_a, of_b) = (&self.stats[a.index()], &self.stats[b.index()]);
        if of_a.state != State::Running || of_b.state != State::Running {
            return;
        }
        let (core_a, core_b) = (of_a.core, of_b.core);
        if !self.allowed(a, core_b) || !self.allowed(b, core_a) {
            return;
        }
        self.leave(a);
        self.leave(b);
        self.put(a, core_b);
        self.put(b, core_a);
        self.totals.swaps += 1;
    }

    fn hand_over(&mut self, thread: ThreadId, core: CoreId) {
        let (state, stats) = (&self.threads[thread.index()], &self.stats[thread.index()]);
        let there = state.place == Place::Core(core);
        if there
            || !stats.runnable()
            || !self.allowed(thread, core)
            || !self.cores[core.index()].online
        {
            return;
        }
        self.leave(thread);
        self.give_back(core);
        self.put(thread, core);
    }

    fn charge(&mut self, thread: ThreadId, charge: PerKind<u32>) {
        self.count(thread, self.now);
        self.threads[thread.index()].charge = charge;
    }

    fn slice(&mut self, thread: ThreadId, slice: Rc<Slice>) {
        self.threads[thread.index()].slice = *slice;
    }

    fn host(&mut self, core: CoreId, guests: Guests) {
        self.guests[core.index()] = guests;
    }

    fn prefer(&mut self, queue: QueueId, cores: Vec<CoreId>) {
        self.queues[queue.index()].prefer = cores;
    }

    fn preemption(&mut self, queue: QueueId, preemption: Option<Preemption>) {
        self.queues[queue.index()].preemption = preemption;
    }

    fn sleeper(&mut self, queue: QueueId, credit: u64) {
        self.queues[queue.index()].clock.set_sleeper(credit);
    }

    fn preempt(&mut self, core: CoreId) {
        self.give_back(core);
    }

    fn timer(&mut self, period: Nanos) {
        self.timer = (period > Nanos::ZERO).then(|| (period, self.now.saturating_add(period)));
    }
}
