//! "On the Maturity of Parallel Applications for Asymmetric Multi-Core Processors": Chronaki et al., Journal of Parallel and Distributed Computing, 2019.

use crate::Study;

/// See the file's head.
pub const STUDY: Study = Study {
    name: "amc-maturity",
    title: "On the Maturity of Parallel Applications for Asymmetric Multi-Core Processors",
    source: "Journal of Parallel and Distributed Computing, 2019",
    about: "what nine parallel programs make of big and little cores, as they are, with a scheduler that knows the cores, and as tasks",
    experiments: &[],
};
