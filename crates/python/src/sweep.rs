//! Sweeps: a grid's parts, carried out here or, part by part, by workers elsewhere.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use evenkeel_sweep::{
    Begin, Column, Folder, Grid, Inputs, Shard, Sweep as Parts, SweepError, Watch,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::convert::{error, to_json, to_python};
use crate::interrupt::Stop;
use crate::table::{Table, batch};
use crate::together::{Count, threads, together};

/// A grid, cut into parts. Users have `sweep`; this is what it, and workers, go by.
#[pyclass(frozen, module = "evenkeel")]
pub struct Sweep {
    parts: Arc<Parts>,
}

/// Tells how far a sweep is, and whether it goes on.
struct Watched {
    count: Count,
    stop: Stop,
    failed: AtomicU64,
    why: Mutex<Option<String>>,
}

impl Watch for Watched {
    fn case(&self, error: Option<&str>) {
        self.count.add();
        if let Some(error) = error {
            self.failed.fetch_add(1, Ordering::Relaxed);
            let mut why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
            why.get_or_insert_with(|| error.to_owned());
        }
    }

    fn goes_on(&self) -> bool {
        self.stop.goes_on()
    }
}

impl Watched {
    fn new(stop: &Stop, count: &Count) -> Self {
        let (stop, count) = (stop.clone(), count.clone());
        Self { count, stop, failed: AtomicU64::new(0), why: Mutex::default() }
    }

    /// How many cases failed, and why the first did.
    fn failures(self) -> (u64, Option<String>) {
        let why = self.why.into_inner().unwrap_or_else(PoisonError::into_inner);
        (self.failed.into_inner(), why)
    }
}

#[pymethods]
impl Sweep {
    /// Of a grid's text, as a file has it. `file`: its name in messages. `machines` and
    /// `workloads`: what is in memory, by name.
    #[new]
    #[pyo3(signature = (text, file="grid", seeds=None, machines=None, workloads=None))]
    fn new(
        text: &str,
        file: &str,
        seeds: Option<u32>,
        machines: Option<&Bound<'_, PyDict>>,
        workloads: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let grid = Grid::parse(text, file, seeds).map_err(error)?;
        let mut inputs = Inputs::default();
        for (name, text) in machines.into_iter().flatten() {
            inputs = inputs.with_machine(&name.extract::<String>()?, text.extract()?);
        }
        for (name, bytes) in workloads.into_iter().flatten() {
            inputs = inputs.with_workload(&name.extract::<String>()?, bytes.extract()?);
        }
        let parts = Parts::with_inputs(grid, inputs).map_err(error)?;
        let checked = parts.runs().check(parts.grid());
        checked.map_err(|wrong| error(format!("{file}: {wrong}")))?;
        Ok(Self { parts: Arc::new(parts) })
    }

    /// The text of a grid's file, from a dictionary of the same structure.
    #[staticmethod]
    fn grid_of(grid: &Bound<'_, PyAny>) -> PyResult<String> {
        let value = to_json(grid)?;
        let value: toml::Value = serde_json::from_value(value).map_err(error)?;
        toml::to_string(&value).map_err(error)
    }

    /// Number of cases.
    fn __len__(&self) -> usize {
        self.parts.grid().len() as usize
    }

