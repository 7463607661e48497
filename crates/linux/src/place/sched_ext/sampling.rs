//! Threads get their speedup factors from what they have retired.

use evenkeel_machine::Nanos;
use evenkeel_policy::ThreadId;

use super::mechanism::Mechanism;
use crate::observe::counters::PerfEvents;
use crate::place::live::estimating::{Estimating, has_run};

impl Mechanism {
    /// Looks at what a thread has retired, if it is time to.
    pub(super) fn sample(&mut self, thread: ThreadId, slot: u32) {
        let state = &mut self.threads[thread.index()];
        let Some(sampled) = &mut state.sampled else { return };
        if !sampled.is_due(self.now) {
            return;
        }
        let before = self.stats[thread.index()].speedup;
        let known = sampled.take_in(&self.kernel.slots[slot as usize], &self.machine, before);
        if let Some(factors) = known {
            self.estimate(thread, factors);
        }
    }

    /// Has counters read, and takes in the factors that they tell.
    pub(super) fn estimate_by<P: PerfEvents>(&mut self, estimating: &mut Estimating<P>, at: Nanos) {
        let with_times = |&thread: &ThreadId| {
            let (tid, stats) = (self.threads[thread.index()].tid, &self.stats[thread.index()]);
            has_run(stats).then_some((thread, tid, stats.time_on))
        };
        let threads: Vec<_> = self.live.iter().filter_map(with_times).collect();
        estimating.read(at, threads.into_iter(), |thread, factors| self.estimate(thread, factors));
    }
}
