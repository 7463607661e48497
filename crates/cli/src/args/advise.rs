//! Flags of `advise`.

use clap::{Args, ValueEnum};

use super::RunArgs;
use crate::parse::{self, PolicySpec};

/// What policies are ranked by: less is better of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum RankBy {
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
    #[arg(long, value_name = "POLICIES")]
    pub among: Vec<String>,
    /// What the ranking goes by
    #[arg(long, value_enum, value_name = "MEASURE", default_value = "time")]
    pub rank_by: RankBy,
    /// Runs at a time [default: one per processor of this computer]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), allow_negative_numbers = true)]
    pub jobs: Option<u32>,
    /// Print ranking, Pareto set, reason and records as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the result records as CSV, the best first
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
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
