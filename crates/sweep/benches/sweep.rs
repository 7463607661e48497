//! What a sweep costs beside the bare engine: the same small cases by two threads, as Parquet and
//! without any output; and its memory, by how many cases there are. What is printed also goes to
//! the file in `EVENKEEL_BENCH_OUT`.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use std::{env, fs};

use evenkeel_files::programs::{self, Context};
use evenkeel_machine::Machine;
use evenkeel_metrics::AloneCache;
use evenkeel_model::Application;
use evenkeel_policy::registry;
use evenkeel_sim::{Config, NoListener};
use evenkeel_sweep::{Begin, Case, Grid, Shard, Sweep, Value, Watch, words};

const THREADS: usize = 2;
const ROUNDS: usize = 5;
/// Seeds of the grid whose time is measured.
const SEEDS: u32 = 200;
/// Seeds of those whose memory is: 108,000 and 1,080,000 cases.
const SEEDS_OF_MEMORY: [u32; 2] = [500, 5_000];
/// Given as an argument, with a number of seeds: sweep that grid, and say the most memory.
const MEMORY: &str = "--memory-of-seeds";

/// Given as an argument, with what `engine` takes: say how long a run is.
const ENGINE: &str = "--engine";
/// Runs of a round of that.
const RUNS: u32 = 400;

/// 216 cases a seed.
const GRID: &str = r#"[axes]
machine = ["odroid-xu3", "quickia", "pixel6"]
workload = [["mcf", "gobmk", "namd", "lbm", "astar", "povray"], "4STH", "generated", "wfcommons-mosaic"]
policy = ["linux", "gts", "acfs", "hsp", "mclas"]
"acfs.swap" = { from = 200, to = 1000, step = 200 }
size = [0.01, 0.02]
"#;

struct Nobody;

impl Watch for Nobody {}

/// All that the engine needs for a case.
struct Ready {
    machine: Arc<Machine>,
    apps: Arc<Vec<Application>>,
    /// Which applications they are.
    number: usize,
    system: String,
    set: Vec<(String, String)>,
    config: Config,
}

fn grid(seeds: u32) -> Grid {
    Grid::parse(GRID, "bench", Some(seeds)).unwrap()
}

/// Cases as the engine takes them.
fn ready(grid: &Grid) -> Vec<Ready> {
    let mut machines: HashMap<String, Arc<Machine>> = HashMap::new();
    let mut workloads: HashMap<String, Arc<Vec<Application>>> = HashMap::new();
    let mut different: Vec<(Arc<Machine>, Arc<Vec<Application>>)> = Vec::new();
    let mut of = |case: Case| {
        let text = |axis: &str| case.get(axis).unwrap().to_string();
        let machine = machines
            .entry(text("machine"))
            .or_insert_with_key(|name| Arc::new(evenkeel_files::machines::load(name).unwrap()));
        let size = text("size").parse().unwrap();
        let seed: u64 = text("seed").parse().unwrap();
        let names = match case.get("workload").unwrap() {
            Value::Together(names) => names.clone(),
            name => vec![name.to_string()],
        };
        let key = format!("{} {names:?} {size} {seed}", machine.name);
        let apps = workloads.entry(key).or_insert_with(|| {
            let context = Context { size, seed: seed.into(), ..Context::new(machine) };
            let apps = names.iter().flat_map(|name| programs::load(name, &context).unwrap());
            Arc::new(apps.collect())
        });
        let known =
            different.iter().position(|(on, other)| Arc::ptr_eq(on, machine) && other == apps);
        let number = known.unwrap_or_else(|| {
            different.push((Arc::clone(machine), Arc::clone(apps)));
            different.len() - 1
        });
        let swap = case.get("acfs.swap").map(|value| ("swap".to_owned(), value.to_string()));
        Ready {
            machine: Arc::clone(machine),
            apps: Arc::clone(apps),
            number,
            system: words::parts(&text("policy")).0.to_owned(),
            set: swap.into_iter().collect(),
            config: Config { seed, ..Config::default() },
        }
    };
    grid.cases().map(&mut of).collect()
}

