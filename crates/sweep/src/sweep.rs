//! A sweep: a grid's parts, carried out by as many threads as there are for it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use crate::axis::Value;
use crate::case::Case;
use crate::folder::{Begin, Folder, FolderError};
use crate::grid::Grid;
use crate::hive::encoded;
use crate::inputs::Inputs;
use crate::manifest::Manifest;
use crate::parts::Part;
use crate::read::{self, ReadError};
use crate::row::{Layout, Rows};
use crate::run::Runs;
use crate::table::Table;

/// A grid, cut into parts.
pub struct Sweep {
    grid: Grid,
    parts: Vec<Part>,
    /// Where each part goes, in a folder.
    files: Vec<PathBuf>,
    manifest: Manifest,
    layout: Layout,
    runs: Runs,
}

/// Why a sweep ended early.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file that the grid names.
    #[error("{path}: {error}")]
    Input {
        /// File.
        path: String,
        /// Why it cannot be read.
        error: std::io::Error,
    },
    /// A part could not be made into a file.
    #[error("{file}: {what}")]
    Table {
        /// File.
        file: String,
        /// Why.
        what: String,
    },
}

/// What a sweep tells while it goes on, from any of its threads.
pub trait Watch: Sync {
    /// A case is over; with the reason if it failed.
    fn case(&self, _error: Option<&str>) {}
    /// A part is written.
    fn part(&self) {}
    /// False: no other case is begun, and parts under way are given up.
    fn goes_on(&self) -> bool {
        true
    }
}

/// One of so many equal shares of a sweep's parts: `2/10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, count: 1 };
    /// Most shards.
    pub const MOST: usize = 1_000_000;

    /// Of so many shares the number of the one that has a part, from 1 on as users write it.
    #[must_use]
    pub const fn number_of(part: usize, count: usize) -> usize {
        part % count + 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| {
            Some((index.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        });
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) && count <= Self::MOST => {
                Ok(Self { index: index - 1, count })
            }
            _ => Err("expected I/N with I from 1 to N, as 2/10".to_owned()),
        }
    }
}

/// What is to be carried out next: a case of a part.
struct Queue<'a> {
    grid: &'a Grid,
    parts: Vec<usize>,
    /// In `parts`.
    now: usize,
    /// In the block.
    place: Option<u64>,
    /// In the part.
    number: usize,
}

/// A part under way: its cases, and how many are still to come.
struct UnderWay {
    part: usize,
    cases: Vec<Option<Rows>>,
    left: usize,
}

impl Sweep {
    /// Of a grid.
    ///
    /// # Errors
    /// A file that the grid names cannot be read.
    pub fn new(grid: Grid) -> Result<Self, SweepError> {
        Self::with_inputs(grid, Inputs::default())
    }

    /// Of a grid that names machines and workloads in memory.
    ///
    /// # Errors
    /// As [`Sweep::new`].
    pub fn with_inputs(grid: Grid, inputs: Inputs) -> Result<Self, SweepError> {
        let parts = grid.parts();
        let input = |(path, error)| SweepError::Input { path, error };
        let manifest = Manifest::of(&grid, parts.len(), &inputs).map_err(input)?;
        let digest = manifest.digest();
        let files = parts
            .iter()
            .map(|part| {
                let (machine, policy) = labels(&grid, part);
                Path::new("results")
                    .join(format!("machine={}", encoded(&machine)))
                    .join(format!("policy={}", encoded(&policy)))
                    .join(part.file(&digest))
            })
            .collect();
        let layout = Layout::of(&grid);
        Ok(Self { grid, parts, files, manifest, layout, runs: Runs::with_inputs(inputs) })
    }

    /// Its grid.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What carries out its cases.
    #[must_use]
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// What its results are of.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The machine and the policy of a part, as the grid calls them.
    #[must_use]
    pub fn labels(&self, part: usize) -> (String, String) {
        labels(&self.grid, &self.parts[part])
    }

    /// How many parts it has.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// How many cases some of its parts have.
    #[must_use]
    pub fn cases_of(&self, parts: &[usize]) -> u64 {
        parts.iter().map(|&part| self.parts[part].cases).sum()
    }

    /// The parts of a share of it.
    #[must_use]
    pub fn share(&self, shard: Shard) -> Vec<usize> {
        let is_in = |&part: &usize| Shard::number_of(part, shard.count) == shard.index + 1;
        (0..self.parts.len()).filter(is_in).collect()
    }

    /// Some of its cases, so many or all, evenly from the first to the last.
    pub fn sample(&self, count: u64) -> impl Iterator<Item = Case> {
        let all = self.grid.len();
        let count = count.min(all);
        (0..count).filter_map(move |number| {
            let mut left = (2 * number + 1) * all / (2 * count);
            let part = self.parts.iter().find(|part| {
                let is_here = left < part.cases;
                left -= if is_here { 0 } else { part.cases };
                is_here
            })?;
            let block = &self.grid.blocks[part.block];
            let mut places = (part.first..part.end).filter(|&place| self.grid.has(block, place));
            Some(self.grid.case(block, places.nth(left as usize)?))
        })
    }

    /// Begins a folder for it, or goes on with one.
    ///
    /// # Errors
    /// See [`FolderError`].
    pub fn folder(&self, path: &Path, begin: Begin) -> Result<Folder, SweepError> {
        Ok(Folder::begin(path, &self.manifest, begin, &self.files)?)
    }

