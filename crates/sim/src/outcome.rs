//! What a run came to: raw totals, from which `metrics` makes numbers.

use evenkeel_machine::{CoreId, FemtoJoules, Nanos, PerKind, Work};
use evenkeel_policy::AppId;

use crate::latency::Latencies;
use crate::periods::Periods;

/// Totals of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// From the start to the end of the run.
    pub makespan: Nanos,
    /// By application.
    pub apps: Vec<AppOutcome>,
    /// By thread, in order of start.
    pub threads: Vec<ThreadOutcome>,
    /// By core.
    pub cores: Vec<CoreOutcome>,
    /// Energy drawn by each cluster beside its cores, by cluster; `None`: no power model.
    pub cluster_energy: Option<Vec<FemtoJoules>>,
    /// A thread resumed on another core than its last.
    pub migrations: u64,
    /// Pairs of threads that traded places.
    pub swaps: u64,
    /// A core took up another thread than it ran before.
    pub context_switches: u64,
    /// From wake-up to the first instruction, the costs of switching and migrating included, by
    /// kind of the core that ran it.
    pub wakeup_latency: Vec<Latencies>,
    /// What sensors that read at an interval saw, one on each cluster's supply; `None`: none
    /// described.
    pub sensors: Option<SensorLog>,
    /// Events that the run was made of: what it took, whatever the host. Ends of slices and timers
    /// of which nothing came are not among them.
    pub events: u64,
    /// Notes of the policy for people.
    pub notes: Vec<String>,
}

/// Totals of one application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppOutcome {
    /// Name.
    pub name: String,
    /// Threads that it had, forked ones included, in its first execution.
    pub threads: u32,
    /// How long each of its executions took, first to last; more than one where it repeats. Empty
    /// where the run's duration ended it.
    pub completions: Vec<Nanos>,
    /// When the run's duration ended it before it was done.
    pub cut_at: Option<Nanos>,
    /// Work retired in all executions.
    pub retired: Work,
}

/// Totals of one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadOutcome {
    /// Name.
    pub name: String,
    /// Its application.
    pub app: AppId,
    /// Start.
    pub started: Nanos,
    /// End; `None`: the run ended first.
    pub ended: Option<Nanos>,
    /// Time on each kind.
    pub time_on: PerKind<Nanos>,
    /// Time waiting for a core.
    pub waiting: Nanos,
    /// Time blocked.
    pub blocked: Nanos,
    /// Work retired.
    pub retired: Work,
    /// Work between the two milestones (its start and end among them) around an instruction, in the
    /// mean over its instructions: as their mean distance, but that milestones in quick succession
    /// do not count for much.
    pub distance: Work,
    /// Times that it resumed on another core.
    pub migrations: u64,
    /// Times that it was picked.
    pub runs: u64,
    /// How it kept the periods of timers; `None`: it waited for none.
    pub periods: Option<Box<Periods>>,
}

/// Totals of one core.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreOutcome {
    /// Its number.
    pub core: CoreId,
    /// Time with a thread on it.
    pub busy: Nanos,
    /// Time without.
    pub idle: Nanos,
    /// Drawn by the core itself; `None`: no power model.
    pub energy: Option<FemtoJoules>,
}

/// Readings of power sensors at an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SensorLog {
    /// Time between readings.
    pub interval: Nanos,
    /// By cluster: its power with its cores at each reading, microwatts; the first after one
    /// interval.
    pub microwatts: Vec<Vec<u64>>,
}

impl SensorLog {
    /// How often each sensor was read.
    pub fn readings(&self) -> usize {
        self.microwatts.first().map_or(0, Vec::len)
    }

    /// By cluster: the sum of all readings times the interval, which a user of the sensor takes for
    /// the energy.
    pub fn energies(&self) -> impl Iterator<Item = FemtoJoules> + '_ {
        self.microwatts.iter().map(|readings| {
            FemtoJoules(
                readings.iter().map(|&uw| u128::from(uw) * u128::from(self.interval.0)).sum(),
            )
        })
    }
}
