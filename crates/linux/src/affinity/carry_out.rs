//! Directives, carried out. One that names what is not there (any more) is dropped: it came late.

use evenkeel_machine::{Core, CoreId, Nanos};
use evenkeel_policy::{Directive, Order, QueueId, State, ThreadId, Tier};

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use super::queues::Queue;
use super::thread::Place;

impl<K: Kernel> Mechanism<K> {
    /// Does what has been said, new queues first.
    pub(super) fn carry_out_all(&mut self) {
        let mut say = std::mem::take(&mut self.say);
        say.drain_queues_first(|directive| self.carry_out(directive));
        self.say = say;
    }

    fn carry_out(&mut self, directive: Directive) {
        match directive {
            Directive::MakeQueue(clock) => {
                self.queues.push(Queue::new(clock));
                self.waiting.push(0);
                self.homes.push(self.everywhere);
            }
            Directive::Assign(thread, queue) if self.is_queue(queue) && self.is_placed(thread) => {
                self.reassign(thread, queue);
            }
            Directive::AssignAll(threads) => {
                threads
                    .into_iter()
                    .for_each(|(thread, queue)| self.carry_out(Directive::Assign(thread, queue)));
            }
            Directive::Order(thread, order) if self.is_placed(thread) => {
                self.reorder(thread, order)
            }
            Directive::Charge(thread, charge) if self.is_placed(thread) => {
                self.count(thread, self.now);
                self.threads[thread.index()].charge = charge;
            }
            Directive::Slice(thread, slice) if self.is_placed(thread) => {
                self.threads[thread.index()].slice = *slice
            }
            Directive::Serve { core, tiers, adopt } if self.is_core(core) => {
                self.serve(core, tiers, adopt)
            }
            Directive::Host { core, guests, behind } if self.is_core(core) => {
                let queues = self.queues.len();
                let service = &mut self.services[core.index()];
                service.guests =
                    guests.into_iter().filter(|queue| queue.index() < queues).collect();
                service.behind = behind;
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
            Directive::Preempt(core) if self.is_core(core) => self.give_back(core),
            Directive::Timer(period) => {
                self.timer =
                    (period > Nanos::ZERO).then(|| (period, self.now.saturating_add(period)));
            }
            _ => {}
        }
    }

    fn is_queue(&self, queue: QueueId) -> bool {
        queue.index() < self.queues.len()
    }

    fn is_core(&self, core: CoreId) -> bool {
        core.index() < self.cores.len()
    }

    fn reassign(&mut self, thread: ThreadId, queue: QueueId) {
        if self.stats[thread.index()].queue == Some(queue) {
            return;
        }
        self.count(thread, self.now);
        if let Place::Queue(_) = self.threads[thread.index()].place {
            self.dequeue(thread);
            self.assign(thread, queue);
            self.arrivals.push(thread);
        } else {
            self.assign(thread, queue);
            self.change(thread);
        }
    }

    fn reorder(&mut self, thread: ThreadId, order: Order) {
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

    fn serve(&mut self, core: CoreId, mut tiers: Vec<Tier>, adopt: Option<QueueId>) {
        let queues = self.queues.len();
        for tier in &mut tiers {
            tier.queues.retain(|queue| queue.index() < queues);
        }
        tiers.retain(|tier| !tier.queues.is_empty());
        let service = &mut self.services[core.index()];
        service.tiers = tiers;
        service.adopt = adopt.filter(|queue| queue.index() < queues);
        if !service.is_used() {
            self.give_back(core);
        }
        self.find_homes();
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

    fn swap(&mut self, a: ThreadId, b: ThreadId) {
        if a == b || !self.is_placed(a) || !self.is_placed(b) {
            return;
        }
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
}
