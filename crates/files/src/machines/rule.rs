//! Rules for the numbers of a machine file, and how they become integers. The limits lie far beyond
//! any machine, and are low enough that no product of two of them overflows and that every integer
//! survives being written as a decimal.

use std::ops::Range;

use evenkeel_machine::FULL_CAPACITY;
use evenkeel_machine::MAX_CORES;
use evenkeel_machine::MicroWatts;

/// What a number must be.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// In words, with the unit.
    pub what: &'static str,
    /// The least that may be.
    pub least: f64,
    /// True if the least itself is too little.
    pub above: bool,
    /// The most that may be.
    pub most: f64,
    /// True if fractions are allowed.
    pub whole: bool,
}

impl Rule {
    /// From 0 to `most`.
    pub const fn from_zero(what: &'static str, most: f64) -> Self {
        Self { what, least: 0.0, above: false, most, whole: false }
    }

    /// More than 0, to `most`.
    pub const fn positive(what: &'static str, most: f64) -> Self {
        Self { what, least: 0.0, above: true, most, whole: false }
    }

    /// A whole number.
    pub const fn whole(what: &'static str, least: f64, most: f64) -> Self {
        Self { what, least, above: false, most, whole: true }
    }

    /// True if the rule allows `number`; false for NaN.
    pub fn admits(&self, number: f64) -> bool {
        let enough = if self.above { number > self.least } else { number >= self.least };
        enough && number <= self.most && (!self.whole || number.fract() == 0.0)
    }

    /// What the rule expects, for the error about `number`.
    pub fn expected(&self, number: Option<f64>) -> String {
        let Self { what, least, most, .. } = self;
        match number {
            Some(number) if number > *most => format!("{what}, at most {most}"),
            _ if self.above => format!("{what}, more than {least}"),
            _ => format!("{what}, {least} or more"),
        }
    }
}

pub(super) const MEGAHERTZ: Rule = Rule::positive("a clock in MHz", 1e6);
pub(super) const CAPACITY: Rule = Rule::positive("a capacity", 1e9);
pub(super) const DMIPS: Rule = Rule::positive("a speed per MHz", 1e9);
pub(super) const COEFFICIENT: Rule = Rule::positive("a coefficient in uW/MHz/V^2", 1e9);
pub(super) const VOLTS: Rule = Rule::positive("a number of volts", 1e3);
pub(super) const WATTS: Rule = Rule::from_zero("a number of watts", 1e6);
pub(super) const MICROSECONDS: Rule = Rule::from_zero("a number of microseconds", 1e9);
pub(super) const MILLISECONDS: Rule = Rule::positive("a number of milliseconds", 1e9);
pub(super) const MEGABYTES_PER_SECOND: Rule = Rule::positive("a number of MB/s", 1e9);
pub(super) const KIBIBYTES: Rule = Rule::from_zero("a number of KiB", 1e9);
pub(super) const WIDTH: Rule = Rule::whole("a whole number of instructions", 1.0, 64.0);
pub(super) const WINDOW: Rule = Rule::whole("a whole number of instructions", 1.0, 65_536.0);
pub(super) const CYCLES: Rule = Rule::whole("a whole number of cycles", 0.0, 1e6);
pub(super) const SOME_CYCLES: Rule = Rule::whole("a whole number of cycles", 1.0, 1e6);
pub(super) const NANOSECONDS: Rule = Rule::whole("a whole number of nanoseconds", 0.0, 1e9);
pub(super) const MISSES: Rule = Rule::whole("a whole number of misses", 1.0, 65_536.0);
pub(super) const EVENTS: Rule = Rule::whole("a whole number of counters", 0.0, 64.0);
pub(super) const SOME_KIBIBYTES: Rule = Rule::positive("a number of KiB", 1e9);
pub(super) const CORES: Rule = Rule::whole("a whole number of cores", 1.0, MAX_CORES as f64);
pub(super) const SMT_CORES: Rule = Rule::whole("a whole number of cores", 0.0, MAX_CORES as f64);
pub(super) const SPEED: Rule = Rule::positive("a relative speed", 1.0);
pub(super) const SMT: Rule = Rule::whole("1 or 2 threads per core", 1.0, 2.0);
/// The rule for capacities where the file describes a part of a machine.
pub(super) const PART_CAPACITY: Rule = Rule::positive("a capacity", FULL_CAPACITY as f64);

/// A value and where it stands.
pub(super) struct Located<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// To the nearest integer. Rules keep what comes here from 0 to 2^53.
pub(super) fn rounded(value: f64) -> u64 {
    value.round() as u64
}

pub(super) fn kilohertz(mhz: &Located<f64>) -> u64 {
    rounded(mhz.value * 1e3).max(1)
}

pub(super) fn microwatts(watts: Located<f64>) -> MicroWatts {
    MicroWatts(rounded(watts.value * 1e6))
}

pub(super) fn bytes_per_second(mb_s: Located<f64>) -> u64 {
    rounded(mb_s.value * 1e6).max(1)
}
