//! Flags of `omp`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Help below the flags.
pub const HELP: &str = "\
Examples:
  evenkeel omp -- ./program --its-flags
  evenkeel omp --explain -- ./program
  OMP_NUM_THREADS=8 evenkeel omp -- ./program
  evenkeel omp --learn program.json -- ./program
  evenkeel omp --use program.json -- ./program
  evenkeel omp --more-threads --explain -- ./compiled-by-gcc
  sudo evenkeel lab --slow 1=3 -- evenkeel omp --explain -- ./program

Static loops get as many iterations on each core as it is fast, measured while the program runs; a loop that does not become faster \
gets its own shares back. The program needs no other compiler and no flags: what clang, flang and Intel's compilers made is covered. \
Programs of GCC divide their static loops themselves: --explain says how long they wait, and --more-threads may help. Dynamic loops of \
short iterations without a chunk get one, whoever compiled them. On cores of one kind nothing is done.

Threads are placed, thread 0 on the fastest core, unless OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY or KMP_AFFINITY says where.

Exit codes: the program's, 128 + signal where one ended it, 127 where it is not there, 126 where it cannot be executed, 2 for wrong usage.";

/// What loops are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// How fast each kind of core is in each loop, where that makes the loop faster
    Measured,
    /// The capacities of the cores, from the first loop on: for programs that begin one parallel
    /// region and stay in it
    Capacity,
}

/// Of `omp`.
#[derive(Clone, Debug, Args)]
pub struct OmpArgs {
    /// Say on stderr what was done with each loop, and what came of it
    #[arg(short, long)]
    pub explain: bool,
    /// Print the same as one JSON object, after whatever the program has printed
    #[arg(long)]
    pub json: bool,
    /// This machine as a file [default: $EVENKEEL_MACHINE, else what `evenkeel detect` finds]
    #[arg(short, long, value_name = "FILE")]
    pub machine: Option<String>,
    /// Write what was learned there, for --use. Regions are measured from their first run on, so
    /// that programs that stay in one region can be learned from; this run of theirs may be slower
    #[arg(long, value_name = "FILE", conflicts_with = "by")]
    pub learn: Option<PathBuf>,
    /// Divide the loops that this file of --learn has, from their first run on
    #[arg(long = "use", value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// What shares go by
    #[arg(long, value_enum, default_value = "measured")]
    pub by: By,
    /// Start more threads than cores, and put more of them on fast cores: for programs that divide
    /// their static loops themselves (GCC's), with 2 ms or more from one barrier to the next; with
    /// less they become much slower. Sets OMP_NUM_THREADS, and
    /// OMP_WAIT_POLICY=passive where it is not set
    #[arg(long, conflicts_with = "no_place")]
    pub more_threads: bool,
    /// Leave threads where the system puts them: loops are divided where their threads stay on one
    /// kind of core anyway
    #[arg(long)]
    pub no_place: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
}
