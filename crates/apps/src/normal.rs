//! Random numbers with a normal distribution.

use evenkeel_model::SplitMix64;

/// Two independent standard normal numbers (Box and Muller, Annals of Mathematical Statistics
/// 1958).
pub fn normal_pair(random: &mut SplitMix64) -> (f64, f64) {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    let (sin, cos) = (std::f64::consts::TAU * random.unit()).sin_cos();
    (radius * cos, radius * sin)
}
