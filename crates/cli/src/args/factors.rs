//! `sample`, `train` and `predict`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::parse;

/// Of `sample`.
#[derive(Debug, Args)]
pub struct SampleArgs {
    /// Write what was counted into this file, for train and predict
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What counts
    #[arg(long, value_enum, default_value = "counters")]
    pub by: Counter,
    /// By counters: this machine as a file [default: $EVENKEEL_MACHINE, else what `evenkeel detect`
    /// finds]. By cachegrind: the machine whose cores are modelled, a name, a file, or - for
    /// stdin; its file has to say how they are built
    #[arg(short, long)]
    pub machine: Option<String>,
    /// By counters: instructions of a window, a million or more
    #[arg(long, value_name = "N", default_value = "200000000",
        value_parser = clap::value_parser!(u64).range(1_000_000..), allow_negative_numbers = true)]
    pub window: u64,
    /// Name of the program in the file [default: that of its file]
    #[arg(long)]
    pub name: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// What counts events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Counter {
    /// The hardware's counters, on each kind of this machine's cores in turn, and once for each set
    /// of events that can be counted at once
    Counters,
    /// Valgrind's simulation of caches and branches; cycles are modelled
    Cachegrind,
}

/// Of `train`.
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// Files of `evenkeel sample`
    #[arg(required_unless_present = "generated", value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// In place of traces: so many generated programs, as the counters of --machine would show
    /// them, as 40 or 100; the time that it takes grows with the square
    #[arg(long, value_name = "N", conflicts_with = "traces", requires = "machine",
        value_parser = clap::value_parser!(u32).range(2..=1_000), allow_negative_numbers = true)]
    pub generated: Option<u32>,
    /// With --generated: a name, a file, or - for stdin. Its file has to say how its cores are
    /// built
    #[arg(short, long, requires = "generated")]
    pub machine: Option<String>,
    /// Write the model into this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What becomes a row of the training
    #[arg(long, value_enum, default_value_t)]
    pub method: Rows,
    /// With --method phases: traces are cut until factors deviate within phases by so much at
    /// most, relative to their mean
    #[arg(long, value_name = "PART", default_value = "0.05", value_parser = parse::factor,
        allow_negative_numbers = true)]
    pub deviation: f64,
    /// Most sets of events that are counted in turn: 1 if all metrics are to be counted at once
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=64), allow_negative_numbers = true)]
    pub sets: u32,
    /// Most metrics of a regression [default: as many as can be counted]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        allow_negative_numbers = true)]
    pub metrics: Option<u32>,
    /// Stumps of a regression
    #[arg(long, value_name = "N", default_value = "300",
        value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true)]
    pub stumps: u32,
    /// What of a stump is added, above 0 and at most 1
    #[arg(long, value_name = "PART", default_value = "0.1", value_parser = parse::part,
        allow_negative_numbers = true)]
    pub shrinkage: f64,
    /// Part of the rows that a stump sees, above 0 and at most 1
    #[arg(long, value_name = "PART", default_value = "0.5", value_parser = parse::part,
        allow_negative_numbers = true)]
    pub rows: f64,
    /// Seed of the draws of rows
    #[arg(long, default_value = "1", value_parser = parse::seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Write a page with predicted against observed factors
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What becomes a row of a training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Rows {
    /// Whole runs (Overall-SF)
    #[default]
    Overall,
    /// Phases of steady factors (Phase-SF)
    Phases,
}

/// Of `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// File of `evenkeel train`
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Files of `evenkeel sample`
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}
