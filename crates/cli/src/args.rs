//! The command line: commands, flags, help.

use std::ffi::OsString;
pub mod advise;
pub mod factors;
pub mod live;
pub mod omp;
pub mod project;
pub mod report;
pub mod reproduce;
pub mod sweep;
pub mod vm;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use evenkeel_machine::Nanos;
use evenkeel_sim::{Estimator, Governor};

use crate::parse::{self, PolicySpec, Setting};

/// The machine that a workload is described for by default.
pub const MADE_FOR: &str = "odroid-xu3-paper";

/// Schedulers for uneven cores, compared on models of real machines.
#[derive(Debug, Parser)]
#[command(
    name = "evenkeel",
    version,
    max_term_width = 110,
    after_help = "\
Examples:
  evenkeel machines
  evenkeel show machine odroid-xu3
  evenkeel simulate -m odroid-xu3-paper -w bodytrack -p gts
  evenkeel compare -m odroid-xu3-paper -w bodytrack -p pinned,linux,gts \\
      --html report.html

Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 128 + signal when ended by one (141: whoever read the output \
has gone). run, omp, lab, record and vm pass the program's own code on; 127: it is not there, 126: it cannot be executed."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the machines that are built in, with their sources
    #[command(after_help = "\
Examples:
  evenkeel machines
  evenkeel machines --json | jq -r '.[].name'")]
    Machines(ListArgs),
    /// List the policies, with their sources and knobs
    #[command(after_help = "\
Examples:
  evenkeel policies
  evenkeel show policy gts
  evenkeel policies --json | jq '.[] | select(.name == \"gts\").knobs'")]
    Policies(ListArgs),
    /// List the workloads that are built in, with their sources
    #[command(after_help = "\
Examples:
  evenkeel workloads
  evenkeel workloads --json | jq -r '.[].name'")]
    Workloads(ListArgs),
    /// Describe one machine, workload or policy
    #[command(after_help = "\
Examples:
  evenkeel show pixel6
  evenkeel show machine my-board.toml --json
  evenkeel show workload bodytrack --workers 4
  evenkeel show policy gts

Without the word it is found out what NAME is: a machine, a workload, a policy, or a file.")]
    Show(ShowArgs),
    /// Find out what this machine is: kinds of core, clusters, clocks, sensors, and where each
    /// figure comes from
    #[command(after_help = "\
Examples:
  evenkeel detect
  evenkeel detect --calibrate
  evenkeel detect -o this.toml && evenkeel simulate -m this.toml -w ferret \\
      -p gts
  evenkeel detect --json | jq '.report.kinds[] | {name, cpus, capacity}'

-m here, wherever a machine is named, is this machine as detected. \
EVENKEEL_SYSFS=FOLDER is read in place of /sys. EVENKEEL_CPUS=0-3 stands for the CPUs that may be used.")]
    Detect(DetectArgs),
    /// Run workloads together on a machine under one policy
    #[command(after_help = "\
Examples:
  evenkeel simulate -m odroid-xu3-paper -w bodytrack -p gts
  evenkeel simulate -m odroid-xu3 --cores 2big+4little -w video.json -p linux \\
      --duration 10s
  evenkeel simulate -m quickia -w gamess -w gobmk -p hsp --json
  evenkeel simulate -m odroid-xu3-paper -w ferret -p gts --set up=600 \\
      --trace run.pftrace

A MACHINE or WORKLOAD is the name of something built in, or a file; the format is told from its content. \
With -w more than once the workloads run together, each an application.")]
    Simulate(SimulateArgs),
    /// Run the same workloads under several policies, side by side
    #[command(after_help = "\
Examples:
  evenkeel compare -m odroid-xu3-paper -w bodytrack -p pinned,linux,gts
  evenkeel compare -m odroid-xu3-paper --each -w ferret -w dedup \\
      -p pinned,gts --html report.html
  evenkeel compare -m quickia -w gamess -w gobmk \\
      -p hsp,acfs:uf=1.1,acfs:uf=1.5 --csv > runs.csv
  evenkeel compare -m odroid-xu3-paper -w ferret -p linux,gts \\
      --set gts.up=600 --json
  evenkeel compare -m odroid-xu3-paper -w wfcommons-mosaic \\
      -p heft,cpop,cats,steal-kind,gts+fifo

