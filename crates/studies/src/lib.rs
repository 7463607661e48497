//! Published studies of asymmetric cores, to be carried out again in the simulator, and one of them
//! on the machine at hand ([`live`]): their experiments, with the rows, columns and units of their
//! tables and the axes of their figures.
//!
//! A study is a folder, an experiment a file in it. What an experiment is made of (machines,
//! programs, policies and their knobs) is named there and lives elsewhere; nothing here is fitted
//! to what a study has found.

mod acfs;
mod age_based;
mod amc_maturity;
mod exhibit;
mod mclas;
mod reproduction;
mod runs;

use serde::Serialize;

pub use amc_maturity::live;
pub use exhibit::{Cell, Column, Exhibit, Figure, Shape};
pub use reproduction::{CarriedOut, Reproduction};
pub use runs::{Case, Progress, Runs, StudyError};

/// A published study.
#[derive(Debug, Serialize)]
pub struct Study {
    /// What `evenkeel reproduce` calls it.
    pub name: &'static str,
    /// Of the publication.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// What it asks, in a sentence.
    pub about: &'static str,
    /// In their order.
    pub experiments: &'static [Experiment],
}

/// One experiment of a study.
#[derive(Debug, Serialize)]
pub struct Experiment {
    /// From 1, as in the specification of the studies.
    pub number: u32,
    /// What it shows, as a heading.
    pub title: &'static str,
    /// What is run on what, and what is assumed, in a few sentences for readers of the tables.
    pub setting: &'static str,
    /// Carries it out.
    #[serde(skip)]
    pub carry_out: fn(&Runs) -> Result<Vec<Exhibit>, StudyError>,
}

/// All studies.
pub const STUDIES: [&Study; 4] =
    [&amc_maturity::STUDY, &acfs::STUDY, &age_based::STUDY, &mclas::STUDY];

/// The study of this name.
pub fn find(name: &str) -> Option<&'static Study> {
    STUDIES.into_iter().find(|study| study.name == name)
}
