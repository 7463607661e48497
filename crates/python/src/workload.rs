//! Workloads: programs and files by name, and what is built in code.

use std::path::Path;

use evenkeel_files::native;
use evenkeel_files::programs::{self, Context};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::convert::error;
use crate::machine::Machine;
use crate::source::Source;

/// The method by which another class stands for a workload: it gives a workload file's text.
const AS_TEXT: &str = "__evenkeel__";

/// One of the workloads that run together.
#[derive(Clone)]
pub struct Item {
    /// As a case names it.
    pub label: String,
    /// Where it is from.
    pub source: Source<[u8]>,
}

impl Item {
    /// By its name or path. A file is read at once.
    fn named(name: &str) -> PyResult<Self> {
        // A name in another case comes after a file.
        if programs::find(name).is_some_and(|info| name.starts_with(info.name)) {
            return Ok(Self { label: name.to_owned(), source: Source::BuiltIn });
        }
        if Path::new(name).is_file() {
            let bytes = std::fs::read(name).map_err(|it| error(format!("{name}: {it}")))?;
            return Ok(Self { label: name.to_owned(), source: Source::File(bytes.into()) });
        }
        if programs::find(name).is_none() {
            // The loader says which names are near.
            let machine = evenkeel_files::machines::preset("odroid-xu3").map_err(error)?;
            programs::load(name, &Context::new(&machine)).map_err(error)?;
        }
        Ok(Self { label: programs::canonical(name), source: Source::BuiltIn })
    }
}

/// Workloads that run together: built-in programs by name, files by path. Raises `Error`: there is
/// no such program or file, or it cannot be read.
///
/// >>> import evenkeel as ek
/// >>> (ek.Workload("mcf") + ek.Workload("gobmk")).names
/// ['mcf', 'gobmk']
#[pyclass(frozen, module = "evenkeel")]
#[derive(Clone)]
pub struct Workload {
    pub items: Vec<Item>,
}

impl Workload {
    /// What an argument means: a name, a workload, an object built in code, or a list of these.
    ///
    /// # Errors
    /// It means none; there is no such name or file.
    pub fn meant(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(workload) = object.cast::<Self>() {
            return Ok(workload.get().clone());
        }
        if let Ok(name) = object.extract::<String>() {
            return Ok(Self { items: vec![Item::named(&name)?] });
        }
        if object.hasattr("__fspath__")? {
            let name: String = object.call_method0("__fspath__")?.extract()?;
            return Ok(Self { items: vec![Item::named(&name)?] });
        }
        if object.hasattr(AS_TEXT)? {
            let text: String = object.call_method0(AS_TEXT)?.extract()?;
            let name = match object.getattr_opt("name")? {
                Some(name) => name.extract()?,
                None => "workload".to_owned(),
            };
            let source = Source::Memory(text.into_bytes().into());
            return Ok(Self { items: vec![Item { label: name, source }] });
        }
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            let mut items = Vec::new();
            for one in object.try_iter()? {
                items.extend(Self::meant(&one?)?.items);
            }
            if items.is_empty() {
                return Err(error("no workload: expected one or more"));
            }
            return Ok(Self { items });
        }
        let found = object.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "workload: {found} found, expected a name, a path, a Workload, an App, or a list of \
             these"
        )))
    }

    /// Names, by which a case has it.
    pub fn labels(&self) -> Vec<String> {
        self.items.iter().map(|item| item.label.clone()).collect()
    }
}

#[pymethods]
impl Workload {
    #[new]
    #[pyo3(signature = (*names))]
    fn new(names: &Bound<'_, PyTuple>) -> PyResult<Self> {
        Self::meant(names.as_any())
    }

    /// A workload from the text of a workload file, of any format that files have.
    #[staticmethod]
    #[pyo3(signature = (text, name="workload"))]
    fn from_json(text: &str, name: &str) -> PyResult<Self> {
        let machine = evenkeel_files::machines::preset("odroid-xu3").map_err(error)?;
        programs::parse(text.as_bytes(), name, &Context::new(&machine)).map_err(error)?;
        let source = Source::Memory(text.as_bytes().into());
        Ok(Self { items: vec![Item { label: name.to_owned(), source }] })
    }

    /// Names of what runs together.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.labels()
    }

    /// Names as an axis of a grid has them, each with its bytes where these are nowhere else.
    fn in_memory<'py>(&self, py: Python<'py>) -> Vec<(String, Option<Bound<'py, PyBytes>>)> {
        let of = |item: &Item| {
            let bytes = item.source.in_memory();
            (item.label.clone(), bytes.map(|bytes| PyBytes::new(py, bytes)))
        };
        self.items.iter().map(of).collect()
    }

    /// True if the files that it was read from are still the same.
    fn is_as_read(&self) -> bool {
        self.items.iter().all(|item| match &item.source {
            Source::File(bytes) => std::fs::read(&item.label).is_ok_and(|now| *now == **bytes),
            Source::BuiltIn | Source::Memory(_) => true,
        })
    }

    /// What it is on a machine, as the text of a workload file.
    #[pyo3(signature = (machine, size=1.0, seed=1, workers=None))]
    fn to_json(
        &self,
        machine: &Bound<'_, PyAny>,
        size: f64,
        seed: u64,
        workers: Option<u32>,
    ) -> PyResult<String> {
        let machine = Machine::meant(machine)?;
        let context = Context {
            size,
            seed: seed.into(),
            threads: workers,
            ..Context::new(machine.get().used())
        };
        let mut apps = Vec::new();
        for item in &self.items {
            let of_item = match item.source.content() {
                Some(bytes) => programs::parse(bytes, &item.label, &context),
                None => programs::load(&item.label, &context),
            };
            apps.extend(of_item.map_err(error)?);
        }
        native::write(&apps).map_err(error)
    }

    /// Of names and files' bytes, as another process had it.
    #[staticmethod]
    fn _of(items: Vec<(String, Option<Vec<u8>>)>) -> Self {
        let item = |(label, bytes): (String, Option<Vec<u8>>)| {
            let source = bytes.map_or(Source::BuiltIn, |bytes| Source::Memory(bytes.into()));
            Item { label, source }
        };
        Self { items: items.into_iter().map(item).collect() }
    }

    #[expect(clippy::type_complexity, reason = "what Python's protocol asks for")]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Vec<(String, Option<Bound<'py, PyBytes>>)>,))> {
        let of = |item: &Item| {
            let bytes = item.source.content();
            (item.label.clone(), bytes.map(|bytes| PyBytes::new(slf.py(), bytes)))
        };
        let items = slf.get().items.iter().map(of).collect();
        Ok((slf.get_type().getattr("_of")?, (items,)))
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let items = [self.items.clone(), Self::meant(other)?.items].concat();
        Ok(Self { items })
    }

    fn __repr__(&self) -> String {
        let names: Vec<String> = self.labels().iter().map(|name| format!("'{name}'")).collect();
        format!("Workload({})", names.join(", "))
    }
}
