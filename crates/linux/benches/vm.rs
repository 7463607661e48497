//! Schedulers beside each other in the hybrid VM lab: the kernel's own, other sched_ext schedulers,
//! and policies of ours.
//!
//! `make bench-vm`: a round is a boot, in which the schedulers take turns at the loads of
//! `vm/loads.sh`. Work and times are compared with those of the kernel's own scheduler in the turns
//! just before and after, and figures are medians of the rounds. `EVENKEEL` is the binary, built
//! with `sched_ext`; `EVENKEEL_PEERS` a folder of other schedulers' binaries, of which those that
//! are missing are left out and said to be; `EVENKEEL_BENCH_ROUNDS` the number of rounds;
//! `EVENKEEL_BENCH_SCHEDULERS` the schedulers beside the kernel's own, if not all. Writes
//! `EVENKEEL_BENCH_OUT`, which is complete after the last round, and `.part` beside it before.
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
/// Those that something is asked of, or that it is measured by: the others have the first round
/// alone.
const EVERY_ROUND: [&str; 2] = ["scx_bpfland", "acfs"];
/// Of whom something is asked at the barrier: that they have in every round.
const AT_BARRIER: [&str; 1] = ["age"];
/// How the kernel's own scheduler is called here and in `loads.sh`.
const KERNELS_OWN: &str = "kernel";
/// Those that have 2,000 threads in the first round beside the kernel's own, which takes minutes
/// each.
const MANY: [&str; 2] = ["acfs", "age"];
const DEFAULT_ROUNDS: usize = 5;
const THREADS: [u32; 4] = [2, 4, 6, 12];
/// Those of them that are measured for long, too.
const LONG: [u32; 2] = [4, 6];

/// What a load printed in one turn.
struct Turn {
    scheduler: String,
    numbers: Vec<f64>,
}

/// By load, the turns at it in order, as `loads.sh` prints them.
type Round = BTreeMap<String, Vec<Turn>>;

fn parse(text: &str) -> Round {
    let mut round = Round::new();
    for line in text.lines() {
        let Some((head, numbers)) = line.split_once(": ") else { continue };
        let Some((scheduler, load)) = head.split_once('/') else { continue };
        let numbers = numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        round
            .entry(load.to_owned())
            .or_default()
            .push(Turn { scheduler: scheduler.to_owned(), numbers });
    }
    round
}

struct Bench {
    evenkeel: String,
    peers: PathBuf,
    loads: PathBuf,
}

impl Bench {
    /// A boot in which these take turns, those of `many` with 2,000 threads, too, those of `brief`
    /// at the barrier alone.
    fn run(&self, schedulers: &[&str], many: &[&str], brief: &[&str]) -> Result<Round, String> {
        let worker = programs::example("worker");
        let worker = worker.to_str().unwrap();
        let mut vm = Command::new(&self.evenkeel);
        vm.args([
            "vm",
            "--cores",
            CORES,
            "--kernel",
            KERNEL,
            "--timeout",
            "90min",
            "--with",
            worker,
            "--with",
            "chrt",
        ]);
        for name in ["scales", "waits"] {
            vm.args(["--with", &format!("{worker}=/bin/{name}")]);
        }
        vm.args(["--with", "hackbench", "--with", "cyclictest", "--file"]);
        vm.arg(format!("{}=/loads.sh", self.loads.display()));
        vm.args(["--with", &format!("{}=/bin/evenkeel", self.evenkeel)]);
        let mut names = Vec::new();
        for &scheduler in schedulers {
            if PEERS.contains(&scheduler) {
                vm.arg("--with")
                    .arg(format!("{}=/bin/{scheduler}", self.peers.join(scheduler).display()));
                names.push(format!("/bin/{scheduler}"));
            } else {
                names.push(scheduler.to_owned());
            }
        }
        let done = vm
            .args([
                "--",
                "sh",
                "/loads.sh",
                &many.join(" "),
                &EVERY_ROUND.join(" "),
                &brief.join(" "),
            ])
            .args(names)
            .output()
            .unwrap();
        // Schedulers that fail dump the state of the machine.
        let said = String::from_utf8_lossy(&done.stderr);
        if done.status.success() {
            eprint!("{said}");
            Ok(parse(&String::from_utf8_lossy(&done.stdout)))
        } else {
            let last: Vec<&str> = said.lines().rev().take(6).collect();
            Err(last.into_iter().rev().collect::<Vec<_>>().join("\n"))
        }
    }
}

