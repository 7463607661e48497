//! What was done with each loop, for people and as JSON.

use std::io::Write as _;

use evenkeel_machine::Machine;
use evenkeel_openmp::told::{Cost, Loop, Note, Phase, Region, Schedule, Told};
use serde_json::{Value, json};

use crate::error::Result;
use crate::{output, table};

/// Prints it on stderr: the program has stdout.
pub fn print(machine: &Machine, told: &[Told]) {
    let mut text = String::new();
    for process in told {
        if told.len() > 1 {
            text.push_str(&format!("process {}\n", process.process));
        }
        text.push_str(&of_process(machine, process));
    }
    // If stderr is gone, nothing can be done.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn of_process(machine: &Machine, process: &Told) -> String {
    let header = ["region", "runs", "threads", "iterations", "before", "after", "gain"]
        .into_iter()
        .chain(["waiting", "shares", "done"])
        .map(str::to_owned)
        .collect();
    let mut rows = table::figures(header, 1);
    let mut others = 0_u64;
    for region in &process.regions {
        if region.loops.is_empty() {
            others += 1;
        }
        // The region as a whole says nothing new beside its loops.
        let has_loops = region.loops.iter().any(|of| of.schedule != Schedule::Whole);
        for of in region.loops.iter().filter(|of| of.schedule != Schedule::Whole || !has_loops) {
            rows.add_row(row(machine, region, of));
        }
    }
    let mut text =
        if others as usize == process.regions.len() { String::new() } else { format!("{rows}\n") };
    if others > 0 {
        text.push_str(&format!("{others} regions without a loop: left alone\n"));
    }
    for note in &process.notes {
        text.push_str(sentence(*note));
        text.push('\n');
    }
    text
}

fn row(machine: &Machine, region: &Region, of: &Loop) -> Vec<String> {
    let time = |cost: &Cost| {
        if cost.executions == 0 { "-".to_owned() } else { milliseconds(cost.each_ns) }
    };
    let percent = |part: f64| format!("{:.0} %", 100.0 * part);
    let has_both = of.stock.executions > 0 && of.ours.executions > 0;
    let waiting = if has_both {
        format!("{} to {}", percent(of.stock.waiting), percent(of.ours.waiting))
    } else {
        percent(of.stock.waiting)
    };
    vec![
        region.place.clone(),
        region.instances.to_string(),
        region.threads.to_string(),
        if of.schedule == Schedule::Whole { "all".to_owned() } else { of.trip.to_string() },
        time(&of.stock),
        time(&of.ours),
        gain(of).map_or("-".to_owned(), |gain| format!("{gain:.2}")),
        waiting,
        match of.schedule {
            Schedule::Static if of.ours.executions > 0 => shares(machine, of),
            Schedule::Dynamic { chunk } if of.ours.executions > 0 => format!("chunks of {chunk}"),
            Schedule::Static | Schedule::Dynamic { .. } | Schedule::Whole => "-".to_owned(),
        },
        done(machine, region, of).to_owned(),
    ]
}

fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    let digits = if ms < 1.0 { 3 } else { usize::from(ms < 100.0) };
    format!("{ms:.digits$} ms")
}

/// How many times faster it is.
fn gain(of: &Loop) -> Option<f64> {
    let has_both = of.stock.executions > 0 && of.ours.executions > 0 && of.ours.each_ns > 0.0;
    of.gain.or_else(|| has_both.then(|| of.stock.each_ns / of.ours.each_ns))
}

fn shares(machine: &Machine, of: &Loop) -> String {
    let parts = machine.kinds.iter().zip(of.shares).filter(|(_, share)| *share > 0.0);
    let parts: Vec<String> =
        parts.map(|(kind, share)| format!("{} {:.1} %", kind.name, 100.0 * share)).collect();
    parts.join(", ")
}

