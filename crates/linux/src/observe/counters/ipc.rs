//! A thread's speedup factor from what it did on each kind of core: sampling of instruction rates.
//!
//! The rate of instructions on kind k is I_k / T_k, where both are sums over the past in which what
//! lies an age a of the thread's own running time back counts 2^(-a/h), h being the half-life. The
//! speedup factor on k is that rate over the rate on the slowest kind. Forgetting leaves each ratio
//! as it was and lets the next sample weigh more, so a new phase shows soon on the kind where the
//! thread runs. On a kind where it has not run for many half-lives, what is left is of another
//! phase, most likely: then nothing is known of it, until the thread has been there again.
//!
//! Instructions per second, not per cycle: kinds differ in frequency too.

use evenkeel_machine::{KindId, Nanos, PerKind};

/// Below this much of remembered time, as a part of the half-life, a kind is forgotten: after ten
/// half-lives elsewhere.
const FORGOTTEN: f64 = 1.0 / 1024.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Past {
    instructions: f64,
    time_ns: f64,
}

/// Estimates one thread's speedup factors.
#[derive(Clone, Debug, PartialEq)]
pub struct IpcSampler {
    past: PerKind<Past>,
    half_life_ns: f64,
}

impl IpcSampler {
    /// Knows nothing yet. What is `half_life` of running time back counts half.
    #[must_use]
    pub fn new(half_life: Nanos) -> Self {
        Self { past: PerKind::default(), half_life_ns: half_life.0.max(1) as f64 }
    }

    /// The thread ran for `time` on `kind`, and retired so many instructions. Both are differences
    /// to the sample before.
    pub fn feed(&mut self, kind: KindId, instructions: u64, time: Nanos) {
        let keep = (-(time.0 as f64) / self.half_life_ns).exp2();
        for past in &mut self.past.0 {
            past.instructions *= keep;
            past.time_ns *= keep;
        }
        let past = &mut self.past[kind];
        past.instructions += instructions as f64;
        past.time_ns += time.0 as f64;
    }

    /// Instructions per nanosecond on a kind. `None` if the thread has not run there, or too long
    /// ago.
    #[must_use]
    pub fn rate(&self, kind: KindId) -> Option<f64> {
        let past = self.past[kind];
        (past.time_ns > self.half_life_ns * FORGOTTEN).then(|| past.instructions / past.time_ns)
    }

    /// How much faster the thread is on `kind` than on `slowest`. `None` until it is known on both,
    /// and if it retired nothing on the slowest.
    #[must_use]
    pub fn speedup(&self, kind: KindId, slowest: KindId) -> Option<f64> {
        let base = self.rate(slowest)?;
        let speedup = self.rate(kind)? / base;
        (base > 0.0).then_some(speedup)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FAST: KindId = KindId(0);
    const SLOW: KindId = KindId(1);
    const MS: Nanos = Nanos(1_000_000);

    #[test]
    fn nothing_is_known_until_the_thread_has_run_on_both_kinds() {
        let mut sampler = IpcSampler::new(Nanos(100 * MS.0));
        assert_eq!(sampler.speedup(FAST, SLOW), None);
        sampler.feed(FAST, 6_000_000, MS);
        assert_eq!(sampler.speedup(FAST, SLOW), None);
        sampler.feed(SLOW, 2_000_000, MS);
        assert!((sampler.speedup(FAST, SLOW).unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(sampler.speedup(SLOW, SLOW), Some(1.0));
    }

    #[test]
    fn a_new_phase_shows_after_a_few_half_lives() {
        let mut sampler = IpcSampler::new(Nanos(10 * MS.0));
        for _ in 0..100 {
            sampler.feed(FAST, 6_000_000, MS);
            sampler.feed(SLOW, 2_000_000, MS);
        }
        for _ in 0..25 {
            sampler.feed(FAST, 3_000_000, MS);
            sampler.feed(SLOW, 2_000_000, MS);
        }
        // Five half-lives: 1/32 of the old phase is left.
        let speedup = sampler.speedup(FAST, SLOW).unwrap();
        assert!((speedup - (1.5 + 1.5 / 32.0)).abs() < 0.01, "{speedup}");
    }

    #[test]
    fn a_kind_that_was_left_long_ago_is_forgotten() {
        let mut sampler = IpcSampler::new(Nanos(10 * MS.0));
        sampler.feed(SLOW, 2_000_000, Nanos(10 * MS.0));
        sampler.feed(FAST, 6_000_000, Nanos(90 * MS.0));
        assert!(sampler.speedup(FAST, SLOW).is_some());
        sampler.feed(FAST, 6_000_000, Nanos(20 * MS.0));
        assert_eq!(sampler.speedup(FAST, SLOW), None);
    }

    #[test]
    fn a_thread_that_did_nothing_on_the_slowest_kind_has_no_factor() {
        let mut sampler = IpcSampler::new(MS);
        sampler.feed(SLOW, 0, MS);
        sampler.feed(FAST, 100, MS);
        assert_eq!(sampler.speedup(FAST, SLOW), None);
    }

    proptest! {
        /// A thread of steady rates has the factor of its rates, in whatever pieces and turns it is
        /// sampled.
        #[test]
        fn steady_rates_give_their_ratio(
            pieces in prop::collection::vec((any::<bool>(), 1u64..20_000_000), 2..60),
            fast in 1u64..20,
            slow in 1u64..20,
        ) {
            prop_assume!(pieces.iter().any(|piece| piece.0) && pieces.iter().any(|piece| !piece.0));
            let mut sampler = IpcSampler::new(Nanos(50 * MS.0));
            for &(on_fast, time) in &pieces {
                let (kind, rate) = if on_fast { (FAST, fast) } else { (SLOW, slow) };
                sampler.feed(kind, time * rate, Nanos(time));
            }
            if let Some(speedup) = sampler.speedup(FAST, SLOW) {
                let ratio = fast as f64 / slow as f64;
                prop_assert!((speedup / ratio - 1.0).abs() < 1e-6, "{speedup} for {ratio}");
            }
        }

        /// The factor lies between the least and the greatest that any pair of samples gives.
        #[test]
        fn the_factor_is_within_what_was_sampled(
            samples in prop::collection::vec((any::<bool>(), 1u64..1_000, 1u64..1_000), 2..60),
        ) {
            let mut sampler = IpcSampler::new(Nanos(5_000));
            for &(on_fast, instructions, time) in &samples {
                sampler.feed(if on_fast { FAST } else { SLOW }, instructions, Nanos(time));
            }
            let rates = |fast: bool| {
                let of = samples.iter().filter(move |sample| sample.0 == fast).map(|sample| sample.1 as f64 / sample.2 as f64);
                of.fold((f64::INFINITY, 0.0f64), |(least, most), rate| (least.min(rate), most.max(rate)))
            };
            if let Some(speedup) = sampler.speedup(FAST, SLOW) {
                let (fast, slow) = (rates(true), rates(false));
                prop_assert!(speedup >= fast.0 / slow.1 * 0.999_999 && speedup <= fast.1 / slow.0 * 1.000_001);
            }
        }
    }
}
