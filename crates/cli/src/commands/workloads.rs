//! `evenkeel workloads`, `evenkeel show workload`.

use evenkeel_files::native;
use evenkeel_files::programs::{self, Context, KnobInfo, WorkloadInfo};
use evenkeel_machine::{KindId, Machine};
use evenkeel_model::{Application, Phase, Repeat, ThreadSpec};
use serde_json::json;

use crate::args::{ListArgs, ScaleArgs};
use crate::commands::machines;
use crate::error::{Failure, Result, say};
use crate::output::{print, print_json};
use crate::{stdin, table};

/// Lists those that are built in.
///
/// # Errors
/// Stdout cannot be written to.
pub fn list(args: &ListArgs) -> Result {
    let all = programs::list();
    if args.json {
        return print_json(&all.iter().map(describe).collect::<Vec<_>>());
    }
    let mut rows = table::plain(["WORKLOAD", "WHAT IT IS", "SHAPES", "KNOBS", "FROM"]);
    for info in all {
        let knobs: Vec<_> =
            info.knobs.iter().map(|knob| format!("{}={}", knob.name, knob.default)).collect();
        rows.add_row([
            info.name,
            &info.summary,
            &info.shapes.join(" "),
            &knobs.join(" "),
            info.source,
        ]);
    }
    let how = "\nAsk for a shape and knobs after a colon: -w NAME:SHAPE,KNOB=VALUE. A file may \
               stand for a name.\n";
    print(&(table::fitted(rows, &[4, 2, 3], "--json has all") + &table::wrapped(how, 0)))
}

fn describe(info: &WorkloadInfo) -> serde_json::Value {
    let knob = |knob: &KnobInfo| json!({ "name": knob.name, "default": knob.default, "about": knob.meaning });
    json!({
        "name": info.name,
        "summary": info.summary,
        "source": info.source,
        "shapes": info.shapes,
        "knobs": info.knobs.iter().map(knob).collect::<Vec<_>>(),
    })
}

/// The applications of this name or in this file, or on stdin (`-`), as made for this machine.
///
/// # Errors
/// There is none, or it is not one.
pub fn load(name: &str, scale: &ScaleArgs, machine: &Machine) -> Result<Vec<Application>> {
    let (size, seed, iterations) = (scale.size, scale.seed.into(), scale.iterations);
    let context = Context { machine, threads: scale.workers, size, seed, iterations };
    if name == stdin::NAME {
        let bytes = stdin::read("workload", programs::MOST_FILE_BYTES)?;
        return programs::parse(bytes, stdin::CALLED, &context).map_err(Failure::input);
    }
    programs::load(name, &context).map_err(Failure::input)
}

/// Describes one.
///
/// # Errors
/// There is none, or it is not one.
pub fn show(name: &str, machine: &str, scale: &ScaleArgs, as_json: bool) -> Result {
    let machine = machines::load(machine)?;
    let apps = load(name, scale, &machine)?;
    apps.iter().flat_map(|app| &app.notes).for_each(|note| say("note", note));
    if as_json {
        let apps: Vec<_> = apps.iter().map(|app| application(app, &machine)).collect();
        return print_json(&json!({ "name": name, "machine": machine.name, "applications": apps }));
    }
    let mut text = table::facts(&[("workload", &name), ("made for", &machine.name)]);
    for app in &apps {
        text.push('\n');
        text.push_str(&application_text(app, &machine));
    }
    print(&text)
}

/// Prints one as a workload file.
///
/// # Errors
/// There is none, or it is not one.
pub fn export(name: &str, machine: &str, scale: &ScaleArgs) -> Result {
    let apps = load(name, scale, &machines::load(machine)?)?;
    print(&native::write(&apps).map_err(|error| Failure::Failed(error.into()))?)
}

