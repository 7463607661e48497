//! The least attainable unfairness, and the greatest aggregate speedup at that unfairness.
//!
//! Source: the analytical model of Saez, Pousa, Castro, Chaver and Prieto-Matias, "Towards
//! completely fair scheduling on asymmetric single-ISA multicore processors", JPDC 102 (2017).
//!
//! Model. Each application has one thread and a core to itself; `SF_i` is its speedup factor from
//! slow to fast, `F_i` the fraction of time that it has a fast core; `B` fast cores are always in
//! use:
//!
//! ```text
//! 0 <= F_i <= 1        sum F_i = min(B, n)
//! slowdown_i = SF_i / (F_i (SF_i - 1) + 1)        from SF_i (F = 0) down to 1 (F = 1)
//! unfairness = max slowdown / min slowdown        ASP = sum F_i (SF_i - 1)
//! ```
//!
//! Solution. Let `y = 1 - 1/s` and `a_i = SF_i / (SF_i - 1)`. A thread reaches a slowdown of `s`
//! with `F_i = 1 - a_i y`, so a set of `k` threads that share `B` fast cores at one slowdown has
//!
//! ```text
//! y = (k - B) / sum a_i        F_i = 1 - a_i y        s = 1 / (1 - y)
//! ```
//!
//! A thread with `SF_i <= s` does not reach `s` even on slow cores alone: it saturates at F = 0 and
//! leaves the set, which lowers `y` for the others. Threads of greatest SF come first, so the set
//! is a prefix of that order. If at most `B` threads gain from a fast core at all, each of them has
//! one (F = 1), and the threads of SF = 1 take the rest.
//!
//! Why this is the optimum, and the only one. Any other fractions of the same sum give some thread
//! of the set less, so their greatest slowdown exceeds `s`. If no thread saturates, all slowdowns
//! are `s` here, and for no other fractions. If one does, the least slowdown here is the least SF,
//! which no fractions can raise, because a thread's slowdown never exceeds its SF. Either way the
//! quotient is greater elsewhere.
//!
//! Only the division of the rest among threads of SF = 1 is left open. It changes neither measure,
//! so the greatest ASP at the least unfairness is that of this distribution.

/// Speedup factors of the ten four-application workloads of the analytical study, for two fast and
/// two slow cores (JPDC 102, 2017).
pub const WORKLOADS: [[f64; 4]; 10] = [
    [4.7, 4.7, 1.0, 1.0],
    [4.7, 4.7, 2.9, 2.9],
    [4.3, 4.0, 4.0, 1.0],
    [2.9, 2.9, 2.1, 2.1],
    [4.7, 4.7, 3.6, 3.6],
    [4.7, 4.7, 4.3, 4.3],
    [3.2, 2.5, 1.7, 1.0],
    [4.0, 2.5, 2.5, 2.5],
    [4.7, 4.0, 3.2, 2.5],
    [4.0, 3.2, 2.5, 1.0],
];

/// A distribution of fast-core time, and its measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// Greatest slowdown / least slowdown; 1 is best.
    pub unfairness: f64,
    /// Slowdown of every thread that has a fast core for part of the time; the greatest of all.
    pub slowdown: f64,
    /// Fraction of time on a fast core, by thread, in the order given.
    pub fractions: Vec<f64>,
    /// Aggregate speedup over slow cores alone.
    pub asp: f64,
}

impl Optimum {
    /// ASP relative to that of `fast` cores that are always used at the platform's greatest speedup
    /// factor, 0 to 1.
    pub fn normalised_asp(&self, fast: usize, greatest: f64) -> f64 {
        self.asp / ((greatest - 1.0) * fast as f64)
    }

    /// Unfairness relative to the worst on a platform with this greatest speedup factor, 0 to 1.
    pub fn normalised_unfairness(&self, greatest: f64) -> f64 {
        (self.unfairness - 1.0) / (greatest - 1.0)
    }
}

/// Slowdown of a thread that has a fast core for a fraction of the time.
pub fn slowdown(sf: f64, fraction: f64) -> f64 {
    sf / (fraction * (sf - 1.0) + 1.0)
}

/// Unfairness of a distribution: greatest slowdown / least slowdown; 1 for no threads.
pub fn unfairness(sf: &[f64], fractions: &[f64]) -> f64 {
    let slowdowns = || sf.iter().zip(fractions).map(|(&sf, &fraction)| slowdown(sf, fraction));
    let least = slowdowns().fold(f64::INFINITY, f64::min);
    if least.is_finite() { slowdowns().fold(0.0, f64::max) / least } else { 1.0 }
}

/// Aggregate speedup of a distribution over slow cores alone.
pub fn asp(sf: &[f64], fractions: &[f64]) -> f64 {
    sf.iter().zip(fractions).map(|(sf, fraction)| fraction * (sf - 1.0)).sum()
}

