//! The Python module `evenkeel._evenkeel`. What is written in Python stands beside it, in
//! `python/evenkeel`, and `evenkeel/__init__.py` says which names are for users.
//!
//! Every run goes through [`evenkeel_sweep::Runs`], as the cases of a sweep do. A simulation gives
//! the interpreter's lock back.

mod asked;
mod compare;
mod convert;
mod interrupt;
mod listed;
mod machine;
mod policy;
mod prototype;
mod run;
mod simulate;
mod source;
mod study;
mod sweep;
mod table;
mod timeline;
mod together;
mod workload;

use pyo3::prelude::*;

#[pymodule]
fn _evenkeel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MODEL", evenkeel_sim::MODEL)?;
    module.add("Error", module.py().get_type::<convert::Error>())?;
    module.add_class::<machine::Machine>()?;
    module.add_class::<workload::Workload>()?;
    module.add_class::<policy::Policy>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_class::<sweep::SweepFolder>()?;
    module.add_class::<prototype::Event>()?;
    module.add_class::<prototype::View>()?;
    module.add_class::<prototype::Thread>()?;
    module.add_class::<prototype::Core>()?;
    module.add_class::<prototype::Say>()?;
    module.add_function(wrap_pyfunction!(listed::machines, module)?)?;
    module.add_function(wrap_pyfunction!(listed::workloads, module)?)?;
    module.add_function(wrap_pyfunction!(listed::policies, module)?)?;
    module.add_function(wrap_pyfunction!(listed::studies, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(compare::tables, module)?)?;
    module.add_function(wrap_pyfunction!(compare::verdict, module)?)?;
    module.add_function(wrap_pyfunction!(study::reproduce, module)?)?;
    Ok(())
}
