//! The simulated mechanism: a discrete-event engine, and uneven cores, queues, synchronisation,
//! contention and energy on it. Policies decide through the contract of `evenkeel-policy`, and only
//! through it.

mod asking;
mod calendar;
mod config;
mod cores;
mod finish;
mod latency;
mod mechanism;
mod outcome;
mod periods;
mod profile;
mod programs;
mod queues;
mod totals;
mod trace;

pub use config::{Config, Estimator, Governor};
pub use latency::Latencies;
pub use outcome::{AppOutcome, CoreOutcome, Outcome, SensorLog, ThreadOutcome};
pub use periods::Periods;
pub use profile::Profile;
pub use trace::{Entry, Listener, Log, NoListener, Stepped};

use evenkeel_machine::Machine;
use evenkeel_model::Application;
use evenkeel_policy::{Policy, StartError};

/// Version of what is simulated: it rises with each change by which a run comes out differently, so
/// that results of two versions are not taken for one table.
pub const MODEL: u64 = 1;

/// Why a run could not be carried out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The policy makes no sense on this machine.
    #[error("{0}")]
    Policy(#[from] StartError),
    /// Nothing can tell speedup factors here: in a sentence for people.
    #[error("{0}")]
    Estimator(String),
    /// The workload cannot run: in a sentence for people.
    #[error("{app}: {what}")]
    Workload {
        /// Application.
        app: String,
        /// What is wrong.
        what: String,
    },
    /// All threads that are left wait for each other.
    #[error("deadlock after {at}: {waiting}")]
    Deadlock {
        /// When.
        at: String,
        /// What each thread waits for.
        waiting: String,
    },
    /// The listener did not want it to go on.
    #[error("stopped")]
    Stopped,
    /// Nothing ends it.
    #[error("{app} never ends: give --duration, or global.duration in an rt-app file")]
    Endless {
        /// Application.
        app: String,
    },
}

/// Tells whether the estimator of a run can tell anything of these applications on this machine.
///
/// # Errors
/// See [`SimError::Estimator`] and [`SimError::Workload`].
pub fn check_estimator(
    machine: &Machine,
    apps: &[Application],
    config: &Config,
) -> Result<(), SimError> {
    asking::counters::Counting::new(machine, apps, config).map(drop)
}

/// Runs applications together on a machine under a policy.
///
/// # Errors
/// See [`SimError`].
pub fn run<L: Listener>(
    machine: &Machine,
    apps: &[Application],
    policy: &mut dyn Policy,
    config: &Config,
    listener: &mut L,
) -> Result<Outcome, SimError> {
    let mut mechanism = mechanism::Mechanism::new(machine, apps, policy, config, listener)?;
    mechanism.hear_start();
    mechanism.run()
}
