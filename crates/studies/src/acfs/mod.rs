//! "ACFS": Saez, Pousa, Castro, Chaver and Prieto-Matias, Journal of Parallel and Distributed Computing 102, 2017.

use crate::Study;

/// See the file's head.
pub const STUDY: Study = Study {
    name: "acfs",
    title: "Towards completely fair scheduling on asymmetric single-ISA multicore processors",
    source: "Journal of Parallel and Distributed Computing 102, 2017",
    about: "how equal the slowdowns of programs that compete for big cores can be made, and what that costs in throughput",
    experiments: &[],
};
