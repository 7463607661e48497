//! What paired rounds say of a ratio: its median, an interval, and a verdict.
//!
//! A round gives one ratio (time under a policy over the kernel's alone, measured in the same
//! minutes). Rounds are taken as independent, and nothing is assumed of how ratios are distributed:
//! the interval is that of the sign test, between two of the ordered ratios, so that it holds the
//! true median in at least 95 % of all sessions.

/// Error that an interval may have: it misses the true median in at most so many sessions.
const ERROR: f64 = 0.05;

/// How a policy compares with the kernel alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is below 1: less time.
    Better,
    /// The whole interval is above 1: more time.
    Worse,
    /// 1 is in the interval.
    NotToldApart,
    /// With so few rounds there is no interval of 95 %.
    TooFewRounds,
}

impl Verdict {
    /// As the page has it.
    pub fn told(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NotToldApart => "not told apart",
            Self::TooFewRounds => "too few rounds",
        }
    }
}

/// What some rounds' ratios come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Rounds.
    pub rounds: usize,
    /// The median ratio.
    pub median: f64,
    /// Least and greatest ratio that the true median may have; `None`: too few rounds to say.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// Of ratios, one a round; `None` of none.
    pub fn of(ratios: &[f64]) -> Option<Self> {
        // By logarithms: the median of a ratio and that of its inverse are then inverses, for even
        // numbers, too.
        let mut logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        logs.sort_by(f64::total_cmp);
        let rounds = logs.len();
        let (low, high) = (*logs.get(rounds.checked_sub(1)? / 2)?, *logs.get(rounds / 2)?);
        let interval = interval_rank(rounds)
            .and_then(|rank| Some((*logs.get(rank)?, *logs.get(rounds - 1 - rank)?)));
        Some(Self {
            rounds,
            median: f64::midpoint(low, high).exp(),
            interval: interval.map(|(least, greatest)| (least.exp(), greatest.exp())),
        })
    }

    /// Better, worse, or neither that can be told.
    pub fn verdict(&self) -> Verdict {
        match self.interval {
            None => Verdict::TooFewRounds,
            Some((_, greatest)) if greatest < 1.0 => Verdict::Better,
            Some((least, _)) if least > 1.0 => Verdict::Worse,
            Some(_) => Verdict::NotToldApart,
        }
    }
}

/// Which of `n` ordered values, from each end and counted from 0, bound the median's interval (sign
/// test): the greatest `k` with `P(Binomial(n, 1/2) <= k) <= ERROR / 2`. `None`: not even the least
/// and the greatest do.
fn interval_rank(n: usize) -> Option<usize> {
    let mut probability = 0.5_f64.powi(i32::try_from(n).ok()?);
    let mut below = 0.0;
    let mut rank = None;
    for k in 0..n {
        below += probability;
        if below > ERROR / 2.0 {
            break;
        }
        rank = Some(k);
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    rank
}

/// The geometric mean; `None` of none.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty())
        .then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        // Tables of the sign test (two-sided, 5 %): 6 rounds take all, 9 leave out one at each end,
        // 12 two, 20 five.
        let ranks = [5, 6, 8, 9, 11, 12, 20].map(interval_rank);
        assert_eq!(ranks, [None, Some(0), Some(0), Some(1), Some(1), Some(2), Some(5)]);
        assert_eq!(interval_rank(0), None);
    }

    #[test]
    fn one_ratio_above_one_among_nine_is_better_and_two_are_not_told_apart() {
        let better = [0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 1.2];
        let estimate = Estimate::of(&better).unwrap();
        assert_eq!(estimate.verdict(), Verdict::Better);
        assert!((estimate.median - 0.94).abs() < 1e-12);
        let mut neither = better;
        neither[0] = 1.1;
        assert_eq!(Estimate::of(&neither).unwrap().verdict(), Verdict::NotToldApart);
        assert_eq!(Estimate::of(&better[..5]).unwrap().verdict(), Verdict::TooFewRounds);
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }

    proptest! {
        #[test]
        fn inverse_ratios_have_the_inverse_verdict(ratios in prop::collection::vec(0.2_f64..5.0, 1..30)) {
            let inverse: Vec<f64> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
            let (one, other) = (Estimate::of(&ratios).unwrap(), Estimate::of(&inverse).unwrap());
            prop_assert!((one.median * other.median - 1.0).abs() < 1e-9);
            let expected = match one.verdict() {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                same => same,
            };
            prop_assert_eq!(other.verdict(), expected);
        }

        #[test]
        fn the_median_is_within_the_interval(ratios in prop::collection::vec(0.2_f64..5.0, 6..30)) {
            let estimate = Estimate::of(&ratios).unwrap();
            let (least, greatest) = estimate.interval.unwrap();
            prop_assert!(least <= estimate.median * (1.0 + 1e-12) && estimate.median <= greatest * (1.0 + 1e-12));
        }
    }
}
