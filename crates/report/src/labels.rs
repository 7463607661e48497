//! How things are called in tables, plots and traces.

use evenkeel_machine::{CoreId, Machine};

/// A core by number and kind: `core 5 (big)`.
pub(crate) fn core(machine: &Machine, core: CoreId) -> String {
    match machine.cores.get(core.index()).and_then(|core| machine.kinds.get(core.kind.index())) {
        Some(kind) => format!("core {} ({})", core.0, kind.name),
        None => format!("core {}", core.0),
    }
}
