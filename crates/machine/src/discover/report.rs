//! Sources of a detected machine's figures. Units are in the names; lists of CPUs are written as
//! Linux does.

use std::fmt;

use super::sensors::Sensor;

/// The report on a detected machine.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// The firmware's name of the machine; `None` if it has none.
    pub model: Option<String>,
    /// Kinds in use, fastest first.
    pub kinds: Vec<KindReport>,
    /// Evidence for the kinds of all online CPUs by source, the most trusted first.
    pub evidence: Vec<EvidenceRow>,
    /// CPUs.
    pub cpus: CpuSets,
    /// Power sensors that were found.
    pub sensors: Vec<Sensor>,
    /// Notes for people on how the figures came about.
    pub notes: Vec<String>,
    /// Notes on values that were found and not used.
    pub untrusted: Vec<String>,
    /// Notes on what is unknown, and what is assumed instead.
    pub missing: Vec<String>,
    /// Files that could not be read or understood.
    pub problems: Vec<String>,
}

/// A kind of core, and the sources of its figures.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KindReport {
    /// Name.
    pub name: String,
    /// Source of the name.
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
    /// Source of the capacity.
    pub capacity_source: SpeedSource,
    /// Lowest clock; `None`: not known.
    pub min_mhz: Option<f64>,
    /// Highest clock; `None`: not known.
    pub max_mhz: Option<f64>,
    /// Number of operating points of the kind in the machine.
    pub operating_points: usize,
    /// Source of the clocks.
    pub clock_source: ClockSource,
    /// Caches for data, of its first CPU, the nearest first.
    pub caches: Vec<CacheRow>,
}

/// Evidence of one source for the kinds of core.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EvidenceRow {
    /// The source.
    pub source: EvidenceSource,
    /// Groups of CPUs that it does not distinguish.
    pub groups: Vec<EvidenceGroup>,
    /// Comparison with the kinds that were found.
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

/// A source that distinguishes kinds of core.
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
    /// Caches of the first two levels whose size is known for all CPUs.
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

/// Comparison of a source with the kinds that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// It distinguishes exactly these kinds.
    Agrees,
    /// It distinguishes some of the kinds, and not others.
    Partly,
    /// It distinguishes none, though others do.
    Silent,
    /// It splits CPUs of one kind.
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

/// CPUs by their state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CpuSets {
    /// Cores of the machine.
    pub used: String,
    /// Online CPUs that this process may not use.
    pub not_allowed: String,
    /// CPUs that could be plugged in.
    pub possible: String,
    /// CPUs that are present.
    pub present: String,
    /// CPUs that are running.
    pub online: String,
    /// CPUs that are present and not running.
    pub offline: String,
    /// CPUs on which the kernel's scheduler places nothing by itself.
    pub isolated: String,
}

/// The source of a kind's speed, in the order of trust; a measurement takes precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum SpeedSource {
    /// `cpu_capacity`, which the kernel's own scheduler uses.
    CpuCapacity,
    /// `acpi_cppc/highest_perf`: the firmware's scale.
    HighestPerf,
    /// `cpufreq/cpuinfo_max_freq`: the clock, as if all kinds did the same work per cycle.
    MaxFreq,
    /// No source: all are assumed equal.
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

/// The source of a kind's clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ClockSource {
    /// `cpufreq/scaling_available_frequencies`: each operating point.
    AvailableFrequencies,
    /// `cpufreq/cpuinfo_min_freq` and `cpuinfo_max_freq`: the ends of the range.
    Limits,
    /// The operating system reports only its present clock.
    PresentClock,
    /// No source.
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

/// The source of a kind's name.
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
