//! What a program asks of a core, told by valgrind's cachegrind: how often caches of given sizes
//! miss, and how often branches are mispredicted. It takes no hardware counter, and 20 to 100 times
//! as long as the program.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::observe::program::{Bond, Output, Program, Signals};
use evenkeel_model::character::{Character, MissCurve, MissCurveError, Parallelism};

/// Bytes of a cache line.
const LINE: u64 = 64;
/// Least associativity of a simulated cache; at most twice that.
const LEAST_WAYS: u64 = 8;

/// What cachegrind cannot tell. Parallelism is that of gzip (Karkhanis and Smith, ISCA 2004, quoted
/// from memory), the others are ours.
const PARALLELISM: Parallelism = Parallelism { coefficient: 1.3, exponent: 0.5 };
const LATENCY: f64 = 2.0;
const MEMORY_PARALLELISM: f64 = 1.5;

/// Sizes of the caches of one run, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// First level, instructions.
    pub code: u64,
    /// First level, data.
    pub data: u64,
    /// A later level.
    pub later: u64,
}

/// Why cachegrind could not tell.
#[derive(Debug, thiserror::Error)]
pub enum CachegrindError {
    /// Valgrind is not installed.
    #[error("valgrind is not there: install it (apt install valgrind)")]
    NoValgrind,
    /// It could not be started, or its files could not be read.
    #[error("cachegrind: {0}")]
    Io(#[from] io::Error),
    /// The program failed.
    #[error("the program failed under cachegrind, in run {run}: {status}")]
    Program {
        /// In which run, from 1.
        run: usize,
        /// How it ended.
        status: ExitStatus,
    },
    /// Sizes and misses make no curve.
    #[error("cachegrind: {0}")]
    Curve(#[from] MissCurveError),
    /// It has written nothing that this understands.
    #[error("cachegrind's file has {found}, expected {expected}")]
    File {
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl CachegrindError {
    fn in_run(self, run: usize) -> Self {
        match self {
            Self::Program { status, .. } => Self::Program { run, status },
            other => other,
        }
    }
}

/// Events of one run, of all processes. What a process did before it forked is counted for the new
/// one as well: cachegrind begins anew where a program is executed, not at a fork.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Events {
    instructions: u64,
    code_misses: u64,
    data_misses: u64,
    later_misses: u64,
    branches: u64,
    branch_misses: u64,
}

/// A program's character, from one run for each of the sizes, one after the other, and the
/// instructions of a run. The program's input is empty; its stdout is that of the first run
/// alone.
///
/// # Errors
///
/// If valgrind is not there, or the program fails in a run.
pub fn character(
    command: &[OsString],
    sizes: &[Sizes],
    signals: &Signals,
    output: Output,
    mut before_run: impl FnMut(usize),
) -> Result<(Character, u64), CachegrindError> {
    let folder = tempfile::tempdir()?;
    let mut runs = Vec::with_capacity(sizes.len());
    for (i, &sizes) in sizes.iter().enumerate() {
        before_run(i);
        let out = folder.path().join(i.to_string());
        fs::create_dir(&out)?;
        runs.push((
            sizes,
            run(command, sizes, &out, signals, if i == 0 { output } else { Output::Nowhere })
                .map_err(|error| error.in_run(i + 1))?,
        ));
    }
    of_runs(&runs)
}

fn run(
    command: &[OsString],
    sizes: Sizes,
    folder: &Path,
    signals: &Signals,
    output: Output,
) -> Result<Events, CachegrindError> {
    let file = |name: &str| {
        let mut option = OsString::from(format!("--{name}="));
        option.push(folder.join(format!("{name}.%p")));
        option
    };
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes", "--trace-children=yes"])
        .arg(file("cachegrind-out-file"))
        .arg(file("log-file"))
        .arg(option("I1", sizes.code))
        .arg(option("D1", sizes.data))
        .arg(option("LL", sizes.later))
        .arg("--")
        .args(command)
        .stdin(Stdio::null());
    output.of(&mut valgrind);
    let program = Program::start(valgrind, Bond::Tied, signals);
    let program = program.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CachegrindError::NoValgrind,
        _ => error.into(),
    })?;
    let status = program.wait()?;
    if !status.success() {
        return Err(CachegrindError::Program { run: 1, status });
    }
    let mut all = Events::default();
    for path in written(folder)? {
        let of_process = parse(&fs::read_to_string(path)?)?;
        all = all.plus(&of_process);
    }
    if all.instructions == 0 {
        return Err(CachegrindError::File {
            found: "no instructions".to_owned(),
            expected: "a program that runs under valgrind",
        });
    }
    Ok(all)
}

/// Files of counts, in the order of their names.
fn written(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("cachegrind-out-file") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// `--D1=49152,12,64`: the number of sets is a power of two, as cachegrind wants it, so an odd size
/// becomes a little smaller.
fn option(name: &str, bytes: u64) -> String {
    let lines = (bytes / LINE).max(LEAST_WAYS);
    let sets = 1_u64 << (lines / LEAST_WAYS).ilog2();
    let ways = lines / sets;
    format!("--{name}={},{ways},{LINE}", sets * ways * LINE)
}

fn parse(text: &str) -> Result<Events, CachegrindError> {
    let line = |start: &'static str| {
        text.lines().find_map(|line| line.strip_prefix(start)).ok_or(CachegrindError::File {
            found: format!("no line '{start}'"),
            expected: "the events of all of a process",
        })
    };
    let names: Vec<&str> = line("events:")?.split_whitespace().collect();
    let counts: Vec<&str> = line("summary:")?.split_whitespace().collect();
    let count = |name: &'static str| -> Result<u64, CachegrindError> {
        let found = names.iter().position(|it| *it == name).and_then(|i| counts.get(i));
        found.and_then(|count| count.parse().ok()).ok_or_else(|| CachegrindError::File {
            found: found.map_or_else(|| format!("no {name}"), |it| format!("{name} {it}")),
            expected: "a count for each event",
        })
    };
    Ok(Events {
        instructions: count("Ir")?,
        code_misses: count("I1mr")?,
        data_misses: count("D1mr")?.saturating_add(count("D1mw")?),
        later_misses: count("DLmr")?.saturating_add(count("DLmw")?),
        branches: count("Bc")?.saturating_add(count("Bi")?),
        branch_misses: count("Bcm")?.saturating_add(count("Bim")?),
    })
}

