//! A profile: from a run of a program beforehand, the distances of its threads from milestone to
//! milestone.

use evenkeel_machine::Machine;
use evenkeel_model::Application;
use evenkeel_policy::registry;
use evenkeel_sim::{Config, NoListener, Profile, SimError};

/// The policy of the profiled run. It ignores the kinds of cores and the differences of threads.
const UNAWARE: &str = "cfs-unaware";

/// Why a program could not be profiled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// The run failed.
    #[error("profile: {0}")]
    Run(#[from] SimError),
    /// No `cfs-unaware` to run it under.
    #[error(transparent)]
    Policy(#[from] registry::MakeError),
}

/// Profiles programs that run together on a machine. Their input is usually smaller than that of
/// the run proper.
///
/// # Errors
/// A run fails, for instance because it never ends and has no duration.
pub fn profile(
    machine: &Machine,
    apps: &[Application],
    config: &Config,
) -> Result<Profile, ProfileError> {
    let mut policy = registry::make(UNAWARE, &[])?;
    Ok(Profile::of(&evenkeel_sim::run(machine, apps, policy.as_mut(), config, &mut NoListener)?))
}