    /// The grid's name, or None.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.parts.grid().name()
    }

    /// What the results are of, as in a folder's manifest.json.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.parts.manifest())
    }

    /// Numbers of the parts of a share: "2/10", or all.
    #[pyo3(signature = (shard=None))]
    fn share(&self, shard: Option<&str>) -> PyResult<Vec<usize>> {
        let shard = shard.map_or(Ok(Shard::WHOLE), str::parse);
        let shard = shard.map_err(|expected| error(format!("shard: {expected}")))?;
        Ok(self.parts.share(shard))
    }

    /// Number of cases of some parts.
    fn cases_of(&self, parts: Vec<usize>) -> PyResult<u64> {
        Ok(self.parts.cases_of(&known(&self.parts, parts)?))
    }

    /// Begins a folder, or with `resume` goes on with one.
    #[pyo3(signature = (path, resume=false))]
    fn begin(&self, path: PathBuf, resume: bool) -> PyResult<SweepFolder> {
        let begin = if resume { Begin::Resume } else { Begin::Anew };
        let folder = self.parts.folder(&path, begin).map_err(error)?;
        folder.sweep_up();
        Ok(SweepFolder { parts: Arc::clone(&self.parts), folder: Arc::new(folder) })
    }

    /// Carries parts out into memory; gives the table, how many cases failed, and why the first
    /// did.
    #[pyo3(signature = (parts, jobs=None, progress=None))]
    fn to_memory(
        &self,
        py: Python<'_>,
        parts: Vec<usize>,
        jobs: Option<i64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Table, u64, Option<String>)> {
        let parts = known(&self.parts, parts)?;
        let threads = threads(jobs)?;
        let (all, of) = (self.parts.cases_of(&parts), Arc::clone(&self.parts));
        let (pieces, failed, why) = together(py, progress, all, move |stop, count| {
            let watched = Watched::new(stop, count);
            let pieces: Mutex<Vec<(usize, evenkeel_sweep::Table)>> = Mutex::default();
            of.carry_out_for(&parts, &threads, &watched, |part, table| {
                pieces.lock().unwrap_or_else(PoisonError::into_inner).push((part, table));
                Ok(())
            })?;
            let (failed, why) = watched.failures();
            let mut pieces = pieces.into_inner().unwrap_or_else(PoisonError::into_inner);
            pieces.sort_by_key(|(part, _)| *part);
            Ok::<_, SweepError>((pieces, failed, why))
        })?
        .map_err(error)?;
        if pieces.is_empty() {
            let none = self.batch(0, self.parts.no_rows())?;
            return Ok((Table::of_pieces(vec![none])?, failed, why));
        }
        let batches = pieces.into_iter().map(|(part, table)| self.batch(part, table));
        Ok((Table::of_pieces(batches.collect::<PyResult<_>>()?)?, failed, why))
    }

    /// Carries one part out; gives its file's bytes, how many cases failed, and why the first did.
    fn part<'py>(
        &self,
        py: Python<'py>,
        part: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, u64, Option<String>)> {
        let parts = known(&self.parts, vec![part])?;
        let threads = threads(Some(1))?;
        let (all, of) = (self.parts.cases_of(&parts), Arc::clone(&self.parts));
        let (file, failed, why) = together(py, None, all, move |stop, count| {
            let watched = Watched::new(stop, count);
            let file: Mutex<Vec<u8>> = Mutex::default();
            of.carry_out_for(&parts, &threads, &watched, |part, table| {
                let bytes = of.bytes(part, &table)?;
                *file.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
                Ok(())
            })?;
            let (failed, why) = watched.failures();
            let file = file.into_inner().unwrap_or_else(PoisonError::into_inner);
            Ok::<_, SweepError>((file, failed, why))
        })?
        .map_err(error)?;
        Ok((PyBytes::new(py, &file), failed, why))
    }
}

/// The folder of a sweep, begun.
#[pyclass(frozen, module = "evenkeel")]
pub struct SweepFolder {
    parts: Arc<Parts>,
    folder: Arc<Folder>,
}

#[pymethods]
impl SweepFolder {
    /// Those of some parts that are not there yet.
    fn lacking(&self, parts: Vec<usize>) -> PyResult<Vec<usize>> {
        Ok(self.parts.lacking(&self.folder, &known(&self.parts, parts)?))
    }

    /// Carries parts out; gives how many cases failed, and why the first did.
    #[pyo3(signature = (parts, jobs=None, progress=None))]
    fn carry_out(
        &self,
        py: Python<'_>,
        parts: Vec<usize>,
        jobs: Option<i64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, Option<String>)> {
        let parts = known(&self.parts, parts)?;
        let threads = threads(jobs)?;
        let (of, folder) = (Arc::clone(&self.parts), Arc::clone(&self.folder));
        let carried_out = together(py, progress, of.cases_of(&parts), move |stop, count| {
            let watched = Watched::new(stop, count);
            of.carry_out(&folder, &parts, &threads, &watched)?;
            folder.sweep_up();
            Ok::<_, SweepError>(watched.failures())
        });
        carried_out?.map_err(error)
    }

    /// Writes a part that was carried out elsewhere.
    fn write(&self, part: usize, bytes: &[u8]) -> PyResult<()> {
        known(&self.parts, vec![part])?;
        self.parts.write(&self.folder, part, bytes).map_err(error)
    }
}

/// Parts that there are.
fn known(of: &Parts, parts: Vec<usize>) -> PyResult<Vec<usize>> {
    let count = of.parts();
    match parts.iter().find(|&&part| part >= count) {
        Some(part) => Err(error(format!("no part {part}: there are {count}"))),
        None => Ok(parts),
    }
}

impl Sweep {
    /// A part with its machine and its policy, which files have in the names of folders.
    fn batch(&self, part: usize, table: evenkeel_sweep::Table) -> PyResult<RecordBatch> {
        let (machine, policy) = self.parts.labels(part);
        let rows = table.rows();
        let same = |word: String| Column::Text(vec![Some(word.into()); rows]);
        let labels = [("machine".to_owned(), same(machine)), ("policy".to_owned(), same(policy))];
        batch(labels.into_iter().chain(table.into_columns()))
    }
}