With -w more than once the workloads run together; with --each every one has runs of its own. \
The output is the same bytes for any number of --jobs, but for wall_s, the time that a run took here.")]
    Compare(CompareArgs),
    /// Try all policies that apply, and say which is best, by what measure, and why
    #[command(after_help = "\
Examples:
  evenkeel advise -m odroid-xu3-paper -w bodytrack --size 0.2
  evenkeel advise -m odroid-xu3 -w 4STH-2STM-2STL --rank-by unfairness \\
      --estimator sampled
  evenkeel advise -m pixel6 -w wfcommons-mosaic --among heft,peft,cats,gts+fifo
  evenkeel advise -m odroid-xu3-paper -w ferret --rank-by energy --json \\
      | jq -r '.ranking[] | select(.pareto).policy'

Ranked by time, energy, energy-delay product and unfairness, as far as machine and workload have them. A policy is in the Pareto set \
where no other is as good in time, energy and unfairness and better in one of them. With -w more than once the workloads run together. \
A run that fails is listed as failed; the command fails where all do.")]
    Advise(advise::AdviseArgs),
    /// Carry out a grid of runs: machines, workloads, policies, knobs, seeds
    #[command(after_help = sweep::HELP)]
    Sweep(sweep::SweepArgs),
    /// Write a page of results that are there: of a sweep, or of result records
    #[command(after_help = report::HELP)]
    Report(report::ReportArgs),
    /// Carry out a published study again, in the simulator or on this machine: its tables and
    /// figures
    #[command(after_help = reproduce::help())]
    Reproduce(reproduce::ReproduceArgs),
    /// Make some CPUs of this machine slow, for real
    #[command(after_help = "\
Examples:
  evenkeel lab --slow 1=3 -- evenkeel run -p acfs -- ./program
  evenkeel lab --slow 2-3=2,4=4 -- ./program    three kinds of core
  evenkeel lab --slow 1=3 --measure             how slow, and how steadily
  evenkeel lab --slow 1=3                       until interrupted

A real-time thread takes each CPU for a part of every half millisecond or so. How large a part is found by measuring, which \
takes five seconds or less on a quiet machine; what came of it is said on stderr, and kept for an hour for the same request. The command has the lab's machine file in EVENKEEL_MACHINE and the \
measured ratios in EVENKEEL_LAB. Needs CAP_SYS_NICE.

Exit codes: the command's, 128 + signal where one ended it or the calibration, 127 where it is not there, 126 where it cannot be \
executed, 1 where a CPU cannot be slowed, 2 for wrong usage.")]
    Lab(LabArgs),
    /// Run an OpenMP program, with its loops divided by the speed of the cores
    #[command(after_help = omp::HELP)]
    Omp(omp::OmpArgs),
    /// Run a command under an unmodified kernel on cores that really are slower, in a virtual
    /// machine
    #[command(after_help = "\
Examples:
  sudo evenkeel vm -- sh -c 'uname -r; nproc'
  sudo evenkeel vm --cores 1@60+1@40+2@20 --with ./worker -- worker spin 4 5000
  sudo evenkeel vm --kernel 7.2 --with scx_bpfland --with ./load \\
      -- sh -c 'scx_bpfland & sleep 2; load'
  sudo evenkeel vm --with ./load --fetch /tmp/out=results --timeout 5min --json \\
      -- load -o /tmp/out
  evenkeel vm --list-kernels

Needs QEMU (apt install qemu-system-x86), no hardware virtualisation, and leave to make cgroups. Kernels are Debian's, fetched once \
into $EVENKEEL_CACHE, $XDG_CACHE_HOME/evenkeel or ~/.cache/evenkeel. The guest has busybox, and the command's own program unless busybox \
has one of that name; what else it is to have, --with and --file say. The command finds the lab's machine file in EVENKEEL_MACHINE. \
docs/labs/virtual-machines.md says what the lab models.

Exit codes: the command's, 127 where it is not there, 126 where it cannot be executed, 124 time-out, 125 the guest died, 1 a kernel could not be fetched or a file not brought back, 2 wrong usage or \
something missing on this host, 128 + signal where one ended it.")]
    Vm(Box<vm::VmArgs>),
    /// List the power sensors of this machine, and read them
    #[command(after_help = "\
