//! `make bench-omp`: loops of OpenMP programs as they are, and under `evenkeel omp`, in the lab and
//! on equal cores. In turn, medians of rounds. Writes the page that `EVENKEEL_BENCH_OUT` names.
#![expect(clippy::expect_used, reason = "a benchmark that cannot measure ends")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const EVENKEEL: &str = env!("CARGO_BIN_EXE_evenkeel");
/// Says that this process is in the lab, by its ratio.
const IN_LAB: &str = "EVENKEEL_BENCH_OMP_RATIO";
const ROUNDS: usize = 5;
const RATIOS: [u32; 3] = [2, 3, 4];
/// The lab takes the slow core away once in a millisecond or so: shorter loops see no slow core
/// there, and are measured on equal cores alone.
const SHORTEST_IN_LAB_US: f64 = 2_000.0;
/// Microseconds of a loop on the fast core alone, how many there are, and their iterations.
const LOOPS: [Length; 4] = [
    Length { us: 36_000.0, loops: 60, iterations: 20_000 },
    Length { us: 4_000.0, loops: 400, iterations: 20_000 },
    Length { us: 200.0, loops: 8_000, iterations: 2_000 },
    Length { us: 20.0, loops: 40_000, iterations: 400 },
];

struct Length {
    us: f64,
    loops: u32,
    iterations: u32,
}

/// A compiler's program, and the flags of ours for its coarse loops.
struct Program {
    name: &'static str,
    compiler: &'static str,
    coarse: &'static [&'static str],
}

const PROGRAMS: [Program; 2] = [
    Program { name: "clang", compiler: "clang-19", coarse: &[] },
    Program { name: "GCC", compiler: "gcc", coarse: &["--more-threads"] },
];