/// A scheduler's figures from all rounds.
struct Of<'a> {
    scheduler: &'a str,
    rounds: &'a [Round],
}

impl Of<'_> {
    /// The median of what its turns at a load come to; NaN where it had none.
    fn median(&self, load: &str, figure: impl Fn(&[f64]) -> Option<f64>) -> f64 {
        let turns = self.rounds.iter().filter_map(|round| round.get(load)).flatten();
        let its = turns.filter(|turn| turn.scheduler == self.scheduler);
        median(&its.filter_map(|turn| figure(&turn.numbers)).collect::<Vec<_>>())
    }

    /// The median of what its turns at a load come to, and the least and greatest of several.
    fn each(&self, load: &str, figure: impl Fn(&[f64]) -> Option<f64>) -> String {
        let turns = self.rounds.iter().filter_map(|round| round.get(load)).flatten();
        let its = turns.filter(|turn| turn.scheduler == self.scheduler);
        spread(its.filter_map(|turn| figure(&turn.numbers)).collect())
    }

    /// What each of its turns comes to divided by the mean of the kernel's own just before and
    /// after: the median, and the least and greatest of several.
    fn to_kernel(&self, load: &str, figure: impl Fn(&[f64]) -> Option<f64>) -> String {
        if self.scheduler == KERNELS_OWN {
            return "1".to_owned();
        }
        let mut ratios = Vec::new();
        for turns in self.rounds.iter().filter_map(|round| round.get(load)) {
            for three in turns.windows(3).filter(|three| three[1].scheduler == self.scheduler) {
                if let [Some(before), Some(its), Some(after)] =
                    [0, 1, 2].map(|at| figure(&three[at].numbers))
                {
                    ratios.push(2.0 * its / (before + after));
                }
            }
        }
        spread(ratios)
    }
}

/// The median, and the least and greatest of several.
fn spread(mut figures: Vec<f64>) -> String {
    figures.sort_by(f64::total_cmp);
    match figures[..] {
        [least, .., greatest] => format!("{:.3} ({least:.3} to {greatest:.3})", median(&figures)),
        _ => format!("{:.3}", median(&figures)),
    }
}

/// Greatest over least.
fn unfairness(units: &[f64]) -> Option<f64> {
    let least = units.iter().copied().reduce(f64::min)?;
    Some(units.iter().copied().reduce(f64::max)? / least)
}

fn total(units: &[f64]) -> Option<f64> {
    (!units.is_empty()).then(|| units.iter().sum())
}

/// Work of those of the mix that scale, or of the two that are paced: these do a unit a millisecond
/// at most, the others far more.
fn mixed(units: &[f64], scaling: bool) -> Option<f64> {
    let mut units = units.to_vec();
    units.sort_by(f64::total_cmp);
    let (paced, scales) = units.split_at_checked(2)?;
    total(if scaling { scales } else { paced })
}

