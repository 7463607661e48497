//! Which part of a loop each worker does: a mean over the last executions.

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

    /// By worker, so many iterations it did: of the same number of workers each time.
    pub fn add(&mut self, did: impl ExactSizeIterator<Item = u64> + Clone) {
        let total = did.clone().sum::<u64>().max(1) as f64;
        if self.shares.len() != did.len() {
            *self = Self { shares: vec![0.0; did.len()].into(), count: 0.0 };
        }
        self.count = (self.count + 1.0).min(MEMORY);
        for (share, did) in self.shares.iter_mut().zip(did) {
            *share += (did as f64 / total - *share) / self.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(executions: &[[u64; 2]]) -> Parts {
        let mut parts = Parts::default();
        executions.iter().for_each(|did| parts.add(did.iter().copied()));
        parts
    }

    #[test]
    fn shares_are_the_mean_of_what_was_done() {
        assert_eq!(after(&[]).shares(), [0.0; 0]);
        assert_eq!(after(&[[75, 25]]).shares(), [0.75, 0.25]);
        assert_eq!(after(&[[75, 25], [500, 500]]).shares(), [0.625, 0.375]);
        assert_eq!(after(&[[0, 0]]).shares(), [0.0, 0.0]);
    }

    #[test]
    fn one_execution_of_many_moves_no_boundary_by_much_and_many_do() {
        let many = vec![[75, 25]; 100];
        let share = |more: &[[u64; 2]]| after(&[&many[..], more].concat()).shares()[0];
        assert!((share(&[[0, 100]]) - 0.75).abs() < 0.05);
        assert!((share(&[[25, 75]; 100]) - 0.25).abs() < 0.01);
    }
}
