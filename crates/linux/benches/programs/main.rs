//! Programs that Debian ships, unmodified, under policies and under the kernel alone, in both labs
//! (`make bench-programs`).
//!
//! A round is a lab begun anew, in which each program has its turns; [`inside`] has them. What each
//! came to is added to a file of raw results at once, so that a session that is broken off can be
//! gone on with: rounds that are there already are not had again. `--page` writes the page of what
//! there is, `--quick` has one small round and a page in target.
//!
//! | variable | what it says |
//! | --- | --- |
//! | `EVENKEEL` | the binary, with the feature sched_ext where that is to be measured |
//! | `EVENKEEL_BENCH_OUT` | the page; raw results are beside it, as `.csv` |
//! | `EVENKEEL_BENCH_ROUNDS` | rounds in each lab, those that are there already among them |
//! | `EVENKEEL_BENCH_ONLY` | names of programs |
//! | `EVENKEEL_BENCH_LABS` | `affinity`, `vm` |
//! | `EVENKEEL_BENCH_POLICIES` | policies |
//! | `EVENKEEL_BENCH_WAYS` | `run`, `schedule`, `attach` |
//! | `EVENKEEL_BENCH_MECHANISMS` | `affinity`, `sched_ext` |
//! | `EVENKEEL_BENCH_THREADS` | `cpus`, or `own`: programs count themselves |
//! | `EVENKEEL_BENCH_SIZE` | inputs are so many times as large |
//! | `EVENKEEL_BENCH_OPTIONS` | more options of `run` and `schedule` |
//! | `EVENKEEL_BENCH_SLOW`, `EVENKEEL_BENCH_CORES` | cores of the affinity lab (`1=3`) and of the VM lab (`2@60+2@20`) |
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]
#![cfg_attr(
    test,
    allow(
        dead_code,
        unused_imports,
        reason = "cargo sets test for benchmarks, too; tests.rs has the tests"
    )
)]

mod catalog;
mod cpus;
mod inputs;
mod inside;
mod labs;
mod page;
mod results;
mod statistics;
mod turn;
mod ways;

use std::env;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use catalog::{PROGRAMS, Program};
use labs::{Host, INSIDE, Lab, Order};
use results::Row;
use ways::{Candidate, Mechanism, Way, turns};

/// The sign test's interval leaves out the least and the greatest of nine.
const ROUNDS: usize = 9;
const POLICIES: &str = "acfs,age,hsp,gts";
const QUICK_POLICIES: &str = "acfs,age";
const WAYS: &str = "run,schedule";
const KERNEL: &str = "6.18";
/// How much smaller inputs are with `--quick`.
const QUICK_SIZE: f64 = 0.25;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let flags: Vec<&str> = words.iter().map(String::as_str).collect();
    match &flags[..] {
        ["--timed", file, ..] => {
            turn::timed(Path::new(file), &words[2..]).unwrap_or_else(|error| {
                eprintln!("{}: {error}", words[2..].join(" "));
                ExitCode::FAILURE
            })
        }
        [INSIDE, ..] => {
            let done = Order::parse(&words[1..]).and_then(|order| inside::round(&order));
            done.expect("a round");
            ExitCode::SUCCESS
        }
        _ => {
            // cargo adds --bench.
            let unknown =
                flags.iter().find(|flag| !["--bench", "--quick", "--page"].contains(flag));
            assert!(unknown.is_none(), "{unknown:?}: --quick and --page can be asked for");
            let session = Session::of_environment(flags.contains(&"--quick"));
            if !flags.contains(&"--page") {
                session.measure();
            }
            session.write_page();
            ExitCode::SUCCESS
        }
    }
}

