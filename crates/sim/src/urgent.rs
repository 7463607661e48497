//! Threads of a higher class: real-time threads before normal ones, deadlines before both. Policies do not place these.

use evenkeel_machine::Nanos;
use evenkeel_policy::ThreadId;
use evenkeel_workload::Class;

use crate::mechanism::{Mechanism, NONE, priority};
use crate::thread::{Place, WaitsFor};
use crate::trace::Listener;

impl<L: Listener> Mechanism<'_, L> {
    /// The deadline class has used its budget: it waits for the next period.
    pub fn throttle(&mut self, core: usize, thread: ThreadId) {
        let due = self.threads[thread.index()].period_end;
        self.block(core, thread, WaitsFor::Budget);
        self.calendar.set(self.thread_slot(thread), due, priority::HAPPENS);
    }

    /// A thread of a higher class: an idle core, else the core of a normal thread, else of a lower priority.
    pub fn place_urgent(&mut self, thread: ThreadId) {
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
