//! Spans in which nothing happens: slices end that are followed by the next, and timers come to
//! which the policy has nothing to say.
//!
//! Where no thread waits, the end of a slice brings nothing but another slice. A core of which that
//! was so is *tickless* after a while: its slices are in no calendar, and what they have brought
//! (the floor of a queue, steps of an order) is made up for before anything else happens. In the
//! same way timers are left out as long as the policy says that it is quiet. So the time that a run
//! takes follows what happens in it, not how long it lasts.
//!
//! Results are those of a run with every tick ([`crate::Config::every_tick`]), to the byte. That
//! rests on three things: to look at a core changes nothing of what it does
//! ([`crate::cores::account`]); entries of the calendar have the order that they would have had
//! ([`crate::calendar::slots`]); and of a policy that is quiet `skipped` makes up for whatever it
//! would have noted.

use evenkeel_machine::Nanos;
use evenkeel_model::Class;
use evenkeel_policy::{Interest, ThreadId};

use crate::calendar::owners::{Owner, Owners};
use crate::calendar::slots::Slot;
use crate::mechanism::{Mechanism, NONE, priority};
use crate::trace::Listener;

/// Slices without consequence after which a core is tickless. Ours.
const PATIENCE: u8 = 2;
/// As many where it has been in vain again and again: something else happened before the next slice
/// would have ended. Ours.
const MOST_PATIENCE: u8 = 64;

/// A core's ticks.
#[derive(Clone, Copy, Debug)]
pub struct Tickless {
    /// True if its slices are in no calendar.
    in_force: bool,
    /// How long one of its slices is, while it is tickless.
    slice: Nanos,
    /// True if any has ended unseen.
    pays: bool,
    /// Slices without consequence so far.
    silent: u8,
    patience: u8,
}

impl Default for Tickless {
    fn default() -> Self {
        Self { in_force: false, slice: Nanos::ZERO, pays: false, silent: 0, patience: PATIENCE }
    }
}

/// What is left out at present.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet {
    /// How many cores are tickless.
    cores: usize,
    /// Until when the policy has nothing to say to its timer.
    until: Nanos,
    /// How many answers it had given when it was told of a timer, in this instant.
    told: Option<u64>,
    /// The last timer that it has not been told of.
    skipped: Option<Nanos>,
}

