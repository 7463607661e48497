//! Multithreaded programs of the mixes on amd-2b10s: highly parallel ones, and ones that are serial
//! for more than a quarter of their time.
//!
//! The study states the classes; factors within the machine's range of 1 to 2.625, shares and
//! lengths are assumptions. The serial share is of the work: with four threads or more, and even
//! where the serial part alone gets a fast core, a share of a fifth is more than a quarter of the
//! time.
//!
//! A region is shared in one of four ways: in equal blocks, one for each thread (`pinned`, OpenMP's
//! default); in hundredths, each to the next thread that is free (`loop-dynamic`); by the speeds of
//! the kinds (`loop-aid-static`, `loop-aid-dynamic`); or so that each thread gets what it had the
//! last time (`loop-aid-affinity`). With equal blocks a region takes as long as its slowest thread,
//! so a big core for some of the threads gains nothing unless they take turns on it within the
//! region.

use super::{AMD, AMD_CAPACITY_RATIO, SOURCE, THREADS};
use crate::programs::args::Args;
use crate::programs::build::{Builder, Context};
use crate::programs::course::{Needs, Part, Shape, Shared, add_threads};
use crate::programs::entry::{Entry, WorkloadInfo};
use crate::programs::error::WorkloadError;
use evenkeel_model::Application;
use evenkeel_model::{Phase, Scaling};

/// Clock of the slow cores of amd-2b10s, in which running times are stated.
const SLOW_HZ: f64 = 0.8e9;

/// Parallel regions in a run of full size, a serial part before each.
const REGIONS: u64 = 300;

/// Items of a region: what threads share evenly.
const ITEMS: u64 = 720_720;

/// Items that a thread takes at once in `loop-dynamic` and the other loop shapes.
const CHUNK: u64 = ITEMS / 100;

/// How a region may be shared; the first is the default.
pub(super) const SHAPES: &[&str] =
    &["pinned", "loop-dynamic", "loop-aid-static", "loop-aid-dynamic", "loop-aid-affinity"];

/// A program.
pub(super) struct Multi {
    pub(super) name: &'static str,
    summary: &'static str,
    /// SF on amd-2b10s.
    pub(super) factor: f64,
    /// Share of the work that one thread does alone.
    pub(super) serial_share: f64,
    /// Time on one slow core, seconds.
    slow_s: f64,
    ipc: f64,
    bytes_per_instruction: f64,
}

const fn multi(
    name: &'static str,
    summary: &'static str,
    (factor, serial_share): (f64, f64),
    (slow_s, ipc, bytes_per_instruction): (f64, f64, f64),
) -> Multi {
    Multi { name, summary, factor, serial_share, slow_s, ipc, bytes_per_instruction }
}

pub(super) const PROGRAMS: [Multi; 6] = [
    multi("fma3d_m", "highly parallel, high SF", (2.5, 0.01), (240.0, 0.8, 0.1)),
    multi("wupwise_m", "highly parallel, middle SF", (1.9, 0.01), (240.0, 0.6, 0.8)),
    multi("semphy", "partly serial, high SF", (2.5, 0.20), (160.0, 0.8, 0.05)),
    multi("BLAST", "partly serial, high SF", (2.4, 0.22), (160.0, 0.7, 0.2)),
    multi("FFTW3D", "partly serial, low SF", (1.4, 0.25), (140.0, 0.4, 1.5)),
    multi(
        "blackscholes_ps",
        "blackscholes with its reading and writing: partly serial, high SF",
        (2.6, 0.20),
        (160.0, 0.8, 0.05),
    ),
];

/// The registry's entries.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |program: &Multi| {
        let summary = format!("multithreaded: {}", program.summary);
        let info = WorkloadInfo {
            name: program.name,
            summary,
            source: SOURCE,
            shapes: SHAPES,
            knobs: &[THREADS],
        };
        Entry { info, build }
    };
    PROGRAMS.iter().map(entry).collect()
}

fn build(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let Some(program) = PROGRAMS.iter().find(|program| program.name == args.workload()) else {
        return Ok(Vec::new());
    };
    let threads = args.threads(ctx.workers())?;
    let factor = program.factor;
    let scaling = match ctx.machine.name.as_str() {
        AMD => Scaling::Factor(factor),
        _ => Scaling::MeasuredAt { factor, capacity_ratio: AMD_CAPACITY_RATIO },
    };
    let mut builder = Builder::new(program.name);
    let phase = builder.phase(Phase {
        ipc: program.ipc,
        bytes_per_instruction: program.bytes_per_instruction,
        working_set: 256 << 10,
        ..Phase::new(program.name, scaling)
    });
    let region = program.slow_s * SLOW_HZ * program.ipc / REGIONS as f64;
    let shared = Shared {
        items: ITEMS,
        work: (region * (1.0 - program.serial_share) / ITEMS as f64).round().max(1.0) as u64,
        phase,
        tasks: 1,
        needs: Needs::All,
        chunk: CHUNK,
        ticket: None,
        border: None,
    };
    let serial = Part::Serial { work: (region * program.serial_share) as u64, phase };
    let parts = vec![serial, Part::Shared(shared)];
    let course = [Part::Repeat { times: ctx.scaled(REGIONS), synchronised: true, parts }];
    add_threads(&mut builder, &course, Shape::named(args.shape()), threads)?;
    Ok(vec![builder.finish()])
}
