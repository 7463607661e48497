//! A study carried out again: its experiments with what they showed.

use serde::Serialize;

use crate::{Exhibit, Experiment, Runs, Study, StudyError};

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// Name of the study.
    pub study: &'static str,
    /// Title of the publication.
    pub title: &'static str,
    /// Journal or conference, and year.
    pub source: &'static str,
    /// True if programs were run on this machine instead of in the simulator.
    pub live: bool,
    /// True if only about a tenth of the runs was carried out.
    pub quick: bool,
    /// Seed of all that is random.
    pub seed: u64,
    /// How many seeds, from that one on, figures are means over; `None`: of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<u64>,
    /// What carried it out, as `evenkeel 0.1.0`.
    pub made_by: String,
    /// In the order of their numbers.
    pub experiments: Vec<CarriedOut>,
}

/// An experiment and what it showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CarriedOut {
    /// Its number in the study.
    pub number: u32,
    /// Its subject, as a heading.
    pub title: &'static str,
    /// The runs and the assumptions.
    pub setting: &'static str,
    /// What came out.
    pub tables: Vec<Exhibit>,
}

impl Study {
    /// The experiments of these numbers, each once and in the study's order; all of them for no
    /// number.
    ///
    /// # Errors
    /// The first number that no experiment has.
    pub fn chosen(&self, numbers: &[u32]) -> Result<Vec<&'static Experiment>, u32> {
        let experiments = self.experiments;
        match numbers.iter().find(|&&number| experiments.iter().all(|it| it.number != number)) {
            Some(&unknown) => Err(unknown),
            None => Ok(experiments
                .iter()
                .filter(|it| numbers.is_empty() || numbers.contains(&it.number))
                .collect()),
        }
    }

    /// Carries out some of its experiments, one after the other. `begun` is called with each before
    /// it begins.
    ///
    /// # Errors
    /// The error of the first experiment that fails.
    pub fn carry_out(
        &self,
        experiments: &[&Experiment],
        runs: &Runs,
        made_by: &str,
        begun: impl Fn(&Experiment),
    ) -> Result<Reproduction, StudyError> {
        let carry_out = |experiment: &&Experiment| {
            begun(experiment);
            let &Experiment { number, title, setting, carry_out } = *experiment;
            Ok(CarriedOut { number, title, setting, tables: carry_out(runs)? })
        };
        Ok(Reproduction {
            study: self.name,
            title: self.title,
            source: self.source,
            live: false,
            quick: runs.quick,
            seed: runs.seed,
            seeds: None,
            made_by: made_by.to_owned(),
            experiments: experiments.iter().map(carry_out).collect::<Result<_, StudyError>>()?,
        })
    }
}
