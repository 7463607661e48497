//! Speedup factors from one that is known beforehand, and speeds from factors.

use evenkeel_machine::{KindId, Machine, PerKind};

/// Relative speeds are fractions of this.
pub const UNIT_SPEED: f64 = 65_536.0;

/// By kind, relative to the slowest, from the factor of the fastest: other kinds by their capacity,
/// as the simulator's phases have it.
pub fn factors_of(machine: &Machine, factor: f64) -> PerKind<f32> {
    let kinds = &machine.kinds;
    let slowest = kinds[machine.slowest().index()].top().capacity;
    let fastest = kinds[0].top().capacity;
    let sensitivity = if fastest > slowest { factor.ln() / (fastest / slowest).ln() } else { 0.0 };
    let mut factors = PerKind::all(1.0_f32);
    for (rank, kind) in kinds.iter().enumerate() {
        factors[KindId(rank as u8)] = (kind.top().capacity / slowest).powf(sensitivity) as f32;
    }
    factors
}

/// By kind, work done per nanosecond on a core, of 2^16: work is in nanoseconds on the fastest
/// kind.
pub fn relative_speeds(machine: &Machine, factors: &PerKind<f32>) -> PerKind<u64> {
    let fastest = f64::from(factors[KindId(0)]).max(f64::MIN_POSITIVE);
    let mut relative_speeds = PerKind::all(UNIT_SPEED as u64);
    for kind in (0..machine.kinds.len() as u8).map(KindId) {
        relative_speeds[kind] = (f64::from(factors[kind]) / fastest * UNIT_SPEED) as u64;
    }
    relative_speeds
}
