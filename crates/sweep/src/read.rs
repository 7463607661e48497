//! Results read back: the measures of each case, by where it stands in the grid.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, RowGroupReader, SerializedFileReader};

use crate::axis::Value;
use crate::hive::decoded;
use crate::manifest::Manifest;
use crate::row::column_of;

/// Measures of a case, by the name of their column.
pub const MEASURES: [&str; 4] = ["makespan_s", "energy_j", "unfairness", "stp"];

/// What is in a folder of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What it is of.
    pub manifest: Manifest,
    /// How many parts are there.
    pub parts: u64,
    /// Each case once.
    pub cases: Vec<Measured>,
}

/// What a case came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// By axis of the grid the place of its value; `None`: the axis does not apply.
    pub places: Vec<Option<u32>>,
    /// As [`MEASURES`]; `None`: it has no such measure, or failed.
    pub measures: [Option<f64>; MEASURES.len()],
    /// True if it failed.
    pub has_failed: bool,
}

/// Why a folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no manifest, or what should be one is none.
    #[error("{path}: no folder of a sweep: {what}")]
    Folder {
        /// Folder.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// A part is not what a sweep writes.
    #[error("{file}: {what}")]
    Part {
        /// File.
        file: String,
        /// What is wrong.
        what: String,
    },
}

impl Results {
    /// Reads a folder. Parts that are not there yet are left out.
    ///
    /// # Errors
    /// It is none of a sweep, or a part is damaged.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let no_folder =
            |what: String| ReadError::Folder { path: folder.display().to_string(), what };
        let text = std::fs::read_to_string(folder.join("manifest.json"));
        let text = text.map_err(|error| no_folder(format!("manifest.json: {error}")))?;
        let manifest = Manifest::parse(&text).map_err(|error| no_folder(error.to_string()))?;
        let mut files = Vec::new();
        for machine in sorted(&folder.join("results")) {
            for policy in sorted(&machine) {
                let is_part = |file: &PathBuf| file.extension().is_some_and(|it| it == "parquet");
                files.extend(sorted(&policy).into_iter().filter(is_part));
            }
        }
        let mut cases = Vec::new();
        for file in &files {
            let read = part(&manifest, file).map_err(|error| ReadError::Part {
                file: file.display().to_string(),
                what: error.to_string(),
            })?;
            cases.extend(read);
        }
        Ok(Self { manifest, parts: files.len() as u64, cases })
    }

    /// The grid's axes with their values.
    pub fn axes(&self) -> impl Iterator<Item = (&str, &[Value])> {
        self.manifest.grid.axes.iter().map(|(axis, values)| (axis.as_str(), values.as_slice()))
    }
}

/// Of the cases of a part those that failed: why each did.
pub(crate) fn failed(file: &Path) -> Result<Vec<String>, ReadError> {
    let read = || -> Result<Vec<String>, ParquetError> {
        let reader = SerializedFileReader::new(File::open(file)?)?;
        let mut failed = Vec::new();
        for number in 0..reader.num_row_groups() {
            let rows = reader.get_row_group(number)?;
            // A case that fails is a single row.
            let count = rows.metadata().num_rows() as usize;
            failed.extend(Columns { rows: rows.as_ref(), count }.texts("error")?);
        }
        Ok(failed.into_iter().flatten().collect())
    };
    read().map_err(|error| ReadError::Part {
        file: file.display().to_string(),
        what: error.to_string(),
    })
}

/// What is in a folder, in the order of names; nothing if there is none.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The cases of a part: the first row of each.
fn part(manifest: &Manifest, file: &Path) -> Result<Vec<Measured>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(file)?)?;
    let mut cases = Vec::new();
    for number in 0..reader.num_row_groups() {
        let rows = reader.get_row_group(number)?;
        let columns = Columns { rows: rows.as_ref(), count: rows.metadata().num_rows() as usize };
        let apps = columns.numbers("app")?;
        let errors = columns.texts("error")?;
        let measures: Vec<Vec<Option<f64>>> =
            MEASURES.iter().map(|name| columns.numbers(name)).collect::<Result<_, _>>()?;
        let mut axes = Vec::new();
        for (axis, values) in &manifest.grid.axes {
            axes.push(columns.places(file, axis, values)?);
        }
        for row in 0..columns.count {
            if apps[row].is_some_and(|app| app > 0.0) {
                continue;
            }
            cases.push(Measured {
                places: axes.iter().map(|places| places[row]).collect(),
                measures: std::array::from_fn(|measure| measures[measure][row]),
                has_failed: errors[row].is_some(),
            });
        }
    }
    Ok(cases)
}

