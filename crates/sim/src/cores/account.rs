//! Accounting: what the running thread of a core has had and done, and when it will be done or has
//! to stop.
//!
//! What a thread has done is a function of how long its rate has been what it is: `since`, the
//! core's. To look ([`Mechanism::account`]) tells what has been added and changes nothing of that;
//! only where the rate or the work changes is a new beginning made ([`Mechanism::conclude`]). So a
//! run does not depend on how often it is looked at.

use evenkeel_machine::{CoreId, Nanos, Work};
use evenkeel_model::Class;
use evenkeel_policy::{Event, Interest, Order, QueueId, State, ThreadId};

use crate::cores::core::Reported;
use crate::mechanism::{Mechanism, NONE, priority};
use crate::programs::execute::Next;
use crate::programs::thread::slice_length;
use crate::programs::thread::{CHARGE_SHIFT, Place, ROUND_ROBIN_SLICE, Thread, WHOLE_SLICE};
use crate::trace::Listener;

/// What a running thread has come on since its rate last changed.
struct Progress {
    /// Nanoseconds lost before anything else.
    lost: u64,
    /// Of the refill, what has been suffered.
    refilled: u64,
    /// What is done of what it had to do: work, or, of time that it is just busy for, nanoseconds.
    done: u64,
    /// Part of a unit of work that has been done beyond that.
    fraction: f64,
    /// Nanoseconds in which it came on.
    effective: u64,
}

impl Progress {
    fn of(thread: &Thread, elapsed: u64, rate: f64) -> Self {
        let lost = elapsed.min(thread.overhead);
        let left = elapsed - lost;
        if thread.wall {
            return Self {
                lost,
                refilled: 0,
                done: left.min(thread.remaining),
                fraction: 0.0,
                effective: left,
            };
        }
        // Half speed until the debt is paid.
        let refilled = if thread.refill > 0 { thread.refill.min(left.div_ceil(2)) } else { 0 };
        let effective = left - refilled;
        let exact = real(effective) * rate + thread.fraction;
        // Saturates, and is one instruction where a conversion to an unsigned number is many.
        let whole = exact as i64 as u64;
        Self {
            lost,
            refilled,
            done: whole.min(thread.remaining),
            fraction: exact - real(whole),
            effective,
        }
    }
}

