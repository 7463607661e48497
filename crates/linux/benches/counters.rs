//! What it costs to go by a model: reading the counters of a hundred threads every 200 ms, and
//! asking the model once.
//!
//! Machines like this one have no hardware counters, so software events stand for them: system
//! calls, and interrupts of the cores on which threads run, are those of hardware events; reading a
//! register is not in it. What is printed also goes to the file in
//! `EVENKEEL_BENCH_OUT`.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_estimate::training::{Method, Plan, train};
use evenkeel_estimate::{
    Event, MachineModel, Model, PERIOD, Settings, Watched, generated, modelled,
};
use evenkeel_files::machines;
use evenkeel_linux::counters::KernelEvents;
use evenkeel_linux::live::estimating::Estimating;
use evenkeel_linux::watch::{Tid, now};
use evenkeel_machine::{Machine, Nanos, PerKind};
use evenkeel_model::character::GeneratedProgram;
use evenkeel_policy::ThreadId;
use support::median;

const THREADS: usize = 100;
const READS: usize = 20;
/// Between two reads: long enough for each of so many threads on two CPUs to have run for 10 ms.
const BETWEEN: Duration = Duration::from_millis(700);

/// What PMUs call their events, and software events (`PERF_COUNT_SW_*`) that stand for them.
const EVENTS: [(&str, u32); Event::ALL.len()] = [
    ("instructions", 1),
    ("cpu-cycles", 0),
    ("cache-references", 2),
    ("cache-misses", 3),
    ("branch-instructions", 4),
    ("branch-misses", 5),
    ("l1d_cache_refill", 6),
    ("l1i_cache_refill", 7),
    ("l1d_tlb_refill", 8),
    ("l1i_tlb_refill", 9),
    ("stalled-cycles-frontend", 2),
    ("stalled-cycles-backend", 3),
];
const SOFTWARE: u32 = 1;

fn sysfs(root: &Path) {
    for (name, cpus) in [("cpu_core", "0-1"), ("cpu_atom", "2-3")] {
        let device = root.join("bus/event_source/devices").join(name);
        fs::create_dir_all(device.join("events")).unwrap();
        fs::create_dir_all(device.join("format")).unwrap();
        fs::write(device.join("type"), SOFTWARE.to_string()).unwrap();
        fs::write(device.join("cpus"), cpus).unwrap();
        fs::write(device.join("format/event"), "config:0-7").unwrap();
        for (event, number) in EVENTS {
            fs::write(device.join("events").join(event), format!("event={number:#x}")).unwrap();
        }
    }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn model(machine: &Machine, most_sets: usize) -> Model {
    let plan = Plan {
        method: Method::Phases { deviation: 0.05 },
        most_sets,
        most_metrics: usize::MAX,
        settings: Settings::default(),
    };
    train(&generated::traces(machine, 1, 40), &plan).unwrap().model
}

/// Median CPU time of a look at all threads, each of which has been on so many kinds.
fn of_a_look(model: &Model, machine: &Machine, kinds: usize) -> f64 {
    let root = tempfile::tempdir().unwrap();
    sysfs(root.path());
    let over = Arc::new(AtomicBool::new(false));
    let (send, tids) = mpsc::channel();
    let spinning: Vec<_> = (0..THREADS)
        .map(|_| {
            let (over, send) = (Arc::clone(&over), send.clone());
            thread::spawn(move || {
                send.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
                let work = AtomicI32::new(0);
                while !over.load(Relaxed) {
                    black_box(work.fetch_add(1, Relaxed));
                }
            })
        })
        .collect();
    let threads: Vec<(ThreadId, Tid)> =
        (0..THREADS as u32).map(|number| (ThreadId(number), Tid(tids.recv().unwrap()))).collect();
    let mut estimating = Estimating::new(KernelEvents, model, machine, root.path()).unwrap();
    let mut times = Vec::new();
    for read in 0..=READS {
        let mut time_on = PerKind::all(Nanos::ZERO);
        for time in &mut time_on.0[..kinds] {
            *time = Nanos(read as u64);
        }
        let with_times = threads.iter().map(|&(thread, tid)| (thread, tid, time_on));
        let before = cpu_time();
        estimating.read(now(), with_times, |_, factors| {
            black_box(factors);
        });
        // The first opens the events.
        if read > 0 {
            times.push((cpu_time() - before).as_secs_f64());
        }
        thread::sleep(BETWEEN);
    }
    over.store(true, Relaxed);
    spinning.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(estimating.uncounted(), None);
    assert!(estimating.told() > 0);
    median(&times)
}

/// Median time of asking the model after a whole round, both kinds in turn.
fn of_an_answer(model: &Model, machine: &Machine) -> Duration {
    let kinds: Vec<_> = machine
        .kinds
        .iter()
        .map(|kind| (kind.name.as_str(), modelled::counters(kind.core.as_ref().unwrap())))
        .collect();
    let on_machine = MachineModel::new(model, &kinds).unwrap();
    let program = GeneratedProgram::new(1, 0);
    let counts: Vec<_> = machine
        .kinds
        .iter()
        .map(|kind| {
            let (core, ghz) = (kind.core.as_ref().unwrap(), kind.top().khz as f64 / 1e6);
            modelled::window(&program.phases[0], core, ghz, 200_000_000).counts
        })
        .collect();
    const ROUNDS: usize = 10_000;
    let samples = |kind: usize| on_machine.sets(kind).len();
    let mut times = Vec::new();
    for _ in 0..21 {
        let mut watched = Watched::default();
        let start = Instant::now();
        for _ in 0..ROUNDS {
            for (kind, counts) in counts.iter().enumerate() {
                for _ in 0..samples(kind) {
                    black_box(on_machine.sample(&mut watched, kind, black_box(counts)));
                }
            }
        }
        times.push(start.elapsed().as_secs_f64() / (ROUNDS * counts.len()) as f64);
    }
    Duration::from_secs_f64(median(&times))
}

fn main() {
    // `cargo test --benches` runs it, too.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let machine = machines::preset("quickia").unwrap();
    let in_one_set = model(&machine, 1);
    let in_three = model(&machine, 3);
    let answer = of_an_answer(&in_three, &machine);
    let mut page = String::new();
    writeln!(
        page,
        "# Factors from counters: what they cost\n\n\
         `make bench-counters` writes this page. {THREADS} busy threads, read every {} ms; CPU time \
         of a\nlook, medians of {READS}. Software events stand for hardware ones, which this \
         machine does not have:\nsystem calls, and interrupts of cores on which threads run, are \
         the same; reading a register is\nnot in it.\n\n\
         | sets of events | kinds that each thread has been on | a look | of a core |\n\
         | ---: | ---: | ---: | ---: |",
        PERIOD.0 / 1_000_000,
    )
    .unwrap();
    for (model, sets) in [(&in_one_set, 1), (&in_three, 3)] {
        for kinds in [1, 2] {
            let look = of_a_look(model, &machine, kinds);
            let part = look / (PERIOD.0 as f64 / 1e9) * 100.0;
            writeln!(page, "| {sets} | {kinds} | {:.0} us | {part:.2} % |", look * 1e6).unwrap();
        }
    }
    writeln!(
        page,
        "\nWith several sets the next one is to count after each look: two more system calls, \
         each of which\ninterrupts the core that the thread ran on last.\n\n\
         A whole round of three sets and the model's answer take {} ns.",
        answer.as_nanos(),
    )
    .unwrap();
    print!("{page}");
    if let Some(path) = std::env::var_os("EVENKEEL_BENCH_OUT") {
        fs::write(path, page).unwrap();
    }
}
