//! A fence in two halves: a light one for threads that pass often, and a heavy one for threads that
//! pass seldom. The heavy half does the others' part for them.
//!
//! ```text
//! one thread      store x;  light;  load y        at least one of them
//! another         store y;  heavy;  load x        sees the other's store
//! ```
//!
//! Linux can have every running thread of a process pass a fence (membarrier(2),
//! `MEMBARRIER_CMD_PRIVATE_EXPEDITED`; the others passed one when they were switched out). With
//! that the light half need only keep the compiler from changing the order. Two light halves order
//! nothing; two heavy halves are fences to each other (kernel/sched/membarrier.c, the table of
//! scenarios at its head).

use std::sync::atomic::compiler_fence;

#[cfg(not(loom))]
use rustix::thread::{MembarrierCommand, membarrier};

use crate::sync::{Ordering, fence};

/// See the file's head. Where the system has no such thing, both halves are fences.
pub struct AsymmetricFence {
    is_asymmetric: bool,
}

impl AsymmetricFence {
    /// For all threads of this process.
    pub fn new() -> Self {
        // Each process has to register. The first time, if it has other threads by then, that takes
        // the kernel an RCU grace period (some 10 ms). A process that may register is not always
        // allowed to use it.
        #[cfg(not(loom))]
        let is_asymmetric = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
            && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
        // Loom knows of fences only.
        #[cfg(loom)]
        let is_asymmetric = false;
        Self { is_asymmetric }
    }

    /// The half that costs next to nothing.
    #[inline]
    pub fn light(&self) {
        if self.is_asymmetric {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// The half that costs a system call, and every running thread of this process an interrupt.
    /// False: the system failed, and nothing has been ordered.
    #[must_use]
    pub fn heavy(&self) -> bool {
        #[cfg(not(loom))]
        if self.is_asymmetric {
            return membarrier(MembarrierCommand::PrivateExpedited).is_ok();
        }
        fence(Ordering::SeqCst);
        true
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// In how many of so many turns neither of two threads sees what the other has stored before
    /// (Dekker's store buffering).
    fn blind_turns(
        barrier: &AsymmetricFence,
        turns: usize,
        other_half: impl Fn(&AsymmetricFence) + Sync,
    ) -> usize {
        let (stored, begun, ended) =
            ([0; 2].map(AtomicUsize::new), AtomicUsize::new(0), AtomicUsize::new(0));
        // In turn `t` both store `t`, each in its own place; true: the other's is not to be seen
        // yet.
        let turn = |me: usize, t: usize, half: &dyn Fn(&AsymmetricFence)| {
            begun.fetch_add(1, Ordering::AcqRel);
            while begun.load(Ordering::Acquire) < 2 * t {
                std::thread::yield_now();
            }
            stored[me].store(t, Ordering::Relaxed);
            half(barrier);
            let is_blind = stored[1 - me].load(Ordering::Relaxed) < t;
            ended.fetch_add(1, Ordering::AcqRel);
            while ended.load(Ordering::Acquire) < 2 * t {
                std::thread::yield_now();
            }
            is_blind
        };
        std::thread::scope(|scope| {
            let light = scope.spawn(|| {
                (1..=turns).map(|t| turn(0, t, &AsymmetricFence::light)).collect::<Vec<_>>()
            });
            let other: Vec<_> = (1..=turns).map(|t| turn(1, t, &other_half)).collect();
            light
                .join()
                .unwrap()
                .into_iter()
                .zip(other)
                .filter(|(one, other)| *one && *other)
                .count()
        })
    }

    #[test]
    fn a_light_half_and_a_heavy_half_are_a_fence_together() {
        for barrier in [AsymmetricFence::new(), AsymmetricFence { is_asymmetric: false }] {
            // Counted, for a turn that panics would leave the other side waiting.
            let failures = AtomicUsize::new(0);
            let heavy = |barrier: &AsymmetricFence| {
                failures.fetch_add(usize::from(!barrier.heavy()), Ordering::Relaxed);
            };
            assert_eq!(blind_turns(&barrier, 20_000, heavy), 0);
            assert_eq!(failures.into_inner(), 0);
        }
    }
}
