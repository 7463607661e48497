//! What watching costs: the watcher, per record; the watched, per switch and per thread. Prints a
//! table.
//!
//! `flock -x /tmp/quiet cargo bench -p evenkeel-linux --bench watch`. Watched and unwatched runs
//! take turns, so that a noisy neighbour hits both alike; medians count. The watched program is
//! this one, begun again with the words of the example `swarm`.
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "../tests/support/programs.rs"]
mod programs;
mod support;
#[path = "../examples/swarm.rs"]
mod swarm;

use std::{
    io::{Read as _, Write as _},
    path::Path,
    process::Child,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use evenkeel_linux::{
    counters::ThreadTimes,
    watch::{Options, Seen, Source, Tid, WatchError, Watcher, now},
};
use programs::tid;
use support::median;

/// How often each case runs.
const ROUNDS: usize = 7;
/// Turns of the ping-pong: two switches each, at least.
const TURNS: &str = "20000";
/// Threads that come and go.
const THREADS: &str = "3000";

/// This program, which begins again with these words when it is let go.
fn held(words: &[&str]) -> Child {
    let own = std::env::current_exe().unwrap();
    if words.first() == Some(&"pingpong") {
        // Threads that wake each other share a core: the switch between them is what is measured,
        // not the way from core to core.
        return programs::held(
            Path::new("taskset"),
            &[&["-c", "0", own.to_str().unwrap()], words].concat(),
        );
    }
    programs::held(&own, words)
}

/// Lets the program go and waits for its end; what it printed, and how long that took in
/// nanoseconds.
fn run(mut child: Child) -> (String, f64) {
    let begun = Instant::now();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    child.wait().unwrap();
    (output, begun.elapsed().as_nanos() as f64)
}

/// Does `work` while the watcher is drained by a thread of its own, as a mechanism would.
fn while_watched<T>(watcher: Option<Watcher>, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if let Some(mut watcher) = watcher {
            let over = &over;
            scope.spawn(move || {
                let mut seen = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    watcher.wait(Duration::from_millis(20)).unwrap();
                    watcher.drain(&mut seen);
                    seen.clear();
                }
            });
        }
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// How a program is watched.
type Watch = fn(&Child) -> Option<Result<Watcher, WatchError>>;

const WAYS: [(&str, Watch); 7] = [
    ("not watched", |_| None),
    ("perf", |child| {
        Some(Watcher::program(tid(child), &Options { source: Source::Perf, ..Options::default() }))
    }),
    ("perf, starts and ends only", |child| {
        Some(Watcher::program(
            tid(child),
            &Options { source: Source::Perf, switches: false, ..Options::default() },
        ))
    }),
    ("perf, with wake-ups", |child| {
        Some(Watcher::program(
            tid(child),
            &Options { source: Source::Perf, wakeups: true, ..Options::default() },
        ))
    }),
    ("perf, picked out of everybody", |child| {
        let options = Options { source: Source::Perf, wide: Some(true), ..Options::default() };
        Some(Watcher::program(tid(child), &options))
    }),
    ("perf, whole machine", |_| {
        Some(Watcher::machine(&Options { source: Source::Perf, ..Options::default() }))
    }),
    ("connector", |child| {
        Some(Watcher::program(
            tid(child),
            &Options { source: Source::Connector, ..Options::default() },
        ))
    }),
];

/// Runs a program in each way, in turns: medians of what `figure` makes of its output and time.
fn in_turns(words: &[&str], figure: impl Fn(&str, f64) -> f64) -> Vec<(&'static str, f64)> {
    let mut figures = WAYS.map(|(name, _)| (name, Vec::new()));
    for _ in 0..ROUNDS {
        for ((_, way), (_, figures)) in WAYS.iter().zip(&mut figures) {
            let child = held(words);
            let watcher = match way(&child).transpose() {
                Ok(watcher) => watcher,
                Err(error) => {
                    eprintln!("left out: {error}");
                    run(child);
                    continue;
                }
            };
            let (output, time) = while_watched(watcher, || run(child));
            figures.push(figure(&output, time));
        }
    }
    figures.into_iter().map(|(name, figures)| (name, median(&figures))).collect()
}

fn print(title: &str, unit: &str, rows: &[(&str, f64)]) {
    println!("{title}");
    let base = rows.first().map_or(f64::NAN, |row| row.1);
    for (name, value) in rows {
        println!("  {name:<30} {value:>10.0} {unit:<4} {:>+8.0}", value - base);
    }
}

/// Nanoseconds to take in one record, from rings that hold many.
fn drained() -> Result<(f64, f64), WatchError> {
    let (mut each, mut nothing) = (Vec::new(), Vec::new());
    let mut seen = Vec::with_capacity(1 << 20);
    for _ in 0..ROUNDS {
        let child = held(&["pingpong", "8000"]);
        let watcher =
            Watcher::program(tid(&child), &Options { source: Source::Perf, ..Options::default() });
        run(child);
        let mut watcher = watcher?;
        seen.clear();
        let begun = Instant::now();
        watcher.drain(&mut seen);
        each.push(begun.elapsed().as_nanos() as f64 / seen.len() as f64);
        let begun = Instant::now();
        for _ in 0..1000 {
            watcher.drain(&mut seen);
        }
        nothing.push(begun.elapsed().as_nanos() as f64 / 1000.0);
    }
    Ok((median(&each), median(&nothing)))
}

/// Nanoseconds from a thread's start to our knowing of it.
fn reaction(source: Source) -> Result<f64, WatchError> {
    let mut delays = Vec::new();
    let child = held(&["threads", "800"]);
    let mut watcher = match Watcher::program(
        tid(&child),
        &Options { source, switches: false, ..Options::default() },
    ) {
        Ok(watcher) => watcher,
        Err(error) => {
            run(child);
            return Err(error);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| run(child));
        let mut seen = Vec::new();
        watcher.drain(&mut seen);
        while watcher.alive() > 0 {
            let _ = watcher.wait(Duration::from_millis(100));
            seen.clear();
            watcher.drain(&mut seen);
            let now = now();
            let delay = |one: &Seen| match one {
                Seen::Started { at, parent: Some(_), .. } => Some((now.0 - at.0) as f64),
                Seen::Started { at, parent: None, .. } if source == Source::Connector => {
                    Some((now.0 - at.0) as f64)
                }
                _ => None,
            };
            delays.extend(seen.iter().filter_map(delay));
        }
    });
    Ok(median(&delays))
}

