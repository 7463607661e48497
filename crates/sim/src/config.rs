//! How a run is to be carried out, beside machine, workload and policy.

use std::fmt;
use std::sync::Arc;

use evenkeel_estimate::Model;
use evenkeel_machine::Nanos;

use crate::profile::Profile;

/// Settings of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Seed of whatever chance plays in (estimator errors).
    pub seed: u64,
    /// Where a policy's speedup factors come from.
    pub estimator: Estimator,
    /// How clusters choose their clock.
    pub governor: Governor,
    /// A policy's directives take effect this long after the event that they answer.
    pub decision_latency: Nanos,
    /// Policy by which the workers of task graphs choose tasks, by name.
    pub graph_policy: String,
    /// Bytes per nanosecond over the link between any two workers of a task graph whose edges have
    /// volumes. `None`: they share a memory, and handing data over takes no time.
    pub link: Option<f64>,
    /// Where policies that go by a profile have distances to milestones from: what another run has
    /// shown. `None`, and all others: the estimator.
    pub profile: Option<Arc<Profile>>,
    /// Ends the run after this, whatever still runs.
    pub duration: Option<Nanos>,
    /// No slice is shorter.
    pub least_slice: Nanos,
    /// Carries out every slice and every timer, also where nothing can come of them. The results
    /// are the same; for tests of that.
    pub every_tick: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            estimator: Estimator::Oracle,
            governor: Governor::Performance,
            decision_latency: Nanos::ZERO,
            graph_policy: "fifo".into(),
            link: None,
            profile: None,
            duration: None,
            // A slice of nothing would be used up for ever at the same instant.
            least_slice: Nanos(1),
            every_tick: false,
        }
    }
}

/// Where speedup factors come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Estimator {
    /// The true ones of the phase that the thread is in.
    Oracle,
    /// Those of the thread's whole run, measured beforehand.
    Offline,
    /// From the speed last seen on each kind. Until a thread has run on a kind, its capacity stands
    /// in: taken for equal, the kinds would never be told apart by a policy that moves threads only
    /// where they differ.
    Sampled,
    /// The true ones with a relative error, drawn per thread and phase from a normal distribution
    /// of this standard deviation.
    Modelled {
        /// Standard deviation, relative (0.1 = 10 %).
        error: f64,
    },
    /// What a model tells from counters, few of which count at a time, with noise. Every phase must
    /// have a character, and every kind must say how it is built.
    Trained(Arc<Model>),
}

/// As it is asked for; a model by what it was trained on.
impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Oracle => f.write_str("oracle"),
            Self::Offline => f.write_str("offline"),
            Self::Sampled => f.write_str("sampled"),
            Self::Modelled { error } => write!(f, "modelled={error}"),
            Self::Trained(model) => model.fmt(f),
        }
    }
}

/// How a cluster chooses its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governor {
    /// The highest operating point, always.
    Performance,
    /// The highest operating point that does not exceed this clock, always (the lowest where all
    /// do).
    Fixed {
        /// Clock.
        khz: u64,
    },
    /// Linux's: the lowest point with 1.25 times the capacity of the greatest utilisation of its
    /// cores (PELT), no sooner than 1 ms after the last change.
    Schedutil,
}