/// Columns of some rows.
struct Columns<'a> {
    rows: &'a dyn RowGroupReader,
    count: usize,
}

impl Columns<'_> {
    /// The place of a column; `None`: there is none.
    fn find(&self, name: &str) -> Option<usize> {
        let columns = self.rows.metadata().columns();
        columns.iter().position(|column| column.column_path().string() == name)
    }

    fn reader(&self, name: &str) -> Result<ColumnReader, ParquetError> {
        let place = self.find(name);
        let place = place.ok_or_else(|| ParquetError::General(format!("no column '{name}'")))?;
        self.rows.get_column_reader(place)
    }

    fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>, ParquetError> {
        let mut levels = Vec::new();
        match self.reader(name)? {
            ColumnReader::DoubleColumnReader(mut reader) => {
                let mut values = Vec::new();
                reader.read_records(self.count, Some(&mut levels), None, &mut values)?;
                Ok(spread(&levels, values))
            }
            ColumnReader::Int64ColumnReader(mut reader) => {
                let mut values = Vec::new();
                reader.read_records(self.count, Some(&mut levels), None, &mut values)?;
                Ok(spread(&levels, values.into_iter().map(|value| value as f64)))
            }
            _ => Err(ParquetError::General(format!("column '{name}': no numbers"))),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<Option<String>>, ParquetError> {
        let mut levels = Vec::new();
        let ColumnReader::ByteArrayColumnReader(mut reader) = self.reader(name)? else {
            return Err(ParquetError::General(format!("column '{name}': no text")));
        };
        let mut values: Vec<ByteArray> = Vec::new();
        reader.read_records(self.count, Some(&mut levels), None, &mut values)?;
        let text = |value: ByteArray| String::from_utf8_lossy(value.data()).into_owned();
        Ok(spread(&levels, values.into_iter().map(text)))
    }

    /// By row the place of its value among those of an axis.
    fn places(
        &self,
        file: &Path,
        axis: &str,
        values: &[Value],
    ) -> Result<Vec<Option<u32>>, ParquetError> {
        let known: Vec<String> = values.iter().map(Value::to_string).collect();
        let place = |text: &str| known.iter().position(|it| it == text).map(|place| place as u32);
        if axis == "machine" || axis == "policy" {
            // DIR/results/machine=M/policy=P/part-HASH.parquet
            let folder = file.ancestors().nth(if axis == "policy" { 1 } else { 2 });
            let name = folder.and_then(|folder| folder.file_name()?.to_str());
            let encoded = name.and_then(|name| name.strip_prefix(axis)?.strip_prefix('='));
            let place = encoded.and_then(|encoded| place(&decoded(encoded)));
            let unknown = || ParquetError::General(format!("no {axis} of the manifest's grid"));
            return Ok(vec![Some(place.ok_or_else(unknown)?); self.count]);
        }
        let column = column_of(axis);
        let is_text = !values.iter().all(|it| matches!(it, Value::Whole(_) | Value::Number(_)));
        if is_text {
            let texts = self.texts(&column)?;
            return Ok(texts.iter().map(|text| place(text.as_deref()?)).collect());
        }
        let number = |value: &Value| match value {
            Value::Whole(number) => *number as f64,
            Value::Number(number) => *number,
            _ => f64::NAN,
        };
        let numbers = self.numbers(&column)?;
        let place = |wanted: f64| values.iter().position(|value| number(value) == wanted);
        Ok(numbers.iter().map(|it| place((*it)?).map(|place| place as u32)).collect())
    }
}

/// Values where there are any.
fn spread<T>(levels: &[i16], values: impl IntoIterator<Item = T>) -> Vec<Option<T>> {
    let mut values = values.into_iter();
    levels.iter().map(|&level| if level > 0 { values.next() } else { None }).collect()
}
