//! A profile: a run of a program beforehand, of which nothing is kept but how far its threads have
//! from milestone to milestone.

use evenkeel_machine::Machine;
use evenkeel_model::Application;
use evenkeel_policy::registry;
use evenkeel_sim::{Config, NoListener, Profile, SimError};

/// The policy of the run that is profiled: one that knows nothing of cores or of threads.
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

/// Profiles programs (mostly such as have a smaller input than those that are meant), which run
/// together on a machine as they will.
///
/// # Errors
/// A run that fails, as one that never ends and has no duration.
pub fn profile(
    machine: &Machine,
    apps: &[Application],
    config: &Config,
) -> Result<Profile, ProfileError> {
    let mut policy = registry::make(UNAWARE, &[])?;
    Ok(Profile::of(&evenkeel_sim::run(machine, apps, policy.as_mut(), config, &mut NoListener)?))
}
