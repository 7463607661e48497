//! Which share of a loop each worker should have: its part in the speed of all, a mean over the
//! last executions.

use evenkeel_machine::Nanos;

/// The mean forgets executions further back than about so many. One disturbed execution is to move
/// no boundary by much: what lies on either side of it is in a worker's cache.
const MEMORY: f64 = 16.0;

/// Each worker's part in the speed of all, over the last executions of a loop.
#[derive(Debug, Default)]
pub struct Shares {
    /// Indexed by worker, with a sum of 1; empty if nothing is known.
    of_workers: Box<[f64]>,
    /// Over how many executions.
    count: f64,
    /// How long they took in the mean, nanoseconds.
    took: f64,
}

impl Shares {
    /// Indexed by worker; empty if nothing is known.
    pub fn of_workers(&self) -> &[f64] {
        &self.of_workers
    }

    /// Adds an execution that took so long: each worker's speed, in any unit, of the same number of
    /// workers each time. An execution shorter than the mean counts less: towards the end of a row
    /// of shrinking loops only the caller comes in time.
    pub fn add(&mut self, speeds: impl ExactSizeIterator<Item = f64> + Clone, took: Nanos) {
        let all: f64 = speeds.clone().sum();
        if all <= 0.0 || !all.is_finite() {
            return;
        }
        if self.of_workers.len() != speeds.len() {
            *self = Self { of_workers: vec![0.0; speeds.len()].into(), count: 0.0, took: 0.0 };
        }
        let took = took.0.max(1) as f64;
        self.count = (self.count + 1.0).min(MEMORY);
        self.took += (took - self.took) / self.count;
        let weight = (took / self.took).min(1.0) / self.count;
        for (share, speed) in self.of_workers.iter_mut().zip(speeds) {
            *share += (speed / all - *share) * weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(executions: &[([f64; 2], u64)]) -> Shares {
        let mut shares = Shares::default();
        executions
            .iter()
            .for_each(|(speeds, took)| shares.add(speeds.iter().copied(), Nanos(*took)));
        shares
    }

    #[test]
    fn shares_are_the_mean_of_the_parts_in_the_speed_of_all() {
        assert_eq!(after(&[]).of_workers(), [0.0; 0]);
        assert_eq!(after(&[([3.0, 1.0], 9)]).of_workers(), [0.75, 0.25]);
        assert_eq!(after(&[([3.0, 1.0], 9), ([500.0, 500.0], 9)]).of_workers(), [0.625, 0.375]);
        let nothing = [([0.0, 0.0], 9), ([f64::INFINITY, 1.0], 9)];
        assert_eq!(after(&[&[([3.0, 1.0], 9)][..], &nothing].concat()).of_workers(), [0.75, 0.25]);
    }

    #[test]
    fn one_execution_of_many_moves_no_boundary_by_much_and_many_do() {
        let many = vec![([3.0, 1.0], 9); 100];
        let share = |more: &[([f64; 2], u64)]| after(&[&many[..], more].concat()).of_workers()[0];
        assert!((share(&[([0.0, 1.0], 9)]) - 0.75).abs() < 0.05);
        assert!((share(&[([1.0, 3.0], 9); 100]) - 0.25).abs() < 0.01);
    }

    #[test]
    fn short_executions_between_long_ones_say_little() {
        // Loops that halve, from a millisecond on: to the short ones the second worker does not
        // come.
        let turn = (0..12).map(|halved| {
            let took = 1_000_000 >> halved;
            (if took > 20_000 { [3.0, 1.0] } else { [1.0, 0.0] }, took)
        });
        let turns: Vec<_> = std::iter::repeat_with(|| turn.clone()).take(20).flatten().collect();
        let share = after(&turns).of_workers()[0];
        assert!((share - 0.75).abs() < 0.02, "{share}");
    }
}
