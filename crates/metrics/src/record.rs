//! The result record, `schema/result.schema.json`: the results of one run, in the order and the
//! words of the schema.
//!
//! Beyond the schema, as properties of its own: `sensor`, `timers`, and the least, the mean and the
//! kinds of `wakeup_latency_us`.

use indexmap::IndexMap;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The version of the schema that a record follows.
pub const SCHEMA: &str = "evenkeel.result/1";

/// The results of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the machine.
    pub machine: String,
    /// Cores in use by kind, fastest first: `4big+4little`.
    pub cores: String,
    /// Name of the policy.
    pub policy: String,
    /// Every knob of the policy with the value in force, defaults included.
    #[serde(default)]
    pub knobs: IndexMap<String, Knob>,
    /// The workloads that ran together, as they were asked for.
    pub workloads: Vec<String>,
    /// Seed.
    pub seed: u64,
    /// That figures are means over seeds, and how sure they are; `None`: of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<SeedsRow>,
    /// Where a simulated run had speedup factors from; `None`: the true ones, or a live run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator: Option<String>,
    /// From the start to the end of the run, seconds; 0 where the run failed, which is written as
    /// null.
    #[serde(deserialize_with = "or_default")]
    pub makespan_s: f64,
    /// Time on one core of the slowest kind / makespan, for a single application.
    #[serde(default)]
    pub speedup: Option<f64>,
    /// Energy, joules; `None`: the machine has no power model.
    pub energy_j: Option<f64>,
    /// Energy / makespan, watts.
    pub mean_power_w: Option<f64>,
    /// Energy-delay product, joule seconds.
    pub edp_js: Option<f64>,
    /// Greatest slowdown / least slowdown; `None` for one application.
    pub unfairness: Option<f64>,
    /// Aggregate speedup: sum over applications of (time alone on the slowest cores / completion,
    /// less 1).
    pub asp: Option<f64>,
    /// System throughput: sum over applications of 1 / slowdown (Eyerman and Eeckhout, IEEE Micro
    /// 2008).
    pub stp: Option<f64>,
    /// Average normalised turnaround time: mean slowdown (Eyerman and Eeckhout, IEEE Micro 2008).
    pub antt: Option<f64>,
    /// A thread resumed on another core than its last.
    #[serde(deserialize_with = "or_default")]
    pub migrations: u64,
    /// Pairs of threads that traded places.
    #[serde(deserialize_with = "or_default")]
    pub swaps: u64,
    /// A core took up another thread than it ran before.
    #[serde(deserialize_with = "or_default")]
    pub context_switches: u64,
    /// By application.
    pub apps: Vec<AppRow>,
    /// By kind of core, fastest first.
    pub kinds: IndexMap<String, KindRow>,
    /// By thread, in order of start; only where asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<Vec<ThreadRow>>,
    /// From wake-up to running, microseconds; `None`: no thread woke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakeup_latency_us: Option<WakeupLatency>,
    /// How threads kept the periods of timers; `None`: none waited for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timers: Option<TimerRow>,
    /// The energy as the machine's sensor sees it; `None`: none described.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensor: Option<SensorRow>,
    /// How the tasks of a graph fared; `None`: it was not one application that only runs task
    /// graphs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphRow>,
    /// How a live run was carried out; `None`: it was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveRow>,
    /// Host time of the run, seconds: the only field that may differ between identical runs.
    pub wall_s: f64,
    /// Why the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Figures that a failed run does not have and that are no `Option`.
const FIGURES: [&str; 4] = ["makespan_s", "migrations", "swaps", "context_switches"];

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.error.is_none() {
            return Self::serialize(self, serializer);
        }
        let mut written =
            Self::serialize(self, serde_json::value::Serializer).map_err(S::Error::custom)?;
        for name in FIGURES {
            written[name] = Value::Null;
        }
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

/// The value as written, or the default in place of null.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Record {
    /// True if a set duration ended the run or an application of it: then its time says nothing
    /// about the policy.
    pub fn is_timed(&self) -> bool {
        self.apps.iter().any(|app| app.cut_at_s.is_some())
    }

    /// Half the width of the 95 % interval of a measure, by its path: `makespan_s`. 0 of a single
    /// run.
    pub fn interval(&self, path: &str) -> f64 {
        self.seeds.as_ref().and_then(|seeds| seeds.ci95.get(path)).copied().unwrap_or(0.0)
    }
}

/// Of which seeds figures are the means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedsRow {
    /// How many, from the record's seed on.
    pub count: u64,
    /// Half the width of the 95 % interval of a mean, by the path of the measure in the record:
    /// `makespan_s`, `apps.0.slowdown`.
    pub ci95: IndexMap<String, f64>,
}

/// The value of a knob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Knob {
    /// A number, in the knob's unit.
    Number(f64),
    /// A word.
    Word(String),
}

