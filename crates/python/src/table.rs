//! Tables, as Arrow has them.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use evenkeel_sweep::Column;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::convert::error;

/// A table in memory. Polars, pandas, pyarrow and DuckDB take it as it is, without copies, by
/// Arrow's interface for Python (`__arrow_c_stream__`).
#[pyclass(frozen, module = "evenkeel")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Of columns of equal length.
    ///
    /// # Errors
    /// They are not.
    pub fn of(columns: impl IntoIterator<Item = (String, Column)>) -> PyResult<Self> {
        let batch = batch(columns)?;
        Ok(Self { schema: batch.schema(), batches: vec![batch] })
    }

    /// Of pieces with the same columns, at least one.
    ///
    /// # Errors
    /// They do not have the same ones.
    pub fn of_pieces(batches: Vec<RecordBatch>) -> PyResult<Self> {
        let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        if batches.iter().any(|batch| batch.schema() != schema) {
            return Err(error("pieces of a table have different columns"));
        }
        Ok(Self { schema, batches })
    }
}

/// A piece of a table.
///
/// # Errors
/// The columns are not of equal length.
pub fn batch(columns: impl IntoIterator<Item = (String, Column)>) -> PyResult<RecordBatch> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|(name, column)| {
            let array = array(column);
            (Field::new(name, array.data_type().clone(), true), array)
        })
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(error)
}

fn array(column: Column) -> ArrayRef {
    match column {
        Column::Text(values) => {
            Arc::new(StringArray::from_iter(values.iter().map(Option::as_deref)))
        }
        Column::Whole(values) => Arc::new(Int64Array::from(values)),
        Column::Number(values) => Arc::new(Float64Array::from(values)),
        Column::Numbers(lists) => {
            let element = Field::new("element", DataType::Float64, false);
            let mut built = ListBuilder::new(Float64Builder::new()).with_field(element);
            for list in lists {
                built.append_option(list.map(|list| list.into_iter().map(Some)));
            }
            Arc::new(built.finish())
        }
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The table for any library that takes Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets one that cannot convert give what it has.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A frame of Polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// A table of pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pyarrow")?.call_method1("table", (slf,))
    }

    /// A frame of pandas, whose columns are those of Arrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = library(slf.py(), "pandas")?;
        let kwargs = PyDict::new(slf.py());
        kwargs.set_item("types_mapper", pandas.getattr("ArrowDtype")?)?;
        Self::to_arrow(slf)?.call_method("to_pandas", (), Some(&kwargs))
    }

    /// As the library for frames shows it that is installed; None: there is none.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> Option<Bound<'py, PyAny>> {
        let frame = Self::to_polars(slf).or_else(|_| Self::to_pandas(slf));
        frame.and_then(|frame| frame.call_method0("_repr_html_")).ok()
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows: {}>", self.__len__(), self.columns().join(", "))
    }
}

/// A library that is loaded only when it is asked for.
fn library<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|missing| {
        let text = format!("this takes {name}: pip install {name}");
        let raised = pyo3::exceptions::PyImportError::new_err(text);
        raised.set_cause(py, Some(missing));
        raised
    })
}
