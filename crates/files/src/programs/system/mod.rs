//! System benchmarks, which exercise wake-ups more than cores, and simple workloads with closed
//! forms.

mod hackbench;
mod interrupts;
mod ring;
mod simple;

use super::entry::Entry;
use evenkeel_model::{Phase, Scaling};

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    [vec![hackbench::entry(), ring::entry(), interrupts::entry()], simple::entries()]
        .into_iter()
        .flatten()
        .collect()
}

/// Instructions per cycle of kernel paths (system calls, copies) on the slowest kind. Assumption:
/// low, for they miss caches.
const KERNEL_IPC: f64 = 0.5;

/// Work in the kernel and around it: scales with capacity.
fn kernel_phase(name: &str, working_set: u64) -> Phase {
    Phase { ipc: KERNEL_IPC, working_set, ..Phase::new(name, Scaling::Capacity) }
}

#[cfg(test)]
mod tests;
