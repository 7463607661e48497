//! Flags of `evenkeel sweep`.

use std::path::PathBuf;
use std::str::FromStr;

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
  evenkeel sweep grid.toml -o results --on slurm
  evenkeel sweep grid.toml -o results --on dask=tcp://head:8786

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
same bytes for any number of --jobs and --shard, and on any engine.

--on slurm submits an array job of this very command and watches it. A task is a share of the \
sweep on --jobs CPUs (1), worth some ten minutes; DIR, GRID and this program must be where the \
nodes see them. Ctrl-C leaves the job running, and --resume watches it again. SBATCH_PARTITION, \
SBATCH_ACCOUNT, SBATCH_TIMELIMIT and the like hold, as sbatch has them. --on dask takes the Python \
package evenkeel[dask], in the Python that EVENKEEL_PYTHON names, or python3.";

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
    /// Carry it out elsewhere: slurm, by array jobs; dask, by processes of this computer;
    /// dask=ADDRESS, by the workers of that scheduler
    #[arg(long, value_name = "ENGINE", conflicts_with = "shard")]
    pub on: Option<On>,
    /// Tasks of --on slurm, at most one for each part of the sweep [default: of ten minutes each]
    #[arg(long, value_name = "N", requires = "on", allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=Shard::MOST as i64))]
    pub tasks: Option<u32>,
    /// More flags for sbatch with --on slurm, as "--mem=4G --qos=low"
    #[arg(long, value_name = "FLAGS", requires = "on", allow_hyphen_values = true)]
    pub sbatch: Option<SbatchFlags>,
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

/// Engines other than this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// Array jobs.
    Slurm,
    /// Workers of a scheduler at an address; of a scheduler of our own if there is none.
    Dask(Option<String>),
}

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "slurm" => Ok(Self::Slurm),
            None if text == "dask" => Ok(Self::Dask(None)),
            Some(("dask", address)) if !address.is_empty() => {
                Ok(Self::Dask(Some(address.to_owned())))
            }
            _ => Err("expected slurm, dask or dask=ADDRESS".to_owned()),
        }
    }
}

/// Flags for sbatch, as they were separated by white space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SbatchFlags(pub Vec<String>);

impl FromStr for SbatchFlags {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        match words.first() {
            // sbatch takes what is no flag for the script of another job.
            Some(first) if first.starts_with('-') => Ok(Self(words)),
            _ => Err("expected flags of sbatch, as --mem=4G".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_slurm_or_dask_with_or_without_an_address() {
        assert_eq!("slurm".parse(), Ok(On::Slurm));
        assert_eq!("dask".parse(), Ok(On::Dask(None)));
        let address = "tcp://head:8786?a=b";
        assert_eq!(format!("dask={address}").parse(), Ok(On::Dask(Some(address.to_owned()))));
        for wrong in ["", "Slurm", "dask=", "slurm=x", "=dask", "pbs"] {
            let error = wrong.parse::<On>().unwrap_err();
            assert_eq!(error, "expected slurm, dask or dask=ADDRESS", "{wrong}");
        }
    }

    #[test]
    fn flags_for_sbatch_are_words_of_which_the_first_is_a_flag() {
        let flags: SbatchFlags = " -p debug\t--mem=4G ".parse().unwrap();
        assert_eq!(flags.0, ["-p", "debug", "--mem=4G"]);
        assert!("".parse::<SbatchFlags>().is_err());
        assert!("job.sh --mem=4G".parse::<SbatchFlags>().is_err());
    }
}
