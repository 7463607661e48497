//! Policies of the operating-system level, which place threads on cores. One file per policy; the
//! head of each says what it is, its source, its rule and its knobs.

use crate::contract::Knob;

mod deadline;
mod fair;
mod homes;
mod kind_queues;
mod level;
mod switching;
mod tournament;

pub mod a_dwrr;
pub mod acfs;
pub mod bfs;
pub mod cfs_unaware;
pub mod combination;
pub mod cs;
pub mod eas;
pub mod eqp;
pub mod gts;
pub mod hsp;
pub mod iks;
pub mod linux;
pub mod mclas;
pub mod opt_unfairness;
pub mod pinned;
pub mod prop_sp;
pub mod round_robin;
#[cfg(test)]
mod template;

/// Period at which a policy looks at threads.
const TICK: Knob = Knob::Number {
    name: "tick",
    default: 4.0,
    bounds: (0.1, 1_000.0),
    unit: "ms",
    about: "time between looks at threads and cores (Linux's tick at 250 Hz)",
};

/// Period at which a policy reads speedup factors.
const REFRESH: Knob = Knob::Number {
    name: "refresh",
    default: 200.0,
    bounds: (0.1, 60_000.0),
    unit: "ms",
    about: "how often speedup factors are refreshed (JPDC 102)",
};