fn main() {
    // `cargo test` runs benches as well.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-omp");
    std::fs::create_dir_all(&home).expect("a folder");
    if let Ok(ratio) = std::env::var(IN_LAB) {
        return measure(&home, ratio.parse().expect("a number"));
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/omp/loops.c");
    for program in &PROGRAMS {
        let built = Command::new(program.compiler)
            .args(["-O2", "-g", "-fopenmp", "-o"])
            .arg(home.join(program.name))
            .arg(&source)
            .status();
        assert!(built.is_ok_and(|status| status.success()), "{} builds", program.compiler);
    }
    let mut page = String::from(HEAD);
    for ratio in RATIOS {
        let _ = write!(page, "\n## One core slowed to 1 in {ratio}\n\n{TABLE}");
        let mut lab = Command::new(EVENKEEL);
        lab.args(["lab", "--force", "--slow", &format!("1={ratio}"), "--"]);
        page += &inner(&mut lab, ratio);
    }
    let _ = write!(page, "\n## Equal cores that are said to be unequal\n\n{TABLE}");
    page += &inner(&mut Command::new("env"), 1);
    print!("{page}");
    if let Some(path) = std::env::var_os("EVENKEEL_BENCH_OUT") {
        std::fs::write(path, page).expect("the page is written");
    }
}

const HEAD: &str = "\
# OpenMP programs as they are

`make bench-omp` writes this page: a loop of independent iterations again and again, compiled by
clang 19 and GCC, on two cores of a virtual machine. In turn: stock, stock with `schedule(runtime)`
and the chunk of a hand-tuned `dynamic`, and under `evenkeel omp` (for GCC in the lab with
`--more-threads`). Lengths are those of stock on two fast cores. The ideal is the loop on the fast
core alone, over the speeds of both. Medians of 5 rounds. Times are of a loop in the second half of
a run, in microseconds. `gain` is stock over ours in a round, of these loops and of the whole run.
";

const TABLE: &str = "\
| program | ideal | stock | dynamic | ours | of the ideal | gain | whole run |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
";

/// The rows of one ratio, from a process that is started by this command.
fn inner(command: &mut Command, ratio: u32) -> String {
    let this = std::env::current_exe().expect("this program");
    let output = command
        .arg(this)
        .arg("--bench")
        .env(IN_LAB, ratio.to_string())
        .stderr(std::process::Stdio::inherit())
        .output()
        .expect("the lab runs");
    assert!(output.status.success(), "{ratio}: {}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// Times of one run: a loop at first and later, in microseconds, and all, in seconds.
struct Times {
    later: f64,
    all: f64,
}

fn times(command: &mut Command) -> Times {
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers.len() == 4, "{command:?}: {text} {}", String::from_utf8_lossy(&output.stderr));
    Times { later: numbers[1], all: numbers[2] }
}

fn measure(home: &Path, ratio: u32) {
    let machine = machine(home);
    let is_lab = ratio > 1;
    for length in LOOPS.iter().filter(|of| !is_lab || of.us > SHORTEST_IN_LAB_US) {
        for program in &PROGRAMS {
            let path = home.join(program.name);
            let work = work_for(&path, length);
            let words = [length.loops, length.iterations, work].map(|number| number.to_string());
            let with = |mut command: Command, how: &str| {
                command.args(&words).arg(how);
                times(&mut command)
            };
            let chunk = (length.iterations / 64).max(1);
            let dynamic = format!("dynamic,{chunk}");
            let (mut stock, mut tuned, mut ours) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                stock.push(with(Command::new(&path), "static"));
                let mut command = Command::new(&path);
                command.env("OMP_SCHEDULE", &dynamic);
                tuned.push(with(command, "runtime"));
                let mut command = Command::new(EVENKEEL);
                command.arg("omp");
                if is_lab {
                    command.args(program.coarse);
                }
                if !is_lab {
                    command.arg("-m").arg(&machine);
                }
                command.arg("--").arg(&path);
                ours.push(with(command, "static"));
            }
            let ideal = serial(&path, &words) / (1.0 + 1.0 / f64::from(ratio));
            let later = |all: &[Times]| median(all.iter().map(|times| times.later).collect());
            let pairs = || stock.iter().zip(&ours);
            let gain = median(pairs().map(|(stock, ours)| stock.later / ours.later).collect());
            let whole = median(pairs().map(|(stock, ours)| stock.all / ours.all).collect());
            println!(
                "| {}, {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} % | {gain:.2} | {whole:.2} |",
                program.name,
                name(length),
                ideal,
                later(&stock),
                later(&tuned),
                later(&ours),
                100.0 * ideal / later(&ours),
            );
        }
    }
}

fn name(length: &Length) -> String {
    let us = length.us / 2.0;
    if us >= 1000.0 { format!("{:.0} ms", us / 1e3) } else { format!("{us:.0} us") }
}

/// Work of an iteration, so that a loop takes as long as it should on the fast core.
fn work_for(path: &Path, length: &Length) -> u32 {
    let mut work = 100.0;
    // Short iterations overlap, so that their time is not in proportion to their work.
    for _ in 0..4 {
        let words = ["40".to_owned(), length.iterations.to_string(), format!("{work:.0}")];
        work = (work * length.us / serial(path, &words)).max(1.0);
    }
    work as u32
}

/// A loop on the fast core alone, in microseconds.
fn serial(path: &Path, words: &[String; 3]) -> f64 {
    let run = || {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(path).args(words).arg("static").env("OMP_NUM_THREADS", "1");
        times(&mut command).later
    };
    median((0..3).map(|_| run()).collect())
}

/// A machine of two CPUs of which the second is said to be slow.
fn machine(home: &Path) -> PathBuf {
    let path = home.join("unequal.toml");
    let kind = |name: &str, capacity: u32| {
        format!(
            "[[kinds]]\nname = \"{name}\"\nsource = \"a benchmark\"\n\
             operating_points = [{{ mhz = 1000, capacity = {capacity} }}]\n"
        )
    };
    let text = format!(
        "name = \"unequal\"\ndescription = \"two CPUs\"\nsource = \"a benchmark\"\n{}{}\
         [[clusters]]\nkind = \"fast\"\ncores = 1\ncpus = \"0\"\n\
         [[clusters]]\nkind = \"slow\"\ncores = 1\ncpus = \"1\"\n",
        kind("fast", 1024),
        kind("slow", 512)
    );
    std::fs::write(&path, text).expect("a file");
    path
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}
