//! Directives, carried out. One that names what is not there (any more) is dropped: it came late.

use std::rc::Rc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use evenkeel_machine::{CoreId, KindId, Nanos, PerKind};
use evenkeel_mechanism::{Directed, Guests, Service, carry_out_all};
use evenkeel_policy::{Choose, Clock, Order, Preemption, QueueId, Slice, Start, State, ThreadId};

use super::mechanism::Mechanism;
use super::shared::{
    self, MAX_CPUS, MAX_TIER_ENTRIES, MAX_TIERS, NONE, RATE_SHIFT, command, preempts, rule, start,
};
use super::thread::{Thread, weight_in};

/// A rate beyond this would overflow what a thread can run at a time (charge.bpf.h).
const MAX_RATE: u64 = u32::MAX as u64;

impl Mechanism {
    /// Does what has been said, new queues first.
    pub(super) fn carry_out_all(&mut self) {
        let mut said = std::mem::take(&mut self.directives);
        carry_out_all(self, &mut said);
        self.directives = said;
    }

    fn cpu(&self, core: CoreId) -> u32 {
        self.machine.cores[core.index()].cpu
    }

    /// True if a thread that has its first queue now runs on a core of another kind than that queue
    /// is for.
    ///
    /// It runs where the kernel had it, or by the queue of its parent. The policy takes it for one
    /// that waits, and so does not say that it is to move.
    fn runs_elsewhere(&self, thread: ThreadId, queue: QueueId) -> bool {
        let Some(slot) = self.threads[thread.index()].slot else { return false };
        let slot = &self.kernel.slots[slot as usize];
        let core = self
            .core_of(slot.cpu.load(Relaxed))
            .filter(|_| slot.state.load(Relaxed) == shared::state::RUNNING);
        let mut kinds = self.cores_served_first(queue).map(|core| self.kind(core)).peekable();
        core.is_some_and(|core| kinds.peek().is_some() && kinds.all(|kind| kind != self.kind(core)))
    }

