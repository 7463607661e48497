//! What the library told of each process, after the program has ended.
#![expect(unsafe_code, reason = "a file is read as what was mapped")]

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use goblin::elf::program_header::PT_LOAD;
use goblin::elf::{Elf, Sym};
use goblin::strtab::Strtab;

pub use crate::layout::Note;
use crate::layout::{
    CostRow, LoopRow, MAGIC, MAX_DYNAMIC, MAX_KINDS, MAX_STATIC, Process, RegionRow, SETUP, Text,
};
pub use crate::phase::Phase;

const NOTES: [Note; 7] = [
    Note::Nested,
    Note::SeveralRoots,
    Note::OwnAffinity,
    Note::TooManyThreads,
    Note::TooManyRegions,
    Note::Teams,
    Note::Elsewhere,
];
const PHASES: [Phase; 10] = [
    Phase::Watched,
    Phase::Applied,
    Phase::Frozen,
    Phase::Short,
    Phase::Balanced,
    Phase::Withdrawn,
    Phase::Few,
    Phase::Unplaced,
    Phase::Given,
    Phase::Own,
];

/// A process that began parallel regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its number.
    pub process: u32,
    /// Why threads or regions were left alone.
    pub notes: Vec<Note>,
    /// In the order in which they were first begun.
    pub regions: Vec<Region>,
}

/// A parallel region.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The object that it is in, as the process names it; may be cut off.
    pub object: PathBuf,
    /// Where in that object.
    pub offset: u64,
    /// File and line, where the program has them; else the function, or an offset in an object.
    /// Empty until [`name`] was called.
    pub place: String,
    /// `;file;function;line;column;;`, as compilers write it, or nothing.
    pub source: String,
    /// How often it was run.
    pub instances: u64,
    /// Barriers inside of all runs, where it divides its loops itself.
    pub barriers: u64,
    /// Threads of its team.
    pub threads: u32,
    /// Its loops, by schedule and trip count.
    pub loops: Vec<Loop>,
}

/// What is measured of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Static loops that ask the runtime for their bounds.
    Static,
    /// Dynamic loops without a chunk of their own.
    Dynamic {
        /// Iterations that are handed out at a time, where they are.
        chunk: u64,
    },
    /// All of it: its static loops divide themselves.
    Whole,
}

/// Loops of one region that have one trip count.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// What they are.
    pub schedule: Schedule,
    /// Iterations; 1 for a region as a whole.
    pub trip: u64,
    /// What was done.
    pub phase: Phase,
    /// With the runtime's own shares.
    pub stock: Cost,
    /// With shares by speed.
    pub ours: Cost,
    /// How many times longer equal shares would have taken than ours, by the speeds that were
    /// measured meanwhile; `None`: static loops that were divided for a window alone have it.
    pub gain: Option<f64>,
    /// Iterations of one thread of each kind, as parts of the loop.
    pub shares: [f64; MAX_KINDS],
}

/// What a loop took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// How often it was run.
    pub executions: u64,
    /// Mean time until the last thread was through, in nanoseconds.
    pub each_ns: f64,
    /// Part of the threads' time that they waited.
    pub waiting: f64,
}

/// Reads what all processes told into this folder, by their numbers.
///
/// # Errors
/// The folder cannot be read. A file that is no such record is left out.
pub fn read(folder: &Path) -> io::Result<Vec<Told>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == SETUP {
            continue;
        }
        // The number of the process, and one that tells records of the same number apart.
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.split('.').next());
        let process = number.and_then(|number| number.parse().ok());
        let Some(process) = process else { continue };
        all.extend(read_file(&entry.path(), process)?);
    }
    all.sort_by_key(|told: &Told| told.process);
    Ok(all)
}

fn read_file(path: &Path, process: u32) -> io::Result<Option<Told>> {
    let bytes = fs::read(path)?;
    let Some(row) = process_of(&bytes) else { return Ok(None) };
    let notes = row.notes.load(Ordering::Relaxed);
    let regions = row.regions.load(Ordering::Relaxed) as usize;
    let rows = row.region.iter().take(regions);
    Ok(Some(Told {
        process,
        notes: NOTES.into_iter().filter(|&note| notes >> note as u32 & 1 == 1).collect(),
        regions: rows.map(RegionRow::read).collect(),
    }))
}

/// The record in these bytes, if it is one of this build's.
fn process_of(bytes: &[u8]) -> Option<Box<Process>> {
    if bytes.len() < size_of::<Process>() {
        return None;
    }
    let mut row = Box::<Process>::new_uninit();
    // SAFETY: all fields are numbers, for which any bytes are valid, and there are enough.
    let row = unsafe {
        let to = row.as_mut_ptr().cast::<u8>();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, size_of::<Process>());
        row.assume_init()
    };
    (row.magic.load(Ordering::Relaxed) == MAGIC).then_some(row)
}

