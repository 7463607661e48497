//! How many iterations each thread gets.

/// Divides `trip` iterations among threads of these speeds: `counts[t]` of thread `t`.
///
/// Each thread has at least one iteration, so that no range is empty: a range that is empty at the
/// end of an integer type is the whole loop. What is left after proportional shares goes, one by
/// one, to the thread that is through with it first.
///
/// # Panics
///
/// If there are fewer iterations than threads, or not as many counts as speeds.
pub fn divide(trip: u64, speeds: &[f64], counts: &mut [u64]) {
    assert_eq!(speeds.len(), counts.len());
    assert!(trip >= speeds.len() as u64);
    let total: f64 = speeds.iter().sum();
    let spread = trip - speeds.len() as u64;
    let mut left = spread;
    for (count, speed) in counts.iter_mut().zip(speeds) {
        let ideal = (trip as f64 * (speed / total)).floor() as u64;
        let share = ideal.saturating_sub(1).min(left);
        *count = 1 + share;
        left -= share;
    }
    // Rounding leaves fewer than there are threads, and a little more above 2^53.
    while left > 0 {
        let each = (left / (4 * speeds.len() as u64)).max(1);
        let first = (0..speeds.len())
            .min_by(|&a, &b| {
                let end = |t: usize| (counts[t] + each) as f64 / speeds[t];
                end(a).total_cmp(&end(b))
            })
            .unwrap_or(0);
        counts[first] += each;
        left -= each;
    }
}

/// Time until the last thread is through, in units of iterations over speed.
pub fn makespan(speeds: &[f64], counts: &[u64]) -> f64 {
    counts.iter().zip(speeds).map(|(&count, speed)| count as f64 / speed).fold(0.0, f64::max)
}

/// The static schedule's own share of a thread.
pub fn equal(trip: u64, threads: u64, thread: u64) -> u64 {
    trip / threads + u64::from(thread < trip % threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(trip: u64, speeds: &[f64]) -> Vec<u64> {
        let mut counts = vec![0; speeds.len()];
        divide(trip, speeds, &mut counts);
        counts
    }

    #[test]
    fn iterations_are_shared_by_speed() {
        assert_eq!(divided(1000, &[3.0, 1.0]), [750, 250]);
        assert_eq!(divided(1200, &[1.0, 0.5, 0.5]), [600, 300, 300]);
    }

    #[test]
    fn what_rounding_leaves_goes_to_who_is_through_first() {
        assert_eq!(divided(8, &[1.0, 1.0, 1.0, 1.0, 0.5, 0.5]), [2, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn every_iteration_is_given_out_once_and_everybody_has_one() {
        let mut seed = 1_u64;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        for _ in 0..10_000 {
            let threads = 1 + next() as usize % 12;
            let speeds: Vec<f64> = (0..threads).map(|_| 0.01 + (next() % 1000) as f64).collect();
            let wide = next() % 64;
            let trip = (next() >> wide).max(threads as u64);
            let counts = divided(trip, &speeds);
            assert!(counts.iter().all(|&count| count >= 1), "{trip} {speeds:?} {counts:?}");
            let sum: u128 = counts.iter().map(|&count| u128::from(count)).sum();
            assert_eq!(sum, u128::from(trip), "{speeds:?} {counts:?}");
        }
    }

    #[test]
    fn no_division_is_worse_than_equal_shares() {
        for trip in 4..500_u64 {
            for slow in 1..=10 {
                let speeds = [1.0, 1.0, f64::from(slow) / 10.0, f64::from(slow) / 10.0];
                let same: Vec<u64> = (0..4).map(|t| equal(trip, 4, t)).collect();
                let ours = divided(trip, &speeds);
                assert!(
                    makespan(&speeds, &ours) <= makespan(&speeds, &same) + 1e-9,
                    "{trip} {speeds:?}: {ours:?}"
                );
            }
        }
    }
}