    /// The cores that have a queue in their first tier, in the order in which it prefers them.
    fn cores_served_first(&self, queue: QueueId) -> impl Iterator<Item = CoreId> + '_ {
        let queue = &self.kernel.queues[queue.index()];
        let serves = |&cpu: &u32| {
            queue.first_tier_cpus[cpu as usize / 64].load(Relaxed) >> (cpu % 64) & 1 == 1
        };
        let preferred =
            queue.preferred_cpus.iter().take(queue.preferred_count.load(Relaxed) as usize);
        let preferred = preferred.map(|cpu| u32::from(cpu.load(Relaxed)));
        let all = self.machine.cores.iter().map(|core| core.cpu);
        preferred.chain(all).filter(serves).filter_map(|cpu| self.core_of(cpu))
    }

    /// Sends a thread to the core that it would have been given had it waited: an idle one. Without
    /// one it makes room where it runs, and waits where its queue is served.
    fn take_up_anew(&mut self, thread: ThreadId, queue: QueueId) {
        // A core that runs only this process, or the kernel, is soon idle again.
        let is_free = |core: CoreId| {
            let cpu = self.cpu(core);
            let shown = &self.cores[core.index()];
            shown.online
                && shown.running.is_none()
                && !self
                    .commands
                    .iter()
                    .any(|order| order.kind == command::MOVE && order.other == cpu)
        };
        let idle = self
            .cores_served_first(queue)
            .find(|&core| self.allowed(thread, core) && is_free(core));
        if let Some(core) = idle {
            self.push_command(command::MOVE, thread, self.cpu(core));
            self.note_sent(thread);
        } else if let Some(slot) = self.threads[thread.index()].slot
            && let Some(core) = self.core_of(self.kernel.slots[slot as usize].cpu.load(Relaxed))
        {
            self.preempt(core);
        }
    }

    /// True if a thread waits, although it may be shown as running where it was displaced by this
    /// process.
    fn waits(&self, thread: ThreadId) -> bool {
        let slot = self.threads[thread.index()].slot;
        slot.is_some_and(|slot| {
            self.kernel.slots[slot as usize].state.load(Relaxed) == shared::state::READY
        })
    }

    /// Writes the place of a thread in its queue to its slot.
    pub(super) fn write_order(&self, slot: u32, thread: &Thread, own_weight: u32, generation: u32) {
        let slot = &self.kernel.slots[slot as usize];
        let on_the_clock = |at: Nanos| self.on_the_clock(at).0;
        let (kind, key, step, postpone, from) = match thread.order {
            Order::VirtualTime { start, .. } => (rule::VIRTUAL_TIME, 0, 0, [Nanos::ZERO; 3], start),
            Order::Deadline { at, renew, postpone } => {
                (rule::DEADLINE, on_the_clock(at), renew.0, postpone, Start::Keep)
            }
            Order::Fixed { key, step } => (rule::FIXED, key, step, [Nanos::ZERO; 3], Start::Keep),
            Order::Arrival => (rule::ARRIVAL, 0, 0, [Nanos::ZERO; 3], Start::Keep),
        };
        slot.rule.store(kind, Relaxed);
        slot.directed_key.store(key, Relaxed);
        slot.step.store(step, Relaxed);
        for (place, by) in slot.postpone.iter().zip(postpone) {
            place.store(by.0, Relaxed);
        }
        let (from, at) = match from {
            Start::Keep => (start::KEEP, 0),
            Start::Floor => (start::FLOOR, 0),
            Start::At(at) => (start::AT, at),
        };
        // What has been said of its start and not been taken up yet still holds where nothing else
        // is said.
        let taken_up =
            slot.applied_order_generation.load(Relaxed) == slot.order_generation.load(Relaxed);
        if from != start::KEEP || taken_up {
            slot.start_virtual_time.store(at, Relaxed);
            slot.start.store(from, Relaxed);
        }
        if postpone != [Nanos::ZERO; 3] {
            for queue in &self.kernel.queues[..self.queues.len()] {
                queue.postpones.store(1, Relaxed);
            }
        }
        self.write_rates_to(slot, thread, own_weight);
        slot.order_generation.store(generation, Release);
    }

    fn write_rates_to(&self, slot: &shared::Slot, thread: &Thread, own_weight: u32) {
        let weight = weight_in(&thread.order, own_weight);
        slot.weight.store(weight, Relaxed);
        for (rate, charge) in slot.rate.iter().zip(thread.charge.0) {
            rate.store(
                ((u64::from(charge) << RATE_SHIFT) / u64::from(weight)).min(MAX_RATE),
                Relaxed,
            );
        }
    }

    /// Writes how fast a thread's virtual time grows to its slot.
    pub(super) fn write_rates(&self, thread: ThreadId) {
        let state = &self.threads[thread.index()];
        if let Some(slot) = state.slot {
            self.write_rates_to(
                &self.kernel.slots[slot as usize],
                state,
                self.stats[thread.index()].weight,
            );
        }
    }

    /// Writes a thread's slice to its slot: time by kind, least after division (0: not divided),
    /// carry, and how many slices may come in a row.
    pub(super) fn write_slice(&self, slot: u32, slice: &Slice) {
        let slot = &self.kernel.slots[slot as usize];
        for (cell, time) in slot.slice.iter().zip(slice.time.0) {
            cell.store(time.0, Relaxed);
        }
        slot.divided_to.store(slice.divided_to.map_or(0, |least| least.0.max(1)), Relaxed);
        slot.carry.store(u32::from(slice.carry), Relaxed);
        slot.batch.store(slice.batch, Relaxed);
    }

    /// The kind of a core.
    pub fn kind(&self, core: CoreId) -> KindId {
        self.machine.cores[core.index()].kind
    }
}

