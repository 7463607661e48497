//! The measures of fairness and throughput, from slowdowns. Each is a function of plain numbers.

/// Greatest slowdown / least slowdown: 1 is best. `None` for fewer than two applications.
pub fn unfairness(slowdowns: &[f64]) -> Option<f64> {
    let [first, rest @ ..] = slowdowns else { return None };
    if rest.is_empty() {
        return None;
    }
    let (least, greatest) = rest.iter().fold((*first, *first), |(least, greatest), &slowdown| {
        (least.min(slowdown), greatest.max(slowdown))
    });
    Some(greatest / least)
}

/// Aggregate speedup: sum over applications of (speedup over the slowest cores, less 1). Saez et
/// al., JPDC 102, 2017.
pub fn asp(speedups_over_slow: &[f64]) -> f64 {
    speedups_over_slow.iter().map(|speedup| speedup - 1.0).sum()
}

/// System throughput: sum of normalised progress. Eyerman and Eeckhout, IEEE Micro 2008, eq. 3.
pub fn stp(slowdowns: &[f64]) -> f64 {
    slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum()
}

/// Average normalised turnaround time: mean slowdown. Eyerman and Eeckhout, IEEE Micro 2008, eq. 4.
/// `None` for no application.
pub fn antt(slowdowns: &[f64]) -> Option<f64> {
    mean(slowdowns.iter().copied())
}

/// Arithmetic mean; `None` for no value.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) =
        values.into_iter().fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Geometric mean; `None` for no value.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) =
        values.into_iter().fold((0.0, 0_u64), |(sum, count), value| (sum + value.ln(), count + 1));
    (count > 0).then(|| (sum / count as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_application_has_no_unfairness() {
        assert_eq!(unfairness(&[]), None);
        assert_eq!(unfairness(&[2.0]), None);
        assert_eq!(unfairness(&[3.0, 1.5, 2.0]), Some(2.0));
    }

    #[test]
    fn two_threads_that_share_one_fast_core_by_turns() {
        // Speedup factor 2, half the time on each kind: speed 1.5 of the slow core's 1, so slowdown
        // 2 / 1.5.
        let slowdown = 2.0 / 1.5;
        assert_eq!(unfairness(&[slowdown, slowdown]), Some(1.0));
        assert!((asp(&[1.5, 1.5]) - 1.0).abs() < 1e-12);
        assert!((stp(&[slowdown, slowdown]) - 1.5).abs() < 1e-12);
        assert!((antt(&[slowdown, slowdown]).unwrap() - slowdown).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn unfairness_is_at_least_1_and_forgets_a_common_factor(
            slowdowns in prop::collection::vec(0.1_f64..100.0, 2..9), factor in 0.1_f64..10.0,
        ) {
            let plain = unfairness(&slowdowns).unwrap();
            let scaled: Vec<f64> = slowdowns.iter().map(|slowdown| slowdown * factor).collect();
            prop_assert!(plain >= 1.0);
            prop_assert!((unfairness(&scaled).unwrap() / plain - 1.0).abs() < 1e-9);
        }

        #[test]
        fn stp_and_antt_bound_each_other(slowdowns in prop::collection::vec(0.1_f64..100.0, 1..9)) {
            // The harmonic mean never exceeds the arithmetic one: n / STP <= ANTT.
            let n = slowdowns.len() as f64;
            prop_assert!(n / stp(&slowdowns) <= antt(&slowdowns).unwrap() * (1.0 + 1e-12));
            let mean = geometric_mean(slowdowns.iter().copied()).unwrap();
            prop_assert!(n / stp(&slowdowns) <= mean * (1.0 + 1e-9) && mean <= antt(&slowdowns).unwrap() * (1.0 + 1e-9));
        }
    }
}