/// Nanoseconds to read a thread's account, and its state.
fn accounts() -> (f64, f64) {
    let own = Tid(rustix::thread::gettid().as_raw_nonzero().get());
    let process = Tid(rustix::process::getpid().as_raw_nonzero().get());
    let account = ThreadTimes::open(process, own).unwrap();
    let time = |read: &dyn Fn()| {
        let each = |_| {
            let begun = Instant::now();
            (0..2000).for_each(|_| read());
            begun.elapsed().as_nanos() as f64 / 2000.0
        };
        median(&(0..ROUNDS).map(each).collect::<Vec<f64>>())
    };
    let read_times = || {
        std::hint::black_box(account.times().unwrap());
    };
    let read_state = || {
        std::hint::black_box(account.state().unwrap());
    };
    (time(&read_times), time(&read_state))
}

fn main() {
    let first = std::env::args().nth(1);
    match first.as_deref() {
        Some("pingpong" | "threads") => return swarm::main().unwrap(),
        Some("--bench") => {}
        // `cargo test --benches` only wants to see that it builds.
        _ => return,
    }
    match drained() {
        Ok((each, nothing)) => {
            println!(
                "the watcher: {each:.0} ns for each record taken in, {nothing:.0} ns where there \
                 is none"
            );
        }
        Err(error) => println!("perf left out: {error}"),
    }
    for source in [Source::Perf, Source::Connector] {
        match reaction(source) {
            Ok(delay) => {
                println!("{source:?}: a thread's start is known {:.0} us after it", delay / 1e3)
            }
            Err(error) => println!("{source:?} left out: {error}"),
        }
    }
    let (times, state) = accounts();
    println!("a thread's account is read in {times:.0} ns, its state in {state:.0} ns");
    let pingpong =
        in_turns(&["pingpong", TURNS], |output, _| output.trim().parse().unwrap_or(f64::NAN));
    print("two threads that wake each other in turns, each turn", "ns", &pingpong);
    let threads: f64 = THREADS.parse().unwrap();
    let spawned = in_turns(&["threads", THREADS], |_, time| time / threads);
    print("a thread that comes and goes, eight at a time", "ns", &spawned);
}
