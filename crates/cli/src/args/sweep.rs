//! Flags of `evenkeel sweep`.

use std::path::PathBuf;

use clap::Args;
use evenkeel_sweep::Shard;

use crate::args::JobsArgs;

/// Most seeds of `--seeds`.
const MOST_SEEDS: i64 = 1_000_000;

/// Examples, and what a grid is.
pub const HELP: &str = "\
Examples:
  evenkeel sweep grid.toml --dry-run
  evenkeel sweep grid.toml -o results
  evenkeel sweep grid.toml -o results --resume
  evenkeel sweep grid.toml -o results --seeds 10 --jobs 4
  evenkeel sweep grid.toml -o results --shard $SLURM_ARRAY_TASK_ID/20

A grid:
  [axes]
  machine = [\"odroid-xu3\", \"quickia\"]
  workload = [\"ferret\", [\"mcf\", \"gobmk\"]]   # the latter two run together
  policy = [\"linux\", \"acfs\", \"hsp\"]
  \"acfs.swap\" = { from = 200, to = 1000, step = 200 }
  size = [0.1, 0.5]
  seed = { from = 1, to = 10, step = 1 }
  [[exclude]]                               # where all of it holds
  machine = \"quickia\"
  workload = \"ferret\"
  [[zip]]                                   # first with first, second with second
  axes = [\"machine\", \"size\"]

Axes are called as the flags of simulate: machine, cores, free-costs, workload, size, \
workers, characters, duration, link, governor, seed, policy, estimator, decision-latency. A knob \
of a policy, as acfs.swap, is an axis for that policy alone.

Results are Parquet, in folders by machine and policy, that DuckDB, Polars and pandas read as one \
table; docs/simulate/sweeps.md says how. A case that fails is a row with an error. Parts that are \
written are never lost, whatever ends the command; --resume makes the others. The files are the \
same bytes for any number of --jobs and --shard.";

/// Of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The grid, a TOML file, or - for stdin
    #[arg(value_name = "GRID")]
    pub grid: PathBuf,
    /// Folder for the results: a new one, or with --resume that of the same grid
    #[arg(short, long, value_name = "DIR", required_unless_present = "dry_run")]
    pub output: Option<PathBuf>,
    /// Say how many cases there are and about how long they take, and end
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    /// Go on where results of this grid are there already
    #[arg(long)]
    pub resume: bool,
    /// Carry out one of so many equal shares, as 2/10; several may write to one folder at a time
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Seeds 1 to N, whatever the grid says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_SEEDS),
        allow_negative_numbers = true)]
    pub seeds: Option<u32>,
    /// Cases at a time.
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Print what was done as one JSON object
    #[arg(long)]
    pub json: bool,
}
