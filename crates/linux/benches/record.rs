//! How well a recording foretells the run that it is of: the makespan of a program, and that of its
//! recording in the simulator on the same machine, on two equal CPUs and in a slow-core lab where
//! CPU 1 is three times slower. Medians of five runs.
//!
//! `cargo bench -p evenkeel-linux --bench record`, as root, on a quiet machine of two CPUs; it runs
//! the binary that `EVENKEEL` names, else target/release/evenkeel. Prints a table for
//! docs/decisions/0012-recording.md. Programs are those of tests/programs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]

#[path = "../tests/support/programs.rs"]
mod programs;
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use support::median;

/// Runs, of which the median counts.
const RUNS: usize = 5;

/// Programs and rounds: a third of a second or so.
const PROGRAMS: [(&str, u32); 5] =
    [("compute", 150), ("barrier", 60), ("four", 40), ("lock", 80), ("pipeline", 80)];

/// Two cores of the fastest kind: what a symmetric machine is to work in nanoseconds.
const EQUAL: [&str; 4] = ["-m", "odroid-xu3", "--cores", "2big"];

/// In the environment of a benchmark that runs itself again in a lab.
const INSIDE: &str = "EVENKEEL_BENCH_PROGRAM";

fn binary() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/evenkeel");
    std::env::var_os("EVENKEEL").map_or_else(beside, PathBuf::from)
}

/// The number under a key of the JSON that a command prints.
fn number(output: &[u8], key: &str) -> f64 {
    let text = String::from_utf8_lossy(output);
    let value =
        text.split(&format!("\"{key}\":")).nth(1).unwrap_or_else(|| panic!("no {key} in {text}"));
    let end = value.find([',', '}', '\n']).unwrap_or(value.len());
    value[..end].trim().parse().unwrap()
}

/// The rows of a table: per program the real makespan, while it is recorded and not, and the
/// simulated one, in milliseconds.
fn rows(program: &Path, machine: &[&str], label: &str) {
    let folder = program.parent().unwrap();
    for (what, rounds) in PROGRAMS {
        let (mut real, mut recorded, mut simulated) = (Vec::new(), Vec::new(), Vec::new());
        let args = [what, "1", &rounds.to_string()].map(str::to_owned);
        for _ in 0..RUNS {
            let start = Instant::now();
            let status = Command::new(program).args(&args).stdout(Stdio::null()).status().unwrap();
            real.push(start.elapsed().as_secs_f64());
            assert!(status.success());
            let file = folder.join("run.json");
            let done = Command::new(binary())
                .args(["record", "--json", "-o"])
                .arg(&file)
                .arg("--")
                .arg(program)
                .args(&args)
                .output()
                .unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            recorded.push(number(&done.stdout, "wall_s"));
            let done = Command::new(binary())
                .arg("simulate")
                .args(machine)
                .args(["-p", "cfs-unaware", "--json", "-w"])
                .arg(&file)
                .output()
                .unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            simulated.push(number(&done.stdout, "makespan_s"));
        }
        let (real, recorded, simulated) = (median(&real), median(&recorded), median(&simulated));
        let off = (simulated / real - 1.0) * 100.0;
        println!(
            "| {what} | {label} | {:.1} | {:.1} | {:.1} | {off:+.1} % |",
            real * 1e3,
            recorded * 1e3,
            simulated * 1e3
        );
    }
}

fn main() {
    if let Some(program) = std::env::var_os(INSIDE) {
        let machine = std::env::var("EVENKEEL_MACHINE").expect("the lab hands out a machine file");
        return rows(Path::new(&program), &["-m", &machine], "lab, 1 + 1 at 3:1");
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = programs::compiled("threads", folder.path()) else { return };
    let allowed = Command::new(binary()).args(["record", "-o", "/dev/null", "--", "true"]).output();
    if !allowed.as_ref().is_ok_and(|done| done.status.success()) {
        return println!("skipped: {allowed:?}");
    }
    println!(
        "| program | machine | real, ms | real while recorded, ms | simulated, ms | simulated \
         against real |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    rows(&program, &EQUAL, "2 equal");
    // Forced: on a machine that is not quiet the ratio is held less well, and the machine file has
    // the one that was measured.
    let own = std::env::current_exe().unwrap();
    let inside = Command::new(binary())
        .args(["lab", "--slow", "1=3", "--force", "--"])
        .arg(own)
        .env(INSIDE, &program)
        .status()
        .unwrap();
    if !inside.success() {
        println!("the lab's rows are missing: {inside}");
    }
}
