//! Between Rust's values and Python's.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

pyo3::create_exception!(
    evenkeel,
    Error,
    PyValueError,
    "What the command line would say after `error:`."
);

/// An error with the text of the command line.
pub fn error(what: impl ToString) -> PyErr {
    Error::new_err(what.to_string())
}

/// A whole number, of at least so much.
///
/// # Errors
/// It is less.
pub fn whole(name: &str, number: i64, least: u32) -> PyResult<u64> {
    u64::try_from(number)
        .ok()
        .filter(|number| *number >= u64::from(least))
        .ok_or_else(|| error(format!("{name} {number} found, expected {least} or more")))
}

/// Text of a fixed width, for a notebook.
pub fn as_html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<pre>{escaped}</pre>")
}

/// What serde makes of a value, as objects of Python.
///
/// # Errors
/// It is no JSON.
pub fn to_python<'py>(
    py: Python<'py>,
    value: &impl serde::Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(error)?;
    py.import("json")?.call_method1("loads", (text,))
}

/// An object of Python as JSON.
///
/// # Errors
/// Python's, if it is none.
pub fn to_json(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text: String = object.py().import("json")?.call_method1("dumps", (object,))?.extract()?;
    serde_json::from_str(&text).map_err(error)
}
