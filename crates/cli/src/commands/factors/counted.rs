//! A program sampled by the hardware's counters: on each kind of core in turn, once for each set of
//! events.

use std::os::unix::process::ExitStatusExt as _;

use evenkeel_estimate::{Trace, TracedKind, windows};
use evenkeel_linux::counters::{CountError, Countable, Pmu, count, kind_of, pmus, stated_counters};
use evenkeel_linux::here;
use evenkeel_linux::program::{Output, Signals, find};
use evenkeel_linux::watch::Cpu;
use evenkeel_machine::{Kind, KindId, Machine};

use super::sample::{is_asked_to_end, program_name};
use crate::args::factors::SampleArgs;
use crate::commands::live;
use crate::error::{Failure, Result, say};

/// A kind, and how its cores are counted on.
struct Counted<'a> {
    kind: &'a Kind,
    pmu: Pmu,
    cpus: Vec<Cpu>,
    countable: Countable,
}

/// Runs the program on each kind of this machine's cores.
///
/// # Errors
/// One kind of core; no PMU for a kind; the kernel does not count; the program fails.
pub fn trace(args: &SampleArgs, signals: &Signals) -> Result<Trace> {
    let Some(program) = args.command.first() else {
        return Err(Failure::usage("no program: give one after --"));
    };
    find(program, std::env::var_os("PATH"))
        .map_err(|error| Failure::not_started(program, error))?;
    let machine = live::machine(args.machine.as_deref())?;
    let all = kinds(&machine)?;
    let runs: usize = all.iter().map(|it| it.countable.sets.len()).sum();
    let (mut run, mut kinds) = (0, Vec::new());
    for Counted { kind, pmu, cpus, countable } in &all {
        let mut by_set = Vec::new();
        for set in 0..countable.sets.len() {
            run += 1;
            say("note", &format!("run {run} of {runs}: on {}", kind.name));
            let output = match (run, args.json) {
                (1, false) => Output::AsItIs,
                (1, true) => Output::OnStderr,
                _ => Output::Nowhere,
            };
            let events = countable.sets.events(set);
            let readings = count(&args.command, pmu, cpus, events, signals, output);
            let readings = readings.map_err(|error| failed(error, run))?;
            by_set.push(windows::cut(&readings, args.window));
        }
        kinds.push(TracedKind {
            name: kind.name.clone(),
            counters: countable.counters.clone(),
            windows: windows::together(&by_set),
        });
    }
    let pmus: Vec<&str> = all.iter().map(|it| it.pmu.name.as_str()).collect();
    let source = format!("counters of {}", pmus.join(", "));
    Trace::new(program_name(args, program), source, kinds).map_err(Failure::input)
}

fn failed(error: CountError, run: usize) -> Failure {
    match error {
        CountError::Program { status, .. } if is_asked_to_end(status.signal()) => {
            Failure::Interrupted(status.signal().unwrap_or_default())
        }
        CountError::Program { status, .. } => {
            Failure::Failed(CountError::Program { run, status }.into())
        }
        error => Failure::Failed(error.into()),
    }
}

fn kinds(machine: &Machine) -> Result<Vec<Counted<'_>>> {
    if machine.kinds.len() < 2 {
        return Err(Failure::usage(format!(
            "{}: one kind of core found, expected two or more; --by cachegrind models another \
             machine (-m)",
            machine.name
        )));
    }
    let found = pmus(&here::sysfs()).map_err(|error| {
        Failure::Failed(
            anyhow::Error::from(error).context("nothing counts here; --by cachegrind needs none"),
        )
    })?;
    machine
        .kinds
        .iter()
        .enumerate()
        .map(|(rank, kind)| of_kind(machine, rank, kind, &found))
        .collect()
}

fn of_kind<'a>(
    machine: &Machine,
    rank: usize,
    kind: &'a Kind,
    found: &[Pmu],
) -> Result<Counted<'a>> {
    let id = KindId(rank as u8);
    let is_of = |pmu: &&Pmu| kind_of(pmu, machine) == Some(id);
    let cores = machine.cores.iter().filter(|core| core.kind == id);
    let cpus: Vec<Cpu> = cores.map(|core| Cpu(core.cpu)).collect();
    // Bound to one kind, a program is counted there alone, also by a PMU of several.
    let spans = |pmu: &&Pmu| {
        pmu.cpus.as_ref().is_none_or(|counted| cpus.iter().all(|cpu| counted.contains(cpu)))
    };
    let pmu = found.iter().find(is_of).or_else(|| found.iter().find(spans)).cloned();
    let pmu = pmu.ok_or_else(|| {
        Failure::Failed(anyhow::anyhow!("no PMU counts on the cores of kind {}", kind.name))
    })?;
    let Some(&first) = cpus.first() else {
        return Err(Failure::Failed(anyhow::anyhow!("kind {} has no core", kind.name)));
    };
    let countable = Countable::of(&pmu, first, &stated_counters(kind))
        .map_err(|error| Failure::Failed(error.into()))?;
    Ok(Counted { kind, pmu, cpus, countable })
}
