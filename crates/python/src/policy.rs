//! Policies by name, with their knobs.

use evenkeel_policy::{graph, registry};
use evenkeel_sweep::{Named, words};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::convert::error;

/// The attribute by which an object is a policy written in Python.
const EVENT: &str = "event";

/// A policy with its knobs. Raises `Error`: there is no such policy or knob, or the value is out of
/// its bounds.
///
/// >>> import evenkeel as ek
/// >>> ek.Policy("acfs", swap=200).label
/// 'acfs:swap=200'
#[pyclass(frozen, module = "evenkeel")]
#[derive(Clone, Debug)]
pub struct Policy {
    /// As the command line has it.
    #[pyo3(get)]
    pub label: String,
}

impl Policy {
    /// Of its text.
    ///
    /// # Errors
    /// There is no such policy, or it has no such knob.
    pub fn named(text: &str) -> PyResult<Self> {
        let policy = words::policy(text).map_err(error)?;
        let (system, _) = words::parts(&policy.name);
        registry::knobs(system, &policy.set).map_err(error)?;
        Ok(Self { label: policy.label })
    }
}

/// What an argument means.
pub enum Meant {
    /// A policy of the registry.
    Named(Policy),
    /// One that is written in Python, and its name.
    Own(String, Py<PyAny>),
}

impl Meant {
    /// A name, a policy, or an object with the methods of one.
    ///
    /// # Errors
    /// It means none; there is no such policy; one in Python has another's name.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(policy) = object.cast::<Policy>() {
            return Ok(Self::Named(policy.get().clone()));
        }
        if let Ok(text) = object.extract::<String>() {
            return Policy::named(&text).map(Self::Named);
        }
        if object.is_instance_of::<PyType>() || !object.hasattr(EVENT)? {
            let found = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "policy: {found} found, expected a name, a Policy, or an object of a class derived \
                 from Prototype"
            )));
        }
        let name: String = match object.getattr_opt("name")?.filter(|name| !name.is_none()) {
            Some(name) => name.extract()?,
            None => object.get_type().name()?.extract()?,
        };
        let is_known = registry::knobs(&name, &[]).is_ok() || graph::find(&name).is_some();
        if is_known || name.is_empty() || name.contains([':', ',', '+']) {
            return Err(error(format!(
                "policy in Python: name '{name}' found, expected one that no other policy has, \
                 without ':', ',' and '+'"
            )));
        }
        Ok(Self::Own(name, object.clone().unbind()))
    }

    /// The same, to be run once: a policy in Python has a state, and runs side by side.
    ///
    /// # Errors
    /// Its object cannot be copied.
    pub fn fresh(&self) -> PyResult<Self> {
        match self {
            Self::Named(policy) => Ok(Self::Named(policy.clone())),
            Self::Own(name, object) => Python::attach(|py| {
                let copy = py.import("copy")?.call_method1("deepcopy", (object,))?;
                Ok(Self::Own(name.clone(), copy.unbind()))
            }),
        }
    }

    /// Where a case that names it finds it.
    pub fn named(&self) -> Named {
        match self {
            Self::Named(_) => Named::InRegistry,
            Self::Own(..) => Named::Elsewhere,
        }
    }

    /// By which a case has it.
    pub fn label(&self) -> &str {
        match self {
            Self::Named(policy) => &policy.label,
            Self::Own(name, _) => name,
        }
    }
}

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (name, **knobs))]
    fn new(name: &str, knobs: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let given = words::policy(name).map_err(error)?;
        let mut text = name.to_owned();
        for (knob, value) in knobs.into_iter().flatten() {
            let knob: String = knob.extract()?;
            if given.set.iter().any(|(known, _)| *known == knob) {
                return Err(error(format!("knob '{knob}' of '{name}' found twice")));
            }
            // 200.0 and 200 are one value of a knob.
            let value = match value.extract::<f64>() {
                Ok(number) => number.to_string(),
                Err(_) => value.str()?.to_string(),
            };
            let between = if text.contains(':') { ',' } else { ':' };
            text = format!("{text}{between}{knob}={value}");
        }
        Self::named(&text)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().label.clone(),))
    }

    fn __repr__(&self) -> String {
        format!("Policy('{}')", self.label)
    }

    fn __str__(&self) -> &str {
        &self.label
    }
}
