//! What the nine programs ask of a core: what is measured, and what is assumed.
//!
//! Measured: the ratio of speeds, from "On the Maturity of Parallel Applications for Asymmetric
//! Multi-Core Processors" (JPDC 2019), big cores at 1.6 GHz, little ones at 0.8 GHz. All else is
//! assumed, from what is commonly known of these programs on small in-order cores, and none of it
//! is fitted to a study's outcome: running time alone, instructions per cycle, memory traffic,
//! working set of a thread, activity. Speedups and ratios of energy do not depend on the running
//! time, activities stay within the 0.6 to 1.36 of the mean that PARTSim's table of the same board
//! spans. For bodytrack's shares of phases see docs/decisions/0010-assumptions-of-workloads.md.

use evenkeel_model::{Phase, Scaling};

/// Clock of the little cores where the ratios were measured.
const LITTLE_HZ: f64 = 0.8e9;

/// Capacity of the big cores over that of the little ones where the ratios were measured: dmips-mhz
/// 1024 at 1600 MHz and 539 at 800 MHz (exynos5422-cpus.dtsi; the clocks are the study's).
pub(crate) const MEASURED_CAPACITY_RATIO: f64 = (1024.0 * 1600.0) / (539.0 * 800.0);

/// The character of a program.
pub(crate) struct Character {
    /// Name.
    pub(crate) name: &'static str,
    /// Measured: speed on one big core / on one little.
    pub(crate) ratio: f64,
    /// Assumed: time of the whole run alone on one little core, seconds.
    pub(crate) little_s: f64,
    /// Assumed: instructions per cycle there.
    pub(crate) ipc: f64,
    /// Assumed: bytes to and from memory per instruction.
    pub(crate) bytes_per_instruction: f64,
    /// Assumed: bytes of a thread's working set.
    pub(crate) working_set: u64,
    /// Assumed: power relative to the mean busy power.
    pub(crate) activity: f64,
}

const KIB: u64 = 1 << 10;

/// The nine programs. canneal chases pointers through far more than any cache of such a board
/// holds: a 64-byte line every eighth instruction, which is what makes all cores together saturate
/// the memory. swaptions takes twice as long as blackscholes, so that one of its 128 tasks is as
/// long as a hundred of the 6,400 of blackscholes.
pub(crate) const CHARACTERS: [Character; 9] = [
    character("blackscholes", 2.18, 120.0, (0.70, 0.05), 64 * KIB, 0.95),
    character("bodytrack", 4.16, 160.0, (0.80, 0.10), 256 * KIB, 1.10),
    character("canneal", 1.73, 160.0, (0.25, 8.00), 2048 * KIB, 0.70),
    character("dedup", 2.67, 80.0, (0.60, 0.60), 512 * KIB, 0.90),
    character("facesim", 3.40, 240.0, (0.60, 0.80), 1024 * KIB, 1.05),
    character("ferret", 3.59, 200.0, (0.70, 0.30), 512 * KIB, 1.10),
    character("fluidanimate", 3.32, 240.0, (0.65, 0.40), 512 * KIB, 1.05),
    character("streamcluster", 3.48, 160.0, (0.50, 1.20), 1024 * KIB, 0.90),
    character("swaptions", 2.78, 240.0, (0.75, 0.01), 32 * KIB, 1.05),
];

const fn character(
    name: &'static str,
    ratio: f64,
    little_s: f64,
    (ipc, bytes_per_instruction): (f64, f64),
    working_set: u64,
    activity: f64,
) -> Character {
    Character { name, ratio, little_s, ipc, bytes_per_instruction, working_set, activity }
}

impl Character {
    /// By name.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        CHARACTERS.iter().find(|character| character.name == name)
    }

    /// As a phase.
    pub(crate) fn phase(&self) -> Phase {
        Phase {
            ipc: self.ipc,
            bytes_per_instruction: self.bytes_per_instruction,
            working_set: self.working_set,
            activity: self.activity,
            ..Phase::new(
                self.name,
                Scaling::MeasuredAt { factor: self.ratio, capacity_ratio: MEASURED_CAPACITY_RATIO },
            )
        }
    }

    /// Instructions that are `share` of the whole run, dealt out over `count` equal pieces; at
    /// least 1 each.
    pub(crate) fn piece(&self, share: f64, count: u64) -> u64 {
        ((self.little_s * LITTLE_HZ * self.ipc * share / count as f64).round() as u64).max(1)
    }
}