/// Cases in a second, of two threads of the bare engine, and how much of the time runs alone took:
/// each set of applications needs its own once.
fn bare(cases: &[Ready]) -> (f64, f64) {
    let next = AtomicUsize::new(0);
    let alone_ns = AtomicU64::new(0);
    let most = cases.iter().map(|case| case.number).max().unwrap();
    let alone: Vec<OnceLock<()>> = (0..=most).map(|_| OnceLock::new()).collect();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().unwrap();
    let start = Instant::now();
    threads.broadcast(|_| {
        while let Some(Ready { machine, apps, number, system, set, config }) =
            cases.get(next.fetch_add(1, Relaxed))
        {
            alone[*number].get_or_init(|| {
                let start = Instant::now();
                let cache = AloneCache::default();
                black_box(cache.measure(machine, machine, apps, config).unwrap());
                alone_ns.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
            });
            let mut policy = registry::make_with_seed(system, set, config.seed).unwrap();
            let run = evenkeel_sim::run(machine, apps, policy.as_mut(), config, &mut NoListener);
            black_box(run.unwrap());
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let alone = alone_ns.into_inner() as f64 / 1e9 / THREADS as f64;
    (cases.len() as f64 / seconds, alone / seconds)
}

/// The same of a sweep, from the grid to the last file.
fn sweep(seeds: u32) -> f64 {
    let to = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let sweep = Sweep::new(grid(seeds)).unwrap();
    let folder = sweep.folder(to.path(), Begin::Anew).unwrap();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().unwrap();
    sweep.carry_out(&folder, &sweep.share(Shard::WHOLE), &threads, &Nobody).unwrap();
    sweep.grid().len() as f64 / start.elapsed().as_secs_f64()
}

/// The most memory of a process that carries out a sweep, MiB.
fn memory(seeds: u32) -> f64 {
    let me = env::current_exe().unwrap();
    let said = Command::new(me).args([MEMORY, &seeds.to_string()]).output().unwrap();
    String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
}

fn most_memory_of_this_process() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Microseconds of a run by the bare engine: machine, policy, size, workloads that run together.
fn engine(args: &[String]) -> f64 {
    let [machine, policy, size, names @ ..] = args else {
        panic!("MACHINE POLICY SIZE WORKLOAD...")
    };
    let machine = evenkeel_files::machines::load(machine).unwrap();
    let context = Context { size: size.parse().unwrap(), ..Context::new(&machine) };
    let apps: Vec<Application> =
        names.iter().flat_map(|name| programs::load(name, &context).unwrap()).collect();
    let config = Config::default();
    let run = || {
        let mut policy = registry::make_with_seed(policy, &[], config.seed).unwrap();
        let run = evenkeel_sim::run(&machine, &apps, policy.as_mut(), &config, &mut NoListener);
        black_box(run.unwrap());
    };
    run();
    let round = || {
        let start = Instant::now();
        (0..RUNS).for_each(|_| run());
        start.elapsed().as_secs_f64() / f64::from(RUNS) * 1e6
    };
    median((0..ROUNDS).map(|_| round()).collect())
}

fn main() {
    let args: Vec<String> = env::args().skip_while(|arg| arg != ENGINE).collect();
    if let [_, args @ ..] = args.as_slice() {
        println!("{}", engine(args));
        return;
    }
    let mut args = env::args().skip(1).skip_while(|arg| arg != MEMORY);
    if let Some(seeds) = args.nth(1) {
        sweep(seeds.parse().unwrap());
        println!("{}", most_memory_of_this_process());
        return;
    }
    let of_grid = grid(SEEDS);
    let cases = ready(&of_grid);
    if env::var_os("EVENKEEL_BARE").is_some() {
        println!("{:?}", bare(&cases));
        return;
    }
    let (mut ratios, mut engine, mut alone, mut whole) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let ((bare, part), sweep) = (bare(&cases), sweep(SEEDS));
        ratios.push(sweep / bare);
        engine.push(bare);
        alone.push(part);
        whole.push(sweep);
    }
    let (alone, engine) = (median(alone), median(engine));
    let each = 1e3 * THREADS as f64 * (1.0 - alone) / engine;
    let [small, large] = SEEDS_OF_MEMORY.map(|seeds| (grid(seeds).len(), memory(seeds)));
    let mut text = String::from(
        "# Sweeps: what they cost beside the engine\n\n\
         `make bench-sweep` writes this page: small cases on three machines, of four workloads, \
         under five\npolicies, in turn by two threads of the bare engine in one process without \
         output, and by a sweep of\ntwo jobs, from the grid to the last file. Both carry out what \
         slowdowns need: each set of\napplications alone, once. A quarter of the cases has programs \
         that are new with each seed. Medians\nof rounds.\n\n",
    );
    writeln!(text, "| what | is |\n| --- | ---: |").unwrap();
    writeln!(text, "| cases | {} |", of_grid.len()).unwrap();
    writeln!(text, "| a case, engine alone | {each:.2} ms |").unwrap();
    writeln!(text, "| of the engine's time, runs alone | {:.0} % |", alone * 100.0).unwrap();
    writeln!(text, "| bare engine | {engine:.0} cases/s |").unwrap();
    writeln!(text, "| sweep | {:.0} cases/s |", median(whole)).unwrap();
    writeln!(text, "| sweep / engine | {:.2} |", median(ratios)).unwrap();
    for (cases, memory) in [small, large] {
        writeln!(text, "| most memory, {cases} cases | {memory:.0} MiB |").unwrap();
    }
    print!("{text}");
    if let Some(file) = env::var_os("EVENKEEL_BENCH_OUT") {
        fs::write(file, text).unwrap();
    }
}