fn table(schedulers: &[&str], rounds: &[Round]) -> String {
    let mut text = "Work and times are compared with those of the kernel's own scheduler in the \
                    turns just before and after, in the same boot: the median of \
                    the rounds, in parentheses the least and the greatest.\n\n\
                    Equal CPU-bound programs of one thread, 2 and 12 for 4 s, 4 and 6 for 15 s. \
                    Unfairness is progress, greatest / least; of 4 and 6 for 30 s, too, in turns \
                    of their own. Work is that of all, kernel = 1.\n\n| under |"
        .to_owned();
    let mut line = "\n| --- |".to_owned();
    for threads in THREADS {
        write!(
            text,
            " {threads} of them |{} work |",
            if LONG.contains(&threads) { " 30 s |" } else { "" }
        )
        .unwrap();
        line += if LONG.contains(&threads) { " ---: | ---: | ---: |" } else { " ---: | ---: |" };
    }
    text += &line;
    for &scheduler in schedulers {
        let it = Of { scheduler, rounds };
        write!(text, "\n| {scheduler} |").unwrap();
        for threads in THREADS {
            let load = format!("spin {threads}");
            write!(text, " {:.3} |", it.median(&load, unfairness)).unwrap();
            if LONG.contains(&threads) {
                write!(text, " {} |", it.each(&format!("long {threads}"), unfairness)).unwrap();
            }
            write!(text, " {} |", it.to_kernel(&load, total)).unwrap();
        }
    }
    text += "\n\nTime, kernel = 1: 20 rounds of a barrier after every 50 ms of work on a fast \
             core, 4 threads; hackbench -g 4 -f 10 -l 300, the median of five runs. Work, kernel \
             = 1: two programs' threads with speedup factor 3 beside two with 1 (paced \
             by the clock).\n\n\
             | under | barrier | hackbench | work of the scaling | of the paced |\n| --- | ---: | \
             ---: | ---: | ---: |";
    for &scheduler in schedulers {
        let it = Of { scheduler, rounds };
        write!(
            text,
            "\n| {scheduler} | {} | {} | {} | {} |",
            it.to_kernel("barrier", total),
            it.to_kernel("hackbench", total),
            it.to_kernel("mix", |units| mixed(units, true)),
            it.to_kernel("mix", |units| mixed(units, false)),
        )
        .unwrap();
    }
    text += "\n\nFigures by themselves:\n\n\
             - wake-ups of 4 threads that work 1 ms every 3 ms beside 4 that always work, for 8 s \
             after 2 s, and in these first 2 s;\n\
             - cyclictest --policy=other beside the same;\n\
             - nice 0 / 5: progress of three threads of nice 0, divided by that of three of nice \
             5, for 30 s (3.06 by their weights);\n\
             - user side: what it takes of a core;\n\
             - 2,000 threads that always work for 30 s, in the first round alone: least and median \
             progress, in units of 20 us on a fast host core, and what the user side takes of a \
             core meanwhile.\n\n\
             | under | wake p50, us | p99 | greatest | first 2 s: p99 | cyclictest p50, us | p99 | \
             greatest | nice 0 / 5 | user side, % of a core | 2,000: least | median | user side, % \
             |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | \
             ---: |";
    for &scheduler in schedulers {
        let it = Of { scheduler, rounds };
        let of = |load: &str, at: usize| it.median(load, |numbers| numbers.get(at).copied());
        write!(
            text,
            "\n| {scheduler} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} | \
             {:.2} | {:.0} | {:.0} | {:.2} |",
            of("wakes", 0),
            of("wakes", 1),
            of("wakes", 2),
            of("wakes", 3),
            of("cyclictest", 0),
            of("cyclictest", 1),
            of("cyclictest", 2),
            it.median("nice", |units| Some(total(units.get(..3)?)? / total(units.get(3..)?)?)),
            // Ticks are of 10 ms.
            it.median("user", |used| Some(used.first()? / used.get(1)?)),
            of("many", 0),
            of("many", 1),
            of("many", 2),
        )
        .unwrap();
    }
    // A scheduler that has not run a load, or did not survive it, has no figure for it.
    text.replace("NaN", "-") + "\n" + BELOW
}

/// How to read it.
const BELOW: &str = "\nNice 0 / 5 under `acfs`: what three threads of nice 0 are due are the two \
                     fast cores, and three of nice 5 the two slow ones, within what `acfs` lets \
                     threads be apart. So nearly no thread is swapped. The figure is what the fast \
                     cores did for theirs, divided by what the slow ones did: 3 by the machine's \
                     file (2.99 in the simulator, in which the same six threads run for as long). \
                     Whatever a slow core of the lab does less than a third of a fast one is in \
                     it: three threads take turns on two slow cores. Switches and the guest's own \
                     ticks cost both kinds as much of the host's time, of which a slow core has a \
                     third.\n";

