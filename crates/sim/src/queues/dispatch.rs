//! Cores take threads up, leave them, and idle; threads stop, block and wake.

use evenkeel_machine::{CoreId, Nanos};
use evenkeel_policy::{Choose, Event, Interest, Order, QueueId, State, ThreadId};

use evenkeel_model::Class;

use crate::cores::core::Reported;
use crate::mechanism::{Mechanism, NONE};
use crate::programs::thread::{Place, WHOLE_SLICE, WaitsFor};
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    pub fn yield_core(&mut self, core: usize) {
        let thread = self.stop(core);
        // Others first: it joins the queue after the core has picked.
        match self.pick(core) {
            Some(other) => {
                self.start(core, other);
                self.arrive(thread);
            }
            None => self.start(core, thread),
        }
    }

    /// The core's thread goes back to its queue, and the core picks again.
    pub fn requeue(&mut self, core: usize) {
        if self.cores[core].running != NONE {
            let thread = self.stop(core);
            self.arrive(thread);
            self.call(core);
        }
    }

    /// Notes that a core needs a thread.
    pub fn call(&mut self, core: usize) {
        if !self.cores[core].called {
            self.cores[core].called = true;
            self.sets.call(core);
        }
    }

    /// Takes the running thread off its core: it is ready, and nowhere.
    #[inline]
    pub fn stop(&mut self, core: usize) -> ThreadId {
        self.conclude(core);
        if L::HEARS {
            self.hear_run(core);
        }
        let state = &mut self.cores[core];
        let thread = ThreadId(state.running);
        state.running = NONE;
        self.core_stats[core].running = None;
        let (running, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        stats.state = State::Ready;
        stats.since = self.now;
        if running.slice.carry && running.normal() {
            let left =
                u128::from(state.slice_end.saturating_sub(self.now).0) * u128::from(WHOLE_SLICE);
            running.slice_left = (left / u128::from(running.slice.time[state.kind].0.max(1)))
                .min(u128::from(WHOLE_SLICE)) as u64;
        }
        self.charge_budget(thread);
        thread
    }

    /// Tells the listener of the run that ends now.
    pub fn hear_run(&mut self, core: usize) {
        let state = &self.cores[core];
        let thread = ThreadId(state.running);
        let retired = self.stats[thread.index()].retired;
        self.listener.ran(thread, CoreId(core as u32), state.picked_at, self.now, retired);
    }

    /// Every core that needs a thread takes one up: those that had one first, so that an idle one
    /// does not take it over; then by number.
    pub fn dispatch(&mut self) {
        self.sets.order_calls();
        let mut place = 0;
        while let Some(core) = self.sets.take_called(place) {
            place += 1;
            self.cores[core].called = false;
            if self.cores[core].running != NONE {
                self.drop_claim(core);
                continue;
            }
            let next = self.next_on(core);
            self.drop_claim(core);
            match next {
                Some(thread) => self.start(core, thread),
                None => self.leave_idle(core),
            }
        }
        self.sets.end_calls();
    }

    /// The thread that a core takes up next: a higher class, then the thread that was sent here,
    /// then those that waits in its queues.
    fn next_on(&mut self, core: usize) -> Option<ThreadId> {
        let reserved = self.cores[core].reserved;
        if reserved == NONE {
            return self.pick(core);
        }
        let reserved = ThreadId(reserved);
        let urgent = self.most_urgent(core);
        if urgent.is_some() {
            self.take_out(reserved);
            self.arrive(reserved);
        }
        urgent.or(Some(reserved))
    }

    /// Idle cores look again whether something waits that they may take.
    pub fn sweep(&mut self) {
        self.sweep_due = false;
        if !self.sets.any_idle() || self.queues.ready() == 0 {
            return;
        }
        for word in 0..self.sets.words() {
            let mut bits = self.sets.idle_word(word);
            while bits != 0 {
                let core = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if self.queues.ready() > 0
                    && let Some(thread) = self.pick(core)
                {
                    self.start(core, thread);
                }
            }
        }
    }

    /// The thread that a core takes up next, by class, then tiers.
    pub fn pick(&self, core: usize) -> Option<ThreadId> {
        if self.queues.ready() == 0 {
            return None;
        }
        if let Some(urgent) = self.most_urgent(core) {
            return Some(urgent);
        }
        let state = &self.cores[core];
        let local = state.local.first().map(|(thread, _)| thread);
        if local.is_some() && state.local_turn {
            return local;
        }
        let queued = self.first_in_service(core);
        self.check_pick(core, queued);
        queued.or(local).or_else(|| self.local_elsewhere(core))
    }

    /// The thread that a core takes up from the policy's queues.
    #[inline(always)]
    fn first_in_service(&self, core: usize) -> Option<ThreadId> {
        if let Some(guest) = self.guest(core) {
            return Some(guest);
        }
        for tier in self.cores[core].service.tiers() {
            let found = match tier.choose {
                Choose::LeastKey => self.least_key(core, &tier.queues).map(|(thread, _)| thread),
                Choose::MostLoaded => self.most_loaded(core, &tier.queues),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// A thread that waits at another core because no queue would do, and may run here as well.
    fn local_elsewhere(&self, core: usize) -> Option<ThreadId> {
        if !self.restricted {
            return None;
        }
        let firsts = self.cores.iter().filter_map(|other| other.local.first());
        firsts.map(|(thread, _)| thread).find(|&thread| self.allowed(thread, core))
    }

    /// The guest that a core takes up before those of its own.
    fn guest(&self, core: usize) -> Option<ThreadId> {
        let state = &self.cores[core];
        if state.guests.queues().is_empty() || self.had_guest(core) {
            return None;
        }
        let (guest, key) = self.least_key(core, state.guests.queues())?;
        self.is_far_behind(core, key).then_some(guest)
    }

    /// True if a guest's turn on this core has just ended: it waits again.
    fn had_guest(&self, core: usize) -> bool {
        let state = &self.cores[core];
        if state.last == NONE {
            return false;
        }
        let place = self.place_of[state.last as usize];
        matches!(place, Place::Queue { queue, .. } if state.guests.contains(QueueId(queue)))
    }

    /// True if a key is so much less than those of a core's own threads that its thread may be a
    /// guest.
    fn is_far_behind(&self, core: usize, key: u64) -> bool {
        let state = &self.cores[core];
        let own = state.service.own_queue().and_then(|own| self.first_for(core, own));
        own.is_some_and(|(_, own)| state.guests.comes_before(key, own))
    }

    /// The thread with the least key, and that key.
    pub fn least_key(&self, core: usize, queues: &[QueueId]) -> Option<(ThreadId, u64)> {
        let mut best: Option<(ThreadId, u64)> = None;
        for queue in queues {
            if let Some((thread, key)) = self.first_for(core, *queue)
                && best.is_none_or(|(_, least)| key < least)
            {
                best = Some((thread, key));
            }
        }
        best
    }

    pub fn most_loaded(&self, core: usize, queues: &[QueueId]) -> Option<ThreadId> {
        let mut best: Option<(ThreadId, u64)> = None;
        for &queue in queues {
            let weight = self.queues[queue].waiting.weight();
            if weight > best.map_or(0, |(_, greatest)| greatest)
                && let Some((thread, _)) = self.first_for(core, queue)
            {
                best = Some((thread, weight));
            }
        }
        best.map(|(thread, _)| thread)
    }

    /// First of a queue, as this core sees it.
    pub fn first_for(&self, core: usize, queue: QueueId) -> Option<(ThreadId, u64)> {
        let queue = &self.queues[queue];
        if queue.waiting.len() == 0 {
            return None;
        }
        if !self.restricted && !queue.postpones {
            return queue.waiting.first();
        }
        queue.waiting.best(|thread, key| {
            if !self.allowed(thread, core) {
                return None;
            }
            let state = &self.threads[thread.index()];
            let Order::Deadline { postpone, .. } = state.order else { return Some(key) };
            let last = self.stats[thread.index()].core;
            let sticks = !state.woken && self.cores[last.index()].last == thread.0;
            if !sticks {
                return Some(key);
            }
            Some(key.saturating_add(postpone[self.machine.distance(last, CoreId(core as u32))].0))
        })
    }

    /// A core takes a thread up.
    pub fn start(&mut self, core: usize, thread: ThreadId) {
        let place = self.place_of[thread.index()];
        self.take_out(thread);
        if let Place::Queue { queue, .. } = place {
            self.leave_queue(core, thread, QueueId(queue));
        }
        let state = &mut self.cores[core];
        if state.local.len() > 0 {
            state.local_turn = !matches!(place, Place::Local(_));
        }
        let stats = &self.stats[thread.index()];
        let continues =
            state.last == thread.0 && stats.since == self.now && !state.called && stats.runs > 0;
        self.occupy(core, thread, continues);
        self.settle_core(core);
        self.set_going(core, thread);
    }

    /// A thread that is in no queue has a core from now on; whether it `continues` what it did
    /// there until now.
    #[inline]
    pub fn occupy(&mut self, core: usize, thread: ThreadId, continues: bool) {
        let state = &mut self.cores[core];
        let (running, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        let waited = self.now - stats.since;
        stats.waiting += waited;
        stats.since = self.now;
        stats.state = State::Running;
        state.running = thread.0;
        (state.accounted, state.since) = (self.now, self.now);
        (state.reported, state.virtual_fraction) = (Reported::default(), 0);
        state.picked_at = self.now;
        self.core_stats[core].running = Some(thread);
        if self.tracked.ran {
            self.ran.note(thread);
        }
        let (kind, woken) = (state.kind, std::mem::take(&mut running.woken));
        if state.last != thread.0 {
            self.totals.context_switches += 1;
            running.overhead += self.machine.costs.context_switch.0;
            state.last = thread.0;
        }
        let here = CoreId(core as u32);
        let moved = stats.runs > 0 && stats.core != here;
        let from = stats.core;
        stats.core = here;
        stats.runs += u64::from(!continues);
        if moved {
            self.charge_migration(thread, from, here);
        }
        if woken {
            // What the switch costs is between the wake-up and the thread's first instruction.
            let cost = Nanos(self.threads[thread.index()].overhead);
            self.totals.latency[kind.index()].add(waited + cost);
        }
        if !continues
            && self.interest.wants(Interest::PICKED)
            && self.threads[thread.index()].normal()
        {
            self.events.push(Event::Picked(thread, here));
        }
    }

    /// Rates, slice and event of a thread that has just been given a core.
    #[inline]
    pub fn set_going(&mut self, core: usize, thread: ThreadId) {
        self.renew_virtual_rate(core);
        if let Class::Deadline { .. } = self.threads[thread.index()].class {
            self.threads[thread.index()].rare_mut().charged_from = self.now;
        }
        self.grant_slice(core);
        if self.tracked.load {
            self.note_load(thread);
        }
        self.note_governed(core);
        self.set_rate(core);
        self.repower(core);
        self.schedule(core);
    }

    /// A core takes a thread from a queue, or the thread goes on since no other waits.
    #[inline]
    pub fn raise_floor(&mut self, thread: ThreadId, queue: QueueId) {
        self.queues[queue].clock.note_picked(self.stats[thread.index()].virtual_time);
    }

    /// True if a thread that a core takes from a queue is its guest.
    fn is_guest(&self, core: usize, thread: ThreadId, queue: QueueId) -> bool {
        let key =
            || self.threads[thread.index()].order.key(self.stats[thread.index()].virtual_time);
        self.cores[core].guests.contains(queue)
            && !self.had_guest(core)
            && self.is_far_behind(core, key())
    }

    /// What a queue notes when a core takes a thread from it.
    #[inline]
    pub fn leave_queue(&mut self, core: usize, thread: ThreadId, queue: QueueId) {
        self.raise_floor(thread, queue);
        let into = self.cores[core].service.adopt().filter(|&adopt| {
            self.stats[thread.index()].queue == Some(queue)
                && adopt != queue
                && !self.is_guest(core, thread, queue)
        });
        self.check_taken(core, thread, queue, into);
        if let Some(adopt) = into {
            self.belong(thread, adopt);
        }
    }

    pub fn charge_migration(&mut self, thread: ThreadId, from: CoreId, to: CoreId) {
        self.totals.migrations += 1;
        let costs = &self.machine.costs;
        let state = &mut self.threads[thread.index()];
        state.migrations += 1;
        let within = self.machine.distance(from, to) == 1;
        state.overhead += if within { costs.migration_within.0 } else { costs.migration_across.0 };
        let working_set = self.speeds.character(state.row).working_set;
        state.refill = 0;
        if let Some(bandwidth) = costs.refill_bandwidth
            && working_set > 0
        {
            let cluster = &self.machine.clusters[self.machine.cores[to.index()].cluster.index()];
            let lost = if within {
                costs.private_cache_bytes
            } else {
                costs.private_cache_bytes.max(cluster.cache_bytes)
            };
            state.refill = (working_set.min(lost) as f64 / bandwidth as f64 * 1e9) as u64;
        }
    }

    /// A core found nothing to run.
    pub fn leave_idle(&mut self, core: usize) {
        let slot = self.slots.core(core);
        self.calendar.cancel(slot);
        let state = &mut self.cores[core];
        state.work_end = Nanos::MAX;
        state.slice_end = Nanos::MAX;
        if self.interest.wants(Interest::CORE_IDLE) && state.used {
            self.events.push(Event::CoreIdle(CoreId(core as u32)));
        }
        self.settle_core(core);
        self.repower(core);
    }

    /// A thread waits for something that is not a core.
    pub fn block(&mut self, core: usize, thread: ThreadId, waits_for: WaitsFor) {
        self.stop(core);
        self.stats[thread.index()].state = State::Blocked;
        let state = &mut self.threads[thread.index()];
        state.waits_for = waits_for;
        if self.interest.wants(Interest::BLOCKED) && state.normal() {
            self.events.push(Event::Blocked(thread));
        }
        if self.tracked.load {
            self.note_load(thread);
        }
        self.call(core);
    }

    /// A blocked thread is ready again, by another thread or (none) by time.
    pub fn wake(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        if stats.state != State::Blocked || !state.started {
            return;
        }
        stats.blocked += self.now - stats.since;
        stats.since = self.now;
        stats.state = State::Ready;
        state.waits_for = WaitsFor::Nothing;
        (state.woken, state.synchronously) = (true, false);
        if L::HEARS {
            self.listener.woke(self.now, thread, by);
        }
        if self.interest.wants(Interest::WOKE) && state.normal() {
            self.events.push(Event::Woke(thread));
        }
        if self.tracked.load {
            self.note_load(thread);
        }
        self.arrive(thread);
    }
}
