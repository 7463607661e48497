//! The units that cross boundaries: time, work, power, energy.
//!
//! All are integers, so a run gives the same bytes on any host and with any number of workers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A point or a span of time, in nanoseconds. A `u64` holds 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// Work of a thread: instructions or, if a workload says so, nanoseconds on the reference core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work(pub u64);

/// Power, in microwatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroWatts(pub u64);

/// Energy, in femtojoules: one microwatt for one nanosecond exactly, so integrating a
/// piecewise-constant power never rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FemtoJoules(pub u128);

/// Splits a number with a unit of time (`50us`, `1.5 ms`) into the number and the nanoseconds of
/// the unit. None if there is no unit of time.
pub fn split_time(text: &str) -> Option<(&str, f64)> {
    const UNITS: [(&str, f64); 6] =
        [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)];
    UNITS.into_iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?.trim_end(), ns)))
}

macro_rules! additive {
    ($type:ident) => {
        impl Add for $type {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $type {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl SubAssign for $type {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Sum for $type {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self(0), Add::add)
            }
        }
        impl $type {
            /// Zero.
            pub const ZERO: Self = Self(0);

            /// `self - other`, or zero if that would be negative.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// `self + other`, or the greatest value if that would overflow.
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }
    };
}
additive!(Nanos);
additive!(Work);
additive!(MicroWatts);
additive!(FemtoJoules);

impl Nanos {
    /// The end of time: later than anything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// From whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// In seconds, for people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl FemtoJoules {
    /// Energy of `power` over `time`, exactly.
    pub const fn integral(power: MicroWatts, time: Nanos) -> Self {
        Self(power.0 as u128 * time.0 as u128)
    }

    /// In joules, for people.
    pub fn as_joules_f64(self) -> f64 {
        self.0 as f64 / 1e15
    }
}

impl MicroWatts {
    /// In watts, for people.
    pub fn as_watts_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns @ 0..1_000 => write!(f, "{ns} ns"),
            ns @ 1_000..1_000_000 => write!(f, "{} us", ns as f64 / 1e3),
            ns @ 1_000_000..1_000_000_000 => write!(f, "{} ms", ns as f64 / 1e6),
            ns => write!(f, "{} s", ns as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_time;

    #[test]
    fn a_time_is_split_at_its_unit_and_its_number_stays_as_it_stands() {
        let cases = [
            ("50us", Some(("50", 1e3))),
            ("1.5 ms", Some(("1.5", 1e6))),
            ("2µs", Some(("2", 1e3))),
            ("3s", Some(("3", 1e9))),
            ("4min", Some(("4", 60e9))),
            ("-x ns", Some(("-x", 1.0))),
            ("s", Some(("", 1e9))),
            ("5", None),
            ("5%", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(split_time(text), expected, "{text}");
        }
    }
}
