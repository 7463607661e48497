//! The runtime beside LLVM's and GNU's OpenMP, oneTBB, Taskflow and rayon, in one run, on equal
//! cores, in the slow-core lab, and beside another program.
//!
//! `make bench-runtime` builds the peers (../peers) and writes docs/benchmarks/runtime.md.
//! `cargo bench -p evenkeel-runtime --bench runtime -- [FAMILY…]` measures some families of cases
//! and prints them; `--quick`: few rounds, and of the lab only 3:1; `--equal`: on equal cores only.
//! Peers, and the work that all share, come from the folder in `EVENKEEL_PEERS` (cases that have
//! work in them are left out without it); the lab is that of the program in `EVENKEEL`, which runs
//! this one again inside.
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

mod cases;
mod demands;
mod hog;
mod line;
mod measured;
mod memory;
mod ours;
mod peer;
mod rayon;
mod report;
mod system;
mod work;

use std::env;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cases::{FAMILIES, Family};
use hog::Hog;
use measured::Measured;
use system::{System, Threads};
use work::Work;

/// The system that all is about.
const OURS: &str = "evenkeel";

const ROUNDS: usize = 11;
const LAB_ROUNDS: usize = 15;
const BESIDE_ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 3;

/// One core slowed to one part in so many.
const RATIOS: [u32; 3] = [2, 3, 4];

/// A core beside one of which half is left: as one beside another half as fast.
const CORES_SHARED: f64 = 2.0;

/// Where the lab leaves what it measured: `1=3.004`.
const LAB_VARIABLE: &str = "EVENKEEL_LAB";

/// How a program in Rust ends that has panicked: not as the lab does where it cannot be had (1 or
/// 2).
const PANICKED: i32 = 101;

struct Asked {
    quick: bool,
    equal_only: bool,
    names: Vec<String>,
}

impl Asked {
    fn families(&self, in_lab: bool) -> Vec<&'static Family> {
        let is_named = |family: &Family| {
            self.names.is_empty() || self.names.iter().any(|name| name == family.name)
        };
        FAMILIES.iter().filter(|family| is_named(family) && (!in_lab || family.in_lab)).collect()
    }

    fn rounds(&self, all: usize) -> usize {
        if self.quick { QUICK_ROUNDS } else { all }
    }
}

fn main() {
    if memory::is_asked_for() || hog::is_one() {
        return;
    }
    let words: Vec<_> = env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|it| it == word);
    // `cargo test --benches` asks for a trial run, which would tell nothing here.
    if !has("--bench") {
        return;
    }
    let names = words.iter().filter(|word| !word.starts_with('-')).cloned().collect();
    let asked = Asked { quick: has("--quick"), equal_only: has("--equal"), names };
    if let Ok(measured) = env::var(LAB_VARIABLE) {
        return print!("{}", in_the_lab(&asked, &measured));
    }
    let mut page = on_equal_cores(&asked);
    if !asked.equal_only && !asked.families(true).is_empty() {
        let ratios = RATIOS.iter().filter(|ratio| !asked.quick || **ratio == 3);
        ratios.for_each(|ratio| page.push_str(&lab(*ratio, &words)));
        page.push_str(&beside_another(&asked));
    }
    page.push_str(include_str!("notes.md"));
    println!("{page}");
    if let Ok(file) = env::var("EVENKEEL_BENCH_OUT") {
        let temporary = format!("{file}.new");
        std::fs::write(&temporary, page).unwrap();
        std::fs::rename(temporary, file).unwrap();
    }
}

fn systems(threads: Threads) -> Vec<Box<dyn System>> {
    let folder = env::var_os("EVENKEEL_PEERS").map(PathBuf::from);
    let work = folder.as_deref().and_then(|folder| {
        Work::load(folder)
            .inspect_err(|error| eprintln!("cases with work in them are left out: {error}"))
            .ok()
    });
    let mut systems: Vec<Box<dyn System>> =
        vec![Box::new(ours::Ours::new(work, threads)), Box::new(rayon::Rayon::new(work, threads))];
    let peers = folder.map(|folder| peer::Peer::all(&folder, threads)).unwrap_or_default();
    systems.extend(peers.into_iter().map(|peer| Box::new(peer) as Box<dyn System>));
    systems
}

