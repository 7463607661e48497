//! Flags of `advise`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{JobsArgs, RunArgs, SeedsArgs};
use crate::parse::{self, PolicySpec};

/// What policies are ranked by: less is better of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// From the start of the run to the end of its last application
    Time,
    /// Energy of all cores and clusters
    Energy,
    /// Energy-delay product
    Edp,
    /// Greatest slowdown / least slowdown of the applications
    Unfairness,
}

/// Of `advise`.
#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// What is run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Only these policies, separated by commas, with knobs where wanted [default: all that apply]
    #[arg(short = 'p', long, alias = "policy", value_name = "POLICIES")]
    pub among: Vec<String>,
    /// What the ranking goes by
    #[arg(long, value_enum, value_name = "MEASURE", default_value = "time")]
    pub rank_by: Measure,
    /// Seeds.
    #[command(flatten)]
    pub seeds: SeedsArgs,
    /// Runs at a time.
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Print ranking, Pareto set, reason and records as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the result records as CSV, the best first
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Write the result there, too: JSON, or with --csv CSV
    #[arg(short, long, value_name = "FILE", value_parser = parse::result_file)]
    pub output: Option<PathBuf>,
    /// Write a page with plots, for any browser, without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl AdviseArgs {
    /// The policies asked for; none: all that apply.
    ///
    /// # Errors
    /// The same twice, or not policies.
    pub fn among(&self) -> Result<Vec<PolicySpec>, String> {
        parse::policy_lists(&self.among)
    }
}
