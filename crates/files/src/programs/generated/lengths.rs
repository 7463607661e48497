//! Draws the lengths of threads: numbers with a given mean and standard deviation, and whole
//! numbers with a given sum.

use evenkeel_model::SplitMix64;

/// The greatest degree of symmetry that is drawn for `count` threads. It is a little below the
/// greatest possible one, the square root of `count` - 1, which belongs to one thread that does all
/// the work.
pub(super) fn most(count: u32) -> f64 {
    0.95 * f64::from(count.saturating_sub(1)).sqrt()
}

/// Halvings of an interval after which doubles cannot tell its ends apart.
const HALVINGS: u32 = 100;

/// Draws numbers of mean 1, none below 0, whose standard deviation is exactly `deviation`, at most
/// [`most`] of `count`. They are log-normal; the scale of their logarithms is chosen so that the
/// numbers drawn, and not only their distribution, have that deviation. A single number is 1.
pub(super) fn draw(count: u32, deviation: f64, random: &mut SplitMix64) -> Vec<f64> {
    let logs: Vec<f64> = (0..count).map(|_| normal(random)).collect();
    if count < 2 || deviation <= 0.0 {
        return vec![1.0; count as usize];
    }
    // The deviation grows with the scale: from 0, where all are equal, to that of one thread that
    // does all the work.
    let (mut low, mut high) = (0.0, 1.0);
    while relative_deviation(&scaled(&logs, high)) < deviation && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if relative_deviation(&scaled(&logs, middle)) < deviation {
            low = middle
        } else {
            high = middle
        }
    }
    scaled(&logs, low)
}

/// A draw from the standard normal distribution (Box and Muller 1958).
fn normal(random: &mut SplitMix64) -> f64 {
    let (u, v) = (1.0 - random.unit(), random.unit());
    (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}

/// Numbers with these logarithms times a scale, brought to a mean of 1.
fn scaled(logs: &[f64], scale: f64) -> Vec<f64> {
    let greatest = logs.iter().copied().fold(f64::MIN, f64::max);
    let numbers: Vec<f64> = logs.iter().map(|log| ((log - greatest) * scale).exp()).collect();
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    numbers.into_iter().map(|number| number / mean).collect()
}

/// Standard deviation / mean of the whole population: what the study calls the degree of symmetry
/// of a group.
pub(super) fn relative_deviation(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

/// Parts a whole in proportion to weights: each part is within one of its share, and their sum is
/// the whole (largest remainders).
pub(super) fn apportion(whole: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|weight| whole as f64 * weight / sum).collect();
    let mut parts: Vec<u64> = shares.iter().map(|share| share.floor() as u64).collect();
    let mut places: Vec<usize> = (0..parts.len()).collect();
    let remainder = |place: usize| shares[place] - shares[place].floor();
    places.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(&b)));
    // Beyond 2^53 shares are rounded, and their floors may differ from the whole by more than there
    // are parts, or exceed it.
    let mut left = i128::from(whole) - parts.iter().map(|&part| i128::from(part)).sum::<i128>();
    for &place in places.iter().cycle() {
        match left.signum() {
            1 => parts[place] += 1,
            -1 if parts[place] > 0 => parts[place] -= 1,
            -1 => continue,
            _ => break,
        }
        left -= left.signum();
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn three_parts_of_ten_go_to_the_largest_remainders() {
        assert_eq!(apportion(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(apportion(10, &[0.5, 0.25, 0.25]), [5, 3, 2]);
        assert_eq!(apportion(0, &[1.0, 2.0]), [0, 0]);
    }

    proptest! {
        #[test]
        fn numbers_drawn_are_not_negative_and_have_the_mean_and_the_deviation_asked_for(
            count in 2u32..100, share in 0.0..=1.0, seed: u64,
        ) {
            let deviation = share * most(count);
            let drawn = draw(count, deviation, &mut SplitMix64(seed));
            prop_assert!(drawn.iter().all(|number| *number >= 0.0));
            prop_assert!((drawn.iter().sum::<f64>() / f64::from(count) - 1.0).abs() < 1e-9);
            prop_assert!((relative_deviation(&drawn) - deviation).abs() < 1e-6, "{}", relative_deviation(&drawn));
        }

        #[test]
        fn parts_add_up_to_the_whole_and_are_within_one_of_their_shares(
            whole in 0u64..1 << 50, weights in prop::collection::vec(0.001..1000.0, 1..80),
        ) {
            let parts = apportion(whole, &weights);
            prop_assert_eq!(parts.iter().sum::<u64>(), whole);
            let sum: f64 = weights.iter().sum();
            for (part, weight) in parts.iter().zip(&weights) {
                prop_assert!((*part as f64 - whole as f64 * weight / sum).abs() <= 1.0 + 1e-3);
            }
        }
    }
}
