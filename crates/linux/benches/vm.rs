//! Schedulers beside each other in the hybrid VM lab: the kernel's own, other sched_ext schedulers, and policies of ours.
//!
//! `make bench-vm`: each scheduler has a boot to itself and runs all loads of `vm/loads.sh` in turn; the schedulers take turns, and figures are
//! medians of the rounds. `EVENKEEL` is the binary, built with `sched_ext`; `EVENKEEL_PEERS` a folder of other schedulers' binaries, of which those that
//! are missing are left out and said to be; `EVENKEEL_BENCH_ROUNDS` the number of rounds. Writes `EVENKEEL_BENCH_OUT`, complete or not at all.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]

#[path = "../tests/support/programs.rs"]
mod programs;
mod support;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::median;

const CORES: &str = "2@60+2@20";
const KERNEL: &str = "6.18";
const PEERS: [&str; 2] = ["scx_bpfland", "scx_lavd"];
const POLICIES: [&str; 4] = ["acfs", "age", "hsp", "gts"];
/// Those that something is asked of, or that it is measured by: the others have the first round alone.
const EVERY_ROUND: [&str; 4] = ["kernel", "scx_bpfland", "acfs", "age"];
/// Those that have 2,000 threads in the first round, which takes minutes each.
const MANY: [&str; 2] = ["acfs", "age"];
const DEFAULT_ROUNDS: usize = 3;
const THREADS: [u32; 4] = [2, 4, 6, 12];

/// Greatest over least progress, and what all did together.
fn progress(units: &[f64]) -> (f64, f64) {
    let (least, greatest) = units.iter().fold((f64::MAX, 0.0_f64), |(least, most), &it| (least.min(it), most.max(it)));
    (greatest / least, units.iter().sum())
}

/// Numbers by load, as `loads.sh` prints them.
type Run = BTreeMap<String, Vec<f64>>;

fn parse(text: &str) -> Run {
    let line = |line: &str| {
        let (load, numbers) = line.split_once(": ")?;
        let numbers = numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        Some((load.to_owned(), numbers))
    };
    text.lines().filter_map(line).collect()
}

struct Bench {
    evenkeel: String,
    peers: PathBuf,
    loads: PathBuf,
}

impl Bench {
    /// Runs all loads; `many`: 2,000 threads, too.
    fn run(&self, scheduler: &str, many: bool) -> Result<Run, String> {
        let worker = programs::example("worker");
        let worker = worker.to_str().unwrap();
        let mut vm = Command::new(&self.evenkeel);
        vm.args(["vm", "--cores", CORES, "--kernel", KERNEL, "--timeout", "8min", "--with", worker, "--with", "chrt"]);
        for name in ["scales", "waits"] {
            vm.args(["--with", &format!("{worker}=/bin/{name}")]);
        }
        vm.args(["--with", "hackbench", "--with", "cyclictest", "--file"]);
        vm.arg(format!("{}=/loads.sh", self.loads.display()));
        let under = if PEERS.contains(&scheduler) {
            vm.arg("--with").arg(format!("{}=/bin/{scheduler}", self.peers.join(scheduler).display()));
            format!("/bin/{scheduler}")
        } else {
            vm.args(["--with", &format!("{}=/bin/evenkeel", self.evenkeel)]);
            scheduler.to_owned()
        };
        let many: &[&str] = if many { &["many"] } else { &[] };
        let done = vm.args(["--", "sh", "/loads.sh", &under]).args(many).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        if done.status.success() {
            Ok(parse(&text))
        } else {
            // Schedulers that fail dump the state of the machine.
            let said = String::from_utf8_lossy(&done.stderr);
            let last: Vec<&str> = said.lines().rev().take(6).collect();
            Err(last.into_iter().rev().collect::<Vec<_>>().join("\n"))
        }
    }
}

