//! Threads of a higher class: real-time threads before normal ones, deadlines before both. Policies
//! do not place these.

use evenkeel_machine::Nanos;
use evenkeel_model::Class;
use evenkeel_policy::ThreadId;

use crate::mechanism::{Mechanism, NONE, priority};
use crate::programs::thread::{Place, Thread, WaitsFor};
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    /// A thread of the deadline class begins a period, if its last one is over: full budget, next
    /// deadline.
    pub fn renew_budget(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        if let Class::Deadline { runtime, period, deadline } = state.class
            && self.now >= state.rare().period_end
        {
            let rare = state.rare_mut();
            rare.budget = runtime;
            rare.due = self.now.saturating_add(deadline);
            rare.period_end = self.now.saturating_add(period.max(Nanos(1)));
        }
    }

    /// Counts the time that a thread of the deadline class has had against its budget.
    pub fn charge_budget(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        if let Class::Deadline { .. } = state.class {
            let rare = state.rare_mut();
            rare.budget = rare.budget.saturating_sub(self.now - rare.charged_from);
            rare.charged_from = self.now;
        }
    }

    /// The deadline class has used its budget: it waits for the next period.
    pub fn throttle(&mut self, core: usize, thread: ThreadId) {
        self.charge_budget(thread);
        self.renew_budget(thread);
        let state = self.threads[thread.index()].rare();
        if state.budget > Nanos::ZERO {
            self.grant_slice(core);
            return self.schedule(core);
        }
        let due = state.period_end;
        self.block(core, thread, WaitsFor::Budget);
        self.calendar.set(self.slots.thread(thread), due, priority::HAPPENS);
    }

    /// A thread of a higher class: a core that is free or about to be, its last one first, else the
    /// core of a normal thread, else of a lower priority. Cores that the policy has switched off
    /// come last.
    pub fn place_urgent(&mut self, thread: ThreadId) {
        self.renew_budget(thread);
        let key = urgency(&self.threads[thread.index()]);
        self.queues.insert_urgent(thread, key);
        self.place_of[thread.index()] = Place::Urgent;
        let stats = &self.stats[thread.index()];
        let last = (stats.runs > 0).then(|| stats.core.index());
        let rank = |core: usize| -> Option<(bool, u64, bool, bool)> {
            let state = &self.cores[core];
            if state.claimed || !self.core_stats[core].online || !self.allowed(thread, core) {
                return None;
            }
            let rank = match state.running {
                NONE => u64::MAX,
                other => urgency(&self.threads[other as usize]),
            };
            (rank > key).then_some((
                state.used || state.running != NONE,
                rank,
                Some(core) == last,
                !state.called,
            ))
        };
        let best = (0..self.cores.len())
            .filter_map(|core| rank(core).map(|rank| (rank, std::cmp::Reverse(core))));
        let Some((_, std::cmp::Reverse(core))) = best.max() else { return };
        self.requeue(core);
        // The thread that was to have that core looks for another.
        self.sweep_due |= self.cores[core].called && self.sets.any_idle();
        self.cores[core].claimed = true;
        self.claims += 1;
        self.call(core);
    }

    /// Forgets that a thread of a higher class counts on a core.
    pub fn drop_claim(&mut self, core: usize) {
        self.claims -= usize::from(std::mem::take(&mut self.cores[core].claimed));
    }

    /// The most urgent thread of a higher class that may run on a core.
    pub fn most_urgent(&self, core: usize) -> Option<ThreadId> {
        // Threads that count on another core in this instant are left to that.
        if self.queues.urgent().len() <= self.claims && !self.cores[core].claimed {
            return None;
        }
        let best =
            self.queues.urgent().best(|thread, key| self.allowed(thread, core).then_some(key));
        best.map(|(thread, _)| thread)
    }

    /// True if a thread of a higher class waits that goes before the one that runs on a core.
    pub fn is_outranked(&self, core: usize) -> bool {
        let running = self.cores[core].running;
        running != NONE
            && self.most_urgent(core).is_some_and(|thread| {
                urgency(&self.threads[thread.index()]) < urgency(&self.threads[running as usize])
            })
    }
}

/// Rank of a class, least first: deadlines before priorities before normal threads.
fn urgency(thread: &Thread) -> u64 {
    const PRIORITIES: u64 = u64::MAX - 1_000;
    match thread.class {
        Class::Deadline { .. } => thread.rare().due.0.min(PRIORITIES - 1),
        Class::RealTime { priority, .. } => PRIORITIES + u64::from(100 - priority.min(100)),
        Class::Normal | Class::Idle => u64::MAX - 1,
    }
}
