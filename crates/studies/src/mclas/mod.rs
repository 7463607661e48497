//! "MCLAS": Nabelsee, Busse, Parzyjegla and Mühl, SAC 2016.

mod context_ring;
mod hackbench;
mod wake_up;

use crate::{Experiment, Study};

/// The MCLAS study.
pub const STUDY: Study = Study {
    name: "mclas",
    title: "Load-aware scheduling for heterogeneous multi-core systems",
    source: "SAC 2016",
    about: "whether a class per thread, by how much of its time it runs, keeps short-running \
            threads off the fast cores without harm to anybody",
    experiments: &[
        Experiment {
            number: 1,
            title: "hackbench with 1 to 200 groups",
            setting: hackbench::SETTING,
            carry_out: hackbench::carry_out,
        },
        Experiment {
            number: 2,
            title: "Context switches round a ring of 2 to 32 processes",
            setting: context_ring::SETTING,
            carry_out: context_ring::carry_out,
        },
        Experiment {
            number: 3,
            title: "Wake-up latency of periodic timers, idle and under load",
            setting: wake_up::SETTING,
            carry_out: wake_up::carry_out,
        },
    ],
};

/// The board, with the study's clocks.
const MACHINE: &str = "odroid-xu3-mclas";

/// The schedulers compared, by the study's names and the policies here.
const SCHEDULERS: [(&str, &str); 3] = [("cfs", "cfs-unaware"), ("bfs", "bfs"), ("mclas", "mclas")];
