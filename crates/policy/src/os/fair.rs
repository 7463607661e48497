//! What the policies that share a core as Linux does have in common: figures of CFS, and the order of cores.

use evenkeel_machine::{CoreId, Machine, Nanos, PerKind};

use crate::contract::Slice;

/// Slice of a core's only thread. Linux CFS (kernel/sched/fair.c up to 6.5): four `sysctl_sched_min_granularity`.
const SLICE_ALONE: Nanos = Nanos::from_millis(3);
/// Least slice: CFS's `sysctl_sched_min_granularity`.
const SLICE_LEAST: Nanos = Nanos::from_micros(750);

/// 3 ms, divided by the number of runnable threads of the queue, at least 0.75 ms.
pub const SLICE: Slice = Slice { time: PerKind::all(SLICE_ALONE), divided_to: Some(SLICE_LEAST), carry: false };

/// Cores, fastest kind first, then by number.
pub fn fast_first(machine: &Machine) -> Vec<CoreId> {
    let mut cores: Vec<_> = machine.cores.iter().map(|core| core.id).collect();
    cores.sort_by_key(|core| (machine.cores[core.index()].kind, *core));
    cores
}