impl<L: Listener> Mechanism<'_, L> {
    /// True if nothing comes of the end of a core's slice, now, but the next slice.
    #[inline]
    pub fn is_silent(&self, core: usize) -> bool {
        let state = &self.cores[core];
        if self.queues.ready() > 0
            || state.running == NONE
            || self.now < state.slice_end
            || self.now >= state.work_end
        {
            return false;
        }
        let thread = &self.threads[state.running as usize];
        let is_told = thread.normal() && self.interest.wants(Interest::SLICE_USED);
        let has_budget = matches!(thread.class, Class::Deadline { .. });
        !is_told
            && !has_budget
            && self.arrivals.is_empty()
            && self.belongs(core, ThreadId(state.running))
    }

    /// No thread waits anywhere: the thread of a core has another slice.
    pub fn go_on(&mut self, core: usize) {
        self.account(core);
        self.pass(core, 1, self.now);
        self.grant_slice(core);
        let now = self.now;
        let state = &mut self.cores[core];
        let ticks = &mut state.tickless;
        ticks.silent = ticks.silent.saturating_add(1);
        if ticks.silent < ticks.patience || self.config.every_tick || !self.is_calm() {
            return self.schedule(core);
        }
        let work_end = self.work_end(core, Nanos::MAX);
        let state = &mut self.cores[core];
        if work_end <= state.slice_end {
            return self.schedule(core);
        }
        let slice = state.slice_end - now;
        state.work_end = work_end;
        state.tickless = Tickless { in_force: true, slice, pays: false, ..state.tickless };
        self.quiet.cores += 1;
        // With every slice in the calendar, this is when it would have been seen to end in one.
        let last = now + Nanos((work_end - now).0.saturating_sub(1) / slice.0 * slice.0);
        self.calendar.set_as_of(last, self.slots.core(core), work_end, priority::HAPPENS);
    }

    /// So many slices have ended of which nothing came, the last one then, up to which the core has
    /// been accounted.
    fn pass(&mut self, core: usize, slices: u64, last: Nanos) {
        let thread = ThreadId(self.cores[core].running);
        self.threads[thread.index()].slice_left = 0;
        self.step_order(thread, slices, last);
        if let Some(queue) = self.stats[thread.index()].queue {
            self.raise_floor(thread, queue);
        }
    }

    /// Makes up for the slices of tickless cores that have ended by now: those before this instant,
    /// or those in it, too.
    fn catch_up(&mut self, in_it: bool) {
        for core in 0..self.cores.len() {
            let state = &mut self.cores[core];
            let Tickless { in_force: true, slice, .. } = state.tickless else { continue };
            let since = (self.now + Nanos(u64::from(in_it))).saturating_sub(state.slice_end);
            let slices = since.0.div_ceil(slice.0);
            if slices == 0 {
                continue;
            }
            let last = state.slice_end + Nanos((slices - 1) * slice.0);
            state.slice_end = last + slice;
            state.tickless.pays = true;
            self.account_until(core, last);
            self.pass(core, slices, last);
        }
    }

    /// Something happens now: every slice is in the calendar again.
    pub fn resume_ticks(&mut self) {
        self.quiet.until = Nanos::ZERO;
        if self.quiet.cores == 0 {
            return;
        }
        self.catch_up(false);
        self.quiet.cores = 0;
        for core in 0..self.cores.len() {
            let state = &mut self.cores[core];
            let ticks = &mut state.tickless;
            if !std::mem::take(&mut ticks.in_force) {
                continue;
            }
            ticks.silent = 0;
            ticks.patience =
                if ticks.pays { PATIENCE } else { (ticks.patience * 2).min(MOST_PATIENCE) };
            let then = state.slice_end - ticks.slice;
            self.schedule_as_of(then, core);
        }
    }

    /// True if nothing has come of this instant so far but ends of slices.
    fn is_calm(&self) -> bool {
        self.events.is_empty()
            && self.arrivals.is_empty()
            && self.sets.is_none_called()
            && !self.sweep_due
            && !self.governed
            && !self.bandwidth_changed
    }

    /// Takes the next event of this instant.
    #[inline]
    pub fn next_event(&mut self) -> Option<Slot> {
        if self.quiet.cores > 0 {
            self.mind_ticks();
        }
        self.calendar.pop_at(self.now)
    }

    /// Before an event, or the end of an instant's events, while cores are tickless.
    #[cold]
    fn mind_ticks(&mut self) {
        loop {
            match self.calendar.first_at(self.now).map(|slot| self.slots.of(slot)) {
                Some(Owner::Sensors) => {}
                Some(Owner::Timer) if self.quiet.until > self.now && self.is_calm() => {
                    self.skip_timers();
                    continue;
                }
                // The view is as it is after all slices that end in this instant, which come before
                // a timer.
                Some(Owner::Timer) if self.is_calm() => self.catch_up(true),
                Some(Owner::Core(core)) if self.is_silent(core) => {}
                None if self.is_calm() => {}
                _ => self.resume_ticks(),
            }
            return;
        }
    }

    /// Leaves out the timer of this instant, and those until the policy may have something to say
    /// or something happens.
    fn skip_timers(&mut self) {
        self.calendar.cancel(Owners::TIMER);
        let until = self.calendar.next_time().unwrap_or(self.quiet.until).min(self.quiet.until);
        let timers = until.saturating_sub(self.now).0.div_ceil(self.period.0).max(1);
        let next = self.now.saturating_add(Nanos(timers.saturating_mul(self.period.0)));
        self.quiet.skipped = Some(next - self.period);
        self.calendar.set(Owners::TIMER, next, priority::TIMER);
    }

    /// The policy learns which timers it has not been told of.
    pub fn tell_what_was_skipped(&mut self) {
        if let Some(last) = self.quiet.skipped.take() {
            self.policy.skipped(last);
        }
    }

    /// The policy is told of a timer now.
    pub fn note_timer(&mut self) {
        self.quiet.told = Some(self.answers.given());
    }

    /// At the end of an instant: a policy that has been told of a timer and has said nothing may be
    /// quiet for a while.
    #[inline]
    pub fn note_quiet(&mut self) {
        if let Some(before) = self.quiet.told.take()
            && before == self.answers.given()
            && self.quiet.cores > 0
        {
            self.quiet.until = self.quiet_until();
        }
    }
}