impl Directed for Mechanism {
    fn queue_count(&self) -> usize {
        self.queues.len()
    }

    fn core_count(&self) -> usize {
        self.cores.len()
    }

    fn is_placed(&self, thread: ThreadId) -> bool {
        self.threads.get(thread.index()).is_some_and(|state| state.announced)
    }

    fn make_queue(&mut self, clock: Clock) {
        if !self.is_room_for_queues() {
            return;
        }
        let number = self.queues.len() as u32;
        let own = clock == Clock::Own;
        self.kernel.queues[number as usize].own_clock.store(u32::from(own), Relaxed);
        self.queues.push(own);
        self.waiting.push(0);
        if self.attached {
            self.commands.push(super::mechanism::Command {
                kind: command::MAKE_QUEUE,
                slot: NONE,
                other: number,
            });
        }
    }

    fn assign(&mut self, thread: ThreadId, queue: QueueId) {
        let known = self.stats[thread.index()].queue;
        if known == Some(queue) {
            return;
        }
        // The first assignment shows, too, where it was put before anything was said.
        self.belong(thread, queue);
        let state = &mut self.threads[thread.index()];
        let Some(slot) = state.slot else { return };
        state.queue_generation = state.queue_generation.wrapping_add(1);
        let slot = &self.kernel.slots[slot as usize];
        slot.directed_queue_id.store(queue.0, Relaxed);
        slot.queue_generation.store(state.queue_generation, Release);
        if self.waits(thread) {
            self.push_command(command::REQUEUE, thread, NONE);
        } else if known.is_none() && self.runs_elsewhere(thread, queue) {
            self.take_up_anew(thread, queue);
        }
    }

    fn order(&mut self, thread: ThreadId, mut order: Order) {
        let state = &mut self.threads[thread.index()];
        let anew = !matches!(
            (state.order, order),
            (Order::VirtualTime { .. }, Order::VirtualTime { start: Start::Keep, .. })
        );
        if let Order::VirtualTime { start: Start::At(at), .. } = order {
            self.stats[thread.index()].virtual_time = at;
        }
        state.order_generation = state.order_generation.wrapping_add(1);
        state.order = order;
        let generation = state.order_generation;
        let Some(slot) = state.slot else { return };
        let own = self.stats[thread.index()].weight;
        self.write_order(slot, &self.threads[thread.index()], own, generation);
        if let Order::VirtualTime { start, .. } = &mut order {
            // It starts once.
            *start = Start::Keep;
        }
        self.threads[thread.index()].order = order;
        if anew && self.waits(thread) {
            self.push_command(command::REQUEUE, thread, NONE);
        }
    }

    fn serve(&mut self, core: CoreId, service: Service) {
        let tiers = &service.tiers()[..service.tiers().len().min(MAX_TIERS)];
        let number = self.cpu(core);
        let (word, bit) = (number as usize / 64, 1_u64 << (number % 64));
        for queue in &self.kernel.queues[..self.queues.len()] {
            queue.serving_cpus[word].fetch_and(!bit, Relaxed);
            queue.first_tier_cpus[word].fetch_and(!bit, Relaxed);
        }
        let cpu = &self.kernel.cpus[number as usize];
        let mut end = 0;
        for (rank, tier) in tiers.iter().enumerate() {
            for queue in &tier.queues {
                if end == MAX_TIER_ENTRIES {
                    break;
                }
                cpu.tier_queue_ids[end].store(queue.0 as u16, Relaxed);
                end += 1;
                let queue = &self.kernel.queues[queue.index()];
                queue.serving_cpus[word].fetch_or(bit, Relaxed);
                if rank == 0 {
                    queue.first_tier_cpus[word].fetch_or(bit, Relaxed);
                }
            }
            cpu.tier_end[rank].store(end as u16, Relaxed);
            let by_load = tier.choose == Choose::MostLoaded;
            cpu.tier_by_load[rank].store(u8::from(by_load), Relaxed);
            if by_load {
                self.kernel.globals().tracks_queue_weights.store(1, Relaxed);
            }
        }
        cpu.adopts_queue_id.store(service.adopt().map_or(NONE, |queue| queue.0), Relaxed);
        cpu.is_used.store(u32::from(!tiers.is_empty()), Relaxed);
        cpu.tier_count.store(tiers.len() as u32, Release);
        // The thread that runs there, and those that wait where it now looks, are affected.
        self.preempt(core);
    }

