//! Flags of `reproduce`.

use std::path::PathBuf;

use clap::Args;
use evenkeel_apps::Size;
use evenkeel_studies::STUDIES;

use super::{JobsArgs, SeedsArgs};
use crate::parse;

/// Of `reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Which study; --list has them
    pub study: Option<String>,
    /// Only the experiment of this number, or several, as 1,3; may be repeated [default: all]
    #[arg(short, long = "experiment", value_name = "N", value_delimiter = ',', value_parser =
        parse::experiment, allow_negative_numbers = true)]
    pub experiments: Vec<u32>,
    /// About a tenth of the runs, for a first look; the text of each experiment says what is left
    /// out
    #[arg(long)]
    pub quick: bool,
    /// On this machine, for real, in place of the simulator: the mini-apps, beside what the
    /// simulator says of the same machine (amc-maturity)
    #[arg(long, conflicts_with_all = ["experiments", "list", "seeds"])]
    pub live: bool,
    /// With --live: this machine as a file [default: $EVENKEEL_MACHINE, else what `evenkeel detect`
    /// finds]
    #[arg(short, long, requires = "live")]
    pub machine: Option<String>,
    /// With --live: only this program, or several, as swaptions,dedup; may be repeated [default:
    /// all]
    #[arg(long = "program", value_name = "NAME", value_delimiter = ',', requires = "live")]
    pub programs: Vec<String>,
    /// With --live: inputs of the programs, which take about a second, or ten, serially; in the
    /// lab, phases of large inputs are long enough for its ratio
    #[arg(long, value_enum, default_value = "medium", requires = "live")]
    pub size: Size,
    /// List the studies and their experiments; with STUDY its own
    #[arg(long, conflicts_with_all = ["experiments", "quick", "html", "output"])]
    pub list: bool,
    /// Runs at a time.
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Seed of whatever chance plays in
    #[arg(long, default_value = "1", value_parser = parse::seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Seeds.
    #[command(flatten)]
    pub seeds: SeedsArgs,
    /// Print one JSON object; with --list one JSON array
    #[arg(long)]
    pub json: bool,
    /// Write the result there, too, as JSON
    #[arg(short, long, value_name = "FILE", value_parser = parse::result_file)]
    pub output: Option<PathBuf>,
    /// Write a page with figures and tables, for any browser, without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Examples, and what there is to choose from.
pub fn help() -> String {
    let mut text = String::from(
        "\
Examples:
  evenkeel reproduce amc-maturity --list
  evenkeel reproduce amc-maturity --quick
  evenkeel reproduce amc-maturity --experiment 2 --html maturity.html
  evenkeel reproduce acfs --json | jq '.experiments[].tables[].title'
  evenkeel reproduce age-based --seeds 5 --html age.html
  evenkeel reproduce amc-maturity --live --quick
  evenkeel lab --slow 1=3 -- evenkeel reproduce amc-maturity --live --size large

Studies and their experiments:
",
    );
    for study in STUDIES {
        text.push_str(&format!("  {:<13} {}\n", study.name, study.source));
        for experiment in study.experiments {
            text.push_str(&format!("  {:>15}. {}\n", experiment.number, experiment.title));
        }
    }
    text.push_str(
        "\nThe output is the same bytes for any number of --jobs, but with --live. \
                   docs/studies/studies.md says what was assumed and what came out.",
    );
    text
}