    /// Those of some parts that are not there yet.
    #[must_use]
    pub fn lacking(&self, folder: &Folder, parts: &[usize]) -> Vec<usize> {
        parts.iter().copied().filter(|&part| !folder.has(&self.files[part])).collect()
    }

    /// Of the cases of parts that are there those that failed: how many, and why the first did.
    ///
    /// # Errors
    /// A part cannot be read.
    pub fn failed(
        &self,
        folder: &Folder,
        parts: &[usize],
    ) -> Result<(u64, Option<String>), ReadError> {
        let (mut count, mut why) = (0, None);
        for &part in parts {
            for error in read::failed(&folder.path().join(&self.files[part]))? {
                count += 1;
                why.get_or_insert(error);
            }
        }
        Ok((count, why))
    }

    /// Carries out parts and writes them, each when all of its cases are over. The bytes of a part
    /// do not depend on how many threads there are, nor on which parts are carried out.
    ///
    /// # Errors
    /// A part cannot be written: the others that are under way are given up.
    pub fn carry_out(
        &self,
        folder: &Folder,
        parts: &[usize],
        threads: &rayon::ThreadPool,
        watch: &dyn Watch,
    ) -> Result<(), SweepError> {
        self.carry_out_for(parts, threads, watch, |part, table| {
            self.write(folder, part, &self.bytes(part, &table)?)
        })
    }

    /// The same, with each part's table for `deliver`, in no order.
    ///
    /// # Errors
    /// That of `deliver`.
    pub fn carry_out_for(
        &self,
        parts: &[usize],
        threads: &rayon::ThreadPool,
        watch: &dyn Watch,
        deliver: impl Fn(usize, Table) -> Result<(), SweepError> + Sync,
    ) -> Result<(), SweepError> {
        let queue = Mutex::new(Queue::new(&self.grid, parts.to_vec()));
        let under_way: Mutex<Vec<UnderWay>> = Mutex::default();
        let failed: Mutex<Option<SweepError>> = Mutex::default();
        let has_failed = || failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        threads.broadcast(|_| {
            while watch.goes_on() && !has_failed() {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next(&self.parts);
                let Some((part, number, case)) = next else { break };
                let rows = {
                    let record = self.runs.carry_out(&case);
                    watch.case(record.error.as_deref());
                    self.layout.rows(&case, &record)
                };
                let Some(cases) = put(&under_way, &self.parts, part, number, rows) else {
                    continue;
                };
                match deliver(part, self.layout.table(cases)) {
                    Ok(()) => watch.part(),
                    Err(error) => {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            }
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), Err)
    }

    /// The file of a part.
    ///
    /// # Errors
    /// The table does not become one.
    pub fn bytes(&self, part: usize, table: &Table) -> Result<Vec<u8>, SweepError> {
        table.to_parquet().map_err(|error| SweepError::Table {
            file: self.files[part].display().to_string(),
            what: error.to_string(),
        })
    }

    /// The columns of its tables, without rows.
    #[must_use]
    pub fn no_rows(&self) -> Table {
        self.layout.table(Vec::new())
    }

    /// Writes a part that was carried out elsewhere.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, folder: &Folder, part: usize, bytes: &[u8]) -> Result<(), SweepError> {
        Ok(folder.write(&self.files[part], bytes)?)
    }
}

/// Puts a case to the others of its part; gives the part's cases, in order, if it was the last.
fn put(
    under_way: &Mutex<Vec<UnderWay>>,
    parts: &[Part],
    part: usize,
    number: usize,
    done: Rows,
) -> Option<Vec<Rows>> {
    let mut under_way = under_way.lock().unwrap_or_else(PoisonError::into_inner);
    let place = match under_way.iter().position(|it| it.part == part) {
        Some(place) => place,
        None => {
            let left = parts[part].cases as usize;
            let cases = std::iter::repeat_with(|| None).take(left).collect();
            under_way.push(UnderWay { part, cases, left });
            under_way.len() - 1
        }
    };
    let of_part = &mut under_way[place];
    of_part.cases[number] = Some(done);
    of_part.left -= 1;
    let is_over = of_part.left == 0;
    is_over.then(|| under_way.swap_remove(place).cases.into_iter().flatten().collect())
}

impl<'a> Queue<'a> {
    fn new(grid: &'a Grid, parts: Vec<usize>) -> Self {
        Self { grid, parts, now: 0, place: None, number: 0 }
    }

    /// The next case: its part, its number there, and what it is.
    fn next(&mut self, all: &[Part]) -> Option<(usize, usize, Case)> {
        loop {
            let &index = self.parts.get(self.now)?;
            let part = &all[index];
            let block = &self.grid.blocks[part.block];
            let mut place = self.place.unwrap_or(part.first);
            while place < part.end && !self.grid.has(block, place) {
                place += 1;
            }
            if place < part.end {
                let number = self.number;
                (self.place, self.number) = (Some(place + 1), number + 1);
                return Some((index, number, self.grid.case(block, place)));
            }
            (self.now, self.place, self.number) = (self.now + 1, None, 0);
        }
    }
}

/// Machine and policy of a part.
fn labels(grid: &Grid, part: &Part) -> (String, String) {
    let case = grid.case(&grid.blocks[part.block], part.first);
    let of = |axis: &str| case.get(axis).map(Value::to_string).unwrap_or_default();
    (of("machine"), of("policy"))
}
