//! A run that is over.

use std::sync::OnceLock;

use evenkeel_metrics::Record;
use evenkeel_report::table::{Style, compare};
use evenkeel_sweep::Done;
use pyo3::prelude::*;

use crate::convert::{as_html, error, to_python};
use crate::table::Table;

/// A run that is over: its figures, under the names of schema/result.schema.json.
#[pyclass(frozen, module = "evenkeel")]
pub struct Run {
    pub record: Record,
    notes: Vec<String>,
    timeline: Option<Py<Table>>,
    /// All of it, made when something is first asked for that is no number.
    dict: OnceLock<Py<PyAny>>,
}

impl Run {
    /// Of what was carried out.
    pub fn of(done: Done, timeline: Option<Py<Table>>) -> Self {
        Self { record: done.record, notes: done.notes, timeline, dict: OnceLock::new() }
    }

    /// Of a mean over seeds, or of a failure.
    pub fn of_record(record: Record) -> Self {
        Self::of(Done { record, notes: Vec::new() }, None)
    }

    fn item<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let all = match self.dict.get() {
            Some(all) => all.bind(py).clone(),
            None => {
                let all = to_python(py, &self.record)?;
                let _ = self.dict.set(all.clone().unbind());
                all
            }
        };
        match all.get_item(name) {
            Ok(item) => Ok(item),
            Err(_) => Ok(py.None().into_bound(py)),
        }
    }

    /// A figure that a failed run does not have.
    fn figure<T>(&self, figure: T) -> Option<T> {
        self.record.error.is_none().then_some(figure)
    }
}

macro_rules! getters {
    ($($(#[doc = $about:literal])* $name:ident: $type:ty = $of:expr;)* { $($more:tt)* }) => {
        #[pymethods]
        impl Run {
            $($more)*

            $($(#[doc = $about])* #[getter] fn $name(&self) -> $type {
                let of: fn(&Self) -> $type = $of;
                of(self)
            })*
        }
    };
}

getters! {
    /// Name of the machine.
    machine: String = |run| run.record.machine.clone();
    /// Cores in use by kind, fastest first.
    cores: String = |run| run.record.cores.clone();
    /// Name of the policy, without knobs.
    policy: String = |run| run.record.policy.clone();
    /// What ran together.
    workloads: Vec<String> = |run| run.record.workloads.clone();
    /// Seed.
    seed: u64 = |run| run.record.seed;
    /// Where speedup factors were from; None: the true ones.
    estimator: Option<String> = |run| run.record.estimator.clone();
    /// From the start to the end of the run, seconds.
    makespan_s: Option<f64> = |run| run.figure(run.record.makespan_s);
    /// Time on one core of the slowest kind / makespan, for a single application.
    speedup: Option<f64> = |run| run.record.speedup;
    /// Energy, joules; None: the machine has no power model.
    energy_j: Option<f64> = |run| run.record.energy_j;
    /// Energy / makespan, watts.
    mean_power_w: Option<f64> = |run| run.record.mean_power_w;
    /// Energy-delay product, joule seconds.
    edp_js: Option<f64> = |run| run.record.edp_js;
    /// Greatest slowdown / least slowdown; None for one application.
    unfairness: Option<f64> = |run| run.record.unfairness;
    /// Aggregate speedup.
    asp: Option<f64> = |run| run.record.asp;
    /// System throughput: sum over applications of 1 / slowdown.
    stp: Option<f64> = |run| run.record.stp;
    /// Average normalised turnaround time: mean slowdown.
    antt: Option<f64> = |run| run.record.antt;
    /// Times that a thread resumed on another core than its last.
    migrations: Option<u64> = |run| run.figure(run.record.migrations);
    /// Pairs of threads that traded places.
    swaps: Option<u64> = |run| run.figure(run.record.swaps);
    /// Times that a core took up another thread than it ran before.
    context_switches: Option<u64> = |run| run.figure(run.record.context_switches);
    /// Why the run failed; None: it did not.
    error: Option<String> = |run| run.record.error.clone();
    /// Sentences for people, of the workloads and the policy.
    notes: Vec<String> = |run| run.notes.clone();
    {
        /// By application: name, completion time, slowdown, time on each kind, and so on.
        #[getter]
        fn apps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            self.item(py, "apps")
        }

        /// By kind of core, fastest first: busy and idle time, energy.
        #[getter]
        fn kinds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            self.item(py, "kinds")
        }

        /// Every knob of the policy with the value in force.
        #[getter]
        fn knobs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            self.item(py, "knobs")
        }

        /// How the tasks of a graph fared; None: it was not one application of task graphs.
        #[getter]
        fn graph<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            self.item(py, "graph")
        }

        /// From wake-up to running, microseconds; None: no thread woke.
        #[getter]
        fn wakeup_latency_us<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            self.item(py, "wakeup_latency_us")
        }

        /// By thread, in order of start; None unless `threads=True` was asked for.
        #[getter]
        fn threads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            self.item(py, "threads")
        }

        /// How threads kept the periods of timers; None: none waited for one.
        #[getter]
        fn timers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            self.item(py, "timers")
        }

        /// Of a mean over seeds: `count`, and `ci95`, half the width of the 95 % interval of each
        /// measure. None: of one run.
        #[getter]
        fn seeds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            self.item(py, "seeds")
        }

        /// Which thread ran where; None unless `timeline=True` was asked for.
        #[getter]
        fn timeline(&self, py: Python<'_>) -> Option<Py<Table>> {
            self.timeline.as_ref().map(|table| table.clone_ref(py))
        }

        /// All of it, as schema/result.schema.json has it.
        fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            to_python(py, &self.record)
        }

        /// The same as text.
        fn to_json(&self) -> PyResult<String> {
            serde_json::to_string_pretty(&self.record).map_err(error)
        }

        /// A run from what `to_json` gives.
        #[staticmethod]
        fn from_json(text: &str) -> PyResult<Self> {
            serde_json::from_str(text).map(Self::of_record).map_err(error)
        }

        /// Without its timeline and its notes.
        fn __reduce__<'py>(
            slf: &Bound<'py, Self>,
        ) -> PyResult<(Bound<'py, PyAny>, (String,))> {
            let text = serde_json::to_string(&slf.get().record).map_err(error)?;
            Ok((slf.get_type().getattr("from_json")?, (text,)))
        }

        fn __str__(&self) -> String {
            let style = Style { rest: "to_dict has all", ..Style::default() };
            compare(std::slice::from_ref(&self.record), style)
        }

        fn _repr_html_(&self) -> String {
            as_html(&self.__str__())
        }

        fn __repr__(&self) -> String {
            let Record { machine, policy, workloads, makespan_s, .. } = &self.record;
            let workloads = workloads.join(" + ");
            match &self.record.error {
                Some(error) => format!("<Run of {workloads} on {machine} under {policy}: {error}>"),
                None => {
                    format!("<Run of {workloads} on {machine} under {policy}: {makespan_s:.6} s>")
                }
            }
        }
    }
}