/// The median over rounds of what a run comes to; NaN where no round has it.
fn over(runs: &[Run], figure: impl Fn(&Run) -> Option<f64>) -> f64 {
    median(&runs.iter().filter_map(figure).collect::<Vec<_>>())
}

/// Units of work per second that there were to be had during a load.
fn capacity(run: &Run, load: &str) -> Option<f64> {
    let around = run.get(&format!("{load} capacity"))?;
    Some(around.iter().sum::<f64>() / around.len() as f64)
}

fn table(schedulers: &[&str], runs: &BTreeMap<&str, Vec<Run>>) -> String {
    let mut text = String::new();
    let kernel = &runs["kernel"];
    // Per unit of what there was to be had.
    let total = |run: &Run, load: &str| Some(progress(run.get(load)?).1 / capacity(run, load)?);
    text += "This host's speed moves by half within minutes. So before and after each load a thread bound to each CPU tells what there is to be had \
             just then, and work and times are compared by their ratio to that.\n\nEqual CPU-bound programs of one thread (2 and 12 for 6 s, 4 and 6 for \
             30 s): unfairness (progress, greatest / least), and the work of all, kernel = 1.\n\n| under |";
    THREADS.iter().for_each(|threads| write!(text, " {threads} of them | work |").unwrap());
    text += "\n| --- |";
    THREADS.iter().for_each(|_| text += " ---: | ---: |");
    for &scheduler in schedulers {
        write!(text, "\n| {scheduler} |").unwrap();
        for threads in THREADS {
            let load = format!("spin {threads}");
            let unfairness = over(&runs[scheduler], |run| run.get(&load).map(|units| progress(units).0));
            let work = over(&runs[scheduler], |run| total(run, &load)) / over(kernel, |run| total(run, &load));
            write!(text, " {unfairness:.3} | {work:.3} |").unwrap();
        }
    }
    text += "\n\nA barrier after every 50 ms of work on a fast core, 4 threads, 40 rounds; two programs' threads with speedup factor 3 beside two \
             with 1 (paced by the clock); hackbench -g 4 -f 10 -l 300; wake-ups of 4 threads that work 1 ms every 3 ms beside 4 that always work; \
             cyclictest --policy=other beside the same; three threads of nice 0 beside three of nice 5 (progress, the one / the other; by their weights 3.06); \
             2,000 threads that always work for 15 s (least and median progress, units of 20 us on a fast host core, and what the user side takes of a core \
             meanwhile; in the first round alone).\n\n";
    text += "| under | barrier, kernel / it | work of the scaling, kernel = 1 | of the paced | hackbench, it / kernel | wake p50, us | p99 | greatest | \
             cyclictest greatest, us | user side, % of a core | nice 0 / 5 | 2,000: least | median | user side, % |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";
    // What a load took of what there was to be had.
    let took = |load: &'static str| move |run: &Run| Some(run.get(load)?.first()? * capacity(run, load)?);
    // The paced threads do a unit a millisecond at most, the others far more.
    let mixed = |scaling: bool| {
        move |run: &Run| {
            let mut units = run.get("mix")?.clone();
            let had = if scaling { capacity(run, "mix")? } else { 1.0 };
            units.sort_by(f64::total_cmp);
            let (paced, scales) = units.split_at(units.len().min(2));
            Some(if scaling { scales } else { paced }.iter().sum::<f64>() / had)
        }
    };
    for &scheduler in schedulers {
        let these = &runs[scheduler];
        let wake = |at: usize| over(these, |run| run.get("wakes").and_then(|numbers| numbers.get(at).copied()));
        // Ticks are of 10 ms.
        let cost = over(these, |run| Some(run.get("ticks")?.first()? / run.get("ticks")?.get(1)?));
        // Whoever did not survive that has none.
        let many = |at: usize| over(these, |run| run.get("many").and_then(|numbers| numbers.get(at).copied()));
        writeln!(
            text,
            "\n| {scheduler} | {:.2} | {:.3} | {:.3} | {:.2} | {:.0} | {:.0} | {:.0} | {:.0} | {cost:.2} | {:.2} | {:.0} | {:.0} | {:.2} |",
            over(kernel, took("barrier")) / over(these, took("barrier")),
            over(these, mixed(true)) / over(kernel, mixed(true)),
            over(these, mixed(false)) / over(kernel, mixed(false)),
            over(these, took("hackbench")) / over(kernel, took("hackbench")),
            wake(0),
            wake(1),
            wake(2),
            over(these, |run| run.get("cyclictest")?.iter().copied().reduce(f64::max)),
            over(these, |run| {
                let units = run.get("nice")?;
                Some(units.get(..3)?.iter().sum::<f64>() / units.get(3..)?.iter().sum::<f64>())
            }),
            many(0),
            many(1),
            many(2),
        )
        .unwrap();
        text.pop();
    }
    // Who has not run a load has no figure for it.
    text.replace("NaN", "-") + "\n" + BELOW
}

