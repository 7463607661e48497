//! Median, spread and percentiles of what was measured.

use serde::{Deserialize, Serialize};

/// What a series of measurements comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The middle one.
    pub median: f64,
    /// Distance from the lower to the upper quartile, in relation to the median. Half of all are
    /// this close together; the rest, as [`Figures::p5`] and [`Figures::p95`] show, is as much the
    /// unrest of the host.
    pub spread: f64,
    /// The 5th percentile.
    pub p5: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// How many.
    pub count: usize,
}

impl Figures {
    /// `None` where there is nothing.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        // The nearest rank; between the two middle ones of an even number for the median only.
        let rank = |share: f64| {
            sorted.get(((sorted.len() as f64 - 1.0) * share).round() as usize).copied()
        };
        let median = f64::midpoint(
            *sorted.get((sorted.len().checked_sub(1)?) / 2)?,
            *sorted.get(sorted.len() / 2)?,
        );
        let spread = (rank(0.75)? - rank(0.25)?) / median;
        Some(Self { median, spread, p5: rank(0.05)?, p95: rank(0.95)?, count: sorted.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_few_numbers() {
        assert_eq!(Figures::of([]), None);
        let one = Figures::of([3.0]).unwrap();
        assert_eq!((one.median, one.spread, one.p5, one.p95), (3.0, 0.0, 3.0, 3.0));
        let hundred = Figures::of((0..=100).rev().map(f64::from)).unwrap();
        assert_eq!(
            (hundred.median, hundred.spread, hundred.p5, hundred.p95),
            (50.0, 1.0, 5.0, 95.0)
        );
        assert_eq!(Figures::of([1.0, 2.0, 4.0, 9.0]).unwrap().median, 3.0);
    }
}
