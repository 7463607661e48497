//! Machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_files::machines;
use evenkeel_machine as model;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{error, to_python};
use crate::source::Source;

/// A machine, or a part of one: a preset by its name, a machine file by its path. Raises `Error`:
/// there is no such machine, file or part.
///
/// >>> import evenkeel as ek
/// >>> ek.Machine("odroid-xu3", cores="1big+2little").cores
/// '1big+2little'
#[pyclass(frozen, module = "evenkeel")]
pub struct Machine {
    /// As a case names it.
    pub label: String,
    /// Where it is from.
    pub source: Source<str>,
    /// The part that is used.
    pub part: Option<String>,
    pub has_free_costs: bool,
    /// All of it.
    whole: Arc<model::Machine>,
    used: Arc<model::Machine>,
}

/// Presets that have been read: they never change.
static PRESETS: Mutex<BTreeMap<&'static str, Arc<model::Machine>>> = Mutex::new(BTreeMap::new());

/// A machine that is built in, if one has exactly this name.
fn preset(name: &str) -> PyResult<Option<Arc<model::Machine>>> {
    let Some(preset) = machines::presets().iter().find(|preset| preset.name == name) else {
        return Ok(None);
    };
    let mut presets = PRESETS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(machine) = presets.get(preset.name) {
        return Ok(Some(Arc::clone(machine)));
    }
    let machine = Arc::new(machines::preset(name).map_err(error)?);
    presets.insert(preset.name, Arc::clone(&machine));
    Ok(Some(machine))
}

impl Machine {
    fn of(
        label: String,
        source: Source<str>,
        machine: Arc<model::Machine>,
        part: Option<String>,
        has_free_costs: bool,
    ) -> PyResult<Self> {
        let whole = if has_free_costs { Arc::new(machine.with_free_costs()) } else { machine };
        let used = match &part {
            Some(part) => Arc::new(whole.subset(part).map_err(error)?),
            None => Arc::clone(&whole),
        };
        Ok(Self { label, source, part, has_free_costs, whole, used })
    }

    /// What an argument means: a name, a path, or a machine.
    ///
    /// # Errors
    /// It means none; there is no such name or file.
    pub fn meant<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        if let Ok(machine) = object.cast::<Self>() {
            return Ok(machine.clone());
        }
        let name: String = match object.extract() {
            Ok(name) => name,
            Err(_) if object.hasattr("__fspath__")? => {
                object.call_method0("__fspath__")?.extract()?
            }
            Err(_) => {
                let found = object.get_type().name()?;
                return Err(PyTypeError::new_err(format!(
                    "machine: {found} found, expected a name, a path, or a Machine"
                )));
            }
        };
        Bound::new(object.py(), Self::named(&name, None, false)?)
    }

    /// The part that is used.
    pub fn used(&self) -> &model::Machine {
        &self.used
    }

    /// By its name or path.
    ///
    /// # Errors
    /// There is none, or the file is none.
    pub fn named(name: &str, part: Option<String>, has_free_costs: bool) -> PyResult<Self> {
        if let Some(machine) = preset(name)? {
            return Self::of(name.to_owned(), Source::BuiltIn, machine, part, has_free_costs);
        }
        let machine = machines::load(name).map_err(error)?;
        let source = if Path::new(name).is_file() {
            Source::File(machines::to_toml(&machine).into())
        } else {
            Source::BuiltIn
        };
        Self::of(machines::canonical(name), source, Arc::new(machine), part, has_free_costs)
    }
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (name, cores=None, free_costs=false))]
    fn new(name: PathBuf, cores: Option<String>, free_costs: bool) -> PyResult<Self> {
        Self::named(&name.to_string_lossy(), cores, free_costs)
    }

    /// A machine from the text of a machine file.
    #[staticmethod]
    #[pyo3(signature = (text, cores=None, free_costs=false))]
    fn from_toml(text: &str, cores: Option<String>, free_costs: bool) -> PyResult<Self> {
        let machine = machines::parse(text, "text").map_err(error)?;
        let source = Source::Memory(text.into());
        Self::of(machine.name.clone(), source, Arc::new(machine), cores, free_costs)
    }

    /// Name.
    #[getter]
    fn name(&self) -> &str {
        &self.used.name
    }

    /// A sentence for people.
    #[getter]
    fn description(&self) -> &str {
        &self.used.description
    }

    /// Cores in use by kind, fastest first.
    #[getter]
    fn cores(&self) -> String {
        self.used.cores_label()
    }

    /// Kinds of core, fastest first: name, capacity of 1024, how many cores, highest clock in kHz.
    #[getter]
    fn kinds<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let kinds = self.used.kinds.iter().enumerate();
        kinds
            .map(|(number, kind)| {
                let of = model::KindId(number as u8);
                let row = PyDict::new(py);
                row.set_item("name", &kind.name)?;
                row.set_item("capacity", kind.capacity)?;
                row.set_item("cores", self.used.cores_of(of).count())?;
                row.set_item("max_khz", kind.top().khz)?;
                Ok(row)
            })
            .collect()
    }

    /// True if it has a power model.
    #[getter]
    fn has_power_model(&self) -> bool {
        self.used.has_power_model()
    }

    /// As an axis of a grid names it.
    #[getter]
    fn label(&self) -> &str {
        &self.label
    }

    /// True if it is a part, or has free costs: then a grid has axes for that.
    #[getter]
    fn is_part(&self) -> bool {
        self.part.is_some() || self.has_free_costs
    }

    /// Its text where it is nowhere else.
    fn in_memory(&self) -> Option<&str> {
        self.source.in_memory()
    }

    /// A part of it: `1big+2little`.
    fn part(&self, cores: String) -> PyResult<Self> {
        let used = self.whole.subset(&cores).map_err(error)?;
        Ok(Self {
            label: self.label.clone(),
            source: self.source.clone(),
            part: Some(cores),
            has_free_costs: self.has_free_costs,
            whole: Arc::clone(&self.whole),
            used: Arc::new(used),
        })
    }

    /// All that there is to say about it, as `evenkeel show machine --json` has it: operating
    /// points, clusters, costs.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.used.describe())
    }

    /// The text of a machine file.
    fn to_toml(&self) -> String {
        machines::to_toml(&self.used)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (class, machine) = (slf.get_type(), slf.get());
        let Self { label, part, has_free_costs, .. } = machine;
        match machine.source.content() {
            None => (class, (label, part, has_free_costs)).into_bound_py_any(slf.py()),
            Some(text) => {
                let make = class.getattr("from_toml")?;
                (make, (text, part, has_free_costs)).into_bound_py_any(slf.py())
            }
        }
    }

    fn __repr__(&self) -> String {
        let free = if self.has_free_costs { ", free_costs=True" } else { "" };
        format!("Machine('{}', cores='{}'{free})", self.label, self.used.cores_label())
    }
}