/// The objects that threads meet at, by name and number, if there are any.
fn objects(app: &Application) -> Vec<(&'static str, u64)> {
    let tasks = app.graphs.iter().map(|graph| graph.tasks.len() as u64).sum();
    let all = [
        ("barriers", app.barriers.len() as u64),
        ("locks", app.locks.into()),
        ("conditions", app.conditions.into()),
        ("semaphores", app.semaphores.len() as u64),
        ("queues", app.channels.len() as u64),
        ("timers", app.timers.into()),
        ("devices", app.devices.into()),
        ("parallel loops", app.loops.len() as u64),
        ("task graphs", app.graphs.len() as u64),
        ("tasks", tasks),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// A phase on a machine: name, instructions per cycle on its slowest kind, speedup factor of each
/// kind over the slowest, and bytes that it moves per instruction.
fn phase(phase: &Phase, machine: &Machine) -> (String, f64, Vec<(String, f64)>, f64) {
    let on = |kind: KindId| phase.top_speed(machine, kind);
    let slowest = on(machine.slowest());
    let factors = machine
        .kinds
        .iter()
        .enumerate()
        .map(|(rank, kind)| (kind.name.clone(), on(KindId(rank as u8)) / slowest));
    (phase.name.clone(), phase.ipc, factors.collect(), phase.bytes_per_instruction)
}

fn thread(thread: &ThreadSpec) -> serde_json::Value {
    json!({ "name": thread.name, "group": thread.group, "nice": thread.nice })
}

fn application(app: &Application, machine: &Machine) -> serde_json::Value {
    let work = app.work_by_phase();
    let phases = app.phases.iter().enumerate().map(|(index, it)| {
        let (name, ipc, factors, bytes_per_instruction) = phase(it, machine);
        let factors: serde_json::Map<_, _> =
            factors.into_iter().map(|(kind, factor)| (kind, json!(factor))).collect();
        json!({
            "name": name,
            "work": work.as_ref().map(|work| work[index].0),
            "ipc": ipc,
            "speedup": factors,
            "bytes_per_instruction": bytes_per_instruction,
            "working_set_bytes": it.working_set,
        })
    });
    let objects: serde_json::Map<_, _> = objects(app)
        .into_iter()
        .map(|(what, count)| (what.replace(' ', "_"), json!(count)))
        .collect();
    let repeats = match app.repeat {
        Repeat::Once => 1,
        Repeat::UntilLongestEnded(times) => times,
    };
    json!({
        "name": app.name,
        "threads": app.threads.iter().map(thread).collect::<Vec<_>>(),
        "templates": app.templates.iter().map(thread).collect::<Vec<_>>(),
        "phases": phases.collect::<Vec<_>>(),
        "objects": objects,
        "repeats": repeats,
        "duration_s": app.duration.map(evenkeel_machine::Nanos::as_secs_f64),
    })
}

/// How many threads there are, and of which groups.
fn counted(threads: &[ThreadSpec]) -> String {
    let mut groups: Vec<(&str, u32, usize)> = Vec::new();
    for thread in threads {
        match groups.iter_mut().find(|(_, group, _)| *group == thread.group) {
            Some((_, _, count)) => *count += 1,
            None => groups.push((&thread.name, thread.group, 1)),
        }
    }
    let group = |(name, _, count): &(&str, u32, usize)| {
        if *count == 1 { (*name).into() } else { format!("{count} like {name}") }
    };
    format!("{}: {}", threads.len(), groups.iter().map(group).collect::<Vec<_>>().join(", "))
}

fn application_text(app: &Application, machine: &Machine) -> String {
    let objects = objects(app)
        .into_iter()
        .map(|(what, count)| format!("{count} {what}"))
        .collect::<Vec<_>>()
        .join(", ");
    let ends = match (app.repeat, app.duration) {
        (Repeat::UntilLongestEnded(times), _) => {
            format!("starts again until the longest has ended {times} times")
        }
        (Repeat::Once, Some(duration)) => format!("with the run, after {duration}"),
        (Repeat::Once, None) => "when its threads have ended".into(),
    };
    let threads = counted(&app.threads);
    let mut text =
        table::facts(&[("application", &app.name), ("threads", &threads), ("ends", &ends)]);
    if !app.templates.is_empty() {
        text.push_str(&table::facts(&[("they fork", &counted(&app.templates))]));
    }
    if !objects.is_empty() {
        text.push_str(&table::facts(&[("they share", &objects)]));
    }
    let mut header = vec!["phase".to_owned(), "work".into(), "ipc".into(), "bytes/instr".into()];
    header.extend(machine.kinds.iter().map(|kind| format!("x on {}", kind.name)));
    let mut rows = table::figures(header, 1);
    let work = app.work_by_phase();
    for (index, it) in app.phases.iter().enumerate() {
        let (name, ipc, factors, bytes) = phase(it, machine);
        let work = work.as_ref().map_or("-".into(), |work| format!("{:.3e}", work[index].0 as f64));
        let mut row = vec![name, work, format!("{ipc:.2}"), format!("{bytes:.2}")];
        row.extend(factors.into_iter().map(|(_, factor)| format!("{factor:.2}")));
        rows.add_row(row);
    }
    text + &table::text(rows)
}
