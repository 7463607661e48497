//! Published studies of asymmetric cores, which the simulator carries out again; one can also run
//! on the machine at hand ([`live`]). Their experiments have the rows, columns and units of the
//! studies' tables and the axes of their figures.
//!
//! A study is a folder, an experiment a file in it. An experiment names its machines, programs,
//! policies and knobs, which are defined elsewhere; none is fitted to a study's results.

mod acfs;
mod age_based;
mod amc_maturity;
mod exhibit;
mod mclas;
mod reproduction;
mod runs;
mod seeds;

use serde::Serialize;

pub use amc_maturity::live;
pub use exhibit::{Cell, Column, Exhibit, Figure, Shape};
pub use reproduction::{CarriedOut, Reproduction};
pub use runs::{Case, Progress, Runs, StudyError};
pub use seeds::over_seeds;

/// A published study.
#[derive(Debug, Serialize)]
pub struct Study {
    /// Its name for `evenkeel reproduce`.
    pub name: &'static str,
    /// Title of the publication.
    pub title: &'static str,
    /// Journal or conference, and year.
    pub source: &'static str,
    /// Its question, in a sentence.
    pub about: &'static str,
    /// In their order.
    pub experiments: &'static [Experiment],
}

/// One experiment of a study.
#[derive(Debug, Serialize)]
pub struct Experiment {
    /// From 1, as in the specification of the studies.
    pub number: u32,
    /// Its subject, as a heading.
    pub title: &'static str,
    /// The runs and the assumptions, in a few sentences for readers of the tables.
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
