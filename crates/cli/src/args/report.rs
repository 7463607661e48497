//! Flags of `report`.

use std::path::PathBuf;

use clap::Args;

/// Examples.
pub const HELP: &str = "\
Examples:
  evenkeel report out -o report.html
  evenkeel report out --baseline gts -o report.html
  evenkeel report out --json | jq '.exhibits[].title'
  evenkeel compare -m quickia -w 4STH -p linux,acfs --json > runs.json
  evenkeel report runs.json more.json -o report.html

Of a folder of `evenkeel sweep` the page shows policies beside a baseline, by each axis, what they \
trade against each other (Pareto), how much each knob matters, and which policy is best where. \
Figures are geometric means over all settings. Policies are compared seed by seed, and what lies \
within the 95 % interval is not told apart. Of result records it is the page of compare.";

/// Of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder of a sweep, or files of result records (JSON)
    #[arg(value_name = "DIR|FILE", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Page to write, for any browser, without a network
    #[arg(
        short,
        long,
        visible_alias = "html",
        value_name = "FILE",
        required_unless_present = "json"
    )]
    pub output: Option<PathBuf>,
    /// Policy that others are set in relation to [default: linux if it is there, else the first]
    #[arg(long, value_name = "POLICY")]
    pub baseline: Option<String>,
    /// Print what the page shows as one JSON object
    #[arg(long)]
    pub json: bool,
}