Examples:
  evenkeel sensors
  evenkeel sensors --duration 10s --interval 270ms
  evenkeel sensors --duration 1s --json \\
      | jq '[.[] | select(.in_total).measured.energy_j] | add'

Of nested sensors, and of several sources, one counts towards the total: nothing is counted twice. RAPL counters are \
root's to read on most systems.")]
    Sensors(SensorsArgs),
    /// Run a program and write down what its threads did, as a workload for simulate and compare
    #[command(after_help = "\
Examples:
  evenkeel record -o run.json -- ./program
  evenkeel simulate -m odroid-xu3 -w run.json -p gts
  evenkeel lab --slow 1=3 -- evenkeel record -o run.json -- ./program
  perf sched record -- ./program && evenkeel record --from perf.data -o run.json
  evenkeel record --from perf.data --comm firefox -o run.json

Needs CAP_PERFMON and to read tracefs: be root, or `setcap cap_perfmon,cap_dac_read_search+ep` on evenkeel; --from needs nothing.

Exit codes: the command's, 128 + signal where one ended it, 127 where it is not there, 126 where it cannot be executed, \
1 where recording is not allowed, 2 for wrong usage or bad input.")]
    Record(RecordArgs),
    /// Count what a program does on each kind of core: a trace for train and predict
    #[command(after_help = "\
Examples:
  evenkeel sample -o gzip.json -- gzip -kf big.tar
  evenkeel sample --by cachegrind -m odroid-xu3 -o gzip.json -- gzip -kf big.tar
  evenkeel sample --by cachegrind -m alder-lake -- python3 -c 'print(2**9999)'
  evenkeel sample --by cachegrind -m my-board.toml --json -- ./program \\
      | jq '.kinds[] | {name, factor}'

By counters, on a hybrid that has them, the program is run on each kind of core, once for each set of events that can be counted at once. \
Counts are of the program's own instructions and all that it forks, which takes no privilege where kernel.perf_event_paranoid is 2 or less.

By cachegrind (apt install valgrind) the program is run two or three times, until the caches of all kinds have been there, 20 to 100 times slower, \
with empty input; its stdout is shown once. What it did before it forked is counted for each process that it forked. Cycles are modelled from its misses and the machine file's [kinds.core].

Exit codes: 0 done, 1 where the program failed or nothing can count, 2 for wrong usage or bad input, 128 + signal where evenkeel was asked to end by one.")]
    Sample(factors::SampleArgs),
    /// Train a model that tells speedup factors from counters
    #[command(after_help = "\
