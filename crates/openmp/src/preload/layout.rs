//! What the command and the library that it preloads tell each other, as memory of two files.
//!
//! The command writes [`Setup`] before the program starts. Each process that begins a parallel
//! region maps a [`Process`] of its own beside it, so that it can be read after any end, a kill
//! included. Both sides are of one build: the command refuses another version.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Environment variable: the folder with both files.
pub const FOLDER: &str = "EVENKEEL_OMP";
/// File in that folder which the command writes.
pub const SETUP: &str = "setup";
/// Begins both files; the last byte is the version.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ek-omp\0\x01");

pub const MAX_CPUS: usize = 1024;
pub const MAX_KINDS: usize = 8;
pub const MAX_KNOWN: usize = 2048;
pub const MAX_REGIONS: usize = 512;
/// Trip counts of one region that are learned, of static loops and of dynamic ones; further ones
/// are left alone.
pub const MAX_STATIC: usize = 8;
pub const MAX_DYNAMIC: usize = 4;
/// Rows for these, and one for a region that divides its loops itself.
pub const MAX_LOOPS: usize = MAX_STATIC + MAX_DYNAMIC + 1;

/// What the library has to know.
#[repr(C)]
pub struct Setup {
    pub magic: u64,
    /// Whether threads are placed: nothing in the environment says where they belong.
    pub places: u32,
    /// Whether shares are by the capacities here, from the first loop on, and nothing is learned.
    pub by_capacity: u32,
    /// Whether there are more threads than CPUs on purpose: rows of `cpu` then repeat, and regions
    /// that divide their loops themselves are placed, too.
    pub more_threads: u32,
    /// Rows in `cpu`.
    pub cpus: u32,
    /// Whether a region is measured from its first run on, for a profile.
    pub learns: u32,
    /// Rows in `known`.
    pub known: u32,
    /// In the order in which threads are placed: thread n belongs on the n-th.
    pub cpu: [CpuRow; MAX_CPUS],
    /// What a profile has of the program's loops.
    pub known_loop: [KnownRow; MAX_KNOWN],
}

/// A static loop that is divided by the speeds of a profile.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KnownRow {
    /// [`name_digest`] of the object's file name, and where in the object its region is.
    pub object: u64,
    pub offset: u64,
    pub trip: u64,
    /// Speed of each kind; zero where it is not known.
    pub speeds: [u32; MAX_KINDS],
}

/// Tells the names of objects apart: of what is behind the last slash.
pub fn name_digest(path: &[u8]) -> u64 {
    digest(path.rsplit(|&byte| byte == b'/').next().unwrap_or(path))
}

/// FNV-1a.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A CPU that the program may use.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CpuRow {
    pub number: u32,
    pub kind: u32,
    /// Relative to the fastest kind, which has 1024.
    pub capacity: u32,
}

/// What a process tells.
#[repr(C)]
pub struct Process {
    pub magic: AtomicU64,
    /// Bits of [`Note`].
    pub notes: AtomicU64,
    /// Rows of `region` in use.
    pub regions: AtomicU32,
    pub region: [RegionRow; MAX_REGIONS],
}

/// Why threads or regions were left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Note {
    /// A region inside of another.
    Nested = 0,
    /// Several threads began regions at the same time.
    SeveralRoots = 1,
    /// The program sets the CPUs of its threads itself.
    OwnAffinity = 2,
    /// A team had more threads than there are CPUs.
    TooManyThreads = 3,
    /// There were more regions than are kept.
    TooManyRegions = 4,
    /// Regions of several teams.
    Teams = 5,
    /// Another process places its threads.
    Elsewhere = 6,
}

/// A parallel region: one outlined function.
#[repr(C)]
pub struct RegionRow {
    /// Address of the function; zero in a row that is not in use.
    pub function: AtomicU64,
    /// The object that it is in, and where: the start of the object's path, and an offset.
    pub offset: AtomicU64,
    pub object: Text<256>,
    /// `;file;function;line;column;;`, as compilers write it.
    pub source: Text<128>,
    pub instances: AtomicU64,
    /// Barriers inside, of regions that divide their loops themselves.
    pub barriers: AtomicU64,
    pub threads: AtomicU32,
    pub loops: [LoopRow; MAX_LOOPS],
}

/// Loops of a region with one trip count.
#[repr(C)]
pub struct LoopRow {
    /// Iterations, or 1 for a region as a whole; zero in a row that is not in use.
    pub trip: AtomicU64,
    /// A [`Phase`](super::phase::Phase).
    pub phase: AtomicU32,
    pub stock: CostRow,
    pub ours: CostRow,
    /// What equal shares would have taken in place of ours, and what ours took, in nanoseconds.
    pub equal_ns: AtomicU64,
    pub instead_ns: AtomicU64,
    /// Iterations that are handed out at a time; zero for static loops.
    pub chunk: AtomicU64,
    /// Iterations of a thread of each kind, in millionths of the loop.
    pub shares: [AtomicU32; MAX_KINDS],
}

/// What loops took: sums over executions.
#[repr(C)]
pub struct CostRow {
    pub executions: AtomicU64,
    /// Until the last thread was through.
    pub makespan_ns: AtomicU64,
    /// That times the threads, less their work.
    pub waiting_ns: AtomicU64,
}

/// Text cut off at N bytes.
#[repr(C)]
pub struct Text<const N: usize>(pub [AtomicU8; N]);
