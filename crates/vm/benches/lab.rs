//! How steady cores of the VM lab are, and how the kernel's own scheduler treats equal threads on
//! them: `make bench-vm-lab`, on a quiet machine. This program also runs in the guest.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]

use std::env;
use std::hint::black_box;
use std::path::Path;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_linux::program::Signals;
use evenkeel_vm::guest::Contents;
use evenkeel_vm::image::Busybox;
use evenkeel_vm::kernel::{Store, default_cache};
use evenkeel_vm::{Cores, Lab, Streams, check_host};
use rustix::thread::{CpuSet, sched_setaffinity};

const CORES: &str = "2@60+2@20";
/// The argument that tells this program that it runs in the guest.
const IN_GUEST: &str = "--in-guest";
/// Number of windows in which steadiness is measured, and the length of each.
const WINDOWS: usize = 20;
const WINDOW: Duration = Duration::from_secs(1);
/// Pauses below this are interrupts, or long units.
const AWAY: Duration = Duration::from_micros(200);
/// For the kernel's own scheduler: threads, runs, and the length of each.
const THREADS: [usize; 3] = [2, 4, 6];
const RUNS: usize = 3;
const RUN: Duration = Duration::from_secs(15);

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().position(|word| word == IN_GUEST) {
        Some(at) => guest(&words[at + 1..]),
        // Cargo adds `--bench`.
        None => host(words.iter().find(|word| !word.starts_with('-')).map(String::as_str)),
    }
}

