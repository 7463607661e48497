//! Flags of the commands that place real threads.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use evenkeel_estimate::Model;
use evenkeel_machine::Nanos;

use crate::parse::{self, PolicySpec, Setting};

/// What carries policies out on a live machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// sched_ext where the kernel has it and this user may load a scheduler, else affinity
    Auto,
    /// A process beside the threads, with sched_setaffinity and SCHED_IDLE: any Linux
    Affinity,
    /// The kernel's scheduler itself, written in BPF: Linux 6.16 or later, root, a build with the
    /// feature sched_ext
    #[value(name = "sched_ext")]
    SchedExt,
}

/// Where a mechanism learns what threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SourceName {
    /// The best that is allowed
    Auto,
    /// Perf's records: every start, end and switch
    Perf,
    /// The proc connector: every start and end (CAP_NET_ADMIN)
    Connector,
    /// /proc, read at an interval
    Poll,
}

/// How a policy is carried out: what `run` and `schedule` have in common.
#[derive(Clone, Debug, Args)]
pub struct LiveArgs {
    /// Policy, with knobs where wanted: acfs or acfs:uf=1.2
    #[arg(short, long, required = true)]
    pub policy: Option<String>,
    /// Set a knob of the policy (`evenkeel policies` lists them)
    #[arg(long = "set", value_name = "KNOB=VALUE", value_parser = parse::setting)]
    pub settings: Vec<Setting>,
    /// This machine as a file [default: $EVENKEEL_MACHINE, else what `evenkeel detect` finds]
    #[arg(short, long, value_name = "FILE")]
    pub machine: Option<String>,
    /// What carries the policy out
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// Speedup factor of a program, from the slowest kind of core to the fastest, as gzip=3.1; may
    /// be repeated. It holds until counters tell another
    #[arg(long = "speedup", value_name = "COMMAND=FACTOR", value_parser = parse::named_factor)]
    pub speedups: Vec<(String, f64)>,
    /// Tell speedup factors from counters by this model (`evenkeel train`) [default: instructions
    /// per second on each kind of core, where the machine counts them]
    #[arg(long, value_name = "MODEL", value_parser = parse::model)]
    pub estimator: Option<Arc<Model>>,
    /// Where to learn what threads do
    #[arg(long, value_enum, default_value = "auto")]
    pub source: SourceName,
    /// Let threads that wait share the cores of those that run, also where they could be held back
    /// (SCHED_IDLE)
    #[arg(long)]
    pub no_park: bool,
    /// Leave a program all its CPUs for so long after it began: it may be counting them (affinity)
    /// [default: 50ms]
    #[arg(long, value_name = "TIME", value_parser = parse::time, allow_hyphen_values = true)]
    pub grace: Option<Nanos>,
    /// The kernel ends the scheduler when a thread that could run has not run for so long, 1s to
    /// 30s (sched_ext) [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = parse::watchdog, allow_hyphen_values = true)]
    pub watchdog: Option<Nanos>,
    /// What looking after threads may cost, percent of one core [default: 1 by affinity, 4 by
    /// sched_ext]
    #[arg(long, value_name = "PERCENT", value_parser = parse::percent)]
    pub budget: Option<f64>,
    /// Print what the kernel has to say when it ends a scheduler
    #[arg(short, long)]
    pub verbose: bool,
}

impl LiveArgs {
    /// The one policy.
    ///
    /// # Errors
    /// Several policies, or an unknown one.
    pub fn policy(&self) -> Result<PolicySpec, String> {
        let named = self.policy.as_deref().unwrap_or_default();
        let mut specs = parse::policies(named)?;
        match (specs.pop(), specs.is_empty()) {
            (Some(spec), true) => Ok(spec),
            _ => Err(format!("one policy at a time, and '{named}' is several")),
        }
    }
}

/// Of `run`.
#[derive(Clone, Debug, Args)]
pub struct RunLiveArgs {
    /// How.
    #[command(flatten)]
    pub live: LiveArgs,
    /// Write the result record there, as JSON
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the result record as one JSON object, after whatever the program has printed
    #[arg(long)]
    pub json: bool,
    /// Report every thread, too
    #[arg(long)]
    pub threads: bool,
    /// Say nothing of the run: the program's output alone
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
}

/// Flags that --monitor, which only observes, refuses.
const NOT_MONITORED: [&str; 18] = [
    "policy",
    "settings",
    "machine",
    "backend",
    "speedups",
    "estimator",
    "source",
    "no_park",
    "grace",
    "watchdog",
    "budget",
    "verbose",
    "pid",
    "cgroup",
    "partial",
    "duration",
    "stats",
    "threads",
];

/// Of `schedule`.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("policy", |policy| policy.required(false).required_unless_present("monitor")))]
pub struct ScheduleArgs {
    /// How.
    #[command(flatten)]
    pub live: LiveArgs,
    /// Only this process and its descendants, with all that they will fork; may be repeated
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), conflicts_with = "cgroup")]
    pub pid: Vec<i32>,
    /// Only the processes of this cgroup and of those below it (its folder)
    #[arg(long, value_name = "FOLDER")]
    pub cgroup: Option<PathBuf>,
    /// Only threads that ask for SCHED_EXT (sched_ext)
    #[arg(long, conflicts_with_all = ["pid", "cgroup"])]
    pub partial: bool,
    /// End after this
    #[arg(long, value_name = "TIME", value_parser = parse::positive_time, allow_hyphen_values = true)]
    pub duration: Option<Nanos>,
    /// Print a line of statistics every so many seconds (with --json on stderr)
    #[arg(long, value_name = "SECONDS", value_parser = parse::seconds, allow_hyphen_values = true)]
    pub stats: Option<u32>,
    /// Schedule nothing: print such a line of the evenkeel that schedules already, every so many
    /// seconds until it ends
    #[arg(long, value_name = "SECONDS", value_parser = parse::seconds, allow_hyphen_values = true, conflicts_with_all = NOT_MONITORED)]
    pub monitor: Option<u32>,
    /// Print the result record as one JSON object at the end; with --monitor, a JSON object in
    /// place of each line
    #[arg(long)]
    pub json: bool,
    /// Report every thread, too: those that have ended are then kept in memory, however many
    #[arg(long)]
    pub threads: bool,
}
