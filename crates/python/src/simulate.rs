//! `simulate`: one run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use evenkeel_policy::Policy;
use evenkeel_sim::{Listener, Log, NoListener};
use evenkeel_sweep::{Done, Prepared, Runs};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::asked::{Asked, Settings};
use crate::convert::{error, whole};
use crate::interrupt::{Interrupt, Raised, Stop};
use crate::policy::Meant;
use crate::prototype::Prototype;
use crate::run::Run;
use crate::timeline;
use crate::together::{self, together};
use crate::workload::Workload;

/// Simulates a workload on a machine under a policy.
///
/// `machine`, `workload`, `policy`: names, paths or objects; a list of workloads runs together.
/// Times are seconds, or text as "200ms". The interpreter's lock is given back meanwhile.
///
/// `size`: how much a built-in workload does (1); `workers`: threads of parallel programs, by
/// default one per core; `cores`: a part of the machine, "1big+2little"; `estimator`: "oracle"
/// (default), "offline", "sampled", "modelled=0.1", or a model's file; `governor`: "performance"
/// (default), "schedutil", or "fixed=MHZ"; `duration`: the run ends then; `link`: bytes in a
/// second between workers of a task graph; `timeline`: keeps which thread ran where; `threads`:
/// keeps figures by thread.
///
/// Raises `Error` with the text of the command line, and what a policy in Python raises.
///
/// >>> import evenkeel as ek
/// >>> run = ek.simulate("quickia", ["mcf", "gobmk"], "acfs", size=0.1)
/// >>> run.unfairness < 1.5
/// True
#[pyfunction]
#[pyo3(signature = (
    machine, workload, policy=None, *, seed=1, size=None, workers=None, cores=None,
    free_costs=false, estimator=None, governor=None, duration=None, decision_latency=None,
    link=None, characters=false, timeline=false, threads=false
))]
#[expect(clippy::too_many_arguments, reason = "each is a named one of Python")]
pub fn simulate(
    py: Python<'_>,
    machine: &Bound<'_, PyAny>,
    workload: &Bound<'_, PyAny>,
    policy: Option<&Bound<'_, PyAny>>,
    seed: i64,
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
    timeline: bool,
    threads: bool,
) -> PyResult<Run> {
    let seed = whole("seed", seed, 0)?;
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
    let workload = Workload::meant(workload)?;
    let policy = match policy {
        Some(policy) => Meant::of(policy)?,
        None => Meant::of(pyo3::types::PyString::new(py, evenkeel_report::BASELINE).as_any())?,
    };
    let asked = Asked::new(machine, settings)?.with(&workload)?;
    let case = asked.case(&workload, &policy, seed)?;
    let runs = asked.runs();
    let prepared = py.detach(|| runs.prepare(&case, policy.named())).map_err(error)?;
    let prepared = Arc::new(prepared);
    if !runs.knows_alone(&prepared) {
        // Several at a time, on threads of their own: a process that forks does not take with it
        // those that all share.
        let (runs, prepared) = (Arc::clone(&runs), Arc::clone(&prepared));
        // Nor on threads that all share: a process that forks leaves these behind.
        let pool = together::threads(None)?;
        together(py, None, 0, move |stop, _| {
            pool.install(|| runs.measure_alone(&prepared, || Interrupt::when(stop)))
        })?;
    }
    let stop = Stop::default();
    if !timeline {
        let done =
            py.detach(|| carry_out(&runs, &prepared, &policy, &stop, threads, &mut NoListener))?;
        return Ok(Run::of(done, None));
    }
    let mut log = Log::default();
    let done = py.detach(|| carry_out(&runs, &prepared, &policy, &stop, threads, &mut log))?;
    let table = timeline::table(prepared.machine(), &done.record, &log)?;
    Ok(Run::of(done, Some(Py::new(py, table)?)))
}

/// Carries out a case, without the interpreter's lock.
///
/// # Errors
/// It cannot be carried out; a signal or a policy ended it.
pub fn carry_out<L: Listener>(
    runs: &Runs,
    prepared: &Prepared,
    policy: &Meant,
    stop: &Stop,
    per_thread: bool,
    listener: &mut L,
) -> PyResult<Done> {
    if !runs.measure_alone(prepared, || Interrupt::when(stop)) {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    let raised = Raised::default();
    let mut interrupt = Interrupt::new(raised.clone(), stop.clone());
    let mut prototype = match policy {
        Meant::Own(_, object) => {
            let object = Python::attach(|py| object.clone_ref(py));
            Some(Prototype::new(object, raised.clone())?)
        }
        Meant::Named(_) => None,
    };
    let given = prototype.as_mut().map(|policy| policy as &mut dyn Policy);
    let listener = &mut (&mut interrupt, listener);
    let done = catch_unwind(AssertUnwindSafe(|| {
        runs.carry_out_prepared(prepared, given, per_thread, listener)
    }));
    match (raised.take(), done) {
        (Some(raised), _) => Err(raised),
        (None, Ok(done)) => done.map_err(error),
        (None, Err(_)) => Err(error("the simulator failed: please report it")),
    }
}