fn guest(words: &[String]) {
    match words {
        [word, cores] if word == "steady" => {
            let windows = steady(cores.parse().unwrap());
            for cores in windows {
                println!("{}", cores.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
            }
        }
        [word, cores] if word == "still" => {
            for core in still(cores.parse().unwrap()) {
                let at =
                    |percent| core.get(core.len() * percent / 100).or(core.last()).unwrap_or(&0);
                println!("{} {} {}", at(50), at(99), at(100));
            }
        }
        [word, threads] if word == "equal" => {
            let done = equal(threads.parse().unwrap());
            println!("{}", done.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
        }
        _ => exit(2),
    }
}

/// Some 20 us of work on a present core.
fn unit() {
    let mut x = 1_u32;
    for _ in 0..2_000 {
        x = black_box(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    }
}

/// Work of each core in each window, done by a thread bound to it.
fn steady(cores: usize) -> Vec<Vec<u64>> {
    let units: Vec<AtomicU64> = (0..cores).map(|_| AtomicU64::new(0)).collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for (core, units) in units.iter().enumerate() {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut cpus = CpuSet::new();
                cpus.set(core);
                sched_setaffinity(None, &cpus).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    unit();
                    units.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(WINDOW);
        let mut windows = Vec::new();
        let mut before: Vec<u64> =
            units.iter().map(|units| units.load(Ordering::Relaxed)).collect();
        let mut next = Instant::now();
        for _ in 0..WINDOWS {
            next += WINDOW;
            thread::sleep(next.saturating_duration_since(Instant::now()));
            let now: Vec<u64> = units.iter().map(|units| units.load(Ordering::Relaxed)).collect();
            windows.push(now.iter().zip(&before).map(|(now, before)| now - before).collect());
            before = now;
        }
        is_over.store(true, Ordering::Relaxed);
        windows
    })
}

/// Lengths of each core's pauses, microseconds, in order: seen by a thread bound to it that always
/// works.
fn still(cores: usize) -> Vec<Vec<u128>> {
    let watch = |core: usize| {
        let mut cpus = CpuSet::new();
        cpus.set(core);
        sched_setaffinity(None, &cpus).unwrap();
        let mut gaps = Vec::new();
        let (began, mut before) = (Instant::now(), Instant::now());
        while before.duration_since(began) < RUN {
            unit();
            let now = Instant::now();
            gaps.extend(
                Some(now.duration_since(before))
                    .filter(|gap| *gap > AWAY)
                    .map(|gap| gap.as_micros()),
            );
            before = now;
        }
        gaps.sort_unstable();
        gaps
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|core| scope.spawn(move || watch(core))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Work of each of `threads` equal threads, wherever the kernel runs them.
fn equal(threads: usize) -> Vec<u64> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let work = || {
            let mut units = 0;
            while !is_over.load(Ordering::Relaxed) {
                unit();
                units += 1;
            }
            units
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        thread::sleep(RUN);
        is_over.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A part of the bench, by its name.
type Part = (&'static str, fn(&Cores));

/// Runs all parts, or only `steady`, `still` or `equal`.
fn host(only: Option<&str>) {
    let cores: Cores = CORES.parse().unwrap();
    check_host(&cores, false, &|what| eprintln!("{what}"))
        .unwrap_or_else(|error| panic!("{error}"));
    let parts: [Part; 3] =
        [("steady", steadiness), ("still", standing_still), ("equal", equal_threads)];
    let asked = || parts.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    assert!(
        asked().count() > 0,
        "no part '{}': expected steady, still or equal",
        only.unwrap_or_default()
    );
    asked().for_each(|(_, part)| part(&cores));
}

fn steadiness(cores: &Cores) {
    let count = cores.percents().len();
    let windows = in_lab(cores, &["steady".to_owned(), count.to_string()]);
    let of_core =
        |core: usize| -> Vec<f64> { windows.iter().map(|window| window[core] as f64).collect() };
    let fastest = mean(&of_core(0));
    println!(
        "| core | share of a host core | units a second | spread of windows | times slower than \
         core 0 |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for (core, percent) in cores.percents().iter().enumerate() {
        let units = of_core(core);
        let spread = deviation(&units) / mean(&units) * 100.0;
        println!(
            "| {core} | {percent} % | {:.0} | {spread:.1} % | {:.3} |",
            mean(&units),
            fastest / mean(&units)
        );
    }
    let fast: Vec<f64> =
        windows.iter().map(|it| (it[0] + it[1]) as f64 / (it[2] + it[3]) as f64).collect();
    println!(
        "\nRatio of fast to slow by windows: mean {:.3}, standard deviation {:.3}, least {:.3}, \
         greatest {:.3}.\n",
        mean(&fast),
        deviation(&fast),
        fast.iter().copied().fold(f64::MAX, f64::min),
        fast.iter().copied().fold(0.0, f64::max)
    );
}

fn standing_still(cores: &Cores) {
    let count = cores.percents().len();
    println!(
        "| core | share of a host core | stands still at a time, median, ms | p99 | longest |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for ((core, percent), gaps) in cores
        .percents()
        .iter()
        .enumerate()
        .zip(in_lab(cores, &["still".to_owned(), count.to_string()]))
    {
        let ms: Vec<String> = gaps.iter().map(|&us| format!("{:.1}", us as f64 / 1e3)).collect();
        println!("| {core} | {percent} % | {} |", ms.join(" | "));
    }
    println!();
}

fn equal_threads(cores: &Cores) {
    println!("| threads | unfairness | total work |");
    println!("| --- | --- | --- |");
    for threads in THREADS {
        let runs: Vec<Vec<u64>> = (0..RUNS)
            .map(|_| in_lab(cores, &["equal".to_owned(), threads.to_string()]).remove(0))
            .collect();
        let unfairness =
            |run: &Vec<u64>| *run.iter().max().unwrap() as f64 / *run.iter().min().unwrap() as f64;
        let total = |run: &Vec<u64>| run.iter().sum::<u64>() as f64;
        println!(
            "| {threads} | {} | {} |",
            summary(runs.iter().map(unfairness).collect(), 2),
            summary(runs.iter().map(total).collect(), 0)
        );
    }
}

/// Median, and least to greatest.
fn summary(mut figures: Vec<f64>, digits: usize) -> String {
    figures.sort_by(f64::total_cmp);
    format!(
        "{:.digits$} ({:.digits$} to {:.digits$})",
        figures[figures.len() / 2],
        figures[0],
        figures[figures.len() - 1]
    )
}

fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len() as f64
}

fn deviation(figures: &[f64]) -> f64 {
    let mean = mean(figures);
    (figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (figures.len() - 1) as f64)
        .sqrt()
}

/// Lines of numbers that this program prints in the lab.
fn in_lab(cores: &Cores, words: &[String]) -> Vec<Vec<u64>> {
    let say = |what: &str| eprintln!("{what}");
    let store = Store::open(&default_cache().expect("a cache")).unwrap();
    let kernel = store
        .kernel(&env::var("KERNEL").unwrap_or("6.18".to_owned()).parse().unwrap(), &say)
        .unwrap();
    let busybox = Busybox::find(&store, &say).unwrap();
    drop(store);
    let own = env::current_exe().unwrap();
    let command = [own.as_os_str().to_owned(), IN_GUEST.into()]
        .into_iter()
        .chain(words.iter().map(|word| word.into()))
        .collect();
    let lab = Lab {
        kernel,
        cores: cores.clone(),
        memory_mib: 1024,
        contents: Contents { command, ..Contents::default() },
        fetches: Vec::new(),
        result: Path::new("/none").to_owned(),
        timeout: Some(Duration::from_secs(300)),
    };
    let text = Text::default();
    let streams = Streams {
        booted: Box::new(|| ()),
        stdout: Box::new(text.clone()),
        stderr: Box::new(std::io::stderr()),
    };
    let signals = Signals::hold().unwrap();
    let outcome =
        lab.run(&busybox, &signals, streams, &say).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.exit_code, 0);
    let text = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
}

/// What was printed.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Text {
    fn write(&mut self, some: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(some)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
