//! How often a cache misses, by its size.

/// Misses per 1,000 instructions by the size of a cache: straight lines between points, both axes
/// by logarithm; level beyond the first and the last point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MissCurve {
    points: Vec<(u64, f64)>,
}

/// Why points are no curve.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MissCurveError {
    /// A cache of no size, or sizes that do not ascend.
    #[error("sizes must be above 0 and ascend, found {0}")]
    Size(u64),
    /// Below 0, infinite, above 1,000, or more than a smaller cache has.
    #[error("{misses} misses per 1,000 instructions at {bytes} bytes, expected 0 to {most}")]
    Misses {
        /// Size of the cache.
        bytes: u64,
        /// What was found.
        misses: f64,
        /// What the smaller cache has, or 1,000.
        most: f64,
    },
}

/// A miss for each instruction.
const MOST: f64 = 1_000.0;
/// Where a curve comes down to nothing, it comes down to this. Lines by logarithm need a number.
const NOTHING: f64 = 1e-4;

impl MissCurve {
    /// Sizes in bytes, ascending, and misses per 1,000 instructions. No point: it never misses.
    ///
    /// # Errors
    ///
    /// If sizes do not ascend, or a cache misses more often than a smaller one.
    pub fn new(points: Vec<(u64, f64)>) -> Result<Self, MissCurveError> {
        let (mut least, mut most) = (0, MOST);
        for &(bytes, misses) in &points {
            if bytes <= least {
                return Err(MissCurveError::Size(bytes));
            }
            if !(0.0..=most).contains(&misses) {
                return Err(MissCurveError::Misses { bytes, misses, most });
            }
            (least, most) = (bytes, misses);
        }
        Ok(Self { points })
    }

    /// Its points.
    #[must_use]
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Misses per 1,000 instructions of a cache of this size.
    #[must_use]
    pub fn at(&self, bytes: u64) -> f64 {
        let above = self.points.partition_point(|&(size, _)| size < bytes);
        let (Some(&(high, misses_high)), Some(&(low, misses_low))) =
            (self.points.get(above), above.checked_sub(1).and_then(|i| self.points.get(i)))
        else {
            let nearest = if above == 0 { self.points.first() } else { self.points.last() };
            return nearest.map_or(0.0, |&(_, misses)| misses);
        };
        if bytes == high {
            return misses_high;
        }
        let log = |size: u64| (size as f64).ln();
        let part = (log(bytes) - log(low)) / (log(high) - log(low));
        let [from, to] = [misses_low, misses_high].map(|misses| misses.max(NOTHING).ln());
        (from + part * (to - from)).exp().clamp(misses_high, misses_low)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn four_times_the_size_halves_misses_of_a_square_root_curve() {
        let curve = MissCurve::new(vec![(1 << 15, 32.0), (1 << 21, 4.0)]).unwrap();
        assert!((curve.at(1 << 17) - 16.0).abs() < 1e-9);
        assert_eq!((curve.at(1), curve.at(1 << 30)), (32.0, 4.0));
        assert_eq!((curve.at(1 << 15), curve.at(1 << 21)), (32.0, 4.0));
        assert_eq!(MissCurve::default().at(1 << 20), 0.0);
    }

    #[test]
    fn points_that_are_no_curve_are_refused() {
        assert_eq!(MissCurve::new(vec![(0, 1.0)]), Err(MissCurveError::Size(0)));
        assert_eq!(MissCurve::new(vec![(2, 1.0), (2, 1.0)]), Err(MissCurveError::Size(2)));
        let grows = MissCurve::new(vec![(2, 1.0), (4, 1.5)]);
        assert_eq!(grows, Err(MissCurveError::Misses { bytes: 4, misses: 1.5, most: 1.0 }));
        assert!(MissCurve::new(vec![(2, f64::NAN)]).is_err());
        assert!(MissCurve::new(vec![(2, 1_001.0)]).is_err());
    }

    proptest! {
        #[test]
        fn a_larger_cache_never_misses_more(
            mut sizes in prop::collection::btree_set(1_u64..1 << 40, 0..6),
            mut misses in prop::collection::vec(0.0_f64..1_000.0, 6),
            a: u64,
            b: u64,
        ) {
            misses.sort_by(|a, b| b.total_cmp(a));
            let curve = MissCurve::new(std::mem::take(&mut sizes).into_iter().zip(misses).collect());
            let curve = curve.unwrap();
            let [few, many] = [a.max(b), a.min(b)].map(|bytes| curve.at(bytes));
            prop_assert!(few <= many * (1.0 + 1e-12), "{few} {many}");
            prop_assert!((0.0..=1_000.0).contains(&few));
        }
    }
}