/// The words of a variable, or else these.
fn listed(variable: &str, default: &str) -> Vec<String> {
    let text = env::var(variable).unwrap_or_else(|_| default.to_owned());
    text.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn or(variable: &str, default: &str) -> String {
    env::var(variable).unwrap_or_else(|_| default.to_owned())
}

/// What is to be measured, and where it goes.
struct Session {
    host: Host,
    labs: Vec<Lab>,
    programs: Vec<&'static Program>,
    missing: Vec<String>,
    candidates: Vec<Candidate>,
    rounds: usize,
    counts_itself: bool,
    size: f64,
    options: String,
    page: PathBuf,
    raw: PathBuf,
    _compiled: tempfile::TempDir,
}

impl Session {
    fn of_environment(is_quick: bool) -> Self {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        let only = listed("EVENKEEL_BENCH_ONLY", &names.join(","));
        let unknown = only.iter().find(|name| !names.contains(&name.as_str()));
        assert!(unknown.is_none(), "EVENKEEL_BENCH_ONLY: {unknown:?} is none of {names:?}");
        let folder = tempfile::tempdir().unwrap();
        let has_loop = compile(folder.path());
        let is_there = |program: &Program| {
            program.commands.iter().all(|command| {
                if *command == "static_loop" { has_loop } else { is_command(command) }
            }) && (program.name != "numpy" || has_numpy())
        };
        let asked = PROGRAMS.iter().filter(|program| only.iter().any(|name| name == program.name));
        let (programs, missing): (Vec<&Program>, Vec<&Program>) =
            asked.partition(|program| is_there(program));
        for program in &missing {
            eprintln!(
                "{} is left out: {} not installed (tests/setup-programs.sh)",
                program.name, program.packages
            );
        }
        let page = PathBuf::from(or("EVENKEEL_BENCH_OUT", "target/bench-programs/page.md"));
        let page = if is_quick { PathBuf::from("target/bench-programs/quick.md") } else { page };
        let page = if page.is_absolute() {
            page
        } else {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)
        };
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        let chosen = |variable: &str, names: &str| -> Vec<String> { listed(variable, names) };
        let ways = chosen("EVENKEEL_BENCH_WAYS", WAYS);
        let mechanisms = chosen("EVENKEEL_BENCH_MECHANISMS", "affinity,sched_ext");
        let policies =
            chosen("EVENKEEL_BENCH_POLICIES", if is_quick { QUICK_POLICIES } else { POLICIES });
        let mut candidates = Vec::new();
        for way in &ways {
            let way = *Way::ALL
                .iter()
                .find(|it| it.name() == way)
                .expect("EVENKEEL_BENCH_WAYS: run, schedule, attach");
            for mechanism in &mechanisms {
                let mechanism = *Mechanism::ALL
                    .iter()
                    .find(|it| it.name() == mechanism)
                    .expect("EVENKEEL_BENCH_MECHANISMS: affinity, sched_ext");
                // `--pid` is of affinity alone.
                if (way, mechanism) != (Way::Attach, Mechanism::SchedExt) {
                    let of = |policy: &String| Candidate { way, mechanism, policy: policy.clone() };
                    candidates.extend(policies.iter().map(of));
                }
            }
        }
        let size = env::var("EVENKEEL_BENCH_SIZE")
            .map_or(1.0, |size| size.parse().expect("EVENKEEL_BENCH_SIZE"));
        Self {
            host: Host {
                evenkeel: or("EVENKEEL", "evenkeel"),
                compiled: folder.path().to_owned(),
                kernel: KERNEL.to_owned(),
            },
            labs: listed("EVENKEEL_BENCH_LABS", "affinity,vm")
                .iter()
                .map(|name| Lab::named(name).unwrap())
                .collect(),
            programs,
            missing: missing.iter().map(|program| program.name.to_owned()).collect(),
            candidates,
            rounds: env::var("EVENKEEL_BENCH_ROUNDS")
                .map_or(if is_quick { 1 } else { ROUNDS }, |rounds| {
                    rounds.parse().expect("EVENKEEL_BENCH_ROUNDS")
                }),
            counts_itself: or("EVENKEEL_BENCH_THREADS", "cpus") == "own",
            size: if is_quick { size * QUICK_SIZE } else { size },
            options: or("EVENKEEL_BENCH_OPTIONS", ""),
            raw: page.with_extension("csv"),
            page,
            _compiled: folder,
        }
    }

    /// What has to be the same for turns to be compared: binary, commands and sizes, options.
    fn setting(&self, lab: Lab) -> String {
        let binary = turn::checksum_of(Path::new(&self.host.evenkeel)).unwrap_or_default();
        let mut of =
            format!("{}/{}/{}/{}", lab.name(), self.size, self.counts_itself, self.options);
        for program in &PROGRAMS {
            let size = if lab == Lab::Vm { program.size.vm } else { program.size.host };
            let _ = write!(
                of,
                "/{:?}",
                (program.given)((size * self.size).round().max(1.0) as usize, Some(1))
            );
        }
        format!("{:08x}-{:08x}", binary as u32, turn::checksum_of_bytes(of.as_bytes()) as u32)
    }

    /// What can be compared in a lab.
    fn candidates(&self, lab: Lab) -> Vec<Candidate> {
        let has_sched_ext = lab == Lab::Vm || Path::new("/sys/kernel/sched_ext/state").exists();
        let can =
            |candidate: &&Candidate| has_sched_ext || candidate.mechanism != Mechanism::SchedExt;
        self.candidates.iter().filter(can).cloned().collect()
    }

    fn rows(&self, lab: Lab) -> Vec<Row> {
        let setting = self.setting(lab);
        let rows = results::read(&self.raw).expect("raw results");
        rows.into_iter().filter(|row| row.lab == lab.name() && row.setting == setting).collect()
    }

    /// What is shown of a lab: rows of this binary, or, where there are none, of the last that was
    /// measured there.
    fn shown(&self, lab: Lab) -> Vec<Row> {
        let rows = self.rows(lab);
        if !rows.is_empty() {
            return rows;
        }
        let rows = results::read(&self.raw).expect("raw results");
        let setting = self.setting(lab);
        let sizes = setting.split('-').next_back();
        let same = |row: &Row| row.lab == lab.name() && row.setting.split('-').next_back() == sizes;
        let last = rows.iter().rev().find(|row| same(row)).map(|row| row.setting.clone());
        rows.into_iter()
            .filter(|row| row.lab == lab.name() && Some(&row.setting) == last.as_ref())
            .collect()
    }

    fn measure(&self) {
        let names: Vec<&str> = self.programs.iter().map(|program| program.name).collect();
        for &lab in &self.labs {
            let of_one = turns(&self.candidates(lab), 0).len();
            let complete = || results::complete_rounds(&self.rows(lab), &names, of_one);
            // One more than there are for a guest that dies, or a lab that cannot be had for a
            // moment.
            let mut trials = self.rounds.saturating_sub(complete()) + 2;
            while complete() < self.rounds && trials > 0 {
                trials -= 1;
                let round = self.rows(lab).iter().map(|row| row.round).max().unwrap_or(0) + 1;
                eprintln!(
                    "{} lab: round {round}, {} of {} complete",
                    lab.name(),
                    complete(),
                    self.rounds
                );
                if let Err(error) = self.round(lab, round, of_one) {
                    eprintln!("{} lab: round {round} failed: {error}", lab.name());
                    // Nothing was had: it will be no other the next time.
                    if !self.rows(lab).iter().any(|row| row.round == round) {
                        break;
                    }
                }
                self.write_page();
            }
        }
    }

    fn round(&self, lab: Lab, round: usize, of_one: usize) -> Result<(), String> {
        let order = Order {
            lab,
            cores: match lab {
                Lab::Affinity => or("EVENKEEL_BENCH_SLOW", "1=3"),
                Lab::Vm => or("EVENKEEL_BENCH_CORES", "2@60+2@20"),
            },
            setting: self.setting(lab),
            round,
            programs: self.programs.iter().map(|program| program.name.to_owned()).collect(),
            candidates: self.candidates(lab),
            counts_itself: self.counts_itself,
            size: self.size,
            options: self.options.clone(),
            evenkeel: self.host.evenkeel.clone(),
        };
        let mut command = self.host.command(&order, &self.programs)?;
        let mut lab = command
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.host.evenkeel))?;
        let (mut had, all) = (0, of_one * self.programs.len());
        for line in BufReader::new(lab.stdout.take().unwrap()).lines() {
            let line = line.map_err(|error| format!("the lab's output: {error}"))?;
            let Some(line) = line.strip_prefix(inside::ROW) else { continue };
            let row = Row::parse(line.trim_end())?;
            results::append(&self.raw, &row)
                .map_err(|error| format!("{}: {error}", self.raw.display()))?;
            had += 1;
            let came_to =
                if row.is_good() { format!("{:.2} s", row.seconds) } else { row.failure.clone() };
            eprintln!("  {had:3}/{all} {} {}: {came_to}", row.program, row.how);
        }
        let status = lab.wait().map_err(|error| format!("{error}"))?;
        if status.success() { Ok(()) } else { Err(status.to_string()) }
    }

    fn write_page(&self) {
        let all = results::read(&self.raw).expect("raw results");
        let rows: Vec<Row> = Lab::ALL.iter().flat_map(|&lab| self.shown(lab)).collect();
        let head = page::Head {
            date: output("date", &["+%F"]),
            host: host(),
            missing: self.missing.clone(),
            others: all.len() - rows.len(),
            counts_itself: self.counts_itself,
            options: self.options.clone(),
        };
        std::fs::write(&self.page, page::page(&head, &rows)).expect("the page");
        eprintln!("{}: {} turns", self.page.display(), rows.len());
    }
}

fn output(command: &str, args: &[&str]) -> String {
    let output = Command::new(command).args(args).output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// The host in a few words.
fn host() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, it)| it));
    let is_virtual =
        if cpuinfo.contains(" hypervisor") { ", itself a virtual machine" } else { "" };
    let debian = std::fs::read_to_string("/etc/debian_version").unwrap_or_default();
    format!(
        "{} ({} CPUs{is_virtual}), Linux {}, Debian {}",
        model.unwrap_or("an unknown processor"),
        cpus::cpus(),
        output("uname", &["-r"]),
        debian.trim()
    )
}

/// The OpenMP program, which Debian's compiler makes here; no: there is none.
fn compile(folder: &Path) -> bool {
    let source = folder.join("static_loop.c");
    std::fs::write(&source, include_str!("sources/static_loop.c")).unwrap();
    let built = Command::new("gcc")
        .args(["-O2", "-fopenmp", "-o"])
        .arg(folder.join("static_loop"))
        .arg(source)
        .status();
    built.is_ok_and(|status| status.success())
}

fn is_command(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    // A path stands for itself.
    env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn has_numpy() -> bool {
    Command::new("/usr/bin/python3")
        .args(["-c", "import numpy"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
}
