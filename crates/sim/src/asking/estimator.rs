//! Where the speedup factors that a policy sees come from: see [`Estimator`].

use evenkeel_machine::PerKind;
use evenkeel_model::SplitMix64;
use evenkeel_policy::ThreadId;

use crate::config::Estimator;
use crate::mechanism::Mechanism;
use crate::programs::program::{Op, Row};
use crate::trace::Listener;

/// Ops that are looked through for the first work of a thread.
const LOOK_AHEAD: usize = 64;

impl<L: Listener> Mechanism<'_, L> {
    /// The thread's work has another character from now on.
    pub fn enter_row(&mut self, thread: ThreadId, row: Row) {
        if self.threads[thread.index()].row != row {
            self.threads[thread.index()].row = row;
            self.estimate(thread, row);
        }
    }

    /// A thread that starts is taken to have the character of its first work.
    pub fn first_row(&mut self, thread: ThreadId) {
        let state = &self.threads[thread.index()];
        let app = &self.apps[self.stats[thread.index()].app.index()];
        let spec = &self.specs[self.stats[thread.index()].app.index()];
        let ahead = self.ops[state.pc as usize..]
            .iter()
            .take(LOOK_AHEAD)
            .take_while(|op| !matches!(op, Op::End));
        let row = ahead.into_iter().find_map(|op| match *op {
            Op::Compute { row, .. } | Op::Busy { row, .. } => Some(row),
            Op::ParallelFor(shared) => Some(app.first_row + spec.loops[shared as usize].phase.0),
            Op::RunTasks(graph) => {
                let task = spec.graphs[graph as usize].tasks.first()?;
                Some(app.first_row + task.phase.0)
            }
            _ => None,
        });
        let row = row.unwrap_or(state.row);
        self.threads[thread.index()].row = row;
        self.estimate(thread, row);
    }

    fn estimate(&mut self, thread: ThreadId, row: Row) {
        if row as usize >= self.speeds.characters() {
            return;
        }
        let stats = &mut self.stats[thread.index()];
        match self.config.estimator {
            Estimator::Oracle => stats.speedup = self.speeds.character(row).speedup,
            Estimator::Offline => stats.speedup = stats.speedup_offline,
            // From what is seen, as it is seen.
            Estimator::Sampled | Estimator::Trained(_) => {}
            Estimator::Modelled { error } => {
                let of_thread = u64::from(stats.app.0) << 32 | u64::from(stats.index_in_app);
                let draw = normal(self.config.seed, of_thread, u64::from(row));
                stats.speedup = with_error(self.speeds.character(row).speedup, 1.0 + error * draw);
            }
        }
    }
}

/// Scales what is above 1 by a factor; no kind is estimated to be slower than the slowest.
fn with_error(speedup: PerKind<f32>, factor: f64) -> PerKind<f32> {
    PerKind(speedup.0.map(|speedup| {
        if speedup > 1.0 { (f64::from(speedup) * factor).max(1.0) as f32 } else { speedup }
    }))
}

/// A draw from the standard normal distribution that depends on nothing but its arguments (Box and
/// Muller 1958).
fn normal(seed: u64, a: u64, b: u64) -> f64 {
    let mut random = SplitMix64(
        seed ^ a.rotate_left(17).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.rotate_left(43),
    );
    let (u, v) = (1.0 - random.unit(), random.unit());
    (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_spread_that_was_asked_for_and_no_bias() {
        let draws: Vec<f64> = (0..20_000).map(|i| normal(7, i, i % 5)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance =
            draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }
}
