//! Weights of nice values, as Linux has them.

/// Weight of nice 0.
pub const DEFAULT_WEIGHT: u32 = 1024;

/// Weight of SCHED_IDLE (kernel/sched/sched.h, `WEIGHT_IDLEPRIO`).
pub const IDLE_WEIGHT: u32 = 3;

/// kernel/sched/core.c, `sched_prio_to_weight`: each step is a tenth of a core's time, about a
/// factor of 1.25.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// Weight of a nice value, clamped to -20 to 19.
pub fn weight_of(nice: i8) -> u32 {
    WEIGHTS[(nice.clamp(-20, 19) + 20) as usize]
}

/// Nice value of a weight: the least whose weight is not greater, so SCHED_IDLE counts as 19.
pub fn nice_of(weight: u32) -> i8 {
    let place = WEIGHTS.iter().position(|&of_nice| of_nice <= weight).unwrap_or(WEIGHTS.len() - 1);
    place as i8 - 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nice_value_is_found_again_by_its_weight_and_idle_threads_count_as_the_nicest() {
        assert!((-20..20).all(|nice| nice_of(weight_of(nice)) == nice));
        assert_eq!(nice_of(IDLE_WEIGHT), 19);
    }
}
