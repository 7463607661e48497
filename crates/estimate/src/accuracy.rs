//! How near predictions are to what was observed.

const ROUNDING: f64 = 1e-12;

/// How near predictions are to what was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Number of pairs.
    pub samples: usize,
    /// Pearson's correlation. `None` if either side does not vary, or of fewer than three pairs.
    pub correlation: Option<f64>,
    /// Mean of |predicted - observed|.
    pub mean_error: f64,
    /// Mean of |predicted - observed| / observed.
    pub mean_relative_error: f64,
}

impl Accuracy {
    /// Of pairs of observed and predicted. `None` if there is no pair.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| {
            pairs.iter().map(of).sum::<f64>() / pairs.len() as f64
        };
        let (observed, predicted) = (mean(&|it| it.0), mean(&|it| it.1));
        let covariance = mean(&|it| (it.0 - observed) * (it.1 - predicted));
        let deviations = [
            mean(&|it| (it.0 - observed).powi(2)).sqrt(),
            mean(&|it| (it.1 - predicted).powi(2)).sqrt(),
        ];
        // A mean is off by a rounding, and a deviation of such is none.
        let varies =
            deviations[0] > observed.abs() * ROUNDING && deviations[1] > predicted.abs() * ROUNDING;
        let is_told = pairs.len() >= 3 && varies;
        (!pairs.is_empty()).then(|| Self {
            samples: pairs.len(),
            correlation: is_told.then(|| covariance / (deviations[0] * deviations[1])),
            mean_error: mean(&|it| (it.1 - it.0).abs()),
            mean_relative_error: mean(&|it| (it.1 - it.0).abs() / it.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_offset_correlates_wholly_and_is_the_error() {
        let accuracy = Accuracy::of(&[(1.0, 1.5), (2.0, 2.5), (4.0, 4.5)]).unwrap();
        assert!((accuracy.correlation.unwrap() - 1.0).abs() < 1e-12);
        assert!((accuracy.mean_error - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_vary_has_no_correlation() {
        let none = |pairs: &[(f64, f64)]| Accuracy::of(pairs).unwrap().correlation;
        assert_eq!(none(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]), None);
        assert_eq!(none(&[(0.1, 0.1); 3]), None);
        // Two points are always on a line.
        assert_eq!(none(&[(1.0, 2.0), (2.0, 1.0)]), None);
        assert_eq!(Accuracy::of(&[]), None);
    }
}
