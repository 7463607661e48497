//! One run of the simulator, from what it is of to its record.

use std::time::Duration;

use evenkeel_model::Application;
use evenkeel_policy::{Policy, registry};
use evenkeel_sim::{Config, Estimator, Listener, Outcome, SimError};

use crate::alone::{Alone, AloneError};
use crate::build::Subject;
use crate::record::{GraphRow, Record};

/// A run: what it is of, and how it is carried out.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// What its record says of it.
    pub subject: Subject<'a>,
    /// The policy of the operating system, by name.
    pub system: &'a str,
    /// Its knobs that are not left as they are.
    pub set: &'a [(String, String)],
    /// What runs together.
    pub apps: &'a [Application],
    /// The rest.
    pub config: &'a Config,
}

/// Why a run has no results.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// A policy or a knob that is not there.
    #[error(transparent)]
    Policy(#[from] registry::MakeError),
    /// It cannot be simulated, or came to nothing.
    #[error(transparent)]
    Run(#[from] SimError),
    /// A run alone failed.
    #[error(transparent)]
    Alone(#[from] AloneError),
}

impl Run<'_> {
    /// Simulates it.
    ///
    /// # Errors
    /// A policy or a knob that is not there; the run fails.
    pub fn carry_out<L: Listener>(&self, listener: &mut L) -> Result<Outcome, RunError> {
        let mut policy = registry::make_with_seed(self.system, self.set, self.config.seed)?;
        self.carry_out_under(policy.as_mut(), listener)
    }

    /// Simulates it under a policy that is not in the registry.
    ///
    /// # Errors
    /// The run fails.
    pub fn carry_out_under<L: Listener>(
        &self,
        policy: &mut dyn Policy,
        listener: &mut L,
    ) -> Result<Outcome, RunError> {
        let machine = self.subject.machine;
        Ok(evenkeel_sim::run(machine, self.apps, policy, self.config, listener)?)
    }

    /// Its record. `alone` is by application.
    #[must_use]
    pub fn record(
        &self,
        outcome: &Outcome,
        alone: &[Alone],
        per_thread: bool,
        wall: Duration,
    ) -> Record {
        let graph = match self.apps {
            [app] => {
                let policy = &self.config.graph_policy;
                GraphRow::of(self.subject.machine, app, policy, outcome.makespan)
            }
            _ => None,
        };
        let estimator = self.estimator();
        Record { graph, estimator, ..self.subject.record(outcome, alone, per_thread, wall) }
    }

    /// The record of a run that failed.
    #[must_use]
    pub fn failure(&self, error: String, wall: Duration) -> Record {
        Record { estimator: self.estimator(), ..self.subject.failure(error, wall) }
    }

    fn estimator(&self) -> Option<String> {
        let estimator = &self.config.estimator;
        (*estimator != Estimator::Oracle).then(|| estimator.to_string())
    }
}
