//! The machine that sysfs describes: its kinds of core, and the source of each figure.
//!
//! This module only reads, under a root that stands for `/sys`. A measured speed may be given, and
//! takes precedence. What is missing is assumed; what cannot be read or makes no sense is left out;
//! the [`Report`] lists both. docs/simulate/machines.md has the order of trust.

mod assemble;
mod classes;
mod clusters;
mod cpu;
mod evidence;
mod facts;
mod identity;
mod kinds;
mod names;
mod report;
mod sensors;
mod tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cpus::write_cpus;
use crate::model::Machine;

pub use report::{
    CacheRow, ClockSource, CpuSets, EvidenceGroup, EvidenceRow, EvidenceSource, KindReport,
    NameSource, Report, SpeedSource, Verdict,
};
pub use sensors::{Sensor, SensorSource};

use facts::Facts;
use tree::Tree;

/// CPUs of one design are two kinds if there is a gap of more than this share of the faster between
/// their speeds. Favoured cores differ from the next by less (Intel Turbo Boost Max, binned
/// clusters), and so does a measurement on a quiet machine.
pub const KIND_TOLERANCE: f64 = 0.1;

/// Information beside the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// CPUs that may be used, such as a process's affinity mask; `None`: all that are online.
    pub allowed: Option<Vec<u32>>,
    /// Clock if the tree has none, kHz; `None`: unknown, too.
    pub clock_khz: Option<u64>,
    /// Measured speeds, in any unit. A CPU that is not listed is taken to be as fast as the fastest
    /// of its kind.
    pub measured: Vec<MeasuredSpeed>,
    /// Scatter of the measurement, as a share. CPUs of different kinds must also differ by more
    /// than this.
    pub uncertainty: f64,
}

/// A measured speed of a CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredSpeed {
    /// CPU, as numbered by the operating system.
    pub cpu: u32,
    /// Speed, in the unit of the others; more than 0.
    pub speed: f64,
}

/// A machine and the report on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Detected {
    /// A machine as valid as one from a file.
    pub machine: Machine,
    /// Sources of its figures.
    pub report: Report,
}

/// Reason why no machine was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoverError {
    /// No CPU under the root.
    #[error("{}: no CPU found, expected devices/system/cpu/online or \
             devices/system/cpu/cpu0", root.display())]
    NoCpus {
        /// The root that stands for `/sys`.
        root: PathBuf,
    },
    /// The CPUs that may be used are all offline or do not exist.
    #[error("none of the CPUs that may be used ({allowed}) is online: expected one of {online}")]
    NoneAllowed {
        /// CPUs that may be used, as a list; or `none`.
        allowed: String,
        /// CPUs that are online, as a list.
        online: String,
    },
}

/// Finds the machine under `root`, which stands for `/sys`.
///
/// # Errors
/// There is no CPU, or none that may be used. Any other fault of the tree is a line in the report.
pub fn discover(root: &Path, given: &Given) -> Result<Detected, DiscoverError> {
    let tree = Tree::new(root);
    let facts =
        Facts::read(&tree).ok_or_else(|| DiscoverError::NoCpus { root: root.to_owned() })?;
    let used: Vec<u32> = match &given.allowed {
        None => facts.online(),
        Some(allowed) => {
            let allowed: BTreeSet<u32> = allowed.iter().copied().collect();
            facts.online().into_iter().filter(|cpu| allowed.contains(cpu)).collect()
        }
    };
    if used.is_empty() {
        let allowed = match given.allowed.as_deref() {
            None | Some([]) => "none".to_owned(),
            Some(allowed) => write_cpus(allowed.iter().copied()),
        };
        return Err(DiscoverError::NoneAllowed { allowed, online: write_cpus(facts.online()) });
    }
    let kinds = kinds::find(&facts, given);
    let sensors = sensors::find(&tree);
    Ok(assemble::assemble(&facts, kinds, sensors, &used, given, tree))
}