impl RegionRow {
    fn read(&self) -> Region {
        let threads = self.threads.load(Ordering::Relaxed);
        let rows = self.loops.iter().enumerate().filter(|(_, of)| get(&of.trip) != 0);
        let schedule = |index: usize, of: &LoopRow| match index {
            ..MAX_STATIC => Schedule::Static,
            index if index < MAX_STATIC + MAX_DYNAMIC => {
                Schedule::Dynamic { chunk: get(&of.chunk) }
            }
            _ => Schedule::Whole,
        };
        Region {
            object: PathBuf::from(self.object.read()),
            offset: get(&self.offset),
            place: String::new(),
            source: self.source.read(),
            instances: get(&self.instances),
            barriers: get(&self.barriers),
            threads,
            loops: rows.filter_map(|(index, of)| of.read(schedule(index, of), threads)).collect(),
        }
    }
}

/// Names the places of regions: each object is read once.
pub fn name(told: &mut [Told]) {
    let mut objects: HashMap<PathBuf, HashMap<u64, String>> = HashMap::new();
    for region in told.iter_mut().flat_map(|process| &mut process.regions) {
        region.place = region.in_source().unwrap_or_else(|| {
            let functions = objects
                .entry(region.object.clone())
                .or_insert_with(|| functions(&region.object).unwrap_or_default());
            let name = region.object.file_name().unwrap_or_default().to_string_lossy();
            let offset = region.offset;
            functions.get(&offset).cloned().unwrap_or_else(|| format!("{name}+{offset:#x}"))
        });
    }
}

impl Region {
    fn in_source(&self) -> Option<String> {
        let parts: Vec<&str> = self.source.split(';').collect();
        let [_, file, function, line, ..] = parts[..] else { return None };
        let file = Path::new(file).file_name()?.to_string_lossy();
        (file != "unknown").then(|| format!("{function} ({file}:{line})"))
    }
}

/// The functions of an object that regions are in, by their offsets.
fn functions(object: &Path) -> Option<HashMap<u64, String>> {
    let bytes = fs::read(object).ok()?;
    let elf = Elf::parse(&bytes).ok()?;
    // Objects at a fixed address count from there.
    let loaded = elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD);
    let first = loaded.map(|header| header.p_vaddr).min().unwrap_or(0);
    let all = elf.syms.iter().map(|symbol| (symbol, &elf.strtab));
    let all = all.chain(elf.dynsyms.iter().map(|symbol| (symbol, &elf.dynstrtab)));
    let named = |(symbol, names): (Sym, &Strtab<'_>)| {
        let name = names.get_at(symbol.st_name).filter(|_| symbol.is_function())?;
        // What clang and GCC append to the name of the function that a region is in.
        let stem = name.split(".omp_outlined").next()?.split("._omp_fn").next()?;
        let offset = symbol.st_value.checked_sub(first)?;
        (!stem.is_empty()).then(|| (offset, stem.to_owned()))
    };
    Some(all.filter_map(named).collect())
}

impl LoopRow {
    fn read(&self, schedule: Schedule, threads: u32) -> Option<Loop> {
        let phase = self.phase.load(Ordering::Relaxed);
        Some(Loop {
            schedule,
            trip: get(&self.trip),
            phase: PHASES.into_iter().find(|of| *of as u32 == phase)?,
            stock: self.stock.read(threads),
            ours: self.ours.read(threads),
            gain: (get(&self.instead_ns) > 0)
                .then(|| get(&self.equal_ns) as f64 / get(&self.instead_ns) as f64),
            shares: std::array::from_fn(|kind| f64::from(small(&self.shares[kind])) / 1e6),
        })
    }
}

impl CostRow {
    fn read(&self, threads: u32) -> Cost {
        let executions = get(&self.executions);
        let makespan = get(&self.makespan_ns) as f64;
        Cost {
            executions,
            each_ns: makespan / executions.max(1) as f64,
            waiting: get(&self.waiting_ns) as f64 / (makespan * f64::from(threads)).max(1.0),
        }
    }
}

impl<const N: usize> Text<N> {
    fn read(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(N);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}

fn get(of: &AtomicU64) -> u64 {
    of.load(Ordering::Relaxed)
}

fn small(of: &AtomicU32) -> u32 {
    of.load(Ordering::Relaxed)
}
