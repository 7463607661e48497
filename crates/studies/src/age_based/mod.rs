//! "Age Based Scheduling for Asymmetric Multiprocessors": Lakshminarayana, Lee and Kim, SC 2009.

use crate::Study;

/// See the file's head.
pub const STUDY: Study = Study {
    name: "age-based",
    title: "Age Based Scheduling for Asymmetric Multiprocessors",
    source: "SC 2009",
    about: "whether parallel programs end sooner where the thread with the longest way to its next milestone has the fast core",
    experiments: &[],
};
