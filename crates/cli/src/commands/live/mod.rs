//! What the commands that place real threads have in common.

mod backend;
mod energy;
mod listener;
mod monitor;
mod record;
pub mod run;
pub mod schedule;
mod statistics;

use evenkeel_linux::affinity::Options;
use evenkeel_linux::affinity::session::{Config, Session, SessionError};
use evenkeel_linux::counters::KernelEvents;
use evenkeel_linux::here;
use evenkeel_linux::lab::{MACHINE_VARIABLE, Stolen};
use evenkeel_linux::live;
use evenkeel_linux::live::estimating::{Estimating, EstimatingError};
use evenkeel_linux::watch::{self, Source, WatchError, Watcher};
use evenkeel_machine::{Machine, Nanos, write_cpus};
use evenkeel_policy::registry::{self, Trait};

use crate::args::live::{LiveArgs, SourceName};
use crate::commands::this_machine;
use crate::error::{Failure, Result, say};
use crate::plan::{Chosen, choose};

/// Default limit of the affinity mechanism's cost, part of a core.
const AFFINITY_BUDGET: f64 = 0.01;

/// How long a program has all its CPUs by default.
const GRACE: Nanos = Nanos::from_millis(50);

/// The message of a build without sched_ext where it is asked for.
#[cfg(not(feature = "sched_ext"))]
pub const BUILT_WITHOUT: &str = "this evenkeel was built without sched_ext: build it with \
                                 --features sched_ext \
                                 (docs/live/sched-ext.md), or use --backend affinity";

/// Everything that is known before threads are looked at.
struct Prepared {
    policy: Chosen,
    machine: Machine,
    config: Config,
}

/// Reads what the command line and the environment name.
///
/// `remembers`: how many ended threads stay in the record.
fn prepare(args: &LiveArgs, remembers: usize) -> Result<Prepared> {
    let spec = args.policy().map_err(Failure::usage)?;
    let policy = choose(vec![spec], &args.settings)?.remove(0);
    if let Some(graph) = policy.graph() {
        return Err(Failure::usage(format!(
            "policy {}: {graph} chooses among the tasks of a graph, and a running program shows \
             its threads only; expected a policy for threads, \
             as gts",
            policy.label
        )));
    }
    let machine = machine(args.machine.as_deref())?;
    let stolen = Stolen::from_env().map_err(Failure::input)?;
    let ratios = machine.cores.iter().map(|core| stolen.ratio(watch::Cpu(core.cpu))).collect();
    let mechanism = Options {
        park: !args.no_park,
        grace: args.grace.unwrap_or(GRACE),
        stolen: ratios,
        factors: args.speedups.clone(),
        remembers,
        schedutil: live::governor::is_schedutil(&machine, &here::sysfs()),
    };
    let budget = args.budget.unwrap_or(AFFINITY_BUDGET);
    let config = Config { mechanism, budget, sysfs: here::sysfs(), model: args.estimator.clone() };
    if let Some(model) = &config.model {
        // Before a program is held back, or anything is said.
        Estimating::new(KernelEvents, model, &machine, &config.sysfs).map_err(unestimated)?;
    }
    Ok(Prepared { policy, machine, config })
}

/// The machine that was named, else as it was detected.
///
/// # Errors
/// There is no such machine, or it is not this one.
pub fn machine(named: Option<&str>) -> Result<Machine> {
    let handed = std::env::var(MACHINE_VARIABLE).ok().filter(|path| !path.is_empty());
    let Some(name) = named.map(str::to_owned).or(handed) else { return this_machine::here() };
    if name == this_machine::HERE {
        return this_machine::here();
    }
    let machine = evenkeel_files::machines::load(&name).map_err(Failure::input)?;
    let allowed = here::allowed_cpus().map_err(|error| Failure::Failed(error.into()))?;
    let strange: Vec<u32> =
        machine.cores.iter().map(|core| core.cpu).filter(|cpu| !allowed.contains(cpu)).collect();
    if !strange.is_empty() {
        return Err(Failure::usage(format!(
            "{name} has CPUs {}, and this process may use {}: expected a description of this \
             machine; `evenkeel detect -o FILE` writes one",
            write_cpus(strange),
            write_cpus(allowed)
        )));
    }
    Ok(machine)
}

/// Says where a policy that goes by speedup factors has them from, or that it goes by none.
fn say_factors(args: &LiveArgs, policy: &Chosen, session: &dyn live::Session) {
    let goes_by_factors = registry::ENTRIES
        .iter()
        .any(|entry| entry.name == policy.system() && entry.has(Trait::NeedsFactors));
    if goes_by_factors && let Some(model) = &args.estimator {
        say("note", &format!("speedup factors: {model}"));
    } else if goes_by_factors {
        say("note", &format!("speedup factors: {}", session.factors()));
    } else if args.estimator.is_some() {
        let label = &policy.label;
        say("note", &format!("{label} goes by no speedup factors: --estimator changes nothing"));
    }
}

/// Says which threads could not be counted for.
fn say_uncounted(finished: &live::Finished) {
    if let Some(uncounted) = &finished.uncounted {
        say("note", uncounted);
    }
}

fn watch_options(args: &LiveArgs) -> watch::Options {
    let source = match args.source {
        SourceName::Auto => Source::Auto,
        SourceName::Perf => Source::Perf,
        SourceName::Connector => Source::Connector,
        SourceName::Poll => Source::Poll,
    };
    watch::Options { source, ..watch::Options::default() }
}

/// The failure for a watcher that cannot be made.
fn unwatchable(error: WatchError) -> Failure {
    match error {
        WatchError::Gone(_) => Failure::input(error),
        _ => Failure::Failed(error.into()),
    }
}

/// The failure for a model that cannot go by this machine's counters.
fn unestimated(error: EstimatingError) -> Failure {
    match error {
        EstimatingError::Model(_) => Failure::input(error),
        _ => Failure::Failed(error.into()),
    }
}

/// A session of the affinity mechanism.
fn begin(
    prepared: Prepared,
    watcher: Watcher,
    args: &LiveArgs,
) -> Result<(Box<dyn live::Session>, Chosen)> {
    if args.watchdog.is_some() {
        say("note", "--watchdog is for --backend sched_ext, and changes nothing by affinity");
    }
    let Prepared { policy, machine, config } = prepared;
    let session = Session::begin(watcher, machine, (policy.name(), policy.make()?), config)
        .map_err(|error| match error {
            SessionError::Refused { .. } => Failure::input(error),
            _ => Failure::Failed(error.into()),
        })?;
    let recovered = session.recovered();
    if recovered.sessions > 0 {
        say(
            "note",
            &format!(
                "{} threads that a killed evenkeel had bound may use all their CPUs again",
                recovered.threads
            ),
        );
    }
    for note in session.mechanism().notes() {
        say("note", &note);
    }
    Ok((Box::new(session), policy))
}
