//! Cutting a trace of speedup factors into phases (appendix A of the ACFS study).
//!
//! ```text
//! p       = (greatest - least) / U          U equal subintervals, so U + 1 levels
//! NTV(SF) = the nearest level; the lower one of two that are equally near
//! a phase = consecutive samples of equal NTV
//! U       = the least with deviation(U) <= limit
//! ```
//!
//! The study does not say which deviation is meant, nor the limit. Ours is the mean over all
//! samples of |SF - m| / m, where m is the mean of the sample's phase. Where the whole trace is
//! within the limit it is one phase, U = 0: else noise would cut a steady trace to pieces.

use std::ops::Range;

/// The greatest U that is tried, whatever deviation is left. Ours.
const MOST_SUBINTERVALS: usize = 64;

/// Phases of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// U: into how many subintervals the range of factors was cut; 0: it was not.
    pub subintervals: usize,
    /// Samples of each phase. They follow one another, and are all samples.
    pub phases: Vec<Range<usize>>,
    /// Mean deviation within the phases, relative to each phase's mean.
    pub deviation: f64,
}

/// Cuts a trace with the least number of subintervals whose phases deviate by `limit` at most, or
/// with 64. Factors are greater than 0.
#[must_use]
pub fn cut_into(factors: &[f64], limit: f64) -> Cut {
    let mut cut = cut(factors, 0);
    while cut.deviation > limit && cut.subintervals < MOST_SUBINTERVALS {
        cut = self::cut(factors, cut.subintervals + 1);
    }
    cut
}

fn cut(factors: &[f64], subintervals: usize) -> Cut {
    let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = factors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let length = (greatest - least) / subintervals as f64;
    // Half of the way up belongs to the lower level.
    let level =
        |factor: f64| if length > 0.0 { ((factor - least) / length - 0.5).ceil() } else { 0.0 };
    let mut phases = Vec::new();
    let mut deviations = 0.0;
    let mut from = 0;
    for phase in factors.chunk_by(|&a, &b| level(a) == level(b)) {
        let mean = phase.iter().sum::<f64>() / phase.len() as f64;
        deviations += phase.iter().map(|factor| (factor - mean).abs() / mean).sum::<f64>();
        phases.push(from..from + phase.len());
        from += phase.len();
    }
    Cut { subintervals, phases, deviation: deviations / factors.len().max(1) as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_plateaus_are_two_phases_of_one_subinterval() {
        let cut = cut_into(&[1.0, 1.0, 1.0, 3.0, 3.0, 1.0], 0.02);
        assert_eq!((cut.subintervals, cut.phases), (1, vec![0..3, 3..5, 5..6]));
        assert_eq!(cut.deviation, 0.0);
    }

    #[test]
    fn half_way_between_two_levels_is_the_lower_one() {
        assert_eq!(cut(&[1.0, 2.0, 3.0], 1).phases, [0..2, 2..3]);
        assert_eq!(cut(&[1.0, 2.0, 3.0], 2).phases, [0..1, 1..2, 2..3]);
    }

    #[test]
    fn three_levels_take_two_subintervals() {
        let cut = cut_into(&[1.0, 1.01, 2.0, 1.99, 3.0, 3.0], 0.02);
        assert_eq!((cut.subintervals, cut.phases.len()), (2, 3));
    }

    #[test]
    fn a_steady_trace_is_one_phase_and_an_empty_one_has_none() {
        let steady = cut_into(&[2.0, 2.02, 2.0, 2.02, 2.0], 0.02);
        assert_eq!((steady.subintervals, steady.phases.len()), (0, 1));
        assert_eq!(cut_into(&[2.0; 5], 0.0).phases, vec![0..5]);
        assert_eq!(cut_into(&[], 0.0).phases, vec![]);
    }

    proptest! {
        #[test]
        fn phases_partition_a_trace_and_each_is_of_one_level(
            factors in prop::collection::vec(0.5_f64..8.0, 1..200),
            limit in 0.0_f64..0.2,
        ) {
            let cut = cut_into(&factors, limit);
            let mut next = 0;
            for phase in &cut.phases {
                prop_assert_eq!(phase.start, next);
                prop_assert!(phase.end > phase.start);
                next = phase.end;
            }
            prop_assert_eq!(next, factors.len());
            prop_assert!(cut.deviation <= limit || cut.subintervals == MOST_SUBINTERVALS);
            let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = factors.iter().copied().fold(0.0, f64::max);
            let width = (greatest - least) / cut.subintervals.max(1) as f64;
            for phase in cut.phases {
                let of_phase = &factors[phase];
                let low = of_phase.iter().copied().fold(f64::INFINITY, f64::min);
                let high = of_phase.iter().copied().fold(0.0, f64::max);
                prop_assert!(high - low <= width * (1.0 + 1e-9));
            }
        }
    }
}
