//! What a run is asked for with: the arguments of `simulate` and `compare`, as cases.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use evenkeel_files::programs;
use evenkeel_machine::Nanos;
use evenkeel_sweep::{Case, Inputs, Runs, Value, words};
use pyo3::prelude::*;

use crate::convert::error;
use crate::machine::Machine;
use crate::policy::Meant;
use crate::workload::Workload;

/// Most sets of files and objects whose runs alone are kept. Ours.
const KEPT: usize = 8;

/// Runs of what is built in, which never changes.
static BUILT_IN: LazyLock<Arc<Runs>> = LazyLock::new(|| Arc::new(Runs::default()));
/// Runs of files and objects, by what these are; the one that was used last is last.
static OTHERS: Mutex<Vec<(Inputs, Arc<Runs>)>> = Mutex::new(Vec::new());

/// Settings by name, as the flags of the command line.
#[derive(Default)]
pub struct Settings<'py> {
    pub size: Option<f64>,
    pub workers: Option<u64>,
    pub cores: Option<String>,
    pub free_costs: bool,
    pub estimator: Option<String>,
    pub governor: Option<String>,
    pub duration: Option<Bound<'py, PyAny>>,
    pub decision_latency: Option<Bound<'py, PyAny>>,
    pub link: Option<String>,
    pub characters: bool,
}

/// A machine, and all that holds for each run on it.
pub struct Asked {
    /// Values of the axes but workload, policy and seed.
    values: Vec<(&'static str, Value)>,
    inputs: Inputs,
    /// Workloads by name; `None`: it is built in.
    workloads: BTreeMap<String, Option<Box<[u8]>>>,
    /// False: a file that is read again with each run is named.
    may_be_kept: bool,
}

impl Asked {
    /// Of a machine and settings.
    ///
    /// # Errors
    /// What a setting means is not clear.
    pub fn new(machine: &Bound<'_, PyAny>, settings: Settings<'_>) -> PyResult<Self> {
        let machine = Machine::meant(machine)?;
        let machine = machine.get();
        let mut inputs = Inputs::default();
        if let Some(text) = machine.source.content() {
            inputs = inputs.with_machine(&machine.label, text.to_owned());
        }
        let cores = match (settings.cores, &machine.part) {
            (Some(_), Some(part)) => {
                return Err(error(format!("cores: the machine is already a part, {part}")));
            }
            (asked, part) => asked.or_else(|| part.clone()),
        };
        let may_be_kept =
            settings.estimator.as_ref().is_none_or(|estimator| !Path::new(estimator).is_file());
        let time = |name: &str, time: Option<Bound<'_, PyAny>>| -> PyResult<Option<Value>> {
            time.map(|time| time_of(name, &time).map(Value::Word)).transpose()
        };
        check("estimator", settings.estimator.as_deref(), words::estimator)?;
        check("governor", settings.governor.as_deref(), words::governor)?;
        check("link", settings.link.as_deref(), words::rate)?;
        let flag = |flag: bool| flag.then_some(Value::Flag(true));
        let word = |word: Option<String>| word.map(Value::Word);
        let all = [
            ("machine", Some(Value::Word(machine.label.clone()))),
            ("cores", word(cores)),
            ("free-costs", flag(settings.free_costs || machine.has_free_costs)),
            ("size", settings.size.map(Value::Number)),
            ("workers", settings.workers.map(|workers| Value::Whole(workers as i64))),
            ("characters", flag(settings.characters)),
            ("duration", time("duration", settings.duration)?),
            ("link", word(settings.link)),
            ("governor", word(settings.governor)),
            ("estimator", word(settings.estimator)),
            ("decision-latency", time("decision_latency", settings.decision_latency)?),
        ];
        let values = all.into_iter().filter_map(|(axis, value)| Some((axis, value?))).collect();
        Ok(Self { values, inputs, workloads: BTreeMap::new(), may_be_kept })
    }

    /// With a workload of which runs will be asked for.
    ///
    /// # Errors
    /// Another one has its name.
    pub fn with(mut self, workload: &Workload) -> PyResult<Self> {
        for item in &workload.items {
            let bytes = item.source.content();
            // What is built in has its name already.
            let name = match bytes {
                Some(_) => programs::canonical(&item.label),
                None => item.label.clone(),
            };
            let known = self.workloads.insert(name, bytes.map(Into::into));
            if known.is_some_and(|known| known.as_deref() != bytes) {
                return Err(error(format!(
                    "'{}' is the name of two different things: expected one for each",
                    item.label
                )));
            }
            if let Some(bytes) = bytes {
                self.inputs = self.inputs.with_workload(&item.label, bytes.to_vec());
            }
        }
        Ok(self)
    }

    /// One run.
    ///
    /// # Errors
    /// The seed is too large.
    pub fn case(&self, workload: &Workload, policy: &Meant, seed: u64) -> PyResult<Case> {
        let most = i64::MAX;
        let seed = i64::try_from(seed)
            .map_err(|_| error(format!("seed {seed} found, expected at most {most}")))?;
        let own = [
            ("workload", Value::Together(workload.labels())),
            ("policy", Value::Word(policy.label().to_owned())),
            ("seed", Value::Whole(seed)),
        ];
        let values = self.values.iter().cloned().chain(own);
        Ok(Case::new(values.map(|(axis, value)| (axis.to_owned(), value)).collect()))
    }

    /// What carries them out: the same for the same inputs, so that runs alone are done once.
    pub fn runs(&self) -> Arc<Runs> {
        if !self.may_be_kept {
            return Arc::new(Runs::with_inputs(self.inputs.clone()));
        }
        if self.inputs == Inputs::default() {
            return Arc::clone(&BUILT_IN);
        }
        let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = others.iter().position(|(inputs, _)| *inputs == self.inputs);
        let kept = match known {
            Some(place) => others.remove(place),
            None => (self.inputs.clone(), Arc::new(Runs::with_inputs(self.inputs.clone()))),
        };
        if others.len() >= KEPT {
            others.remove(0);
        }
        let runs = Arc::clone(&kept.1);
        others.push(kept);
        runs
    }
}

/// Says which setting a text is wrong for.
fn check<T>(
    name: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> PyResult<()> {
    let parsed =
        text.map(|text| parse(text).map_err(|why| error(format!("{name} '{text}': {why}"))));
    parsed.transpose().map(drop)
}

/// A time: seconds as a number, or as the command line has it, `"200ms"`.
fn time_of(name: &str, time: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = time.extract::<String>() {
        check(name, Some(&text), words::time)?;
        return Ok(text);
    }
    let seconds: f64 = time.extract()?;
    let ns = (seconds * 1e9).round();
    if ns < 0.0 || ns > Nanos::MAX.0 as f64 || ns.is_nan() {
        return Err(error(format!("{name} {seconds} found, expected seconds, 0 or more")));
    }
    Ok(format!("{ns}ns"))
}
