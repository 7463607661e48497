//! "MCLAS": Nabelsee, Busse, Parzyjegla and Mühl, SAC 2016.

use crate::Study;

/// See the file's head.
pub const STUDY: Study = Study {
    name: "mclas",
    title: "Load-aware scheduling for heterogeneous multi-core systems",
    source: "SAC 2016",
    about: "whether a class per thread, by how much of its time it runs, keeps short-running threads off the fast cores without harm to anybody",
    experiments: &[],
};
