//! Which thread ran where, as a table.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_machine::Machine;
use evenkeel_metrics::Record;
use evenkeel_policy::ThreadId;
use evenkeel_sim::{Entry, Log};
use evenkeel_sweep::Column;
use pyo3::prelude::*;

use crate::table::Table;

/// One row for each stretch of time that a thread had a core, in order of its end: `thread` (its
/// number), `name`, `app`, `core`, `kind`, `start_s`, `end_s`.
///
/// # Errors
/// None: the columns are of equal length.
pub fn table(machine: &Machine, record: &Record, log: &Log) -> PyResult<Table> {
    let mut of_thread: HashMap<ThreadId, (Arc<str>, Arc<str>)> = HashMap::new();
    let (mut threads, mut names, mut apps) = (Vec::new(), Vec::new(), Vec::new());
    let (mut cores, mut kinds, mut starts, mut ends) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for entry in &log.entries {
        match entry {
            Entry::Started { thread, app, name, .. } => {
                let app = record.apps.get(app.index()).map_or("", |app| app.name.as_str());
                of_thread.insert(*thread, (name.as_str().into(), app.into()));
            }
            Entry::Ran { thread, core, from, to, .. } if from < to => {
                let (name, app) = of_thread.get(thread).cloned().unwrap_or_default();
                threads.push(Some(i64::from(thread.0)));
                names.push(Some(name));
                apps.push(Some(app));
                cores.push(Some(i64::from(core.0)));
                kinds.push(Some(machine.kind_of(*core).name.as_str().into()));
                starts.push(Some(from.as_secs_f64()));
                ends.push(Some(to.as_secs_f64()));
            }
            _ => {}
        }
    }
    Table::of([
        ("thread".to_owned(), Column::Whole(threads)),
        ("name".to_owned(), Column::Text(names)),
        ("app".to_owned(), Column::Text(apps)),
        ("core".to_owned(), Column::Whole(cores)),
        ("kind".to_owned(), Column::Text(kinds)),
        ("start_s".to_owned(), Column::Number(starts)),
        ("end_s".to_owned(), Column::Number(ends)),
    ])
}