impl Events {
    fn plus(&self, other: &Self) -> Self {
        Self {
            instructions: self.instructions.saturating_add(other.instructions),
            code_misses: self.code_misses.saturating_add(other.code_misses),
            data_misses: self.data_misses.saturating_add(other.data_misses),
            later_misses: self.later_misses.saturating_add(other.later_misses),
            branches: self.branches.saturating_add(other.branches),
            branch_misses: self.branch_misses.saturating_add(other.branch_misses),
        }
    }

    fn per_1000(&self, count: u64) -> f64 {
        count as f64 / self.instructions.max(1) as f64 * 1e3
    }
}

fn of_runs(runs: &[(Sizes, Events)]) -> Result<(Character, u64), CachegrindError> {
    let first = runs.first().map_or_else(Events::default, |run| run.1);
    let code = runs.iter().map(|(sizes, it)| (sizes.code, it.per_1000(it.code_misses)));
    let data = runs.iter().flat_map(|(sizes, it)| {
        [(sizes.data, it.per_1000(it.data_misses)), (sizes.later, it.per_1000(it.later_misses))]
    });
    let character = Character {
        parallelism: PARALLELISM,
        latency: LATENCY,
        branches: first.per_1000(first.branches) / 1e3,
        branch_misses: first.branch_misses as f64 / first.branches.max(1) as f64,
        data_misses: curve(data.collect())?,
        code_misses: curve(code.collect())?,
        data_tlb_misses: MissCurve::default(),
        code_tlb_misses: MissCurve::default(),
        memory_parallelism: MEMORY_PARALLELISM,
    };
    Ok((character, first.instructions))
}

/// A curve through points of several runs. Where a larger cache missed more often, by its sets or
/// by chance, it counts as the smaller one.
fn curve(mut points: Vec<(u64, f64)>) -> Result<MissCurve, MissCurveError> {
    points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup_by_key(|point| point.0);
    let mut most = 1_000.0;
    for (_, misses) in &mut points {
        *misses = misses.min(most);
        most = *misses;
    }
    MissCurve::new(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "desc: I1 cache: 32768 B, 64 B, 8-way associative\n\
        events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim\n\
        fn=main\n128 2 1 1 2 0 0 0 0 0 0 0 0 0\n\
        summary: 1000 10 9 200 20 4 100 5 1 150 6 10 2\n";

    #[test]
    fn a_file_has_the_events_of_its_summary() {
        let events = parse(FILE).unwrap();
        let expected = Events {
            instructions: 1000,
            code_misses: 10,
            data_misses: 25,
            later_misses: 5,
            branches: 160,
            branch_misses: 8,
        };
        assert_eq!(events, expected);
    }

    #[test]
    fn a_file_that_ends_too_soon_is_an_error_that_says_what_is_missing() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        let cut = FILE.split("summary:").next().unwrap();
        assert_eq!(
            error(cut),
            "cachegrind's file has no line 'summary:', expected the events of all of a process"
        );
        let short = FILE.replace(" 10 2\n", "\n");
        assert_eq!(error(&short), "cachegrind's file has no Bi, expected a count for each event");
    }

    #[test]
    fn caches_have_a_power_of_two_of_sets_and_nearly_their_size() {
        assert_eq!(option("D1", 48 << 10), "--D1=49152,12,64");
        assert_eq!(option("LL", 1280 << 10), "--LL=1310720,10,64");
        assert_eq!(option("LL", 30 << 20), "--LL=31457280,15,64");
        assert_eq!(option("LL", 25 << 20), "--LL=25165824,12,64");
        assert_eq!(option("D1", 1), "--D1=512,8,64");
    }

    #[test]
    fn a_curve_goes_through_the_points_of_all_runs_and_never_up() {
        let of = |code, data, later| Sizes { code, data, later };
        let events = parse(FILE).unwrap();
        let worse = Events { data_misses: 30, later_misses: 6, ..events };
        let runs = [(of(32 << 10, 32 << 10, 1 << 20), events), (of(1, 48 << 10, 2 << 20), worse)];
        let (character, instructions) = of_runs(&runs).unwrap();
        let points = [(32 << 10, 25.0), (48 << 10, 25.0), (1 << 20, 5.0), (2 << 20, 5.0)];
        assert_eq!(character.data_misses.points(), points);
        assert_eq!((instructions, character.branches, character.branch_misses), (1000, 0.16, 0.05));
    }
}