fn done(machine: &Machine, region: &Region, of: &Loop) -> &'static str {
    let has_more_threads = region.threads as usize > machine.cores.len();
    // How long the team works from one meeting to the next.
    let meetings = 1.0 + region.barriers as f64 / region.instances.max(1) as f64;
    let is_dynamic = matches!(of.schedule, Schedule::Dynamic { .. });
    match of.phase {
        Phase::Watched => "watched: too few runs to tell",
        Phase::Applied if is_dynamic => "in chunks, still looked at",
        Phase::Frozen if is_dynamic => "in chunks",
        Phase::Balanced if is_dynamic => "left alone: its iterations are long",
        Phase::Applied => "divided by speed, still adjusted",
        Phase::Frozen => "divided by speed",
        Phase::Short => "left alone: shorter than 15 us",
        Phase::Balanced => "left alone: its threads hardly wait for slow cores",
        Phase::Withdrawn => "withdrawn: it did not become faster",
        Phase::Few => "left alone: too few iterations",
        Phase::Unplaced => "left alone: its threads move between kinds of core",
        Phase::Given => "divided by capacity",
        Phase::Own if has_more_threads => "divides itself among more threads",
        Phase::Own if of.stock.waiting >= WAITING && of.stock.each_ns >= COARSE_NS * meetings => {
            "divides itself, and waits: try --more-threads"
        }
        Phase::Own => "divides itself",
    }
}

/// From when on more threads than cores are worth a try: waiting of all threads' time, and the time
/// from one barrier to the next. Ours.
const WAITING: f64 = 0.1;
const COARSE_NS: f64 = 2e6;

fn sentence(note: Note) -> &'static str {
    match note {
        Note::Nested => "regions inside of others: left alone",
        Note::SeveralRoots => "several threads began regions at the same time: one was served",
        Note::OwnAffinity => "the program sets its threads' CPUs itself: left alone from then on",
        Note::TooManyThreads => "regions with more threads than CPUs: left alone",
        Note::TooManyRegions => "more than 512 regions: the later ones left alone",
        Note::Teams => "regions of several teams: left alone",
        Note::Elsewhere => "another program of this user is placed already: threads were not",
    }
}

fn word(note: Note) -> &'static str {
    match note {
        Note::Nested => "nested",
        Note::SeveralRoots => "several-roots",
        Note::OwnAffinity => "own-affinity",
        Note::TooManyThreads => "more-threads-than-cpus",
        Note::TooManyRegions => "too-many-regions",
        Note::Teams => "teams",
        Note::Elsewhere => "placed-elsewhere",
    }
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Watched => "watched",
        Phase::Applied => "applied",
        Phase::Frozen => "frozen",
        Phase::Short => "short",
        Phase::Balanced => "balanced",
        Phase::Withdrawn => "withdrawn",
        Phase::Few => "few-iterations",
        Phase::Unplaced => "unplaced",
        Phase::Given => "given",
        Phase::Own => "own",
    }
}

/// Prints it on stdout.
///
/// # Errors
/// Stdout is gone.
pub fn print_json(machine: &Machine, told: &[Told]) -> Result {
    let processes: Vec<Value> = told
        .iter()
        .map(|process| {
            json!({
                "process": process.process,
                "left_alone": process.notes.iter().map(|&note| word(note)).collect::<Vec<_>>(),
                "regions": process.regions.iter().map(|of| region(machine, of)).collect::<Vec<_>>(),
            })
        })
        .collect();
    output::print_json(&json!({ "processes": processes }))
}

fn region(machine: &Machine, region: &Region) -> Value {
    let cost = |cost: &Cost| {
        (cost.executions > 0).then(|| {
            json!({
                "executions": cost.executions,
                "each_ns": cost.each_ns.round(),
                "waiting": cost.waiting,
            })
        })
    };
    let loops: Vec<Value> = region
        .loops
        .iter()
        .map(|of| {
            let shares: serde_json::Map<String, Value> = machine
                .kinds
                .iter()
                .zip(of.shares)
                .map(|(kind, share)| (kind.name.clone(), json!(share)))
                .collect();
            json!({
                "schedule": match of.schedule {
                    Schedule::Static => "static",
                    Schedule::Dynamic { .. } => "dynamic",
                    Schedule::Whole => "whole",
                },
                "iterations": (of.schedule != Schedule::Whole).then_some(of.trip),
                "chunk": match of.schedule {
                    Schedule::Dynamic { chunk } => Some(chunk),
                    Schedule::Static | Schedule::Whole => None,
                },
                "phase": phase_word(of.phase),
                "stock": cost(&of.stock),
                "ours": cost(&of.ours),
                "gain": gain(of),
                "shares": shares,
            })
        })
        .collect();
    json!({
        "place": region.place,
        "instances": region.instances,
        "threads": region.threads,
        "loops": loops,
    })
}
