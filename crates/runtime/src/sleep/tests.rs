//! Two halves of an asymmetric fence on real threads.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::AtomicUsize;

use super::*;

/// In how many of so many turns neither of two threads sees what the other has stored before
/// (Dekker's store buffering).
fn blind_turns(
    fence: &AsymmetricFence,
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
        half(fence);
        let is_blind = stored[1 - me].load(Ordering::Relaxed) < t;
        ended.fetch_add(1, Ordering::AcqRel);
        while ended.load(Ordering::Acquire) < 2 * t {
            std::thread::yield_now();
        }
        is_blind
    };
    std::thread::scope(|scope| {
        let light = scope
            .spawn(|| (1..=turns).map(|t| turn(0, t, &AsymmetricFence::light)).collect::<Vec<_>>());
        let other: Vec<_> = (1..=turns).map(|t| turn(1, t, &other_half)).collect();
        light.join().unwrap().into_iter().zip(other).filter(|(one, other)| *one && *other).count()
    })
}

#[test]
fn a_light_half_and_a_heavy_half_are_a_fence_together() {
    for fence in [AsymmetricFence::new(), AsymmetricFence { is_asymmetric: false }] {
        // Counted, for a turn that panics would leave the other side waiting.
        let failures = AtomicUsize::new(0);
        let heavy = |fence: &AsymmetricFence| {
            failures.fetch_add(usize::from(!fence.heavy()), Ordering::Relaxed);
        };
        assert_eq!(blind_turns(&fence, 20_000, heavy), 0);
        assert_eq!(failures.into_inner(), 0);
    }
}
