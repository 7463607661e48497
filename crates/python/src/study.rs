//! `reproduce`: published studies, carried out again.

use std::path::PathBuf;

use evenkeel_report::table::Style;
use evenkeel_report::{html, study as text};
use evenkeel_studies::{Reproduction, Runs, STUDIES, find, over_seeds};
use pyo3::prelude::*;

use crate::convert::{as_html, error, to_python, whole};
use crate::together::{threads, together};

/// A study, carried out again.
#[pyclass(frozen, module = "evenkeel")]
pub struct Study {
    reproduction: Reproduction,
}

/// Carries out experiments of a published study: all, or those of some numbers. `quick`: about a
/// tenth of the runs.
#[pyfunction]
#[pyo3(signature = (
    study, experiments=None, *, quick=false, seed=1, seeds=1, jobs=None, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "each is a named one of Python")]
pub fn reproduce(
    py: Python<'_>,
    study: &str,
    experiments: Option<Vec<u32>>,
    quick: bool,
    seed: i64,
    seeds: i64,
    jobs: Option<i64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Study> {
    let of = find(&study.to_ascii_lowercase()).ok_or_else(|| {
        let names = STUDIES.map(|study| study.name).join(", ");
        error(format!("no study '{study}': expected one of {names}"))
    })?;
    let chosen = of.chosen(&experiments.unwrap_or_default()).map_err(|unknown| {
        let numbers: Vec<String> = of.experiments.iter().map(|it| it.number.to_string()).collect();
        error(format!("{} has no experiment {unknown}: expected {}", of.name, numbers.join(", ")))
    })?;
    let (seed, seeds) = (whole("seed", seed, 0)?, whole("seeds", seeds, 1)?);
    let threads = threads(jobs)?;
    let experiments = chosen.len();
    let made_by = concat!("evenkeel ", env!("CARGO_PKG_VERSION"), " for Python");
    let carried_out = together(py, progress, experiments as u64 * seeds, move |stop, count| {
        let mut all = Vec::new();
        for seed in (0..seeds).map(|more| seed.saturating_add(more)) {
            for experiment in &chosen {
                if !stop.goes_on() {
                    return Ok(Vec::new());
                }
                let goes_on = || stop.goes_on();
                let runs = Runs::new(quick, seed, &|_, _| {}).while_wanted(&goes_on);
                let one = [*experiment];
                all.push(threads.install(|| of.carry_out(&one, &runs, made_by, |_| {}))?);
                count.add();
            }
        }
        Ok::<_, evenkeel_studies::StudyError>(all)
    })?;
    let all = carried_out.map_err(error)?;
    let of_seed = all.chunks(experiments).filter_map(|of_seed| {
        let experiments = of_seed.iter().flat_map(|it| it.experiments.iter().cloned()).collect();
        Some(Reproduction { experiments, ..of_seed.first()?.clone() })
    });
    let mean = over_seeds(&of_seed.collect::<Vec<_>>());
    mean.map(|reproduction| Study { reproduction }).ok_or_else(|| error("interrupted"))
}

#[pymethods]
impl Study {
    /// Name of the study.
    #[getter]
    fn name(&self) -> &str {
        self.reproduction.study
    }

    /// Its tables: `experiment`, `title`, `columns` (name and unit), `rows`, `ci95`, `remarks`.
    #[getter]
    fn exhibits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut all = Vec::new();
        for experiment in &self.reproduction.experiments {
            for exhibit in &experiment.tables {
                let mut row = serde_json::json!({"experiment": experiment.number});
                let of = serde_json::to_value(exhibit).map_err(error)?;
                for (name, value) in of.as_object().into_iter().flatten() {
                    row[name] = value.clone();
                }
                all.push(row);
            }
        }
        to_python(py, &all)
    }

    /// All of it, as `evenkeel reproduce --json` has it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.reproduction)
    }

    /// Writes the page of `evenkeel reproduce --html`.
    fn html(&self, path: PathBuf) -> PyResult<()> {
        let page = html::study(&self.reproduction, "evenkeel.reproduce, in Python");
        std::fs::write(&path, page).map_err(|it| error(format!("{}: {it}", path.display())))
    }

    fn __str__(&self) -> String {
        text(&self.reproduction, Style::default())
    }

    fn _repr_html_(&self) -> String {
        as_html(&self.__str__())
    }

    fn __repr__(&self) -> String {
        let Reproduction { study, experiments, .. } = &self.reproduction;
        let plural = if experiments.len() == 1 { "" } else { "s" };
        format!("<Study {study}: {} experiment{plural}>", experiments.len())
    }
}
