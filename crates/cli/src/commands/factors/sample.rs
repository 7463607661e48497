//! `evenkeel sample`: what a program does on each kind of core.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use anyhow::Context as _;
use evenkeel_estimate::{Event, Metric, Trace, TracedKind, modelled};
use evenkeel_files::factors::write_trace;
use evenkeel_linux::cachegrind::{self, CachegrindError, Sizes};
use evenkeel_linux::program::{Output, Signal, Signals, find};
use evenkeel_machine::Microarchitecture;
use serde_json::json;

use super::{cores_of, counted, write};
use crate::args::factors::{Counter, SampleArgs};
use crate::commands::machines;
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print, print_json};
use crate::table;

/// Samples a program, shows what it does on each kind, and writes the trace.
///
/// # Errors
/// The machine file does not say how its cores are built; the program fails; a file cannot be
/// written.
pub fn run(args: &SampleArgs) -> Result {
    // Before any thread is made, which an output file does: see `Signals`.
    let signals = Signals::hold().context("cannot hold back signals").map_err(Failure::Failed)?;
    let output = args.output.as_deref().map(OutputFile::begin).transpose()?;
    let trace = match args.by {
        Counter::Counters => counted::trace(args, &signals)?,
        Counter::Cachegrind => by_cachegrind(args, &signals)?,
    };
    write(output, &write_trace(&trace))?;
    if args.json { print_json(&to_json(&trace)) } else { print(&shown(&trace)) }
}

fn by_cachegrind(args: &SampleArgs, signals: &Signals) -> Result<Trace> {
    let Some(name) = &args.machine else {
        return Err(Failure::usage(
            "--by cachegrind models the cores of a machine: name one with -m, as -m odroid-xu3",
        ));
    };
    let machine = machines::load(name)?;
    let cores = cores_of(&machine, name)?;
    let Some(program) = args.command.first() else {
        return Err(Failure::usage("no program: give one after --"));
    };
    find(program, std::env::var_os("PATH"))
        .map_err(|error| Failure::not_started(program, error))?;
    let sizes = sizes(&cores);
    let note = |run: usize| say("note", &format!("cachegrind: run {} of {}", run + 1, sizes.len()));
    let output = if args.json { Output::OnStderr } else { Output::AsItIs };
    let sampled = cachegrind::character(&args.command, &sizes, signals, output, note);
    let (character, instructions) = sampled.map_err(|error| match error {
        CachegrindError::Program { status, .. } if is_asked_to_end(status.signal()) => {
            Failure::Interrupted(status.signal().unwrap_or_default())
        }
        error => Failure::Failed(error.into()),
    })?;
    let kinds = machine.kinds.iter().zip(cores).map(|(kind, core)| {
        let ghz = kind.top().khz as f64 / 1e6;
        TracedKind {
            name: kind.name.clone(),
            counters: modelled::counters(core),
            windows: vec![modelled::window(&character, core, ghz, instructions)],
        }
    });
    let source = format!("cachegrind, cycles modelled for {}", machine.name);
    Trace::new(program_name(args, program), source, kinds.collect()).map_err(Failure::input)
}

/// What the program is called in the file.
pub(super) fn program_name(args: &SampleArgs, program: &OsStr) -> String {
    let file = || Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
    args.name.clone().unwrap_or_else(file)
}

/// True if a signal asked the program to end, and it did not fail by itself.
pub(super) fn is_asked_to_end(signal: Option<i32>) -> bool {
    [Signal::INT, Signal::TERM, Signal::HUP].map(|asks| Some(asks.as_raw())).contains(&signal)
}

/// Runs that between them have every size of cache of every kind.
fn sizes(cores: &[&Microarchitecture]) -> Vec<Sizes> {
    let sorted = |mut sizes: Vec<u64>| {
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let code = sorted(cores.iter().map(|core| core.code_cache_bytes).collect());
    let first = |core: &&Microarchitecture| core.data_caches.first().map(|cache| cache.bytes);
    let data = sorted(cores.iter().filter_map(first).collect());
    let all = cores.iter().flat_map(|core| core.data_caches.iter().skip(1));
    let later = sorted(all.map(|cache| cache.bytes).collect());
    let runs = code.len().max(data.len()).max(later.len());
    let nth = |sizes: &[u64], run: usize| sizes.get(run).or(sizes.last()).copied();
    (0..runs)
        .filter_map(|run| {
            let data = nth(&data, run)?;
            let later = nth(&later, run).unwrap_or(data);
            Some(Sizes { code: nth(&code, run)?, data, later })
        })
        .collect()
}

/// Metrics that are shown.
const SHOWN: [(Metric, &str, usize); 5] = [
    (Metric::Ipc, "IPC", 3),
    (Metric::L1dMisses, "L1D", 2),
    (Metric::LlcMisses, "LLC", 3),
    (Metric::L1iMisses, "L1I", 2),
    (Metric::BranchMissRate, "BRANCHES", 4),
];

fn shown(trace: &Trace) -> String {
    let mut header = vec!["KIND".to_owned(), "FACTOR".to_owned()];
    header.extend(SHOWN.map(|(_, name, _)| name.to_owned()));
    let mut rows = table::figures(header, 1);
    for (k, kind) in trace.kinds().iter().enumerate() {
        let values = trace.overall_metrics(k);
        let mut row = vec![kind.name.clone(), format!("{:.3}", trace.overall_factor(k))];
        row.extend(SHOWN.map(|(metric, _, digits)| match trace.has(k, metric) {
            true => format!("{:.*}", digits, values[metric]),
            false => "-".to_owned(),
        }));
        rows.add_row(row);
    }
    let instructions = trace.windows(0).iter().filter_map(|it| it.counts.get(Event::Instructions));
    format!(
        "{}: {} instructions ({})\n\n{rows}\n\nFACTOR: speed, to that of the slowest kind. IPC: \
         instructions per cycle. L1D, LLC, L1I: misses\nper 1,000 instructions. BRANCHES: part of \
         them that was predicted wrongly.\n",
        trace.program(),
        instructions.sum::<u64>(),
        trace.source()
    )
}

fn to_json(trace: &Trace) -> serde_json::Value {
    let kind = |(k, kind): (usize, &TracedKind)| {
        let values = trace.overall_metrics(k);
        let has = Metric::ALL.into_iter().filter(|metric| trace.has(k, *metric));
        let metrics: serde_json::Map<_, _> =
            has.map(|metric| (metric.name().to_owned(), json!(values[metric]))).collect();
        json!({ "name": kind.name, "factor": trace.overall_factor(k), "metrics": metrics })
    };
    let kinds: Vec<_> = trace.kinds().iter().enumerate().map(kind).collect();
    json!({ "program": trace.program(), "source": trace.source(), "kinds": kinds })
}
