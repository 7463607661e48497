//! The cases: their names and sizes, which the peers in C++ have alike (../peers/peer.hpp).

pub const WORKERS: usize = 2;
pub const TASKS: usize = 1_000_000;
pub const CHAINS: usize = 1_000;
/// Bytes of a pending task's closure where memory is measured.
pub const CLOSURE: f64 = 8.0;
pub const FIB: u64 = 30;
/// Joins that `fib(FIB)` makes: fib(n + 1) - 1.
const JOINS: usize = 1_346_268;
pub const OPTIONS: usize = 4_000_000;
pub const SHORT_LOOPS: usize = 1_000;
pub const SHORT_LOOP: usize = 1_000;
/// Three frames of ten.
pub const BARRIERS: usize = 30;
pub const CELLS: usize = 2_000;
pub const COARSE: usize = 128;
pub const ITEMS: u64 = 1_000;
/// Items of a pipeline that may be under way.
pub const IN_FLIGHT: usize = 16 * WORKERS;
/// Chunk where a schedule takes one by one.
pub const CHUNK: usize = 1_024;
pub const CELL_CHUNK: usize = 16;

/// What is measured: cases of one family do the same work, in the ways that a system has for it.
pub struct Family {
    pub name: &'static str,
    pub what: &'static str,
    /// What the time is divided by, and what comes of it.
    pub units: usize,
    pub unit: &'static str,
    /// Names of the cases that systems are asked for: `family` or `family-way`.
    pub cases: &'static [&'static str],
    /// True if it takes part in the slow-core lab.
    pub in_lab: bool,
}

const MS: usize = 1_000_000;

pub const FAMILIES: [Family; 10] = [
    Family {
        name: "independent",
        what: "a million empty tasks from one producer",
        units: TASKS,
        unit: "ns per task",
        cases: &["independent"],
        in_lab: false,
    },
    Family {
        name: "chains",
        what: "1,000 inout chains of 1,000 empty tasks, created step by step; where a graph has to \
               be built first, built and run",
        units: TASKS,
        unit: "ns per task",
        cases: &["chains"],
        in_lab: false,
    },
    Family {
        name: "again",
        what: "a recorded graph run again: a million independent tasks, and the chains",
        units: TASKS,
        unit: "ns per task",
        cases: &["independent-again", "chains-again"],
        in_lab: false,
    },
    Family {
        name: "fib",
        what: "fork and join: fib(30), no cut-off",
        units: JOINS,
        unit: "ns per join",
        cases: &["fib"],
        in_lab: false,
    },
    Family {
        name: "prices",
        what: "a loop over 4 M option prices (Black-Scholes); `dynamic` has chunks of 1,024 where \
               it needs one",
        units: MS,
        unit: "ms",
        cases: &[
            "prices-serial",
            "prices-auto",
            "prices-static",
            "prices-dynamic",
            "prices-guided",
        ],
        in_lab: true,
    },
    Family {
        name: "short",
        what: "1,000 loops of 1,000 iterations of some 6 ns, one after the other",
        units: SHORT_LOOPS * 1_000,
        unit: "us per loop",
        cases: &["short-serial", "short"],
        in_lab: false,
    },
    Family {
        name: "frames",
        what: "three frames of ten loops, a barrier after each: 2,000 iterations of 5 us; `static` \
               is the pinned version",
        units: MS,
        unit: "ms",
        cases: &[
            "frames-serial",
            "frames-auto",
            "frames-static",
            "frames-dynamic",
            "frames-guided",
        ],
        in_lab: true,
    },
    Family {
        name: "coarse",
        what: "128 equal pieces of 4 ms: as tasks, as a loop",
        units: MS,
        unit: "ms",
        cases: &["coarse-serial", "coarse-tasks", "coarse-loop"],
        in_lab: true,
    },
    Family {
        name: "pipeline",
        what: "1,000 items: a serial source of 10 us, a parallel stage of 100 us, a serial end of \
               10 us; at most 32 under way",
        units: MS,
        unit: "ms",
        cases: &["pipeline-serial", "pipeline"],
        in_lab: true,
    },
    Family {
        name: "memory",
        what: "resident memory that a million pending tasks add, each with a closure of 8 bytes: \
               independent ones, and chains",
        units: 1,
        unit: "bytes per task",
        cases: &["memory-independent", "memory-chains"],
        in_lab: false,
    },
];