/// One application of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppRow {
    /// Name.
    pub name: String,
    /// Threads that it had, forked ones included.
    pub threads: u32,
    /// Completion time, seconds: of one that repeats the geometric mean, of one that was cut the
    /// time until then.
    pub completion_s: f64,
    /// Completion time / completion time alone with all the fastest cores; of one that was cut, by
    /// progress. `None` of a live run: what it would have taken alone is not known.
    pub slowdown: Option<f64>,
    /// After how long a set duration, its own or the run's, ended it, seconds; `None`: it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_at_s: Option<f64>,
    /// Completion time alone with all the fastest cores, seconds.
    #[serde(default)]
    pub alone_fast_s: f64,
    /// Completion time alone with all the slowest cores, seconds.
    #[serde(default)]
    pub alone_slow_s: f64,
    /// Time of its threads on each kind, seconds.
    #[serde(default)]
    pub time_on_kind_s: IndexMap<String, f64>,
    /// Time that its threads waited for a core, seconds.
    #[serde(default)]
    pub wait_s: f64,
    /// Time that its threads were blocked, seconds.
    #[serde(default)]
    pub blocked_s: f64,
    /// Times that a thread of it resumed on another core.
    #[serde(default)]
    pub migrations: u64,
    /// How its threads kept the periods of timers; `None`: none waited for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timers: Option<TimerRow>,
}

/// One kind of core in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindRow {
    /// Time that its cores had a thread, seconds, summed.
    pub busy_s: f64,
    /// Time that its cores had none, seconds, summed.
    pub idle_s: f64,
    /// Energy of its cores and clusters, joules; `None`: no power model.
    pub energy_j: Option<f64>,
    /// Energy / makespan, watts.
    pub mean_power_w: Option<f64>,
}

/// One thread of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Name.
    pub name: String,
    /// Name of its application.
    pub app: String,
    /// Start, seconds since the run's.
    pub started_s: f64,
    /// End, seconds since the run's start; `None`: the run ended first.
    pub ended_s: Option<f64>,
    /// Time on each kind, seconds.
    pub time_on_kind_s: IndexMap<String, f64>,
    /// Time waiting for a core, seconds.
    pub wait_s: f64,
    /// Time blocked, seconds.
    pub blocked_s: f64,
    /// Work retired, in the units of its phases.
    pub retired: u64,
    /// Times that it resumed on another core.
    pub migrations: u64,
    /// Times that it was picked.
    pub runs: u64,
    /// How it kept the periods of timers; `None`: it waited for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timers: Option<TimerRow>,
}

/// How the periods of timers were kept, in rt-app's words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimerRow {
    /// Waits for a timer.
    pub waits: u64,
    /// Those that began after their timer had expired: missed deadlines.
    pub missed: u64,
    /// Least slack, microseconds: time from the beginning of a wait to the expiry. Less than 0
    /// where one was missed.
    pub least_slack_us: f64,
    /// Mean slack, microseconds.
    pub mean_slack_us: f64,
    /// From expiry to running again, in the mean of waits that were not missed, microseconds;
    /// `None`: there are none.
    pub mean_latency_us: Option<f64>,
    /// The greatest of these.
    pub greatest_latency_us: Option<f64>,
}

/// Latencies, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Median.
    pub p50: f64,
    /// What 99 % do not exceed.
    pub p99: f64,
    /// Greatest.
    pub max: f64,
    /// Least.
    pub least: f64,
    /// Mean.
    pub mean: f64,
}

/// From wake-up to running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WakeupLatency {
    /// Latencies of all wake-ups.
    #[serde(flatten)]
    pub all: LatencySummary,
    /// By kind of the core that ran the thread, fastest first; a kind on which none woke is left
    /// out.
    #[serde(default)]
    pub kinds: IndexMap<String, LatencySummary>,
}

/// The energy as a reader of the machine's power sensors, one on each cluster's supply, computes it
/// at their interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensorRow {
    /// Time between readings, seconds.
    pub interval_s: f64,
    /// Readings.
    pub readings: u64,
    /// Sum of readings x interval of all, joules.
    pub energy_j: f64,
    /// The same by cluster, in the order of the machine.
    #[serde(default)]
    pub clusters_j: Vec<f64>,
}

/// Measures of task graphs, over a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphRow {
    /// Policy by which workers chose tasks.
    pub policy: String,
    /// Tasks that were done.
    pub tasks: u64,
    /// Edges between them.
    pub edges: u64,
    /// The critical path, each task on the core that is fastest for it, seconds.
    pub critical_path_s: f64,
    /// No schedule is shorter: the greater of the critical path and all work on all cores, seconds.
    pub bound_s: f64,
    /// All tasks one after the other on the best single core, seconds.
    pub serial_s: f64,
    /// Schedule length ratio: makespan / critical path.
    pub slr: Option<f64>,
    /// `serial_s` / makespan.
    pub speedup: Option<f64>,
    /// Speedup / cores in use.
    pub efficiency: Option<f64>,
}

/// How a live run was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveRow {
    /// The mechanism: `affinity`.
    pub mechanism: String,
    /// Its source of what threads did.
    pub source: String,
    /// True if threads that waited in a queue were held back (SCHED_IDLE).
    pub parked: bool,
    /// CPU time of the mechanism / time of the run.
    pub cost: f64,
    /// How often it looked at the threads.
    pub looks: u64,
    /// Masks and classes that it changed.
    pub changes: u64,
    /// Changes that the kernel refused.
    pub refused: u64,
    /// Events that the kernel dropped for lack of room.
    pub missed: u64,
    /// From the start of a thread to its first placement, microseconds; `None`: no thread was
    /// placed.
    #[serde(default)]
    pub reaction_us: Option<LatencySummary>,
    /// True if the energy was read from sensors; `None`: there is no energy.
    #[serde(default)]
    pub energy_measured: Option<bool>,
}