fn main() {
    let evenkeel =
        env::var("EVENKEEL").expect("EVENKEEL: the binary, built with the feature sched_ext");
    let peers =
        PathBuf::from(env::var("EVENKEEL_PEERS").unwrap_or_else(|_| "target/peers/bin".into()));
    let rounds =
        env::var("EVENKEEL_BENCH_ROUNDS").map_or(DEFAULT_ROUNDS, |rounds| rounds.parse().unwrap());
    let loads = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/vm/loads.sh");
    let bench = Bench { evenkeel, peers, loads };
    let (there, missing): (Vec<&str>, Vec<&str>) =
        PEERS.iter().partition(|peer| bench.peers.join(peer).exists());
    missing
        .iter()
        .for_each(|peer| eprintln!("{peer} is not in {}: left out", bench.peers.display()));
    let mut all = [&there[..], &POLICIES].concat();
    let chosen = env::var("EVENKEEL_BENCH_SCHEDULERS").ok();
    if let Some(chosen) = &chosen {
        let chosen: Vec<&str> = chosen.split([' ', ',']).filter(|it| !it.is_empty()).collect();
        let unknown = chosen.iter().find(|it| !all.contains(it));
        assert!(unknown.is_none(), "EVENKEEL_BENCH_SCHEDULERS: {unknown:?} is none of {all:?}");
        all.retain(|it| chosen.contains(it));
    }
    let mut done: Vec<Round> = Vec::new();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        // The first that comes to something has all of them.
        let run = if done.is_empty() {
            let ours = MANY.into_iter().filter(|it| all.contains(it));
            bench.run(&all, &[KERNELS_OWN].into_iter().chain(ours).collect::<Vec<_>>(), &[])
        } else {
            let asked = all
                .iter()
                .copied()
                .filter(|it| EVERY_ROUND.contains(it) || AT_BARRIER.contains(it));
            bench.run(&asked.collect::<Vec<_>>(), &[], &AT_BARRIER)
        };
        match run {
            Ok(run) => {
                done.push(run);
                write_page(&[&[KERNELS_OWN][..], &all].concat(), &done);
            }
            Err(error) => eprintln!("round {round} failed: {error}"),
        }
    }
    assert!(!done.is_empty(), "no round came to anything");
    if let Ok(file) = env::var("EVENKEEL_BENCH_OUT") {
        std::fs::rename(part_of(&file), file).unwrap();
    }
}

/// Where the page is until all rounds are done: one that is broken off leaves what there was, and
/// what it came to beside that.
fn part_of(page: &str) -> String {
    format!("{page}.part")
}

fn write_page(schedulers: &[&str], rounds: &[Round]) {
    let every: Vec<&str> =
        [KERNELS_OWN].into_iter().chain(EVERY_ROUND).filter(|it| schedulers.contains(it)).collect();
    let barrier: Vec<&str> = AT_BARRIER.into_iter().filter(|it| schedulers.contains(it)).collect();
    let others = match (schedulers.len() > every.len(), barrier.is_empty()) {
        (false, _) => String::new(),
        (true, true) => {
            format!(". Those other than {} had the first round alone", every.join(", "))
        }
        (true, false) => {
            let (every, barrier) = (every.join(", "), barrier.join(", "));
            format!(
                ". Those other than {every} had the first round alone, but {barrier} the barrier \
                 in each"
            )
        }
    };
    let absent: Vec<&str> =
        PEERS.into_iter().chain(POLICIES).filter(|it| !schedulers.contains(it)).collect();
    let absent = if absent.is_empty() {
        String::new()
    } else {
        format!(" Not measured: {}.", absent.join(", "))
    };
    let date = Command::new("date").arg("+%F").output().unwrap().stdout;
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // The flag that x86 processors show to guests.
    let virtual_machine = if cpus.contains(" hypervisor") { " of a virtual machine" } else { "" };
    let text = format!(
        "# Schedulers in the hybrid VM lab\n\nWritten by `make bench-vm` on {}: Linux {KERNEL} in \
         QEMU on this host's {} cores{virtual_machine}, {CORES}. Figures are {}, \
         in which the schedulers take turns{others}. \"kernel\" is EEVDF.{absent}\n\n{}",
        String::from_utf8_lossy(&date).trim(),
        std::thread::available_parallelism().unwrap(),
        if rounds.len() == 1 {
            "of one round, a boot".to_owned()
        } else {
            format!("medians of {} rounds, a boot each", rounds.len())
        },
        table(schedulers, rounds),
    );
    print!("{text}");
    if let Ok(file) = env::var("EVENKEEL_BENCH_OUT") {
        std::fs::write(part_of(&file), text).unwrap();
    }
}
