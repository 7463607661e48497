//! Cores and threads: accounting, placing who is ready, picking, starting, stopping.

use evenkeel_machine::{CoreId, Nanos, Work};
use evenkeel_policy::{Choose, Event, Interest, Order, QueueId, State, ThreadId};
use evenkeel_workload::Class;

use crate::execute::Next;
use crate::mechanism::{Mechanism, NONE, priority, slice_length};
use crate::thread::{CHARGE_SHIFT, Place, ROUND_ROBIN_SLICE, WHOLE_SLICE, WaitsFor};
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    /// Brings the running thread of a core up to now: its time, its virtual time, its work.
    pub fn account(&mut self, core: usize) {
        let state = &mut self.cores[core];
        let elapsed = self.now.0 - state.accounted.0;
        if elapsed == 0 {
            return;
        }
        state.accounted = self.now;
        state.busy_time.0 += elapsed;
        let index = state.running as usize;
        let (thread, stats) = (&mut self.threads[index], &mut self.stats[index]);
        stats.time_on[state.kind].0 += elapsed;
        let virtual_time = (u128::from(elapsed) * u128::from(state.virtual_rate)) >> CHARGE_SHIFT;
        stats.virtual_time = stats.virtual_time.saturating_add(virtual_time as u64);
        let lost = elapsed.min(thread.overhead);
        thread.overhead -= lost;
        let mut left = elapsed - lost;
        if thread.wall {
            thread.remaining -= left.min(thread.remaining);
            return;
        }
        if thread.refill > 0 {
            // Half speed until the debt is paid.
            let paid = thread.refill.min(left.div_ceil(2));
            thread.refill -= paid;
            left -= paid;
        }
        let done = ((left as f64 * state.rate) as u64).min(thread.remaining);
        thread.remaining -= done;
        credit(stats, done);
    }

    /// When the work of the running thread ends if nothing changes, and the calendar's entry for the core.
    pub fn schedule(&mut self, core: usize) {
        let state = &mut self.cores[core];
        let thread = &self.threads[state.running as usize];
        let time = if thread.wall {
            thread.remaining
        } else {
            let full = thread.remaining as f64 / state.rate;
            // Whoever has less to do than the refill lasts does it all at half speed.
            let stalled = (thread.refill as f64).min(full);
            // A thousandth of a nanosecond is the rounding of the speeds, not work that is left.
            (full + stalled - 1e-3).ceil() as u64
        };
        state.work_end = self.now.saturating_add(Nanos(thread.overhead.saturating_add(time)));
        let at = state.work_end.min(state.slice_end);
        self.calendar.set(self.core_slot(core), at, priority::HAPPENS);
    }

    /// The event of a core: its thread's work has ended, or its slice.
    pub fn core_time(&mut self, core: usize) {
        let running = self.cores[core].running;
        if running == NONE {
            return;
        }
        self.account(core);
        if self.now >= self.cores[core].work_end {
            self.end_work(core);
        }
        let state = &self.cores[core];
        if state.running != running {
            return;
        }
        if self.now >= state.slice_end {
            self.use_up_slice(core);
        } else if state.work_end <= self.now {
            self.schedule(core);
        }
    }

    fn end_work(&mut self, core: usize) {
        let thread = ThreadId(self.cores[core].running);
        let state = &mut self.threads[thread.index()];
        // What rounding has left over; the calendar says that the time is up.
        let rest = std::mem::take(&mut state.remaining);
        state.overhead = 0;
        if !state.wall {
            credit(&mut self.stats[thread.index()], rest);
        }
        match self.execute(core, thread) {
            Next::Computes => {
                self.set_rate(core);
                self.repower(core);
                self.schedule(core);
            }
            Next::Yields => self.yield_core(core),
            Next::Gone => {}
        }
    }

    fn use_up_slice(&mut self, core: usize) {
        let thread = ThreadId(self.cores[core].running);
        let state = &mut self.threads[thread.index()];
        state.slice_left = 0;
        if let Class::Deadline { .. } = state.class {
            return self.throttle(core, thread);
        }
        match &mut state.order {
            Order::Deadline { at, renew, .. } => *at = self.now + *renew,
            Order::Fixed { key, step } => *key += *step,
            Order::VirtualTime { .. } | Order::Arrival => {}
        }
        if state.normal() && self.interest.wants(Interest::SLICE_USED) {
            self.events.push(Event::SliceUsed(thread, CoreId(core as u32)));
        } else if self.ready == 0 && self.arrivals.is_empty() {
            // Nobody waits anywhere: go on.
            self.grant_slice(core);
            return self.schedule(core);
        }
        self.requeue(core);
    }

    /// The deadline class has used its budget: it waits for the next period.
    fn throttle(&mut self, core: usize, thread: ThreadId) {
        let due = self.threads[thread.index()].period_end;
        self.block(core, thread, WaitsFor::Budget);
        self.calendar.set(self.thread_slot(thread), due, priority::HAPPENS);
    }

    fn yield_core(&mut self, core: usize) {
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

    /// Notes that a thread is ready and must be placed.
    pub fn arrive(&mut self, thread: ThreadId) {
        self.threads[thread.index()].place = Place::Arriving;
        self.arrivals.push(thread);
    }

    /// Notes that a core needs a thread.
    pub fn call(&mut self, core: usize) {
        if !self.cores[core].called {
            self.cores[core].called = true;
            self.called.push(core as u32);
        }
    }

    /// Takes the running thread off its core: it is ready, and nowhere.
    pub fn stop(&mut self, core: usize) -> ThreadId {
        self.account(core);
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
        if running.slice.carry {
            let left = u128::from(state.slice_end.saturating_sub(self.now).0) * u128::from(WHOLE_SLICE);
            running.slice_left = (left / u128::from(running.slice.time[state.kind].0.max(1))) as u64;
        }
        if let Class::Deadline { .. } = running.class {
            running.budget = running.budget.saturating_sub(self.now - state.picked_at);
        }
        thread
    }

    /// Tells the listener of the run that ends now.
    pub fn hear_run(&mut self, core: usize) {
        let state = &self.cores[core];
        let thread = ThreadId(state.running);
        let retired = self.stats[thread.index()].retired;
        self.listener.ran(thread, CoreId(core as u32), state.picked_at, self.now, retired);
    }

    /// Puts everybody who has become ready where it waits, and finds idle cores for them.
    pub fn place_arrivals(&mut self) {
        let mut next = 0;
        while next < self.arrivals.len() {
            let thread = self.arrivals[next];
            next += 1;
            if self.threads[thread.index()].place == Place::Arriving {
                self.place(thread);
            }
        }
        self.arrivals.clear();
    }

    fn place(&mut self, thread: ThreadId) {
        if !self.threads[thread.index()].normal() {
            return self.place_urgent(thread);
        }
        let stats = &mut self.stats[thread.index()];
        let queue = *stats.queue.get_or_insert(QueueId(0));
        if stats.restricted && !self.served_somewhere(thread, queue) {
            return self.place_locally(thread);
        }
        self.enqueue(thread, queue);
        if self.goes_on(thread, queue) {
            // Its core is about to pick. Where that takes another, the idle cores look for themselves.
            self.stirred |= self.idle > 0;
        } else {
            self.find_core(thread, queue);
        }
    }

    /// Whether a thread has just been taken off a core that picks next and may take it again: it is not sent to an idle core, or a busy
    /// thread would change cores whenever its slice ends beside one.
    fn goes_on(&self, thread: ThreadId, queue: QueueId) -> bool {
        let stats = &self.stats[thread.index()];
        let last = &self.cores[stats.core.index()];
        let displaced = stats.runs > 0 && self.threads[thread.index()].woken_at.is_none();
        displaced && last.called && last.reserved == NONE && last.serves[queue.index()]
    }

    fn is_idle(&self, core: usize) -> bool {
        self.idle_bits[core / 64] >> (core % 64) & 1 == 1
    }

    /// Puts a thread into a queue of the policy.
    pub fn enqueue(&mut self, thread: ThreadId, queue: QueueId) {
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        let target = &mut self.queues[queue.index()];
        if let Order::VirtualTime { start, .. } = &mut state.order {
            match std::mem::replace(start, evenkeel_policy::Start::Keep) {
                evenkeel_policy::Start::Floor => stats.virtual_time = target.floor,
                evenkeel_policy::Start::At(at) => stats.virtual_time = at,
                evenkeel_policy::Start::Keep => {}
            }
            if state.woken_at.is_some() {
                stats.virtual_time = stats.virtual_time.max(target.floor.saturating_sub(target.sleeper));
            }
        }
        if let Order::Deadline { postpone, .. } = state.order {
            target.postpones |= postpone != [Nanos::ZERO; 3];
        }
        let (key, weight) = (key_of(&state.order, stats.virtual_time), weight_in(&state.order, stats.weight));
        target.waiting.insert(thread, key, self.sequence, weight, &mut self.places);
        self.sequence += 1;
        self.waiting[queue.index()] += 1;
        self.ready += 1;
        state.place = Place::Queue(queue.0);
    }

    /// Takes a thread out of wherever it waits for a core.
    pub fn take_out(&mut self, thread: ThreadId) {
        match std::mem::take(&mut self.threads[thread.index()].place) {
            Place::Nowhere | Place::Arriving => return,
            Place::Queue(queue) => {
                self.queues[queue as usize].waiting.remove(thread, &mut self.places);
                self.waiting[queue as usize] -= 1;
            }
            Place::Local(core) => self.cores[core as usize].local.remove(thread, &mut self.places),
            Place::Urgent => self.urgent.remove(thread, &mut self.places),
            Place::Reserved(core) => {
                self.cores[core as usize].reserved = NONE;
                return;
            }
        }
        self.ready -= 1;
    }

    fn served_somewhere(&self, thread: ThreadId, queue: QueueId) -> bool {
        let Some(cores) = &self.affinity[thread.index()] else { return true };
        cores.iter().any(|core| {
            let core = &self.cores[core.index()];
            core.used && core.serves.get(queue.index()).copied().unwrap_or(false)
        })
    }

    /// No core that the policy has take from its queue may run it: it waits at one that may.
    fn place_locally(&mut self, thread: ThreadId) {
        let last = self.stats[thread.index()].core.index();
        let Some(cores) = &self.affinity[thread.index()] else { return };
        let free = |core: &usize| self.cores[*core].running == NONE && !self.cores[*core].called;
        let load = |core: &usize| self.cores[*core].local.len() * 2 + usize::from(self.cores[*core].running != NONE);
        let candidates = || cores.iter().map(|core| core.index());
        let home = candidates()
            .find(|core| *core == last && free(core))
            .or_else(|| candidates().find(free))
            .or_else(|| candidates().min_by_key(load));
        let Some(home) = home else { return };
        let key = self.stats[thread.index()].virtual_time;
        let weight = self.stats[thread.index()].weight;
        self.cores[home].local.insert(thread, key, self.sequence, weight, &mut self.places);
        self.sequence += 1;
        self.ready += 1;
        self.threads[thread.index()].place = Place::Local(home as u32);
        if self.cores[home].running == NONE {
            self.call(home);
        }
    }

    /// A thread of a higher class: an idle core, else the core of a normal thread, else of a lower priority.
    fn place_urgent(&mut self, thread: ThreadId) {
        let key = urgency(&self.threads[thread.index()].class, self.threads[thread.index()].period_end);
        self.urgent.insert(thread, key, self.sequence, 0, &mut self.places);
        self.sequence += 1;
        self.ready += 1;
        self.threads[thread.index()].place = Place::Urgent;
        let last = self.stats[thread.index()].core.index();
        let rank = |core: usize| -> Option<(u64, bool)> {
            let state = &self.cores[core];
            if state.called || !self.core_stats[core].online || !self.allowed(thread, core) {
                return None;
            }
            let rank = match state.running {
                NONE => u64::MAX,
                other => {
                    let other = &self.threads[other as usize];
                    if other.normal() { u64::MAX - 1 } else { urgency(&other.class, other.period_end) }
                }
            };
            (rank > key).then_some((rank, core == last))
        };
        let best = (0..self.cores.len()).filter_map(|core| rank(core).map(|rank| (rank, std::cmp::Reverse(core))));
        let Some((_, std::cmp::Reverse(core))) = best.max() else { return };
        if self.cores[core].running == NONE { self.call(core) } else { self.requeue(core) }
    }

    /// Wakes an idle core for a thread that has come into a queue, or preempts, if the queue says so.
    pub fn find_core(&mut self, thread: ThreadId, queue: QueueId) {
        if self.idle > 0 {
            let fits = |core: usize| {
                let state = &self.cores[core];
                self.is_idle(core) && !state.called && state.serves[queue.index()] && self.allowed(thread, core)
            };
            let prefer = &self.queues[queue.index()].prefer;
            let found = if prefer.is_empty() {
                (0..self.cores.len()).find(|&core| fits(core))
            } else {
                prefer.iter().map(|core| core.index()).find(|&core| fits(core))
            };
            if let Some(core) = found {
                return self.call(core);
            }
            self.stirred = true;
        }
        if let Some(margin) = self.queues[queue.index()].preemption {
            self.preempt_for(thread, queue, margin);
        }
    }

    fn preempt_for(&mut self, thread: ThreadId, queue: QueueId, margin: u64) {
        let key = key_of(&self.threads[thread.index()].order, self.stats[thread.index()].virtual_time);
        let servers = std::mem::take(&mut self.queues[queue.index()].servers);
        let mut victim: Option<(u64, usize)> = None;
        for &core in &servers {
            let core = core as usize;
            let running = self.cores[core].running;
            if running == NONE || self.cores[core].called || !self.allowed(thread, core) {
                continue;
            }
            let other = running as usize;
            if !self.threads[other].normal() || self.stats[other].queue != Some(queue) {
                continue;
            }
            self.account(core);
            let other_key = key_of(&self.threads[other].order, self.stats[other].virtual_time);
            if other_key > key.saturating_add(margin) && victim.is_none_or(|(greatest, _)| other_key > greatest) {
                victim = Some((other_key, core));
            }
        }
        self.queues[queue.index()].servers = servers;
        if let Some((_, core)) = victim {
            self.requeue(core);
        }
    }

    /// Every core that needs a thread takes one up: those that had one first, so that an idle one does not take it over; then by number.
    pub fn dispatch(&mut self) {
        if self.called.len() > 1 {
            let mut called = std::mem::take(&mut self.called);
            called.sort_unstable_by_key(|&core| (self.is_idle(core as usize), core));
            self.called = called;
        }
        let mut next = 0;
        while next < self.called.len() {
            let core = self.called[next] as usize;
            next += 1;
            self.cores[core].called = false;
            if self.cores[core].running != NONE {
                continue;
            }
            let reserved = self.cores[core].reserved;
            let thread = if reserved == NONE { self.pick(core) } else { Some(ThreadId(reserved)) };
            match thread {
                Some(thread) => self.start(core, thread),
                None => self.leave_idle(core),
            }
        }
        self.called.clear();
    }

    /// Idle cores look again whether something waits that they may take.
    pub fn sweep(&mut self) {
        self.stirred = false;
        if self.idle == 0 || self.ready == 0 {
            return;
        }
        for word in 0..self.idle_bits.len() {
            let mut bits = self.idle_bits[word];
            while bits != 0 {
                let core = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if self.ready > 0
                    && let Some(thread) = self.pick(core)
                {
                    self.start(core, thread);
                }
            }
        }
    }

    /// The thread that a core takes up next, by class, then tiers.
    fn pick(&self, core: usize) -> Option<ThreadId> {
        if self.ready == 0 {
            return None;
        }
        if self.urgent.len() > 0 {
            let urgent = self.urgent.best(|thread, key| self.allowed(thread, core).then_some(key));
            if let Some((thread, _)) = urgent {
                return Some(thread);
            }
        }
        let state = &self.cores[core];
        let local = state.local.first().map(|(thread, _)| thread);
        if local.is_some() && state.local_turn {
            return local;
        }
        for tier in &state.tiers {
            let found = match tier.choose {
                Choose::LeastKey => self.least_key(core, &tier.queues),
                Choose::MostLoaded => self.most_loaded(core, &tier.queues),
            };
            if found.is_some() {
                return found;
            }
        }
        local
    }

    fn least_key(&self, core: usize, queues: &[QueueId]) -> Option<ThreadId> {
        let mut best: Option<(ThreadId, u64)> = None;
        for queue in queues {
            if let Some((thread, key)) = self.first_for(core, *queue)
                && best.is_none_or(|(_, least)| key < least)
            {
                best = Some((thread, key));
            }
        }
        best.map(|(thread, _)| thread)
    }

    fn most_loaded(&self, core: usize, queues: &[QueueId]) -> Option<ThreadId> {
        let mut best: Option<(ThreadId, u64)> = None;
        for queue in queues {
            let weight = self.queues[queue.index()].waiting.weight();
            if weight > best.map_or(0, |(_, greatest)| greatest)
                && let Some((thread, _)) = self.first_for(core, *queue)
            {
                best = Some((thread, weight));
            }
        }
        best.map(|(thread, _)| thread)
    }

    /// First of a queue, as this core sees it.
    fn first_for(&self, core: usize, queue: QueueId) -> Option<(ThreadId, u64)> {
        let queue = &self.queues[queue.index()];
        if !self.restricted && !queue.postpones {
            return queue.waiting.first();
        }
        queue.waiting.best(|thread, key| {
            if !self.allowed(thread, core) {
                return None;
            }
            let Order::Deadline { postpone, .. } = self.threads[thread.index()].order else { return Some(key) };
            let stats = &self.stats[thread.index()];
            if stats.runs == 0 {
                return Some(key);
            }
            let distance = self.machine.distance(stats.core, CoreId(core as u32));
            Some(key.saturating_add(postpone[distance].0))
        })
    }

    /// A core takes a thread up.
    pub fn start(&mut self, core: usize, thread: ThreadId) {
        let place = self.threads[thread.index()].place;
        self.take_out(thread);
        if let Place::Queue(queue) = place {
            self.leave_queue(core, thread, QueueId(queue));
        }
        let state = &mut self.cores[core];
        if state.local.len() > 0 {
            state.local_turn = !matches!(place, Place::Local(_));
        }
        let (running, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        let continues = state.last == thread.0 && stats.since == self.now && !state.called && stats.runs > 0;
        stats.waiting += self.now - stats.since;
        stats.since = self.now;
        stats.state = State::Running;
        state.running = thread.0;
        state.accounted = self.now;
        state.picked_at = self.now;
        let charge = u64::from(running.charge[state.kind]) << CHARGE_SHIFT;
        state.virtual_rate = charge / u64::from(weight_in(&running.order, stats.weight).max(1));
        self.core_stats[core].running = Some(thread);
        if let Some(woken) = running.woken_at.take() {
            self.latency[state.kind.index()].add(self.now - woken);
        }
        if state.last != thread.0 {
            self.context_switches += 1;
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
        if !continues && self.interest.wants(Interest::PICKED) && self.threads[thread.index()].normal() {
            self.events.push(Event::Picked(thread, here));
        }
        self.grant_slice(core);
        if self.tracks_load {
            self.note_load(thread);
        }
        self.settle_core(core);
        self.set_rate(core);
        self.repower(core);
        self.schedule(core);
    }

    /// What a queue notes when a core takes a thread from it.
    fn leave_queue(&mut self, core: usize, thread: ThreadId, queue: QueueId) {
        let stats = &mut self.stats[thread.index()];
        let floor = &mut self.queues[queue.index()].floor;
        *floor = (*floor).max(stats.virtual_time);
        if let Some(adopt) = self.cores[core].adopt
            && stats.queue == Some(queue)
            && adopt != queue
        {
            self.assign(thread, adopt);
        }
    }

    /// The thread belongs to another queue from now on; its virtual time is put into that queue's clock.
    pub fn assign(&mut self, thread: ThreadId, queue: QueueId) {
        let stats = &mut self.stats[thread.index()];
        let before = stats.queue.replace(queue);
        let Some(before) = before else { return };
        let (from, to) = (&self.queues[before.index()], &self.queues[queue.index()]);
        if from.own_clock && to.own_clock {
            let ahead = i128::from(stats.virtual_time) - i128::from(from.floor);
            stats.virtual_time = (i128::from(to.floor) + ahead).clamp(0, i128::from(u64::MAX)) as u64;
        }
    }

    fn charge_migration(&mut self, thread: ThreadId, from: CoreId, to: CoreId) {
        self.migrations += 1;
        let costs = &self.machine.costs;
        let state = &mut self.threads[thread.index()];
        state.migrations += 1;
        let within = self.machine.distance(from, to) == 1;
        state.overhead += if within { costs.migration_within.0 } else { costs.migration_across.0 };
        if let Some(bandwidth) = costs.refill_bandwidth {
            let cluster = &self.machine.clusters[self.machine.cores[to.index()].cluster.index()];
            let lost =
                if within { costs.private_cache_bytes } else { costs.private_cache_bytes.max(cluster.cache_bytes) };
            let bytes = self.speeds.character(state.row).working_set.min(lost);
            state.refill = (bytes as f64 / bandwidth as f64 * 1e9) as u64;
        }
    }

    pub fn grant_slice(&mut self, core: usize) {
        let state = &mut self.cores[core];
        let thread = &self.threads[state.running as usize];
        let length = match thread.class {
            Class::Normal | Class::Idle => {
                if thread.slice.carry && thread.slice_left > 0 {
                    let time = u128::from(thread.slice.time[state.kind].0) * u128::from(thread.slice_left);
                    Nanos((time / u128::from(WHOLE_SLICE)) as u64)
                } else {
                    let queue = self.stats[state.running as usize].queue;
                    let others = queue.map_or(0, |queue| self.queues[queue.index()].waiting.len());
                    slice_length(&thread.slice, state.kind, others + 1)
                }
            }
            Class::RealTime { round_robin: true, .. } => ROUND_ROBIN_SLICE,
            Class::RealTime { .. } => Nanos::MAX,
            Class::Deadline { .. } => thread.budget,
        };
        // A slice of nothing would be used up for ever at the same instant.
        state.slice_end = self.now.saturating_add(length.max(Nanos(1)));
    }

    /// A core found nothing to run.
    fn leave_idle(&mut self, core: usize) {
        let slot = self.core_slot(core);
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
        if self.tracks_load {
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
        state.woken_at = Some(self.now);
        if let Class::Deadline { runtime, period, .. } = state.class
            && self.now >= state.period_end
        {
            state.budget = runtime;
            state.period_end = self.now + period;
        }
        if L::HEARS {
            self.listener.woke(self.now, thread, by);
        }
        if self.interest.wants(Interest::WOKE) && state.normal() {
            self.events.push(Event::Woke(thread));
        }
        if self.tracks_load {
            self.note_load(thread);
        }
        self.arrive(thread);
    }
}

fn credit(stats: &mut evenkeel_policy::ThreadStats, done: u64) {
    stats.retired.0 += done;
    stats.since_milestone.0 += done;
    if let Some(Work(left)) = &mut stats.to_milestone {
        *left = left.saturating_sub(done);
    }
}

/// Key of a thread in its queue.
pub fn key_of(order: &Order, virtual_time: u64) -> u64 {
    match *order {
        Order::VirtualTime { .. } => virtual_time,
        Order::Deadline { at, .. } => at.0,
        Order::Fixed { key, .. } => key,
        Order::Arrival => 0,
    }
}

/// Weight by which virtual time grows and queues are compared.
pub fn weight_in(order: &Order, weight: u32) -> u32 {
    match *order {
        Order::VirtualTime { weight, .. } => weight,
        _ => weight,
    }
}

/// Rank of a higher class, least first: deadlines before priorities.
fn urgency(class: &Class, period_end: Nanos) -> u64 {
    const PRIORITIES: u64 = u64::MAX - 1_000;
    match *class {
        Class::Deadline { .. } => period_end.0.min(PRIORITIES - 1),
        Class::RealTime { priority, .. } => PRIORITIES + u64::from(100 - priority.min(100)),
        Class::Normal | Class::Idle => u64::MAX - 2,
    }
}
