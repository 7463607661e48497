//! Where the figures of a detected machine come from. Units are in the names; lists of CPUs are
//! written as Linux does.

use std::fmt;

use super::sensors::Sensor;

/// What is to be said of a detected machine.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// What the firmware calls the machine; `None`: it does not say.
    pub model: Option<String>,
    /// Kinds in use, fastest first.
    pub kinds: Vec<KindReport>,
    /// What each source says of the kinds of all CPUs that are online, the most trusted first.
    pub evidence: Vec<EvidenceRow>,
    /// CPUs.
    pub cpus: CpuSets,
    /// Power sensors that are there.
    pub sensors: Vec<Sensor>,
    /// What a reader should know of how the figures came about.
    pub notes: Vec<String>,
    /// What was found and not believed.
    pub untrusted: Vec<String>,
    /// What is not known, and what is taken instead.
    pub missing: Vec<String>,
    /// Files that could not be read or understood.
    pub problems: Vec<String>,
}

/// A kind of core, and where its figures come from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KindReport {
    /// Name.
    pub name: String,
    /// Where the name comes from.
    pub name_source: NameSource,
    /// Microarchitecture; `None`: the CPUs do not name it.
    pub design: Option<String>,
    /// Logical cores in use.
    pub cores: usize,
    /// Physical cores in use.
    pub physical_cores: usize,
    /// CPUs in use.
    pub cpus: String,
    /// Capacity at the highest clock, of 1024.
    pub capacity: u32,
    /// Where the capacity comes from.
    pub capacity_source: SpeedSource,
    /// Lowest clock; `None`: not known.
    pub min_mhz: Option<f64>,
    /// Highest clock; `None`: not known.
    pub max_mhz: Option<f64>,
    /// How many operating points the machine has for it.
    pub operating_points: usize,
    /// Where the clocks come from.
    pub clock_source: ClockSource,
    /// Caches for data, of its first CPU, the nearest first.
    pub caches: Vec<CacheRow>,
}

/// What a source says of the kinds of core.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EvidenceRow {
    /// Which.
    pub source: EvidenceSource,
    /// CPUs that it does not tell apart, group by group.
    pub groups: Vec<EvidenceGroup>,
    /// Beside the kinds that were made.
    pub verdict: Verdict,
}

/// CPUs with one value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EvidenceGroup {
    /// The value, with its unit.
    pub value: String,
    /// CPUs.
    pub cpus: String,
}

/// What tells kinds of core apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum EvidenceSource {
    /// Arm's main identification register, from sysfs or `/proc/cpuinfo`.
    Midr,
    /// Vendor, family and model in `/proc/cpuinfo`: the same for all cores of an x86 hybrid.
    Cpuinfo,
    /// The lists of CPUs of Intel's counters.
    IntelLists,
    /// Caches of the first two levels, those of which all CPUs have a size.
    CacheSizes,
    /// `cpu_capacity`.
    CpuCapacity,
    /// `acpi_cppc/highest_perf`.
    HighestPerf,
    /// `cpufreq/cpuinfo_max_freq`.
    MaxFreq,
}

impl fmt::Display for EvidenceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Midr => "MIDR",
            Self::Cpuinfo => "cpuinfo",
            Self::IntelLists => "Intel's lists",
            Self::CacheSizes => "cache sizes",
            Self::CpuCapacity => "cpu_capacity",
            Self::HighestPerf => "highest_perf",
            Self::MaxFreq => "cpuinfo_max_freq",
        })
    }
}

/// What a source says of the kinds that were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// Just these kinds.
    Agrees,
    /// Some of the kinds, and not others.
    Partly,
    /// No kinds, where others tell some.
    Silent,
    /// CPUs of one kind apart.
    Contradicts,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agrees => "agrees",
            Self::Partly => "tells some kinds apart",
            Self::Silent => "tells none apart",
            Self::Contradicts => "contradicts: splits a kind",
        })
    }
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CacheRow {
    /// 1, 2, …
    pub level: u64,
    /// Size.
    pub kib: u64,
    /// CPUs that share it.
    pub cpus: String,
    /// Physical cores that share it.
    pub cores: usize,
}

/// CPUs by what may be done with them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CpuSets {
    /// Cores of the machine.
    pub used: String,
    /// Online, and this process may not use them.
    pub not_allowed: String,
    /// Could be there.
    pub possible: String,
    /// Are there.
    pub present: String,
    /// Are running.
    pub online: String,
    /// Are there and not running.
    pub offline: String,
    /// The kernel's scheduler places nothing there by itself.
    pub isolated: String,
}

/// What told how fast a kind is, in the order of trust; a measurement, where there is one, has the
/// last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum SpeedSource {
    /// `cpu_capacity`: what the kernel's own scheduler goes by.
    CpuCapacity,
    /// `acpi_cppc/highest_perf`: the firmware's scale.
    HighestPerf,
    /// `cpufreq/cpuinfo_max_freq`: the clock, as if all kinds did as much per clock.
    MaxFreq,
    /// Nothing: all are taken as equal.
    Assumption,
    /// A spin on each CPU.
    Measured,
}

impl fmt::Display for SpeedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CpuCapacity => "cpu_capacity",
            Self::HighestPerf => "highest_perf",
            Self::MaxFreq => "cpuinfo_max_freq",
            Self::Assumption => "assumption",
            Self::Measured => "measured",
        })
    }
}

/// What told the clocks of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ClockSource {
    /// `cpufreq/scaling_available_frequencies`: each operating point.
    AvailableFrequencies,
    /// `cpufreq/cpuinfo_min_freq` and `cpuinfo_max_freq`: the ends of the range.
    Limits,
    /// The operating system tells its present clock and nothing else.
    PresentClock,
    /// Nothing.
    Assumption,
}

impl fmt::Display for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AvailableFrequencies => "scaling_available_frequencies",
            Self::Limits => "cpuinfo_min/max_freq",
            Self::PresentClock => "the clock at present",
            Self::Assumption => "assumption",
        })
    }
}

/// What told the name of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum NameSource {
    /// The list of CPUs of `cpu_core`.
    CpuCore,
    /// The list of CPUs of `cpu_atom`.
    CpuAtom,
    /// The list of CPUs of `cpu_lowpower`.
    CpuLowpower,
    /// Its rank among the kinds.
    Rank,
}

impl fmt::Display for NameSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CpuCore => "cpu_core",
            Self::CpuAtom => "cpu_atom",
            Self::CpuLowpower => "cpu_lowpower",
            Self::Rank => "rank",
        })
    }
}