impl<L: Listener> Mechanism<'_, L> {
    /// Brings the statistics of a core and of the thread that it runs up to now.
    pub fn account(&mut self, core: usize) {
        self.account_until(core, self.now);
    }

    /// The same, up to a time that is no later.
    pub fn account_until(&mut self, core: usize, at: Nanos) {
        if self.cores[core].accounted != at {
            self.tell_progress(core, at);
        }
    }

    /// Brings a core up to now, and what its thread has to do, too: before its rate or its work
    /// changes.
    pub fn conclude(&mut self, core: usize) {
        if self.cores[core].since == self.now {
            return;
        }
        let progress = self.tell_progress(core, self.now);
        let state = &mut self.cores[core];
        (state.since, state.reported) = (self.now, Reported::default());
        let thread = &mut self.threads[state.running as usize];
        thread.overhead -= progress.lost;
        thread.refill -= progress.refilled;
        thread.remaining -= progress.done;
        thread.fraction = progress.fraction;
    }

    /// Adds to the statistics what they have not been told yet.
    #[inline]
    fn tell_progress(&mut self, core: usize, at: Nanos) -> Progress {
        let state = &mut self.cores[core];
        let elapsed = at.0 - state.accounted.0;
        state.accounted = at;
        state.busy_time.0 += elapsed;
        let index = state.running as usize;
        let (thread, stats) = (&self.threads[index], &mut self.stats[index]);
        stats.time_on[state.kind].0 += elapsed;
        let virtual_time = u128::from(elapsed) * u128::from(state.virtual_rate)
            + u128::from(state.virtual_fraction);
        state.virtual_fraction = virtual_time as u16;
        stats.virtual_time =
            stats.virtual_time.saturating_add((virtual_time >> CHARGE_SHIFT) as u64);
        let progress = Progress::of(thread, at.0 - state.since.0, state.rate);
        if !thread.wall {
            let done = progress.done - state.reported.work;
            credit(stats, done);
            state.reported.work = progress.done;
            if self.tracked.stalls {
                let stalled = progress.refilled + (real(progress.effective) * state.stall) as u64;
                stats.stalled.0 += stalled - state.reported.stalled;
                state.reported.stalled = stalled;
            }
            if self.tracked.counters {
                self.count(core, Nanos(elapsed), done);
            }
        }
        progress
    }

    /// True if all that the end of a slice brings is that the thread and the first of its queue
    /// trade places, or that it goes on: the policy is not to be asked, no other thread is on the
    /// way, and the core takes from that queue before all else.
    fn trades_places(&self, core: usize, thread: ThreadId) -> bool {
        let state = &self.cores[core];
        let queue = self.stats[thread.index()].queue;
        !self.sets.any_idle()
            && self.arrivals.is_empty()
            && self.events.is_empty()
            && self.queues.urgent().len() == 0
            && !self.restricted
            && state.reserved == NONE
            && self.threads[thread.index()].normal()
            && queue.is_some_and(|queue| queue.0 == state.only && !self.queues[queue].postpones)
    }

    /// True if a core whose thread's slice is over may take a guest before the threads of its own
    /// queue, the least of which has the key `own`: a guest that is far enough behind that one is
    /// so behind all.
    #[inline]
    fn may_have_guest(&self, core: usize, own: u64) -> bool {
        let state = &self.cores[core];
        let first = |queue: &QueueId| self.queues[*queue].waiting.first();
        state
            .guests
            .queues()
            .iter()
            .any(|guests| first(guests).is_some_and(|(_, key)| state.guests.comes_before(key, own)))
    }

    /// The shortest way through the end of a slice, up to which the core has been accounted: what
    /// requeueing and picking would come to, without a place to wait in between. `false`: that may
    /// come to more, a guest.
    fn trade_places(&mut self, core: usize, thread: ThreadId) -> bool {
        let Some(queue) = self.stats[thread.index()].queue else { return false };
        let (order, stats) = (&self.threads[thread.index()].order, &self.stats[thread.index()]);
        let (key, weight) = (order.key(stats.virtual_time), order.weight(stats.weight));
        let waiting = &mut self.queues[queue].waiting;
        waiting.look();
        // A thread that has waited goes first where keys are equal.
        let first = waiting.first().map(|(_, first)| first);
        let goes_on = first.is_none_or(|first| key < first);
        if self.may_have_guest(core, first.unwrap_or(u64::MAX)) {
            return false;
        }
        let next =
            if goes_on { None } else { self.queues.exchange_first(queue, thread, key, weight) };
        let Some(next) = next else {
            self.check_trade(core, thread, queue, None);
            self.raise_floor(thread, queue);
            self.stop(core);
            self.start(core, thread);
            return true;
        };
        if L::HEARS {
            self.hear_run(core);
        }
        let stats = &mut self.stats[thread.index()];
        (stats.state, stats.since) = (State::Ready, self.now);
        let by_time = self.threads[thread.index()].is_by_time();
        self.place_of[thread.index()] = Place::Queue { queue: queue.0, by_time, fresh: false };
        if let Place::Queue { fresh: true, .. } = std::mem::take(&mut self.place_of[next.index()]) {
            self.queues[queue].fresh -= 1;
        }
        self.leave_queue(core, next, queue);
        // The core stays busy: neither power, siblings nor idle cores have anything to learn.
        self.occupy(core, next, false);
        self.set_going(core, next);
        true
    }

    /// True if a core still serves the thread that it runs, or the thread has no other place.
    pub fn belongs(&self, core: usize, thread: ThreadId) -> bool {
        let stats = &self.stats[thread.index()];
        let serves = stats.queue.is_some_and(|queue| self.serves(core, queue));
        !self.threads[thread.index()].normal() || stats.restricted || serves
    }

    /// When the work of the running thread ends if nothing changes, and the calendar's entry for
    /// the core.
    #[inline]
    pub fn schedule(&mut self, core: usize) {
        self.schedule_as_of(self.now, core);
    }

    /// The same, as if that had been done then.
    #[inline]
    pub fn schedule_as_of(&mut self, then: Nanos, core: usize) {
        let slice_end = self.cores[core].slice_end;
        let work_end = self.work_end(core, slice_end);
        self.cores[core].work_end = work_end;
        self.calendar.set_as_of(
            then,
            self.slots.core(core),
            work_end.min(slice_end),
            priority::HAPPENS,
        );
    }

    /// When the work of the running thread ends if nothing changes; [`Nanos::MAX`] if it is after
    /// this time, whenever that is.
    #[inline(always)]
    pub fn work_end(&self, core: usize, by: Nanos) -> Nanos {
        let state = &self.cores[core];
        let thread = &self.threads[state.running as usize];
        if thread.wall {
            return state
                .since
                .saturating_add(Nanos(thread.overhead.saturating_add(thread.remaining)));
        }
        if real(thread.remaining) > (real(by.saturating_sub(state.since).0) + 1.0) * state.rate {
            // Not in this slice, whatever else it loses: when exactly need not be known yet.
            return Nanos::MAX;
        }
        let full = (thread.remaining as f64 - thread.fraction).max(0.0) / state.rate;
        // Work that is shorter than the refill is all done at half speed.
        let stalled = (thread.refill as f64).min(full);
        // A thousandth of a nanosecond is the rounding of the speeds, not work that is left.
        let time = round_up(full + stalled - 1e-3);
        state.since.saturating_add(Nanos(thread.overhead.saturating_add(time)))
    }

    /// The event of a core: its thread's work has ended, or its slice.
    pub fn core_time(&mut self, core: usize) {
        let running = self.cores[core].running;
        if running == NONE {
            return;
        }
        if self.is_silent(core) {
            return self.go_on(core);
        }
        self.conclude(core);
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

    pub fn end_work(&mut self, core: usize) {
        let thread = ThreadId(self.cores[core].running);
        let state = &mut self.threads[thread.index()];
        // What rounding has left over; the calendar says that the time is up.
        let rest = std::mem::take(&mut state.remaining);
        state.overhead = 0;
        state.fraction = 0.0;
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

    /// Gives the thread the next of its slices in a row, if it may have one. False where no thread
    /// waits anywhere: it then gets a new first slice.
    fn has_another_slice(&mut self, core: usize, thread: ThreadId) -> bool {
        let slice = &self.threads[thread.index()].slice;
        if self.cores[core].slice_number >= slice.batch
            || (self.queues.ready() == 0 && self.arrivals.is_empty())
        {
            return false;
        }
        let served = self.stats[thread.index()].queue.filter(|&queue| self.serves(core, queue));
        let Some(queue) = served.filter(|_| !self.is_waited_for(core)) else { return false };
        let others = self.queues[queue].waiting.len();
        let state = &mut self.cores[core];
        state.slice_number += 1;
        let length = slice_length(slice, state.kind, others + 1);
        state.slice_end = self.now.saturating_add(length.max(self.config.least_slice));
        if others == 0 {
            self.raise_floor(thread, queue);
        }
        true
    }

    /// True if a thread that has woken or started, and not run since, waits for a core: in its
    /// first tier, or among its possible guests.
    fn is_waited_for(&self, core: usize) -> bool {
        let state = &self.cores[core];
        let queues = || state.service.first_tier().iter().chain(state.guests.queues());
        let comes = |thread: &ThreadId| {
            let (state, stats) = (&self.threads[thread.index()], &self.stats[thread.index()]);
            let fresh = state.woken || stats.runs == 0;
            fresh && stats.queue.is_none_or(|queue| queues().any(|&other| other == queue))
        };
        state.local.len() > 0
            || queues().any(|queue| self.queues[*queue].fresh > 0)
            || self.arrivals.iter().any(comes)
    }

    pub fn use_up_slice(&mut self, core: usize) {
        let thread = ThreadId(self.cores[core].running);
        if self.threads[thread.index()].normal() && self.has_another_slice(core, thread) {
            return self.schedule(core);
        }
        if self.is_silent(core) {
            return self.go_on(core);
        }
        self.threads[thread.index()].slice_left = 0;
        if let Class::Deadline { .. } = self.threads[thread.index()].class {
            return self.throttle(core, thread);
        }
        self.step_order(thread, 1, self.now);
        if self.threads[thread.index()].normal() && self.interest.wants(Interest::SLICE_USED) {
            self.events.push(Event::SliceUsed(thread, CoreId(core as u32)));
        } else if self.trades_places(core, thread) && self.trade_places(core, thread) {
            return;
        }
        self.requeue(core);
    }

    /// Where an order goes by slices, so many more have been used up, the last one then.
    #[inline]
    pub fn step_order(&mut self, thread: ThreadId, slices: u64, last: Nanos) {
        match &mut self.threads[thread.index()].order {
            Order::Deadline { at, renew, .. } => *at = last.saturating_add(*renew),
            Order::Fixed { key, step } => *key = key.saturating_add(step.saturating_mul(slices)),
            Order::VirtualTime { .. } | Order::Arrival => {}
        }
    }

    #[inline(always)]
    pub fn grant_slice(&mut self, core: usize) {
        let state = &mut self.cores[core];
        let thread = &self.threads[state.running as usize];
        state.slice_number = 1;
        let length = match thread.class {
            Class::Normal | Class::Idle => {
                if thread.slice.carry && thread.slice_left > 0 {
                    let time =
                        u128::from(thread.slice.time[state.kind].0) * u128::from(thread.slice_left);
                    Nanos((time / u128::from(WHOLE_SLICE)) as u64)
                } else {
                    let queue = self.stats[state.running as usize].queue;
                    let others = queue.map_or(0, |queue| self.queues[queue].waiting.len());
                    slice_length(&thread.slice, state.kind, others + 1)
                }
            }
            Class::RealTime { round_robin: true, .. } => ROUND_ROBIN_SLICE,
            Class::RealTime { .. } => Nanos::MAX,
            Class::Deadline { .. } => thread.rare().budget,
        };
        state.slice_end = self.now.saturating_add(length.max(self.config.least_slice));
    }
}

/// As a real number. Counts beyond 2^63 are taken for that: signed numbers convert in one
/// instruction.
fn real(count: u64) -> f64 {
    count.min(i64::MAX as u64) as i64 as f64
}

/// The next whole number, without a call into the mathematics library; nothing for negative ones.
fn round_up(x: f64) -> u64 {
    let whole = x as u64;
    whole + u64::from((whole as f64) < x)
}

fn credit(stats: &mut evenkeel_policy::ThreadStats, done: u64) {
    stats.retired.0 += done;
    stats.since_milestone.0 += done;
    if let Some(Work(left)) = &mut stats.to_milestone {
        *left = left.saturating_sub(done);
    }
}
