//! Load averages of threads and cores, the schedutil governor that follows them, and the statistics
//! that a policy is shown.

use evenkeel_machine::Nanos;
use evenkeel_policy::{Event, Interest, State, ThreadId};

use crate::mechanism::{Mechanism, NONE, priority};
use crate::trace::Listener;

/// schedutil asks for a quarter more than is used (kernel/sched/cpufreq_schedutil.c,
/// `map_util_perf`).
const HEADROOM: f64 = 1.25;

/// Least time between two changes of a cluster's clock: the kernel's default of 1 ms for drivers
/// that state no latency.
const RATE_LIMIT: Nanos = Nanos(1_000_000);

impl<L: Listener> Mechanism<'_, L> {
    fn capacity_now(&self, core: usize) -> f64 {
        let state = &self.cores[core];
        self.machine.kinds[state.kind.index()].opps[self.clusters[state.cluster].opp].capacity
    }

    /// A thread has changed its state or its core: its load follows another signal from now on.
    pub fn note_load(&mut self, thread: ThreadId) {
        let stats = &self.stats[thread.index()];
        let signal = match stats.state {
            State::Running | State::Ready if self.interest.wants(Interest::CLOCK) => {
                self.capacity_now(stats.core.index())
            }
            State::Running | State::Ready => self.machine.kind_of(stats.core).top().capacity,
            State::Blocked | State::Exited => 0.0,
        };
        self.loads.follow(thread, signal, self.now);
    }

    /// Brings the averages of a core up to now: it has been as `busy` says.
    pub fn note_utilisation(&mut self, core: usize) {
        let capacity = self.capacity_now(core);
        let state = &mut self.cores[core];
        let busy = if state.busy { 1.0 } else { 0.0 };
        state.busy_average.note(state.busy, self.now);
        state.utilisation.update(self.now, busy * capacity);
    }

    /// schedutil looks at a cluster: sets its clock, or says when to look again.
    pub fn govern(&mut self, cluster: usize) {
        let kind = &self.machine.kinds[self.machine.clusters[cluster].kind.index()];
        let slot = self.slots.governor(cluster);
        let mut wanted: f64 = 0.0;
        for core in &self.machine.clusters[cluster].cores {
            let core = core.index();
            self.note_utilisation(core);
            let state = &self.cores[core];
            let mut used = state.utilisation.at(self.now, 0.0);
            if state.running != NONE {
                let thread = &self.threads[state.running as usize];
                let clamps = thread.rare();
                if !thread.normal() && thread.class != evenkeel_model::Class::Idle {
                    // Real-time threads ask for the highest clock (rt_rq without a clamp).
                    used = f64::from(clamps.util_max);
                }
                used = used.max(f64::from(clamps.util_min)).min(f64::from(clamps.util_max));
            }
            wanted = wanted.max(used);
        }
        let opp = kind
            .opps
            .iter()
            .position(|opp| opp.capacity >= wanted * HEADROOM)
            .unwrap_or(kind.opps.len() - 1);
        let group = &self.clusters[cluster];
        if opp != group.opp {
            let free_at = group.changed_at + RATE_LIMIT;
            if group.ever_changed && self.now < free_at {
                return self.calendar.set(slot, free_at, priority::GOVERNOR);
            }
            self.set_clock(cluster, opp);
        }
        let capacity = kind.opps[self.clusters[cluster].opp].capacity;
        let crossing = self.machine.clusters[cluster]
            .cores
            .iter()
            .map(|core| &self.cores[core.index()])
            .filter(|core| core.running != NONE)
            // A clamp below keeps what it asks for from ever getting there.
            .filter(|core| {
                f64::from(self.threads[core.running as usize].rare().util_max) > capacity / HEADROOM
            })
            .filter_map(|core| core.utilisation.until_above(capacity / HEADROOM, capacity))
            .min();
        match crossing {
            Some(time) if self.clusters[cluster].opp + 1 < kind.opps.len() => {
                self.calendar.set(slot, self.now + time.max(RATE_LIMIT), priority::GOVERNOR);
            }
            _ => self.calendar.cancel(slot),
        }
    }

    /// Brings what the policy is shown up to now.
    pub fn refresh_stats(&mut self) {
        // A thread that changes places has just been accounted for. To bring all cores up to date
        // for it would cost far more than the change itself.
        let is_about_one = |event: &Event| {
            matches!(
                event,
                Event::Picked(..) | Event::SliceUsed(..) | Event::Blocked(_) | Event::Exited(_)
            )
        };
        if self.interest.wants(Interest::PROGRESS) && !self.events.iter().all(is_about_one) {
            for core in 0..self.cores.len() {
                if self.cores[core].running != NONE {
                    self.account(core);
                }
            }
        }
        if self.interest.wants(Interest::UTILISATION) {
            for core in 0..self.cores.len() {
                let state = &self.cores[core];
                self.core_stats[core].utilisation = state.busy_average.shown(state.busy, self.now);
            }
        }
        if self.interest.wants(Interest::LOAD) {
            self.show_loads();
        }
    }

    fn show_loads(&mut self) {
        if self.events.contains(&Event::Timer) {
            for word in 0..self.loads.words() {
                let mut unsettled = self.loads.unsettled(word);
                while unsettled != 0 {
                    let index = word * 64 + unsettled.trailing_zeros() as usize;
                    unsettled &= unsettled - 1;
                    if self.threads[index].normal() {
                        self.show_load(ThreadId(index as u32));
                    }
                }
            }
            return;
        }
        // Between timers, those that it is told about, and those that run.
        for i in 0..self.events.len() {
            match self.events[i] {
                Event::Started(thread)
                | Event::Woke(thread)
                | Event::Blocked(thread)
                | Event::Milestone(thread)
                | Event::CriticalSection(thread)
                | Event::Picked(thread, _)
                | Event::SliceUsed(thread, _) => self.show_load(thread),
                Event::Exited(_)
                | Event::CoreIdle(_)
                | Event::CoreOnline(_)
                | Event::CoreOffline(_)
                | Event::Timer => {}
            }
        }
        for core in 0..self.cores.len() {
            if self.cores[core].running != NONE {
                self.show_load(ThreadId(self.cores[core].running));
            }
        }
    }

    #[inline]
    fn show_load(&mut self, thread: ThreadId) {
        if let Some(load) = self.loads.news(thread, self.now) {
            self.stats[thread.index()].load = load;
        }
    }
}
