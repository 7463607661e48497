//! Programs made from what a study has counted: instructions, lock acquisitions, barrier entries,
//! threads and thread groups, and a degree of symmetry. The programs of the age-based study (SC
//! 2009) by name, and any others as `generated`.
//!
//! All cores have one microarchitecture there: work scales with capacity, at one instruction per
//! cycle, without traffic to memory.
//!
//! **Degree of symmetry**: of a thread group, the standard deviation of its threads' lengths /
//! their mean; 0.1 or less counts as symmetric. Here it is that of every group of two or more,
//! exact to an instruction; the mean lengths of groups, too, deviate by it from each other, where
//! there are several. Lengths are log-normal, by the seed.
//!
//! Assumptions about what the table leaves open stand beside it in `table.rs`; `program.rs` and
//! `steps.rs` say where barriers and locks fall.

mod lengths;
mod program;
mod row;
mod steps;
mod table;

use row::{Main, Manner, Row};
use table::{SERIAL, TABLE};

use super::args::Args;
use super::build::Context;
use super::entry::{Entry, KnobInfo, WorkloadInfo};
use super::error::WorkloadError;
use evenkeel_model::Application;

const SOURCE: &str =
    "counts: Lakshminarayana, Lee and Kim, SC 2009, with 8 workers; structure: assumed";

/// The greatest count of instructions, locks or barriers.
const MOST: u64 = 1_000_000_000_000_000;

const SYMMETRY: KnobInfo = KnobInfo {
    name: "symmetry",
    default: "by program",
    meaning: "standard deviation of the lengths of a group's threads / their mean; 0.1 or less \
              counts as symmetric",
};

const THREADS: KnobInfo = KnobInfo {
    name: "threads",
    default: "as counted",
    meaning: "threads, the main one included; --workers says how many workers instead",
};

const KNOBS: &[KnobInfo] = &[
    KnobInfo {
        name: "instructions",
        default: "1000000000",
        meaning: "of all threads (times --size)",
    },
    KnobInfo {
        name: "locks",
        default: "10000",
        meaning: "acquisitions of all threads (times --size)",
    },
    KnobInfo {
        name: "barriers",
        default: "0",
        meaning: "entries of all threads (rounds times --size)",
    },
    KnobInfo {
        name: "threads",
        default: "9",
        meaning: "the main one included; a bare number does",
    },
    KnobInfo {
        name: "groups",
        default: "2",
        meaning: "thread groups, the main thread's included; 1: it is one of the workers'",
    },
    KnobInfo { default: "0.5", ..SYMMETRY },
    KnobInfo {
        name: "serial",
        default: "0.05",
        meaning: "share of the instructions that the main thread retires alone",
    },
    KnobInfo {
        name: "main",
        default: "waits",
        meaning: "waits, works: what the main thread does while workers run",
    },
    KnobInfo {
        name: "at_once",
        default: "all",
        meaning: "workers that run at once; barriers then join each group's threads",
    },
];

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    let own = WorkloadInfo {
        name: "generated",
        summary:
            "threads by counts and a degree of symmetry, as in a row of the age-based study's table"
                .to_owned(),
        source: "Evenkeel, after Lakshminarayana, Lee and Kim, SC 2009",
        shapes: &[],
        knobs: KNOBS,
    };
    let listed = TABLE.iter().map(|it| {
        let summary = format!("{}: generated from its counts", it.about);
        let knobs = &[THREADS, SYMMETRY];
        let info = WorkloadInfo { name: it.name, summary, source: SOURCE, shapes: &[], knobs };
        Entry { info, build: build_listed }
    });
    listed.chain([Entry { info: own, build: build_own }]).collect()
}

fn build_listed(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let Some(listed) = TABLE.iter().find(|listed| listed.name == args.workload()) else {
        return Ok(Vec::new());
    };
    let beside = u32::from(listed.manner.main == Main::Waits);
    let threads = args.threads(
        ctx.threads.map_or(listed.row.threads, |workers| workers.saturating_add(beside)),
    )?;
    let row = Row { threads, groups: listed.row.groups.min(threads), ..listed.row };
    let largest = row.worker_groups().iter().map(ExactSizeIterator::len).max().unwrap_or(0) as u32;
    let symmetry = symmetry(args, &row, listed.manner.symmetry)?;
    let manner = Manner { symmetry, at_once: listed.manner.at_once.max(largest), ..listed.manner };
    Ok(vec![program::make(listed.name, &row, &manner, ctx)])
}

fn build_own(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let threads = args.threads(ctx.threads.map_or(9, |workers| workers.saturating_add(1)))?;
    let row = Row {
        instructions: args.whole("instructions", 1_000_000_000, 1, MOST)?,
        locks: args.whole("locks", 10_000, 0, MOST)?,
        barriers: args.whole("barriers", 0, 0, MOST)?,
        threads,
        groups: args.count("groups", 2, 1, threads)?,
    };
    // A main thread that works, or that meets all others at barriers, runs at the same time as they
    // do.
    let main = args.word("main", &[("waits", Main::Waits), ("works", Main::Works)])?;
    let largest = row.worker_groups().iter().map(ExactSizeIterator::len).max().unwrap_or(0) as u32;
    let least = match main {
        _ if row.one_group() => row.workers(),
        Main::Works => row.workers(),
        Main::Waits if row.barriers > 0 => largest,
        Main::Waits => 1,
    };
    let all = row.workers().max(1);
    let manner = Manner {
        symmetry: symmetry(args, &row, 0.5)?,
        serial: args.number("serial", SERIAL, 0.0, 1.0)?,
        main,
        at_once: args.count("at_once", all, least.max(1), all)?,
    };
    Ok(vec![program::make(args.workload(), &row, &manner, ctx)])
}

/// The degree of symmetry asked for, at most what the smallest group and the number of groups
/// allow.
fn symmetry(args: &Args, row: &Row, default: f64) -> Result<f64, WorkloadError> {
    let groups = row.worker_groups();
    let mut counts: Vec<u32> = groups.iter().map(|group| group.len() as u32).collect();
    counts.push(groups.len() as u32);
    if row.one_group() {
        counts = vec![row.threads];
    }
    let most = counts
        .into_iter()
        .filter(|&count| count > 1)
        .map(lengths::most)
        .fold(f64::INFINITY, f64::min);
    args.number("symmetry", default, 0.0, if most.is_finite() { most } else { 0.0 })
}

#[cfg(test)]
mod tests;
