//! Threads that sleep and wake between two looks.
//!
//! A thread that sleeps between two looks leaves its core idle unseen, and threads that are bound
//! elsewhere may not have it. So a thread that often does is *called* to its core, not bound to it:
//! it is moved there, and may then run wherever its queue's threads may. Between two looks the
//! kernel places it, as it would without this mechanism.

use evenkeel_machine::CoreId;
use evenkeel_policy::{QueueId, ThreadId};
use rustix::thread::CpuSet;

use super::kernel::Kernel;
use super::mechanism::Mechanism;

/// What a look counts in the mean of those before. Ours.
const LOOK_WEIGHT: f32 = 0.125;
/// A thread naps that has done so in more than this share of the looks. Ours.
const NAPPING_SHARE: f32 = 0.25;

impl<K: Kernel> Mechanism<K> {
    /// Finds out which threads with cores have slept since the last time.
    pub(super) fn note_naps(&mut self) {
        for &thread in self.placed.iter().flatten() {
            let state = &mut self.threads[thread.index()];
            let before = state.naps > NAPPING_SHARE;
            let napped = f32::from(u8::from(std::mem::take(&mut state.napped)));
            state.naps += (napped - state.naps) * LOOK_WEIGHT;
            if before != (state.naps > NAPPING_SHARE) {
                self.changed.push(thread);
            }
        }
    }

    /// True if a thread is called to its core, rather than bound.
    pub(super) fn is_called(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].naps > NAPPING_SHARE
    }

    /// Where a queue's threads may run that are called to their cores.
    pub(super) fn reach(&self, queue: QueueId) -> CpuSet {
        let mut cpus = CpuSet::new();
        for core in &self.machine.cores {
            if self.may_take_from(core.id, queue) {
                cpus.set(core.cpu as usize);
            }
        }
        cpus
    }

    /// Calls threads back that run elsewhere than on their cores: where that is the faster one, or
    /// where the other core's own thread wants to run.
    pub(super) fn call_back(&mut self) {
        for core in 0..self.placed.len() {
            let Some(thread) = self.placed[core] else { continue };
            let state = &self.threads[thread.index()];
            let Some(last) = state.last.filter(|last| last.index() != core) else { continue };
            if !self.is_called(thread) {
                continue;
            }
            let capacity = |core: CoreId| self.machine.kind_of(core).top().capacity;
            let is_faster = capacity(CoreId(core as u32)) > capacity(last);
            if is_faster || self.placed[last.index()].is_some() {
                self.threads[thread.index()].called_to = Some(CoreId(core as u32));
                self.changed.push(thread);
            }
        }
    }
}