/// How to read it.
const BELOW: &str = "\nNice 0 / 5 under `acfs`: what three threads of nice 0 are due are the two fast cores, and three of nice 5 the two slow ones, within what `acfs` \
                     lets threads be apart. So nearly nobody is swapped, and the figure is what the fast cores did for theirs, divided by what the slow ones did: 3 by the \
                     machine's file (2.99 in the simulator, in which the same six threads run for as long). Whatever a slow core of the lab does less than a third of a \
                     fast one is in it: three threads take turns on two slow cores, a switch costs both kinds as much of the host's time, and in the 3 ms until the \
                     next one a slow core has a third as much of it.\n";

fn main() {
    let evenkeel = env::var("EVENKEEL").expect("EVENKEEL: the binary, built with the feature sched_ext");
    let peers = PathBuf::from(env::var("EVENKEEL_PEERS").unwrap_or_else(|_| "target/peers/bin".into()));
    let rounds = env::var("EVENKEEL_BENCH_ROUNDS").map_or(DEFAULT_ROUNDS, |rounds| rounds.parse().unwrap());
    let loads = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/vm/loads.sh");
    let bench = Bench { evenkeel, peers, loads };
    let (there, missing): (Vec<&str>, Vec<&str>) = PEERS.iter().partition(|peer| bench.peers.join(peer).exists());
    missing.iter().for_each(|peer| eprintln!("{peer} is not in {}: left out", bench.peers.display()));
    let mut schedulers = [&["kernel"][..], &there, &POLICIES].concat();
    let mut runs: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
    for round in 1..=rounds {
        for &scheduler in schedulers.iter().filter(|it| round == 1 || EVERY_ROUND.contains(it)) {
            eprintln!("round {round} of {rounds}: {scheduler}");
            match bench.run(scheduler, round == 1 && MANY.contains(&scheduler)) {
                Ok(run) => runs.entry(scheduler).or_default().push(run),
                Err(error) => eprintln!("{scheduler} failed: {error}"),
            }
        }
    }
    schedulers.retain(|scheduler| runs.contains_key(scheduler));
    let date = Command::new("date").arg("+%F").output().unwrap().stdout;
    let text = format!(
        "# Schedulers in the hybrid VM lab\n\nWritten by `make bench-vm` on {}: Linux {KERNEL} in QEMU on this host's {} cores, {CORES}; medians of \
         {rounds} rounds, a boot each, the schedulers in turn; those other than {} had the first round alone. \"kernel\" is EEVDF.\n\n{}",
        String::from_utf8_lossy(&date).trim(),
        std::thread::available_parallelism().unwrap(),
        EVERY_ROUND.join(", "),
        table(&schedulers, &runs),
    );
    print!("{text}");
    if let Ok(file) = env::var("EVENKEEL_BENCH_OUT") {
        let temporary = format!("{file}.new");
        std::fs::write(&temporary, text).unwrap();
        std::fs::rename(temporary, file).unwrap();
    }
}
