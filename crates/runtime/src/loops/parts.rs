//! Which part of a loop each worker should do: by its share in the speed of all, a mean over the last executions.

/// The mean forgets what is further back than about so many executions: that one of them was disturbed is to move no boundary by much, for what lies on either
/// side of it is in somebody's cache.
const MEMORY: f64 = 16.0;

/// See the file's head.
#[derive(Debug, Default)]
pub struct Parts {
    /// By worker, of a sum of 1; empty where nothing is known.
    shares: Box<[f64]>,
    /// Over how many executions.
    count: f64,
}

impl Parts {
    /// By worker; empty where nothing is known.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// By worker, so fast it was, in any unit: of the same number of workers each time.
    pub fn add(&mut self, speeds: impl ExactSizeIterator<Item = f64> + Clone) {
        let all: f64 = speeds.clone().sum();
        if all <= 0.0 || !all.is_finite() {
            return;
        }
        if self.shares.len() != speeds.len() {
            *self = Self { shares: vec![0.0; speeds.len()].into(), count: 0.0 };
        }
        self.count = (self.count + 1.0).min(MEMORY);
        for (share, speed) in self.shares.iter_mut().zip(speeds) {
            *share += (speed / all - *share) / self.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(executions: &[[f64; 2]]) -> Parts {
        let mut parts = Parts::default();
        executions.iter().for_each(|speeds| parts.add(speeds.iter().copied()));
        parts
    }

    #[test]
    fn shares_are_the_mean_of_those_in_the_speed_of_all() {
        assert_eq!(after(&[]).shares(), [0.0; 0]);
        assert_eq!(after(&[[3.0, 1.0]]).shares(), [0.75, 0.25]);
        assert_eq!(after(&[[3.0, 1.0], [500.0, 500.0]]).shares(), [0.625, 0.375]);
        assert_eq!(after(&[[3.0, 1.0], [0.0, 0.0], [f64::INFINITY, 1.0]]).shares(), [0.75, 0.25]);
    }

    #[test]
    fn one_execution_of_many_moves_no_boundary_by_much_and_many_do() {
        let many = vec![[3.0, 1.0]; 100];
        let share = |more: &[[f64; 2]]| after(&[&many[..], more].concat()).shares()[0];
        assert!((share(&[[0.0, 1.0]]) - 0.75).abs() < 0.05);
        assert!((share(&[[1.0, 3.0]; 100]) - 0.25).abs() < 0.01);
    }
}