/// The distribution of least unfairness for threads of these speedup factors on `fast` fast cores,
/// with a slow core for each thread. A factor below 1, or one that is not finite, counts as 1.
pub fn opt_unfairness(sf: &[f64], fast: usize) -> Optimum {
    let sf: Vec<f64> =
        sf.iter().map(|&sf| if sf.is_finite() { sf.max(1.0) } else { 1.0 }).collect();
    let mut order: Vec<usize> = (0..sf.len()).filter(|&i| sf[i] > 1.0).collect();
    order.sort_by(|&i, &j| sf[j].total_cmp(&sf[i]).then(i.cmp(&j)));

    let (sharers, y) = share(&sf, &order, fast);
    let mut fractions = vec![0.0; sf.len()];
    for &i in &order[..sharers] {
        fractions[i] = (1.0 - cost(sf[i]) * y).clamp(0.0, 1.0);
    }
    if order.len() < fast {
        let indifferent = sf.len() - order.len();
        let left = (fast - order.len()).min(indifferent) as f64;
        for (fraction, _) in fractions.iter_mut().zip(&sf).filter(|(_, sf)| **sf <= 1.0) {
            *fraction = left / indifferent as f64;
        }
    }
    Optimum {
        unfairness: unfairness(&sf, &fractions),
        slowdown: 1.0 / (1.0 - y),
        asp: asp(&sf, &fractions),
        fractions,
    }
}

/// Fast-core time that a thread gives up per unit of `y`: `a_i`.
fn cost(sf: f64) -> f64 {
    sf / (sf - 1.0)
}

