//! How an application does alone: the reference of slowdown and speedup.
//!
//! An application runs alone under `pinned`, once, on all the fastest cores in use, on all the
//! slowest, and on one core of the slowest kind of the whole machine, where its threads take turns
//! for free. Its affinities are lifted there: they name cores that such a part of the machine does
//! not have. The policy of the run beside others does not matter, so runs alone are kept and
//! shared.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use evenkeel_machine::{KindId, Machine, Nanos};
use evenkeel_model::{Application, Repeat};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, Estimator, Listener, NoListener, SimError};
use rayon::prelude::*;

use crate::progress::Progress;

/// How one application does alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alone {
    /// On all the fastest cores in use.
    pub fast: Progress,
    /// On all the slowest cores in use.
    pub slow: Progress,
    /// On one core of the slowest kind of the whole machine; only where a single application runs.
    pub one_slow: Option<Progress>,
}

/// Why an application could not be measured alone.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AloneError {
    /// The run failed.
    #[error("{app} alone on {cores}: {source}")]
    Run {
        /// Application.
        app: String,
        /// Cores that it had.
        cores: String,
        /// What happened.
        source: SimError,
    },
    /// No `pinned` to run it under.
    #[error(transparent)]
    Policy(#[from] registry::MakeError),
}

/// One run alone, measured or to be measured.
struct Kept {
    machine: Machine,
    app: Application,
    config: Config,
    progress: Arc<OnceLock<Result<Progress, AloneError>>>,
}

/// Runs alone, each carried out once. Threads may share it: the second thread that asks for a run
/// waits for the first.
#[derive(Default)]
pub struct AloneCache {
    kept: Mutex<Vec<Kept>>,
}

impl AloneCache {
    /// Measures each of the applications that run together on `used`, which is `whole` or a part of
    /// it.
    ///
    /// # Errors
    /// A run fails, for instance because it never ends and has no duration.
    pub fn measure(
        &self,
        whole: &Machine,
        used: &Machine,
        apps: &[Application],
        config: &Config,
    ) -> Result<Vec<Alone>, AloneError> {
        self.measure_with(whole, used, apps, config, || NoListener)
    }

    /// The same, with a listener for each run, which may end it. A run that was ended is not
    /// carried out again.
    ///
    /// # Errors
    /// As [`AloneCache::measure`]; a listener ended a run.
    pub fn measure_with<L: Listener>(
        &self,
        whole: &Machine,
        used: &Machine,
        apps: &[Application],
        config: &Config,
        listener: impl Fn() -> L + Sync,
    ) -> Result<Vec<Alone>, AloneError> {
        let config = alone_config(apps, config);
        let fast = used.only_kind(KindId(0));
        let slow = used.only_kind(used.slowest());
        // A program made for many cores pays for taking turns on one core, one made for a single
        // core would not. So here turns cost nothing.
        let one_slow = (apps.len() == 1).then(|| whole.one_core(whole.slowest()).with_free_costs());
        let of = |app: &Application| -> Result<Alone, AloneError> {
            // The work must be the same on each part of the machine, and a part numbers its cores
            // anew.
            let phases = app.phases.iter().map(|phase| phase.bound_to(used)).collect();
            let app = &Application { phases, ..app.clone() };
            let on = |machine| self.progress(machine, app, &config, &listener);
            let (fast, (slow, one_slow)) = rayon::join(
                || on(&fast),
                || rayon::join(|| on(&slow), || one_slow.as_ref().map(on).transpose()),
            );
            Ok(Alone { fast: fast?, slow: slow?, one_slow: one_slow? })
        };
        apps.par_iter().map(of).collect()
    }

    fn progress<L: Listener>(
        &self,
        machine: &Machine,
        app: &Application,
        config: &Config,
        listener: &impl Fn() -> L,
    ) -> Result<Progress, AloneError> {
        let slot = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let same =
                |it: &&Kept| it.app == *app && it.config == *config && it.machine == *machine;
            match kept.iter().find(same) {
                Some(it) => Arc::clone(&it.progress),
                None => {
                    let progress = Arc::new(OnceLock::new());
                    kept.push(Kept {
                        machine: machine.clone(),
                        app: app.clone(),
                        config: config.clone(),
                        progress: Arc::clone(&progress),
                    });
                    progress
                }
            }
        };
        slot.get_or_init(|| run_alone(machine, app, config, &mut listener())).clone()
    }

    /// How many runs it has carried out or is carrying out.
    pub fn len(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True if it has carried out none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The settings of the run, without those that do not affect an application under `pinned`. It has
/// the earliest end that any of the applications sets, so an application that never ends alone ends
/// here as it does beside others.
fn alone_config(apps: &[Application], config: &Config) -> Config {
    let durations = apps.iter().filter_map(|app| app.duration).chain(config.duration);
    Config {
        seed: Config::default().seed,
        estimator: Estimator::Oracle,
        decision_latency: Nanos::ZERO,
        profile: None,
        duration: durations.min(),
        ..config.clone()
    }
}

/// An application's work in turns of the least length: how long it is does not matter to how long a
/// run alone takes to simulate. Ours.
const TURNS: u64 = 250_000;

fn run_alone(
    machine: &Machine,
    app: &Application,
    config: &Config,
    listener: &mut impl Listener,
) -> Result<Progress, AloneError> {
    let mut app = Application { repeat: Repeat::Once, ..app.clone() };
    app.unbind();
    let work: u64 =
        app.work_by_phase().into_iter().flatten().map(|work| work.0).fold(0, u64::saturating_add);
    let config =
        &Config { least_slice: Nanos(work / TURNS).max(config.least_slice), ..config.clone() };
    let failed =
        |source| AloneError::Run { app: app.name.clone(), cores: machine.cores_label(), source };
    let mut policy = registry::make("pinned", &[])?;
    let outcome =
        evenkeel_sim::run(machine, std::slice::from_ref(&app), policy.as_mut(), config, listener)
            .map_err(failed)?;
    let of = |it| Progress::of(it, &outcome);
    outcome.apps.first().map(of).ok_or_else(|| {
        failed(SimError::Workload { app: app.name.clone(), what: "no outcome".into() })
    })
}