Examples:
  evenkeel train traces/*.json -o model.json
  evenkeel train traces/*.json --method phases --sets 3 --html model.html
  evenkeel train traces/*.json --json | jq '.predictors[].accuracy'

For each kind of core a thread may be on, those metrics are chosen that tell most of the factor and can be counted at once, \
or in --sets turns. What the model is worth is told by programs that it was not trained with: one is left out at a time.")]
    Train(factors::TrainArgs),
    /// Tell the speedup factors of programs from a model and their counters
    #[command(after_help = "\
Examples:
  evenkeel predict model.json gzip.json
  evenkeel predict model.json traces/*.json --json \\
      | jq '.[] | {program, predicted, observed}'")]
    Predict(factors::PredictArgs),
    /// Run a program under a policy, on this machine
    #[command(after_help = "\
Examples:
  evenkeel run -p acfs -- ./program --its-flags
  evenkeel run -p hsp --speedup gzip=3.2 --speedup sort=1.4 \\
      -- sh -c 'gzip -9 a & sort b >c & wait'
  sudo evenkeel lab --slow 1=3 -- evenkeel run -p age -- ./program
  evenkeel run -p age -o run.json --quiet -- make -j8

The program keeps the terminal, gets the signals, and its exit code is ours. What the run came to goes to stderr, or as JSON to a \
file (-o), or to stdout after the program's own output (--json). No privilege is needed; with CAP_SYS_NICE waiting threads are held \
back so that the policy's order holds exactly. docs/live/affinity.md says how it works.

Exit codes: the program's, 128 + signal where one ended it, 127 where it is not there, 126 where it cannot be executed, 2 for wrong usage.")]
    Run(live::RunLiveArgs),
    /// Place the threads of the whole machine, or of some processes, by a policy until interrupted
    #[command(after_help = "\
Examples:
  sudo evenkeel schedule -p acfs --stats 5
  evenkeel schedule -p age --pid 4711
  sudo evenkeel schedule -p gts --cgroup /sys/fs/cgroup/user.slice \\
      --duration 10min
  sudo evenkeel schedule --monitor 1

Evenkeel is the kernel's scheduler (sched_ext) where that can be had: as root, in a build with it \
(docs/live/sched-ext.md). Else threads are placed by their CPU masks, which takes CAP_PERFMON for \
the whole machine and for cgroups, and CAP_SYS_NICE for threads of other users. The first line \
says which of the two it is, and why. Every thread gets its CPUs and its class back at the end; \
its CPUs also when evenkeel is killed: then at its next start.

Exit codes: 0 at the end, 1 where it failed or the kernel ended it, 3 where somebody had the \
kernel end it (Alt-SysRq-S), 2 for wrong usage.")]
    Schedule(live::ScheduleArgs),
    /// Have this machine scheduled from its start on, by systemd
    #[command(subcommand)]
    Service(project::ServiceCommand),
    /// Begin something new in a checkout of Evenkeel
    #[command(subcommand)]
    New(project::NewCommand),
    /// Print the completion script for a shell
    #[command(after_help = "\
Examples:
  evenkeel completions bash \\
      > ~/.local/share/bash-completion/completions/evenkeel
  evenkeel completions zsh > ~/.zfunc/_evenkeel
  evenkeel completions fish > ~/.config/fish/completions/evenkeel.fish")]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder
    #[command(after_help = "\
Examples:
  evenkeel man ~/.local/share/man/man1
  man -l ~/.local/share/man/man1/evenkeel-compare.1")]
    Man {
        /// Folder; it is made where it is not there
        folder: PathBuf,
    },
}

/// How a list is printed.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// Of `detect`.
#[derive(Debug, Args)]
pub struct DetectArgs {
    /// Measure the speed of each CPU with a short spin, which has the last word (2 s for each, at
    /// most 12 s for up to 33)
    #[arg(long)]
    pub calibrate: bool,
    /// Tell kinds apart by the measured speeds even where the rounds of the measurement scatter by
    /// more
    #[arg(long, requires = "calibrate")]
    pub force: bool,
    /// Write a machine file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the machine file
    #[arg(long)]
    pub toml: bool,
    /// Print the machine and where its figures come from as one JSON object
    #[arg(long, conflicts_with = "toml")]
    pub json: bool,
}

/// Of `show`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ShowArgs {
    /// What to describe, and what sort of thing it is
    #[command(subcommand)]
    pub what: Option<ShowCommand>,
    /// Name of a machine, a workload or a policy, or a file
    pub name: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What to describe.
#[derive(Debug, Subcommand)]
pub enum ShowCommand {
    /// Kinds, clusters, operating points, power and costs of a machine
    Machine {
        /// Name or file
        machine: String,
        /// A part of it, as 2big+4little
        #[arg(long, value_name = "CORES")]
        cores: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Applications, threads and phases of a workload
    Workload {
        /// Name or file
        workload: String,
        /// Machine that it is made for: the number of its cores is that of worker threads
        #[arg(short, long, default_value = MADE_FOR)]
        machine: String,
        /// How it is scaled.
        #[command(flatten)]
        scale: ScaleArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// Print the whole of it as a workload file
        #[arg(long, conflicts_with = "json")]
        export: bool,
    },
    /// Source and knobs of a policy
    Policy {
        /// Name
        policy: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// How built-in workloads are made.
#[derive(Clone, Debug, Args)]
pub struct ScaleArgs {
    /// Scale the input of built-in workloads: 0.1 is a tenth of the work
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = parse::factor,
        allow_negative_numbers = true)]
    pub size: f64,
    /// Worker threads of built-in parallel workloads [default: one per core in use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536),
        allow_negative_numbers = true)]
    pub workers: Option<u32>,
    /// Seed of whatever chance plays in
    #[arg(long, default_value = "1", value_parser = parse::seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// True if programs of rt-app files report their iterations.
    #[arg(skip)]
    pub iterations: bool,
}

impl Default for ScaleArgs {
    fn default() -> Self {
        Self { size: 1.0, workers: None, seed: 1, iterations: false }
    }
}

/// What is run, and how: all but the policy.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Machine: a name (`evenkeel machines`), a file, `here` for this machine, or - for stdin
    #[arg(short, long)]
    pub machine: Option<String>,
    /// Use a part of the machine only, as 2big+4little
    #[arg(long, value_name = "CORES")]
    pub cores: Option<String>,
    /// Workload: a name (`evenkeel workloads`), a file, or - for stdin; may be repeated
    #[arg(short, long = "workload", alias = "workloads", value_name = "WORKLOAD")]
    pub workloads: Vec<String>,
    /// How workloads are made.
    #[command(flatten)]
    pub scale: ScaleArgs,
    /// Set a knob of the policy (`evenkeel policies` lists them); POLICY.KNOB=VALUE for one of
    /// several policies
    #[arg(long = "set", value_name = "KNOB=VALUE", value_parser = parse::setting)]
    pub settings: Vec<Setting>,
    /// Where policies have speedup factors from: oracle, offline, sampled, modelled=ERROR, or the
    /// file of a model (`evenkeel train`), which goes by counters and implies --characters
    #[arg(long, value_name = "ESTIMATOR", default_value = "oracle", value_parser =
        parse::estimator)]
    pub estimator: Estimator,
    /// Give phases that state a factor alone a character, by which counters go: that of a generated
    /// program with this factor (docs/policies/speedup-factors.md)
    #[arg(long)]
    pub characters: bool,
    /// Profile what is run in a run of it at this size beforehand, for policies that take one
    /// (age:prediction=profile)
    #[arg(long, value_name = "FACTOR", value_parser = parse::factor, allow_negative_numbers = true)]
    pub profile_from: Option<f64>,
    /// How clusters choose their clock: performance, schedutil, fixed=MHZ (of each kind the
    /// highest operating point not above it, else the lowest)
    #[arg(long, value_name = "GOVERNOR", default_value = "performance", value_parser =
        parse::governor)]
    pub governor: Governor,
    /// What a policy says takes effect this much later, as 50us
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = parse::time,
        allow_hyphen_values = true)]
    pub decision_latency: Nanos,
    /// What one core's tasks hand to another's (volumes of task graphs) takes time, at this rate,
    /// as 1GB/s [default: none, they share a memory]
    #[arg(long, value_name = "RATE", value_parser = parse::rate)]
    pub link: Option<f64>,
    /// End each run after this, whatever still runs, as 10s
    #[arg(long, value_name = "TIME", value_parser = parse::positive_time, allow_hyphen_values =
        true)]
    pub duration: Option<Nanos>,
    /// Context switches and migrations cost nothing, as in analytical studies
    #[arg(long)]
    pub free_costs: bool,
    /// Report every thread, too
    #[arg(long)]
    pub threads: bool,
}

/// Of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// What is run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Policy, with knobs where wanted: gts or gts:up=600,down=200
    #[arg(short, long)]
    pub policy: Option<String>,
    /// Write a Perfetto trace of the run (open it at ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write what rt-app would: a log for each task of an rt-app file, and trace.txt with its
    /// markers
    #[arg(long, value_name = "DIR")]
    pub rtapp_log: Option<PathBuf>,
    /// Print the result record as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the result record as CSV, a header and one row
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Write the result record there, too: JSON, or with --csv CSV
    #[arg(short, long, value_name = "FILE", value_parser = parse::result_file)]
    pub output: Option<PathBuf>,
    /// Write a page with plots, for any browser, without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// How many runs are carried out at a time.
#[derive(Clone, Copy, Debug, Args)]
pub struct JobsArgs {
    /// Runs at a time [default: one per processor of this computer]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096),
        allow_negative_numbers = true)]
    pub jobs: Option<u32>,
}

/// Over how many seeds results are means.
#[derive(Clone, Copy, Debug, Args)]
pub struct SeedsArgs {
    /// Run everything with so many seeds, from --seed on: results are means with 95 % intervals,
    /// and what lies within them is not called better
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000),
        allow_negative_numbers = true)]
    pub seeds: Option<u32>,
}

/// Of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// What is run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Policies, separated by commas, with knobs where wanted: pinned,gts:up=600,down=200,hsp
    #[arg(short, long = "policy", alias = "policies", value_name = "POLICIES")]
    pub policies: Vec<String>,
    /// Run every workload for itself instead of all together
    #[arg(long)]
    pub each: bool,
    /// Policy that others are set in relation to [default: linux if it is among them, else the
    /// first]
    #[arg(long, value_name = "POLICY", value_parser = parse::policy_label)]
    pub baseline: Option<String>,
    /// Seeds.
    #[command(flatten)]
    pub seeds: SeedsArgs,
    /// Runs at a time.
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Print the result records as one JSON array
    #[arg(long)]
    pub json: bool,
    /// Print the result records as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Write the result records there, too: JSON, or with --csv CSV
    #[arg(short, long, value_name = "FILE", value_parser = parse::result_file)]
    pub output: Option<PathBuf>,
    /// Write a page with plots, for any browser, without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Of `sensors`.
#[derive(Debug, Args)]
pub struct SensorsArgs {
    /// Measure for so long, as 10s, and say the energy
    #[arg(long, value_name = "TIME", value_parser = parse::positive_time, allow_hyphen_values =
        true)]
    pub duration: Option<Nanos>,
    /// Read the sensors so often while measuring, from 1ms on
    #[arg(long, value_name = "TIME", default_value = "270ms", value_parser = parse::interval,
        allow_hyphen_values = true, requires = "duration")]
    pub interval: Nanos,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// Of `lab`.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// CPUs, and how many times slower they are to be: 1=3 or 2-3=2,4=4; may be repeated
    #[arg(long, value_name = "CPUS=RATIO", required = true, allow_hyphen_values = true)]
    pub slow: Vec<String>,
    /// Measure how slow the CPUs are, and end
    #[arg(long, conflicts_with = "command")]
    pub measure: bool,
    /// How long to measure, as 3s: so much slowed time
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse::positive_time,
        allow_hyphen_values = true, requires = "measure")]
    pub duration: Nanos,
    /// Print what was measured as one JSON array
    #[arg(long, requires = "measure")]
    pub json: bool,
    /// The slow CPU is taken away once in so long, as 250us: what is shorter does not see a slow
    /// CPU, but one that comes and goes (50us to 20ms) [default: 500us to 4ms, by what switching
    /// costs]
    #[arg(long, value_name = "TIME", value_parser = parse::lab_period, allow_hyphen_values = true)]
    pub period: Option<Nanos>,
    /// Calibrate anew: else a calibration of the last hour for the same CPUs, ratios and period is
    /// used
    #[arg(long)]
    pub recalibrate: bool,
    /// Go on where a CPU cannot be held within 2 % of what was asked
    #[arg(long)]
    pub force: bool,
    /// Command to run, after --
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Workload file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Machine that this is: work is time times its cores' capacities [default: that of
    /// EVENKEEL_MACHINE, else equal cores]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Read what `perf sched record` wrote instead of running a command
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub from: Option<PathBuf>,
    /// Of that, the threads of this name and what they fork [default: the command that perf ran]
    #[arg(long, value_name = "NAME", requires = "from")]
    pub comm: Option<String>,
    /// Of that, the threads of this process and what they fork
    #[arg(long, value_name = "PID", requires = "from", conflicts_with = "comm", value_parser =
        clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// Print what was found as one JSON object; what the command prints goes to stderr then
    #[arg(long)]
    pub json: bool,
    /// Command to run, after --
    #[arg(last = true, value_name = "CMD", required_unless_present = "from")]
    pub command: Vec<OsString>,
}

impl SimulateArgs {
    /// The one policy of the run.
    ///
    /// # Errors
    /// No policy, several, or an unknown one.
    pub fn policy(&self) -> Result<PolicySpec, String> {
        let text = self
            .policy
            .as_deref()
            .ok_or("no policy: give -p POLICY; `evenkeel policies` lists them")?;
        let mut specs = parse::policies(text)?;
        match (specs.pop(), specs.is_empty()) {
            (Some(spec), true) => Ok(spec),
            _ => Err(format!("simulate runs one policy, and '{text}' is several: use compare")),
        }
    }
}

impl CompareArgs {
    /// The policies to compare, in the order given.
    ///
    /// # Errors
    /// None, the same twice, or not policies.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, String> {
        let specs = parse::policy_lists(&self.policies)?;
        if specs.is_empty() {
            return Err("no policies: give -p A,B,C; `evenkeel policies` lists them".into());
        }
        Ok(specs)
    }
}