fn measure(rounds: usize, families: &[&Family], systems: &mut [Box<dyn System>]) -> Measured {
    let mut measured = Measured::default();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        measured.travels.push(line::travel());
        measured.round(families, systems);
    }
    measured
}

fn on_equal_cores(asked: &Asked) -> String {
    let mut systems = systems(Threads::Pinned);
    let (families, rounds) = (asked.families(false), asked.rounds(ROUNDS));
    let versions: Vec<_> =
        systems.iter().map(|it| format!("{} {}", it.name(), it.version())).collect();
    let measured = measure(rounds, &families, &mut systems);
    let mut page = report::title(&versions.join(", "), rounds);
    let _ = write!(page, "\n## Equal cores\n\n{}\n\n", report::travels(&measured));
    page.push_str(&report::medians(&measured, &families));
    let _ = write!(page, "\n{}", report::demands(&demands::on_equal_cores(&measured)));
    page
}

/// This program inside the lab.
fn lab(ratio: u32, words: &[String]) -> String {
    let mut page = format!("\n## One core slowed to 1 in {ratio}\n\n");
    let evenkeel = env::var("EVENKEEL").unwrap_or_else(|_| "evenkeel".into());
    let slow = format!("1={ratio}");
    eprintln!("in the lab at {ratio}:1");
    let mut lab = Command::new(evenkeel);
    lab.args(["lab", "--force", "--slow", &slow, "--"])
        .arg(env::current_exe().unwrap())
        .args(words);
    match lab.stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() => {
            page.push_str(&String::from_utf8_lossy(&output.stdout))
        }
        Ok(output) => {
            assert_ne!(output.status.code(), Some(PANICKED), "the bench failed in the lab");
            let _ = writeln!(page, "The lab could not be had here ({}).", output.status);
        }
        Err(error) => {
            let _ = writeln!(page, "The lab could not be had here ({error}).");
        }
    }
    page
}

fn in_the_lab(asked: &Asked, measured_ratio: &str) -> String {
    let ratio: f64 = measured_ratio.split('=').next_back().unwrap().parse().unwrap();
    let families = asked.families(true);
    let rounds = asked.rounds(LAB_ROUNDS);
    let measured = measure(rounds, &families, &mut systems(Threads::Pinned));
    let mut page = format!(
        "Measured by the lab: {ratio:.2}. Share of the ideal in percent, medians of {rounds} \
         rounds; the ideal is the serial time x {ratio:.2} / {:.2}. {}\n\n",
        ratio + 1.0,
        report::travels(&measured)
    );
    page.push_str(&report::shares_of_the_ideal(&measured, &families, ratio));
    let _ =
        write!(page, "\n{}", report::demands(&demands::in_the_lab(&measured, &families, ratio)));
    page
}

/// Another program has half of the last core.
fn beside_another(asked: &Asked) -> String {
    eprintln!("beside another program");
    let (families, rounds) = (asked.families(true), asked.rounds(BESIDE_ROUNDS));
    let mut systems: Vec<_> =
        [Threads::Pinned, Threads::Free].into_iter().flat_map(systems).collect();
    let measured = {
        let _hog = Hog::on(cases::WORKERS - 1);
        measure(rounds, &families, &mut systems)
    };
    let mut page = format!(
        "\n## Beside another program\n\nIt computes without an end, keeps to the second core and \
         has the same weight: one and a half cores are left. Share of the ideal in \
         percent, medians of {rounds} rounds; the ideal is the serial time, on the first core, x 2 \
         / 3. `free`: the system's threads go where the kernel puts them. {}\n\n",
        report::travels(&measured)
    );
    page.push_str(&report::shares_of_the_ideal(&measured, &families, CORES_SHARED));
    let _ = write!(
        page,
        "\n{}",
        report::demands(&demands::beside_another(&measured, &families, CORES_SHARED))
    );
    page
}
