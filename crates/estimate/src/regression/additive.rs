//! What training makes: see [`Additive`].

/// A function that is constant between thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFunction {
    thresholds: Vec<f64>,
    values: Vec<f64>,
}

impl StepFunction {
    /// `values[i]` up to and with `thresholds[i]`, the last value above all. `None` unless there is
    /// one value more than thresholds, all are finite, and thresholds ascend.
    #[must_use]
    pub fn new(thresholds: Vec<f64>, values: Vec<f64>) -> Option<Self> {
        let is_whole = values.len() == thresholds.len() + 1
            && thresholds.iter().chain(&values).all(|it| it.is_finite())
            && thresholds.is_sorted_by(|a, b| a < b);
        is_whole.then_some(Self { thresholds, values })
    }

    /// Where its value changes, ascending.
    #[must_use]
    pub fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    /// Its values, one more than thresholds.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Its value at x; that below all thresholds if x is no number.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.values[self.thresholds.partition_point(|&threshold| threshold < x)]
    }
}

/// A sum of a constant and a step function of each feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Additive {
    base: f64,
    terms: Vec<StepFunction>,
}

impl Additive {
    /// `None` if the constant is not finite.
    #[must_use]
    pub fn new(base: f64, terms: Vec<StepFunction>) -> Option<Self> {
        base.is_finite().then_some(Self { base, terms })
    }

    /// The constant: the mean of the targets that it was trained on.
    #[must_use]
    pub const fn base(&self) -> f64 {
        self.base
    }

    /// A step function a feature.
    #[must_use]
    pub fn terms(&self) -> &[StepFunction] {
        &self.terms
    }

    /// What it makes of features, in the order of its terms. Allocates nothing.
    pub fn predict(&self, features: impl IntoIterator<Item = f64>) -> f64 {
        self.terms.iter().zip(features).fold(self.base, |sum, (term, x)| sum + term.at(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_belongs_to_the_step_below_it() {
        let step = StepFunction::new(vec![1.0, 2.0], vec![10.0, 20.0, 30.0]).unwrap();
        let at = [0.0, 1.0, 1.5, 2.0, 2.5, f64::INFINITY, f64::NAN].map(|x| step.at(x));
        assert_eq!(at, [10.0, 10.0, 20.0, 20.0, 30.0, 30.0, 10.0]);
    }

    #[test]
    fn what_is_no_step_function_is_refused() {
        assert_eq!(StepFunction::new(vec![1.0], vec![1.0]), None);
        assert_eq!(StepFunction::new(vec![2.0, 1.0], vec![1.0; 3]), None);
        assert_eq!(StepFunction::new(vec![1.0, 1.0], vec![1.0; 3]), None);
        assert_eq!(StepFunction::new(vec![], vec![f64::NAN]), None);
        assert!(StepFunction::new(vec![], vec![0.0]).is_some());
        assert_eq!(Additive::new(f64::INFINITY, vec![]), None);
    }
}
