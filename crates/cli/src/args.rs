//! The command line: commands, flags, help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use evenkeel_machine::Nanos;
use evenkeel_sim::{Estimator, Governor};

use crate::parse::{self, PolicySpec, Setting};

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
  evenkeel compare -m odroid-xu3-paper -w bodytrack -p pinned,linux,gts --html report.html

Exit codes: 0 done, 1 a run failed, 2 wrong usage or bad input."
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
    #[command(
        subcommand,
        after_help = "\
Examples:
  evenkeel show machine pixel6
  evenkeel show machine my-board.toml --json
  evenkeel show workload bodytrack --workers 4
  evenkeel show policy gts"
    )]
    Show(ShowCommand),
    /// Run workloads together on a machine under one policy
    #[command(after_help = "\
Examples:
  evenkeel simulate -m odroid-xu3-paper -w bodytrack -p gts
  evenkeel simulate -m odroid-xu3 --cores 2big+4little -w video.json -p linux --duration 10s
  evenkeel simulate -m quickia -w gamess -w gobmk -p hsp --json
  evenkeel simulate -m odroid-xu3-paper -w ferret -p gts --set up=600 --trace run.pftrace

A MACHINE or WORKLOAD is the name of something built in, or a file; the format is told from its content.
With -w more than once the workloads run together, each an application.")]
    Simulate(SimulateArgs),
    /// Run the same workloads under several policies, side by side
    #[command(after_help = "\
Examples:
  evenkeel compare -m odroid-xu3-paper -w bodytrack -p pinned,linux,gts
  evenkeel compare -m odroid-xu3-paper --each -w ferret -w dedup -p pinned,gts --html report.html
  evenkeel compare -m quickia -w gamess -w gobmk -p hsp,acfs:uf=1.1,acfs:uf=1.5 --csv > runs.csv
  evenkeel compare -m odroid-xu3-paper -w ferret -p linux,gts --set gts.up=600 --json

With -w more than once the workloads run together; with --each every one has runs of its own.
The output is the same bytes for any number of --jobs, but for wall_s, the time that a run took here.")]
    Compare(CompareArgs),
    /// Print the completion script for a shell
    #[command(after_help = "\
Examples:
  evenkeel completions bash > ~/.local/share/bash-completion/completions/evenkeel
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
        #[arg(short, long, default_value = "odroid-xu3-paper")]
        machine: String,
        /// How it is scaled.
        #[command(flatten)]
        scale: ScaleArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
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
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = parse::factor, allow_negative_numbers = true)]
    pub size: f64,
    /// Worker threads of built-in parallel workloads [default: one per core in use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), allow_negative_numbers = true)]
    pub workers: Option<u32>,
    /// Seed of whatever chance plays in
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    pub seed: u64,
}

/// What is run, and how: all but the policy.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Machine: a name (`evenkeel machines`) or a file
    #[arg(short, long)]
    pub machine: Option<String>,
    /// Use a part of the machine only, as 2big+4little
    #[arg(long, value_name = "CORES")]
    pub cores: Option<String>,
    /// Workload: a name (`evenkeel workloads`) or a file; may be repeated
    #[arg(short, long = "workload", alias = "workloads", value_name = "WORKLOAD")]
    pub workloads: Vec<String>,
    /// How workloads are made.
    #[command(flatten)]
    pub scale: ScaleArgs,
    /// Set a knob of the policy (`evenkeel policies` lists them); POLICY.KNOB=VALUE for one of several policies
    #[arg(long = "set", value_name = "KNOB=VALUE", value_parser = parse::setting)]
    pub settings: Vec<Setting>,
    /// Where policies have speedup factors from: oracle, offline, sampled, modelled=ERROR
    #[arg(long, value_name = "ESTIMATOR", default_value = "oracle", value_parser = parse::estimator)]
    pub estimator: Estimator,
    /// How clusters choose their clock: performance, schedutil, fixed=MHZ (of each kind the operating point nearest to it)
    #[arg(long, value_name = "GOVERNOR", default_value = "performance", value_parser = parse::governor)]
    pub governor: Governor,
    /// What a policy says takes effect this much later, as 50us
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = parse::time)]
    pub decision_latency: Nanos,
    /// End each run after this, whatever still runs, as 10s
    #[arg(long, value_name = "TIME", value_parser = parse::positive_time)]
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
    /// Print the result record as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the result record as CSV, a header and one row
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Write a page with plots, for any browser, without a network
    #[arg(short = 'o', long, value_name = "FILE")]
    pub html: Option<PathBuf>,
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
    /// Policy that others are set in relation to [default: the first]
    #[arg(long, value_name = "POLICY")]
    pub baseline: Option<String>,
    /// Runs at a time [default: one per processor of this computer]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), allow_negative_numbers = true)]
    pub jobs: Option<u32>,
    /// Print the result records as one JSON array
    #[arg(long)]
    pub json: bool,
    /// Print the result records as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Write a page with plots, for any browser, without a network
    #[arg(short = 'o', long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl SimulateArgs {
    /// The one policy of the run.
    ///
    /// # Errors
    /// None, several, or not a policy.
    pub fn policy(&self) -> Result<PolicySpec, String> {
        let text = self.policy.as_deref().ok_or("no policy: give -p POLICY; `evenkeel policies` lists them")?;
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
        let mut specs: Vec<PolicySpec> = Vec::new();
        for text in &self.policies {
            for spec in parse::policies(text)? {
                if specs.iter().any(|other| other.label == spec.label) {
                    return Err(format!("policy {} is asked for twice", spec.label));
                }
                specs.push(spec);
            }
        }
        if specs.is_empty() {
            return Err("no policies: give -p A,B,C; `evenkeel policies` lists them".into());
        }
        Ok(specs)
    }
}
