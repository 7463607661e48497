//! Threads get their speedup factors from what they have retired.

use evenkeel_policy::ThreadId;

use super::mechanism::Mechanism;

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
}
