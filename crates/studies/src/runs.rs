//! Carries out the runs of experiments: as many at a time as there are threads for it, their
//! results in the order asked for.

use std::time::Duration;

use evenkeel_estimate::training::TrainingError;
use evenkeel_files::machines::MachineError;
use evenkeel_files::programs::{self, Context, WorkloadError};
use evenkeel_machine::{Machine, SubsetError};
use evenkeel_metrics::{Alone, AloneCache, AloneError, ProfileError, Record, Subject};
use evenkeel_model::Application;
use evenkeel_policy::{Policy, registry};
use evenkeel_sim::{Config, NoListener, Outcome, SimError};
use rayon::prelude::*;

/// Why an experiment could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A machine that is not there.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A part that it does not have.
    #[error(transparent)]
    Part(#[from] SubsetError),
    /// A program that is not there.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A policy that is not there.
    #[error(transparent)]
    Policy(#[from] registry::MakeError),
    /// A run that failed.
    #[error("{what}: {source}")]
    Run {
        /// Which.
        what: String,
        /// Why.
        source: SimError,
    },
    /// A run alone that failed.
    #[error(transparent)]
    Alone(#[from] AloneError),
    /// It was not wanted any more.
    #[error("stopped")]
    Stopped,
    /// A model that cannot be trained.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// A run beforehand that failed.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// One run.
#[derive(Clone, Debug)]
pub struct Case {
    /// The machine as it is.
    pub whole: Machine,
    /// The part of it that is used.
    pub used: Machine,
    /// What runs together.
    pub apps: Vec<Application>,
    /// Policy, by name.
    pub policy: String,
    /// Knobs of it that are not left as they are.
    pub set: Vec<(String, String)>,
    /// The rest.
    pub config: Config,
}

impl Case {
    /// With a knob.
    #[must_use]
    pub fn with(mut self, knob: &str, value: impl ToString) -> Self {
        self.set.push((knob.to_owned(), value.to_string()));
        self
    }

    /// On a part of the machine.
    #[must_use]
    pub fn on(mut self, part: Machine) -> Self {
        self.used = part;
        self
    }

    fn names(&self) -> Vec<String> {
        self.apps.iter().map(|app| app.name.clone()).collect()
    }

    /// Carries it out without runs alone: its record has no measures relative to them, such as
    /// slowdowns and the speedup, and nothing by application.
    ///
    /// # Errors
    /// A policy or a knob that is not there; the run fails.
    pub fn record_by_itself(&self) -> Result<Record, StudyError> {
        self.record(&self.carry_out()?, &[])
    }

    fn record(&self, outcome: &Outcome, alone: &[Alone]) -> Result<Record, StudyError> {
        let (knobs, workloads) = (registry::knobs(&self.policy, &self.set)?, self.names());
        let subject = Subject {
            machine: &self.used,
            policy: &self.policy,
            knobs: &knobs,
            workloads: &workloads,
            seed: self.config.seed,
        };
        // A study has no use for host time.
        Ok(subject.record(outcome, alone, false, Duration::ZERO))
    }

    /// Carries it out for its raw totals.
    pub(crate) fn carry_out(&self) -> Result<Outcome, StudyError> {
        self.carry_out_under(self.make_policy()?.as_mut())
    }

    /// Its policy, with its knobs.
    pub(crate) fn make_policy(&self) -> Result<Box<dyn Policy>, StudyError> {
        Ok(registry::make_with_seed(&self.policy, &self.set, self.config.seed)?)
    }

    /// Carries it out under another policy than its own, for instance one that observes it.
    pub(crate) fn carry_out_under(&self, policy: &mut dyn Policy) -> Result<Outcome, StudyError> {
        evenkeel_sim::run(&self.used, &self.apps, policy, &self.config, &mut NoListener).map_err(
            |source| StudyError::Run {
                what: format!("{} under {}", self.names().join(" + "), self.policy),
                source,
            },
        )
    }
}

/// Called with the progress of runs that are carried out together: how many are done, of how many.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// What all experiments run with.
pub struct Runs<'a> {
    /// About a tenth of the runs, for a first look: fewer programs, sizes or points, each
    /// experiment as its text says.
    pub quick: bool,
    /// Seed of all that is random.
    pub seed: u64,
    progress: Progress<'a>,
    goes_on: &'a (dyn Fn() -> bool + Sync),
    alone: AloneCache,
}

impl<'a> Runs<'a> {
    /// Runs that report their progress.
    pub fn new(quick: bool, seed: u64, progress: Progress<'a>) -> Self {
        Self { quick, seed, progress, goes_on: &|| true, alone: AloneCache::default() }
    }

    /// The same, ended by [`StudyError::Stopped`] once `goes_on` is false: it is asked before each
    /// run.
    #[must_use]
    pub fn while_wanted(self, goes_on: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { goes_on, ..self }
    }

    /// The applications of a built-in workload at this size; the seed draws what is irregular in
    /// them.
    ///
    /// # Errors
    /// A workload that is not there.
    pub fn load(
        &self,
        machine: &Machine,
        workload: &str,
        size: f64,
    ) -> Result<Vec<Application>, StudyError> {
        Ok(programs::load(
            workload,
            &Context { size, seed: self.seed.into(), ..Context::new(machine) },
        )?)
    }

    /// Programs on the whole of a machine, under a policy as it is.
    pub fn case(&self, machine: &Machine, apps: Vec<Application>, policy: &str) -> Case {
        Case {
            whole: machine.clone(),
            used: machine.clone(),
            apps,
            policy: policy.to_owned(),
            set: Vec::new(),
            config: Config { seed: self.seed, ..Config::default() },
        }
    }

    /// The outcome of each case, in their order.
    ///
    /// # Errors
    /// The error of the first case, in their order, that fails.
    pub fn outcomes(&self, cases: &[Case]) -> Result<Vec<Outcome>, StudyError> {
        self.each(cases, Case::carry_out)
    }

    /// The record of each case, in their order. Its programs are also measured alone, each once for
    /// all experiments.
    ///
    /// # Errors
    /// The error of the first case, in their order, that fails.
    pub fn records(&self, cases: &[Case]) -> Result<Vec<Record>, StudyError> {
        self.each(cases, |case| {
            let (alone, outcome) = rayon::join(
                || self.alone.measure(&case.whole, &case.used, &case.apps, &case.config),
                || case.carry_out(),
            );
            case.record(&outcome?, &alone?)
        })
    }

    /// Applies `work` to each item in parallel, with progress, and gives the results in order: for
    /// long work that is not a run.
    ///
    /// # Errors
    /// The error of the first item, in their order, that fails.
    pub fn each<T: Sync, R: Send>(
        &self,
        all: &[T],
        carry_out: impl Fn(&T) -> Result<R, StudyError> + Sync,
    ) -> Result<Vec<R>, StudyError> {
        let done = std::sync::atomic::AtomicU64::new(0);
        let results: Vec<Result<R, StudyError>> = all
            .par_iter()
            .map(|one| {
                if !(self.goes_on)() {
                    return Err(StudyError::Stopped);
                }
                let result = carry_out(one);
                let done = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                (self.progress)(done, all.len() as u64);
                result
            })
            .collect();
        results.into_iter().collect()
    }
}
