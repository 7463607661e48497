//! Simple workloads with a closed form.

use evenkeel_machine::Nanos;

use crate::programs::args::Args;
use crate::programs::build::{Builder, Context, compute, repeat};
use crate::programs::course::add_workers;
use crate::programs::entry::{Entry, KnobInfo, WorkloadInfo};
use crate::programs::error::WorkloadError;
use evenkeel_model::{Application, Step};
use evenkeel_model::{Phase, Scaling};

const SOURCE: &str = "Evenkeel";

const fn threads(default: &'static str) -> KnobInfo {
    KnobInfo { name: "threads", default, meaning: "threads; a bare number does" }
}

pub(super) fn entries() -> Vec<Entry> {
    const SPIN: &[KnobInfo] = &[
        threads("64"),
        KnobInfo {
            name: "seconds",
            default: "1",
            meaning: "of each thread alone on the slowest kind (times --size)",
        },
    ];
    const BARRIER: &[KnobInfo] = &[
        threads("number of cores"),
        KnobInfo {
            name: "rounds",
            default: "100",
            meaning: "blocks of each thread, a barrier after each (times --size)",
        },
        KnobInfo {
            name: "block_us",
            default: "10000",
            meaning: "of a block alone on the slowest kind, microseconds",
        },
    ];
    const SLEEPERS: &[KnobInfo] = &[
        threads("32"),
        KnobInfo {
            name: "rounds",
            default: "500",
            meaning: "times that each runs and sleeps (times --size)",
        },
        KnobInfo {
            name: "run_us",
            default: "1000",
            meaning: "of one run alone on the slowest kind, microseconds",
        },
        KnobInfo { name: "sleep_us", default: "4000", meaning: "of one sleep, microseconds" },
    ];
    let info = |name, summary: &str, knobs| WorkloadInfo {
        name,
        summary: summary.to_owned(),
        source: SOURCE,
        shapes: &[],
        knobs,
    };
    vec![
        Entry { info: info("spin", "equal threads that only compute", SPIN), build: spin },
        Entry {
            info: info("barrier", "equal blocks, all threads meet after each", BARRIER),
            build: barrier,
        },
        Entry {
            info: info("sleepers", "equal threads that run and sleep by turns", SLEEPERS),
            build: sleepers,
        },
    ]
}

/// Instructions that the slowest kind retires in `time_s` at one per cycle; at least 1.
fn slowest_work(ctx: &Context, time_s: f64) -> u64 {
    ((time_s * ctx.machine.reference.slowest_khz as f64 * 1e3) as u64).max(1)
}

fn micros(args: &Args, key: &str, default: u64) -> Result<u64, WorkloadError> {
    args.whole(key, default, 1, 1_000_000_000)
}

fn spin(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let threads = args.threads(ctx.threads.unwrap_or(64))?;
    let seconds = args.positive("seconds", 1.0, 1e6)? * ctx.size;
    let mut builder = Builder::new("spin");
    let phase = builder.phase(Phase::new("spin", Scaling::Capacity));
    let mut steps = Vec::new();
    compute(&mut steps, slowest_work(ctx, seconds), phase);
    add_workers(&mut builder, steps, threads);
    Ok(vec![builder.finish()])
}

fn barrier(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let threads = args.threads(ctx.workers())?;
    let rounds = ctx.scaled(args.whole("rounds", 100, 1, 1_000_000_000)?);
    let block_us = micros(args, "block_us", 10_000)?;
    let mut builder = Builder::new("barrier");
    let phase = builder.phase(Phase::new("block", Scaling::Capacity));
    let meeting = builder.barrier(threads);
    let mut round = Vec::new();
    compute(&mut round, slowest_work(ctx, block_us as f64 / 1e6), phase);
    round.push(Step::Barrier(meeting));
    add_workers(&mut builder, repeat(rounds, round), threads);
    Ok(vec![builder.finish()])
}

fn sleepers(args: &Args, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let threads = args.threads(ctx.threads.unwrap_or(32))?;
    let rounds = ctx.scaled(args.whole("rounds", 500, 1, 1_000_000_000)?);
    let (run_us, sleep_us) = (micros(args, "run_us", 1_000)?, micros(args, "sleep_us", 4_000)?);
    let mut builder = Builder::new("sleepers");
    let phase = builder.phase(Phase::new("run", Scaling::Capacity));
    let mut round = Vec::new();
    compute(&mut round, slowest_work(ctx, run_us as f64 / 1e6), phase);
    round.push(Step::Sleep(Nanos::from_micros(sleep_us)));
    add_workers(&mut builder, repeat(rounds, round), threads);
    Ok(vec![builder.finish()])
}
