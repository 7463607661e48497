//! The hot paths: what users wait for, and what runs between their tasks.

use std::hint::black_box;
use std::sync::Barrier;

use anyhow::{Context as _, Result};
use evenkeel_files::machines;
use evenkeel_files::perf_sched;
use evenkeel_files::programs::{self, Context};
use evenkeel_files::recorded::{Places, Selection};
use evenkeel_machine::{Machine, Nanos};
use evenkeel_metrics::{AloneCache, Record, Subject};
use evenkeel_model::Application;
use evenkeel_policy::{Knobs, registry};
use evenkeel_report::Timeline;
use evenkeel_report::html::{Meta, page};
use evenkeel_runtime::{Handle, Pool};
use evenkeel_sim::{Config, Log, NoListener, Outcome, run};

use crate::measure::greatest;

/// A path by name. It runs through [`greatest`], whose bytes it gives.
pub struct HotPath {
    pub name: &'static str,
    pub carry_out: fn() -> Result<usize>,
}

pub const PATHS: &[HotPath] = &[
    // The engine: barriers, locks and wake-ups, under a policy that decides nothing.
    HotPath { name: "engine", carry_out: || simulated("fluidanimate", "pinned", 1_000) },
    HotPath { name: "acfs", carry_out: || simulated("spin:threads=64,seconds=10", "acfs", 4_000) },
    HotPath {
        name: "linux",
        carry_out: || simulated("spin:threads=64,seconds=10", "linux", 4_000),
    },
    HotPath { name: "age", carry_out: || simulated("spin:threads=64,seconds=10", "age", 4_000) },
    // This path counts for its bytes: the memory of a thread.
    HotPath {
        name: "many-threads",
        carry_out: || simulated("spin:threads=4000,seconds=10", "acfs", 50),
    },
    HotPath { name: "reader", carry_out: reader },
    HotPath {
        name: "spawn",
        carry_out: || on_pool(|pool| pool.scope(|s| (0..20_000).for_each(|_| s.spawn(|| ())))),
    },
    HotPath { name: "loop", carry_out: loops },
    HotPath { name: "chain", carry_out: || on_pool(chain) },
    HotPath { name: "page", carry_out: a_page },
    HotPath { name: "record", carry_out: a_record },
];

const MACHINE: &str = "odroid-xu3";

/// A run of this many simulated milliseconds.
fn lasting(ms: u64) -> Config {
    Config { duration: Some(Nanos(ms * 1_000_000)), ..Config::default() }
}

fn simulated(workload: &str, policy: &str, ms: u64) -> Result<usize> {
    let machine = machines::preset(MACHINE)?;
    let apps = programs::load(workload, &Context::new(&machine))?;
    let config = lasting(ms);
    greatest(|| {
        Ok(run(&machine, &apps, registry::make(policy, &[])?.as_mut(), &config, &mut NoListener)?)
    })
}

/// A recording of 3,000 events, as `perf sched record` writes it.
fn reader() -> Result<usize> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/files/tests/perf/four.data");
    let bytes = std::fs::read(file).context(file)?;
    greatest(|| {
        let data = perf_sched::read(&bytes, "four.data")?;
        Ok(perf_sched::program(data, Selection::Command, &Places::default(), "four.data")?)
    })
}

/// Runs a path on the one worker of a pool, and counts there: callgrind counts by thread.
fn on_pool(path: fn(&Pool)) -> Result<usize> {
    let pool = Pool::builder().workers(1).pin(false).build()?;
    pool.run(|| {
        greatest(|| {
            path(&pool);
            Ok(())
        })
    })
}

/// Shared loops, on a pool of two whose other worker waits in a task: a worker that is alone runs
/// loops without asking for chunks.
fn loops() -> Result<usize> {
    // A schedule that does not depend on how long chunks took.
    let pool = Pool::builder().workers(2).pin(false).schedule("dynamic,4").build()?;
    let (began, end) = (Barrier::new(2), Barrier::new(2));
    pool.scope(|s| {
        s.spawn(|| {
            began.wait();
            end.wait();
        });
        began.wait();
        let bytes = greatest(|| {
            for _ in 0..1_000 {
                pool.for_each(0..64, |i| {
                    black_box(i);
                });
            }
            Ok(())
        });
        end.wait();
        bytes
    })
}

/// Tasks each of which waits for the one before it.
fn chain(pool: &Pool) {
    let shared = Handle::new();
    pool.scope(|s| (0..10_000).for_each(|_| s.task().updates(&shared).run(|| ())));
}

/// A run with its whole log.
struct Ran {
    machine: Machine,
    apps: Vec<Application>,
    alone: Vec<evenkeel_metrics::Alone>,
    outcome: Outcome,
    log: Log,
}

impl Ran {
    fn new(workload: &str) -> Result<Self> {
        let machine = machines::preset(MACHINE)?;
        let apps = programs::load(workload, &Context::new(&machine))?;
        let config = lasting(1_000);
        let alone = AloneCache::default().measure(&machine, &machine, &apps, &config)?;
        let mut log = Log::default();
        let outcome =
            run(&machine, &apps, registry::make("acfs", &[])?.as_mut(), &config, &mut log)?;
        Ok(Self { machine, apps, alone, outcome, log })
    }

    fn record(&self) -> Record {
        let (knobs, workloads) = (Knobs::default(), ["bodytrack".to_owned()]);
        let subject = Subject {
            machine: &self.machine,
            policy: "acfs",
            knobs: &knobs,
            workloads: &workloads,
            seed: 1,
        };
        subject.record(&self.outcome, &self.alone, true, std::time::Duration::ZERO)
    }
}

fn a_record() -> Result<usize> {
    let ran = Ran::new("4STH-2STM-2STL")?;
    greatest(|| Ok(serde_json::to_string(&ran.record())?))
}

fn a_page() -> Result<usize> {
    let ran = Ran::new("bodytrack")?;
    let (records, meta) = ([ran.record()], Meta::default());
    let names: Vec<String> = ran.apps.iter().map(|app| app.name.clone()).collect();
    greatest(|| {
        let timeline = Timeline::new(0, &ran.machine, &names, &ran.log);
        Ok(page(&records, &[timeline], &meta))
    })
}