/// The number of threads in `order` (greatest factor first) that share the fast cores, and their
/// common `y`.
fn share(sf: &[f64], order: &[usize], fast: usize) -> (usize, f64) {
    if order.len() <= fast {
        return (order.len(), 0.0);
    }
    let mut costs = 0.0;
    let mut y = 0.0;
    for (k, &i) in order.iter().enumerate() {
        if 1.0 - cost(sf[i]) * y <= 0.0 {
            return (k, y);
        }
        costs += cost(sf[i]);
        y = (k + 1).saturating_sub(fast) as f64 / costs;
    }
    (order.len(), y)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FAST: usize = 2;

    /// The optimum by the model's own closed form, over every set of threads that might share.
    fn closed_form(sf: &[f64], fast: usize) -> (f64, f64) {
        let mut best = (f64::INFINITY, 0.0);
        for set in 0_u32..1 << sf.len() {
            let shares = |i: &usize| set & (1 << i) != 0;
            let inside: Vec<usize> = (0..sf.len()).filter(shares).collect();
            if inside.iter().any(|&i| sf[i] <= 1.0) || inside.len() < fast {
                continue;
            }
            // sum (SF/s - 1)/(SF - 1) = B, solved for s.
            let (mut over, mut under) = (0.0, fast as f64);
            for &i in &inside {
                over += sf[i] / (sf[i] - 1.0);
                under += 1.0 / (sf[i] - 1.0);
            }
            let s = over / under;
            let mut fractions = vec![0.0; sf.len()];
            for &i in &inside {
                fractions[i] = (sf[i] / s - 1.0) / (sf[i] - 1.0);
            }
            if fractions.iter().all(|fraction| (-1e-12..=1.0 + 1e-12).contains(fraction)) {
                let (unfairness, asp) = (unfairness(sf, &fractions), asp(sf, &fractions));
                if unfairness < best.0 {
                    best = (unfairness, asp);
                }
            }
        }
        best
    }

    #[test]
    fn the_ten_workloads_agree_with_the_closed_form() {
        for sf in WORKLOADS {
            let optimum = opt_unfairness(&sf, FAST);
            let (unfairness, asp) = closed_form(&sf, FAST);
            assert!(
                (optimum.unfairness - unfairness).abs() < 1e-9,
                "{sf:?}: {optimum:?}, not {unfairness}"
            );
            assert!((optimum.asp - asp).abs() < 1e-9, "{sf:?}: {optimum:?}, not {asp}");
        }
    }

    #[test]
    fn the_ten_workloads_agree_with_a_grid_search() {
        const STEPS: u32 = 100;
        let step = 1.0 / f64::from(STEPS);
        for sf in WORKLOADS {
            let optimum = opt_unfairness(&sf, FAST);
            let mut least = f64::INFINITY;
            let mut its_asp = 0.0;
            for (a, b, c) in (0..=STEPS)
                .flat_map(|a| (0..=STEPS).flat_map(move |b| (0..=STEPS).map(move |c| (a, b, c))))
            {
                let Some(d) = (FAST as u32 * STEPS).checked_sub(a + b + c).filter(|d| *d <= STEPS)
                else {
                    continue;
                };
                let fractions = [a, b, c, d].map(|steps| f64::from(steps) * step);
                let (here, asp_here) = (unfairness(&sf, &fractions), asp(&sf, &fractions));
                if here < least || (here == least && asp_here > its_asp) {
                    (least, its_asp) = (here, asp_here);
                }
            }
            // One step of F changes a slowdown s by at most s² steps; both ends of the quotient may
            // be off by one.
            let coarse = 2.0 * step * optimum.slowdown * optimum.unfairness;
            assert!(
                least >= optimum.unfairness - 1e-9,
                "{sf:?}: the grid finds {least}, below {optimum:?}"
            );
            assert!(
                least <= optimum.unfairness + coarse,
                "{sf:?}: the grid finds {least}, far above {optimum:?}"
            );
            let coarse: f64 = sf.iter().map(|sf| (sf - 1.0) * step).sum();
            assert!(
                (its_asp - optimum.asp).abs() <= coarse,
                "{sf:?}: the grid's ASP is {its_asp}, not {optimum:?}"
            );
        }
    }

    #[test]
    fn the_tenth_workload_cannot_be_fairer_than_1_29() {
        assert!((opt_unfairness(&WORKLOADS[9], FAST).unfairness - 1.29).abs() < 0.005);
    }

    #[test]
    fn threads_that_gain_nothing_leave_the_fast_cores_to_those_that_do() {
        let optimum = opt_unfairness(&WORKLOADS[0], FAST);
        assert_eq!(optimum.fractions, [1.0, 1.0, 0.0, 0.0]);
        assert_eq!(optimum.unfairness, 1.0);
        assert_eq!(opt_unfairness(&[3.0, 1.0, 1.0], 2).fractions, [1.0, 0.5, 0.5]);
    }

    #[test]
    fn degenerate_inputs_have_an_answer() {
        assert_eq!(opt_unfairness(&[], 3).unfairness, 1.0);
        assert_eq!(opt_unfairness(&[2.0, 4.0], 0).fractions, [0.0, 0.0]);
        assert_eq!(opt_unfairness(&[2.0, 4.0], 5).fractions, [1.0, 1.0]);
        assert_eq!(opt_unfairness(&[f64::NAN, 0.3, f64::INFINITY], 1).unfairness, 1.0);
    }

    #[test]
    fn normalised_measures_are_those_of_the_study() {
        let optimum = opt_unfairness(&WORKLOADS[0], FAST);
        assert!((optimum.normalised_asp(FAST, 4.7) - 1.0).abs() < 1e-12);
        assert!(optimum.normalised_unfairness(4.7).abs() < 1e-12);
    }

    /// Some fractions from 0 to 1 with this sum.
    fn with_sum(weights: &[f64], sum: f64) -> Vec<f64> {
        let mut fractions = vec![0.0; weights.len()];
        for _ in 0..weights.len() {
            let left = sum - fractions.iter().sum::<f64>();
            let open: f64 =
                weights.iter().zip(&fractions).filter(|(_, f)| **f < 1.0).map(|(w, _)| w).sum();
            for (fraction, weight) in fractions.iter_mut().zip(weights).filter(|(f, _)| **f < 1.0) {
                *fraction = (*fraction + weight * left / open).min(1.0);
            }
        }
        fractions
    }

    fn factors() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(
            prop_oneof![4 => 1.0..8.0, 1 => Just(1.0), 1 => Just(1.0 + 1e-9)],
            1..12,
        )
    }

    proptest! {
        #[test]
        fn fractions_are_fractions_and_use_all_fast_cores(sf in factors(), fast in 0_usize..14) {
            let optimum = opt_unfairness(&sf, fast);
            prop_assert!(optimum.fractions.iter().all(|fraction| (0.0..=1.0).contains(fraction)));
            let sum: f64 = optimum.fractions.iter().sum();
            prop_assert!((sum - fast.min(sf.len()) as f64).abs() < 1e-9, "{sum}");
            let greatest = sf.iter().zip(&optimum.fractions).map(|(&sf, &f)| slowdown(sf, f)).fold(1.0, f64::max);
            prop_assert!((optimum.slowdown - greatest).abs() < 1e-6, "{} {greatest}", optimum.slowdown);
        }

        #[test]
        fn no_other_distribution_is_fairer_nor_as_fair_and_faster(
            sf in factors(),
            fast in 1_usize..12,
            weights in prop::collection::vec(1e-3..1.0_f64, 12),
            distance in prop_oneof![Just(1.0), Just(1e-2), Just(1e-4)],
        ) {
            let optimum = opt_unfairness(&sf, fast);
            let sum = fast.min(sf.len()) as f64;
            let other = with_sum(&weights[..sf.len()], sum);
            // Near the optimum as well as far from it: feasible distributions are convex.
            let mixed: Vec<f64> = optimum.fractions.iter().zip(&other).map(|(a, b)| a + distance * (b - a)).collect();
            let here = unfairness(&sf, &mixed);
            prop_assert!(here >= optimum.unfairness - 1e-9, "{here} is fairer than {optimum:?}");
            if here <= optimum.unfairness {
                prop_assert!(asp(&sf, &mixed) <= optimum.asp + 1e-6, "{mixed:?} is as fair as \
                                                                      {optimum:?} and faster");
            }
        }
    }
}
