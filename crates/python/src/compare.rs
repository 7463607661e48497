//! `compare`: workloads under several policies, each with several seeds.

use evenkeel_metrics::{Record, over_seeds};
use evenkeel_report::table::{self, Style};
use evenkeel_sim::NoListener;
use evenkeel_sweep::{Case, Runs, table_of};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::asked::{Asked, Settings};
use crate::convert::{Error, error, whole};
use crate::interrupt::Stop;
use crate::policy::Meant;
use crate::run::Run;
use crate::simulate::carry_out;
use crate::table::Table;
use crate::together::{threads, together};
use crate::workload::Workload;

/// Most seeds, as of the command line.
const MOST_SEEDS: u64 = 10_000;

/// Runs each workload under each policy, with seeds from `seed` on. Gives the means over seeds,
/// workload by workload, and the table of all runs.
#[pyfunction]
#[pyo3(signature = (
    machine, workloads, policies, *, seeds=1, seed=1, jobs=None, progress=None, size=None,
    workers=None, cores=None, free_costs=false, estimator=None, governor=None, duration=None,
    decision_latency=None, link=None, characters=false
))]
#[expect(clippy::too_many_arguments, reason = "each is a named one of Python")]
pub fn compare(
    py: Python<'_>,
    machine: &Bound<'_, PyAny>,
    workloads: Vec<Bound<'_, PyAny>>,
    policies: Vec<Bound<'_, PyAny>>,
    seeds: i64,
    seed: i64,
    jobs: Option<i64>,
    progress: Option<Py<PyAny>>,
    size: Option<f64>,
    workers: Option<i64>,
    cores: Option<String>,
    free_costs: bool,
    estimator: Option<String>,
    governor: Option<String>,
    duration: Option<Bound<'_, PyAny>>,
    decision_latency: Option<Bound<'_, PyAny>>,
    link: Option<String>,
    characters: bool,
) -> PyResult<(Vec<Run>, Table)> {
    let (seed, seeds) = (whole("seed", seed, 0)?, whole("seeds", seeds, 1)?);
    if seeds > MOST_SEEDS {
        return Err(error(format!("seeds {seeds} found, expected at most {MOST_SEEDS}")));
    }
    let settings = Settings {
        size,
        workers: workers.map(|it| whole("workers", it, 1)).transpose()?,
        cores,
        free_costs,
        estimator,
        governor,
        duration,
        decision_latency,
        link,
        characters,
    };
    let workloads = workloads.iter().map(Workload::meant).collect::<PyResult<Vec<_>>>()?;
    let policies = policies.iter().map(Meant::of).collect::<PyResult<Vec<_>>>()?;
    let what = [("workload", workloads.len()), ("policy", policies.len())];
    if let Some((what, _)) = what.iter().find(|(_, count)| *count == 0) {
        return Err(error(format!("no {what}: expected one or more")));
    }
    let mut asked = Asked::new(machine, settings)?;
    for workload in &workloads {
        asked = asked.with(workload)?;
    }
    let mut asked_for: Vec<(Case, usize)> = Vec::new();
    for workload in &workloads {
        for (number, policy) in policies.iter().enumerate() {
            for seed in (0..seeds).map(|more| seed.saturating_add(more)) {
                asked_for.push((asked.case(workload, policy, seed)?, number));
            }
        }
    }
    let runs = asked.runs();
    let threads = threads(jobs)?;
    let all = asked_for.len() as u64;
    let cases = together(py, progress, all, move |stop, count| {
        let of = |(case, policy): (Case, usize)| -> PyResult<(Case, Record)> {
            if !stop.goes_on() {
                return Err(PyKeyboardInterrupt::new_err(()));
            }
            let record = record(&runs, &case, &policies[policy], stop)?;
            count.add();
            Ok((case, record))
        };
        threads.install(|| asked_for.into_par_iter().map(of).collect::<PyResult<Vec<_>>>())
    })??;
    let table = Table::of(table_of(&cases).into_columns())?;
    let means = cases.chunks(seeds as usize).filter_map(|of_seeds| match of_seeds {
        [(_, record)] => Some(record.clone()),
        several => {
            over_seeds(&several.iter().map(|(_, record)| record.clone()).collect::<Vec<_>>())
        }
    });
    Ok((means.map(Run::of_record).collect(), table))
}

/// The record of a case. A run that fails is a record with the reason; an exception of Python ends
/// all of them.
fn record(runs: &Runs, case: &Case, policy: &Meant, stop: &Stop) -> PyResult<Record> {
    let policy = &policy.fresh()?;
    let prepared = runs.prepare(case, policy.named()).map_err(error);
    let done = prepared.and_then(|it| carry_out(runs, &it, policy, stop, false, &mut NoListener));
    let raised = match done {
        Ok(done) => return Ok(done.record),
        Err(raised) => raised,
    };
    let why = Python::attach(|py| {
        raised.is_instance_of::<Error>(py).then(|| raised.value(py).to_string())
    });
    why.map(|why| Runs::failed(case, why)).ok_or(raised)
}

fn records(runs: &[PyRef<'_, Run>]) -> Vec<Record> {
    runs.iter().map(|run| run.record.clone()).collect()
}

/// The tables of `evenkeel compare`.
#[pyfunction]
#[pyo3(signature = (runs, width=100))]
pub fn tables(runs: Vec<PyRef<'_, Run>>, width: usize) -> String {
    table::compare(&records(&runs), Style { width, rest: "runs and table have all" })
}

/// The result of a comparison in one sentence; None: there are no two policies.
#[pyfunction]
#[pyo3(signature = (runs, baseline=None))]
pub fn verdict(runs: Vec<PyRef<'_, Run>>, baseline: Option<&str>) -> Option<String> {
    evenkeel_report::verdict(&records(&runs), baseline)
}