    fn host(&mut self, core: CoreId, guests: Guests) {
        let cpu = &self.kernel.cpus[self.cpu(core) as usize];
        cpu.behind.store(guests.behind(), Relaxed);
        let mut count = 0;
        for (place, queue) in cpu.guest_queue_ids.iter().zip(guests.queues()) {
            place.store(queue.0 as u16, Relaxed);
            count += 1;
        }
        cpu.guest_queue_count.store(count, Release);
    }

    fn prefer(&mut self, queue: QueueId, cores: Vec<CoreId>) {
        let queue = &self.kernel.queues[queue.index()];
        let mut count = 0;
        for (place, core) in queue.preferred_cpus.iter().zip(cores.into_iter().take(MAX_CPUS)) {
            place.store(self.cpu(core) as u16, Relaxed);
            count += 1;
        }
        queue.preferred_count.store(count, Release);
    }

    fn preempt(&mut self, core: CoreId) {
        if self.attached {
            let other = self.cpu(core);
            self.commands.push(super::mechanism::Command {
                kind: command::PREEMPT,
                slot: NONE,
                other,
            });
        }
    }

    fn swap(&mut self, a: ThreadId, b: ThreadId) {
        let (of_a, of_b) = (&self.stats[a.index()], &self.stats[b.index()]);
        if of_a.state != State::Running || of_b.state != State::Running {
            return;
        }
        if !self.allowed(a, of_b.core) || !self.allowed(b, of_a.core) {
            return;
        }
        let Some(other) = self.threads[b.index()].slot else { return };
        self.push_command(command::SWAP, a, other);
        self.note_sent(a);
        self.note_sent(b);
    }

    fn hand_over(&mut self, thread: ThreadId, core: CoreId) {
        let stats = &self.stats[thread.index()];
        let there = stats.state == State::Running && stats.core == core;
        if there
            || !stats.runnable()
            || !self.allowed(thread, core)
            || !self.cores[core.index()].online
        {
            return;
        }
        let cpu = self.cpu(core);
        self.push_command(command::MOVE, thread, cpu);
        self.note_sent(thread);
    }

    fn charge(&mut self, thread: ThreadId, charge: PerKind<u32>) {
        self.threads[thread.index()].charge = charge;
        self.write_rates(thread);
    }

    fn slice(&mut self, thread: ThreadId, slice: Rc<Slice>) {
        if let Some(slot) = self.threads[thread.index()].slot {
            self.write_slice(slot, &slice);
        }
        self.threads[thread.index()].slice = *slice;
    }

    fn preemption(&mut self, queue: QueueId, preemption: Option<Preemption>) {
        let queue = &self.kernel.queues[queue.index()];
        queue.preemption_margin.store(preemption.map_or(0, |it| it.margin), Relaxed);
        let preempts = match preemption {
            None => preempts::NEVER,
            Some(it) if it.synchronous => preempts::ALWAYS,
            Some(_) => preempts::NOT_SYNCHRONOUS,
        };
        queue.preempts.store(preempts, Relaxed);
    }

    fn sleeper(&mut self, queue: QueueId, credit: u64) {
        self.kernel.queues[queue.index()].sleeper_credit.store(credit, Relaxed);
    }

    fn timer(&mut self, period: Nanos) {
        self.timer = (period > Nanos::ZERO).then(|| (period, self.now.saturating_add(period)));
    }
}
