//! The machine that sysfs describes: its kinds of core, and where each figure comes from.
//!
//! Reading, under a root that stands for `/sys`; nothing is changed and nothing is measured here. A
//! speed that someone measured may be given, and has the last word. What is missing is assumed, and
//! the [`Report`] says so; what cannot be read or makes no sense is left out, and the report says
//! so, too. docs/simulate/machines.md has the order of trust.

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

/// CPUs of one design are two kinds where a gap of more than this share of the faster is between
/// their speeds. Less is what favoured cores differ by from the next (Intel Turbo Boost Max, binned
/// clusters), and more than a quiet spin scatters.
pub const KIND_TOLERANCE: f64 = 0.1;

/// What is known beside the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// CPUs that may be used, as the affinity mask of a process; `None`: all that are online.
    pub allowed: Option<Vec<u32>>,
    /// Clock where the tree tells none, kHz; `None`: not known either.
    pub clock_khz: Option<u64>,
    /// Speeds that were measured, in any unit. A CPU that is not here is taken to be as fast as the
    /// fastest of its kind.
    pub measured: Vec<MeasuredSpeed>,
    /// By how much the measurement scattered, as a share: CPUs must differ by more than this, too,
    /// to be of different kinds.
    pub uncertainty: f64,
}

/// How fast a CPU was found to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredSpeed {
    /// CPU, as the operating system counts.
    pub cpu: u32,
    /// Speed, in the unit of the others; more than 0.
    pub speed: f64,
}

/// A machine and what is to be said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Detected {
    /// Valid, as one that was read from a file.
    pub machine: Machine,
    /// Where its figures come from.
    pub report: Report,
}

/// Why there is no machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoverError {
    /// No CPU under the root.
    #[error("{}: no CPU found, expected devices/system/cpu/online or \
             devices/system/cpu/cpu0", root.display())]
    NoCpus {
        /// What stands for `/sys`.
        root: PathBuf,
    },
    /// The CPUs that may be used are all offline, or not there.
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
/// There is no CPU, or none that may be used. Anything else that is wrong with the tree is a line
/// in the report.
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
