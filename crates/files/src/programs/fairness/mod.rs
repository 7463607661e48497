//! What the fairness study runs (ACFS, JPDC 102, 2017): single-threaded programs of SPEC CPU2006,
//! multithreaded ones, the mixes of both on its two machines, and the ten analytical workloads.

mod mixes;
mod multi;
mod single;

use super::entry::{Entry, KnobInfo};

/// Source of all of them.
const SOURCE: &str = "fairness study: ACFS, JPDC 102, 2017; SPEC CPU2006 and others";

/// Machine on which the classes of single-threaded programs are stated first.
const QUICKIA: &str = "quickia";

/// The other one.
const AMD: &str = "amd-2b10s";

/// Clock of the fast cores of `amd-2b10s` over that of its slow ones, 2.1 and 0.8 GHz: cores of one
/// microarchitecture, so also the ratio of capacities.
const AMD_CAPACITY_RATIO: f64 = 2.1 / 0.8;

const THREADS: KnobInfo = KnobInfo {
    name: "threads",
    default: "number of cores",
    meaning: "threads; a bare number does",
};

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    [single::entries(), multi::entries(), mixes::entries()].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
