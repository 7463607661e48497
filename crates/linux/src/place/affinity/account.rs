//! Time, as it is counted: on which kind, how much work it comes to, how far virtual time gets.
//!
//! What is counted is *time on a core of the machine file*. On a machine as it is, that is the time
//! on the CPU. In the slow-core lab a real-time thread takes a slow core away for 1 - 1/r of the
//! time, so that a thread that has such a core for a second gets `1/r` seconds of CPU time at full
//! speed: a second on a core of capacity `1024/r`. Time on the CPU there counts `r` fold.
//!
//! Work is in nanoseconds on the fastest kind: time x (speedup factor of the kind / that of the
//! fastest), which without better knowledge of the thread is its share of full capacity.

use evenkeel_machine::{Nanos, PerKind, Work};
use evenkeel_policy::{Interest, ThreadId};

use super::kernel::Kernel;
use super::mechanism::Mechanism;
use crate::place::live::speedups::relative_speeds;

impl<K: Kernel> Mechanism<K> {
    /// Brings a thread's times up to `to`.
    pub(super) fn count(&mut self, thread: ThreadId, to: Nanos) {
        let (state, stats) = (&mut self.threads[thread.index()], &mut self.stats[thread.index()]);
        let span = to.saturating_sub(state.since);
        state.since = state.since.max(to);
        if !state.runnable {
            stats.blocked += span;
            return;
        }
        state.runnable_time += span;
        if let Some(core) = state.on {
            let ran = to.saturating_sub(state.counted);
            state.counted = state.counted.max(to);
            let ran = Nanos((ran.0 as f64 * self.stolen[core.index()]) as u64);
            self.busy[core.index()] += ran;
            let kind = self.machine.cores[core.index()].kind;
            stats.time_on[kind] += ran;
            let work =
                Work(((u128::from(ran.0) * u128::from(state.relative_speed[kind])) >> 16) as u64);
            stats.retired += work;
            stats.since_milestone += work;
            let charged = u128::from(ran.0) * u128::from(state.charge[kind]);
            let weight = u128::from(state.order.weight(stats.weight));
            stats.virtual_time = stats
                .virtual_time
                .saturating_add(u64::try_from(charged / weight).unwrap_or(u64::MAX));
            state.used += ran;
        }
        let on_cores = stats.time_on.0.iter().copied().sum();
        stats.waiting = state.runnable_time.saturating_sub(on_cores);
    }

    /// Speedup factors of a thread, relative to the slowest kind.
    pub(super) fn set_speedup(&mut self, thread: ThreadId, factors: PerKind<f32>) {
        self.stats[thread.index()].speedup = factors;
        self.threads[thread.index()].relative_speed = relative_speeds(&self.machine, &factors);
    }

    /// A thread has changed its state or its core: its load follows another signal from now on.
    pub(super) fn note_load(&mut self, thread: ThreadId) {
        if !self.interest.wants(Interest::LOAD) {
            return;
        }
        let stats = &self.stats[thread.index()];
        let signal =
            if stats.runnable() { self.machine.kind_of(stats.core).top().capacity } else { 0.0 };
        self.threads[thread.index()].load.follow(signal, self.now);
    }

    /// Brings what policies see of loads up to now.
    pub(super) fn refresh_loads(&mut self) {
        if self.interest.wants(Interest::LOAD) {
            for &thread in &self.live {
                self.stats[thread.index()].load = self.threads[thread.index()].load.shown(self.now);
            }
        }
        if !self.interest.wants(Interest::UTILISATION) {
            return;
        }
        for (core, shown) in self.cores.iter_mut().enumerate() {
            let is_busy = self.on_core[core].is_some();
            self.utilisation[core].note(is_busy, self.now);
            shown.utilisation = self.utilisation[core].shown(is_busy, self.now);
        }
    }
}
