//! `evenkeel reproduce`: a published study, carried out again.

mod live;

use std::path::PathBuf;

use evenkeel_report::{html, study as tables};
use evenkeel_studies::{Experiment, Reproduction, Runs, STUDIES, Study, find, over_seeds};

use crate::args::reproduce::ReproduceArgs;
use crate::commands::{page, records, runs};
use crate::error::{Failure, Result};
use crate::output::{OutputFile, print, print_json};
use crate::{progress, table};

/// The program that carries studies out.
const MADE_BY: &str = concat!("evenkeel ", env!("CARGO_PKG_VERSION"));

/// Carries out experiments of a study and reports what they showed.
///
/// # Errors
/// A study or an experiment that is not there; a run failed; an output could not be written.
pub fn run(args: &ReproduceArgs) -> Result {
    if args.list {
        return match &args.study {
            Some(name) => list(&[chosen(Some(name))?], args.json),
            None => list(&STUDIES, args.json),
        };
    }
    let study = chosen(args.study.as_deref())?;
    if args.live {
        return live::run(study, args);
    }
    let experiments =
        study.chosen(&args.experiments).map_err(|unknown| no_experiment(study, unknown))?;
    let files = Files::begin(args)?;

    let reproduction = carry_out(study, &experiments, args)?;
    tell(&reproduction, args.json, files)
}

/// The study, with as many seeds as asked for.
fn carry_out(
    study: &Study,
    experiments: &[&Experiment],
    args: &ReproduceArgs,
) -> Result<Reproduction> {
    let threads = runs::threads(args.jobs)?;
    let bar = progress::bar(0, "runs");
    let advanced = |done: u64, of: u64| {
        bar.set_length(of);
        bar.set_position(done);
    };
    let count = u64::from(args.seeds.seeds.unwrap_or(1));
    let mut all = Vec::new();
    for more in 0..count {
        let seed = args.seed.checked_add(more).ok_or_else(|| {
            Failure::usage(format!("--seeds: no seed is greater than {}", u64::MAX))
        })?;
        let of_seed = if count > 1 { format!("seed {seed}, ") } else { String::new() };
        let begun = |experiment: &Experiment| {
            bar.reset();
            bar.set_prefix(format!("{of_seed}experiment {} ", experiment.number));
        };
        let of_study = Runs::new(args.quick, seed, &advanced);
        let done = threads.install(|| study.carry_out(experiments, &of_study, MADE_BY, begun));
        all.push(done.map_err(|error| Failure::Failed(error.into()))?);
    }
    bar.finish_and_clear();
    over_seeds(&all).ok_or_else(|| Failure::usage("--seeds: no seed"))
}

/// Files that were asked for.
struct Files {
    page: Option<OutputFile>,
    output: Option<OutputFile>,
}

impl Files {
    fn begin(args: &ReproduceArgs) -> Result<Self> {
        let begin = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::begin).transpose();
        Ok(Self { page: begin(&args.html)?, output: begin(&args.output)? })
    }
}

/// Writes the files that were asked for, and prints the result.
fn tell(reproduction: &Reproduction, as_json: bool, files: Files) -> Result {
    records::write_json(files.output, reproduction)?;
    if let Some(file) = files.page {
        file.finish_with(html::study(reproduction, &page::command()).as_bytes())?;
    }
    if as_json { print_json(reproduction) } else { print(&tables(reproduction, table::style())) }
}

fn chosen(name: Option<&str>) -> Result<&'static Study> {
    let expected = || STUDIES.map(|study| study.name).join(", ");
    let name =
        name.ok_or_else(|| Failure::usage(format!("no study: expected one of {}", expected())))?;
    find(&name.to_ascii_lowercase())
        .ok_or_else(|| Failure::usage(format!("no study '{name}': expected one of {}", expected())))
}

fn no_experiment(study: &Study, unknown: u32) -> Failure {
    let numbers: Vec<String> =
        study.experiments.iter().map(|experiment| experiment.number.to_string()).collect();
    Failure::usage(format!(
        "{} has no experiment {unknown}: expected {}",
        study.name,
        numbers.join(", ")
    ))
}

/// Studies and their experiments.
fn list(studies: &[&Study], as_json: bool) -> Result {
    if as_json {
        return print_json(&studies);
    }
    let mut rows = table::plain(["STUDY", "EXPERIMENT", "WHAT IT SHOWS"]);
    for study in studies {
        rows.add_row([study.name, "", study.about]);
        for experiment in study.experiments {
            rows.add_row(["", &experiment.number.to_string(), experiment.title]);
        }
    }
    print(&table::text(rows))
}
