//! `evenkeel policies`, `evenkeel show policy`.

use evenkeel_policy::os::combination::Choices;
use evenkeel_policy::registry::{self, Entry};
use evenkeel_policy::{Knob, Value, graph, loops};
use serde_json::json;

use crate::error::{Failure, Result};
use crate::output::{print, print_json};
use crate::{args::ListArgs, table};

/// Lists them.
///
/// # Errors
/// Stdout cannot be written to.
pub fn list(args: &ListArgs) -> Result {
    if args.json {
        let threads = registry::ENTRIES.iter().map(Shown::of);
        let all = threads
            .chain(graph::ENTRIES.iter().map(Shown::of_graphs))
            .chain(loops::ENTRIES.iter().map(Shown::of_loops));
        return print_json(&all.map(|shown| describe(&shown)).collect::<Vec<_>>());
    }
    let mut rows = table::plain(["POLICY", "WHAT IT DOES", "KNOBS", "FROM"]);
    for entry in registry::ENTRIES {
        let knobs: Vec<_> =
            entry.knobs.iter().map(|knob| format!("{}={}", knob.name(), knob.default())).collect();
        rows.add_row([entry.name, entry.summary, &knobs.join(" "), entry.source]);
    }
    let more = "\nBeside these any ASSIGNMENT-WAKE-BALANCE of aua|fca|aaa|age, pw|fw|iw|sw and \
                aub|rrb|aab|age, as age-iw-rrb.\n";
    let mut tasks = table::plain(["FOR TASK GRAPHS", "WHAT IT DOES", "FROM"]);
    for entry in graph::ENTRIES {
        tasks.add_row([entry.name, entry.summary, entry.source]);
    }
    let all = "`evenkeel show policy NAME` and --json have all";
    let tasks = table::fitted(tasks, &[2], all);
    let both = "\nThese choose tasks for workers that stay on their cores; with another policy for \
                the threads as gts+cats.\n";
    let mut schedules = table::plain(["FOR LOOPS", "WHAT IT DOES", "FROM"]);
    for entry in loops::ENTRIES {
        schedules.add_row([entry.name, entry.summary, entry.source]);
    }
    let schedules = table::fitted(schedules, &[2], all);
    let named = "\nThese are part of the workload: -w swaptions:loop-aid-static, or \"schedule\" \
                 in a workload file.\n";
    let [more, both, named] = [more, both, named].map(|text| table::wrapped(text, 0));
    print(
        &(table::fitted(rows, &[3, 2], all)
            + &more
            + "\n"
            + &tasks
            + &both
            + "\n"
            + &schedules
            + &named),
    )
}

/// Describes one.
///
/// # Errors
/// There is no such policy.
pub fn show(name: &str, as_json: bool) -> Result {
    // All names are in lower case: a test of the registry checks this.
    let name = &name.to_ascii_lowercase();
    if graph::find(name).is_none() && loops::ENTRIES.iter().all(|entry| entry.name != name) {
        // The error also offers the nearest name.
        registry::knobs(name, &[]).map_err(Failure::input)?;
    }
    let Some(entry) = Shown::named(name) else {
        return Err(Failure::usage(format!("no policy '{name}'")));
    };
    if as_json {
        return print_json(&describe(&entry));
    }
    let mut text =
        table::facts(&[("policy", &entry.name), ("does", &entry.summary), ("from", &entry.source)]);
    if entry.knobs.is_empty() {
        text.push_str("It has no knobs.\n");
        return print(&text);
    }
    let mut rows = table::plain(["KNOB", "DEFAULT", "VALUES", "WHAT IT DOES"]);
    for knob in entry.knobs {
        let values = match knob {
            Knob::Number { bounds: (least, greatest), unit, .. } => {
                format!("{least} to {greatest} {unit}")
            }
            Knob::Word { words, .. } => words.join(", "),
        };
        rows.add_row([
            knob.name().to_owned(),
            knob.default().to_string(),
            values,
            knob.about().to_owned(),
        ]);
    }
    text.push('\n');
    text.push_str(&table::text(rows));
    print(&text)
}

/// Names of all policies that have an entry of their own: for threads, tasks and loops.
pub fn names() -> impl Iterator<Item = &'static str> {
    let threads = registry::ENTRIES.iter().map(|entry| entry.name);
    threads.chain(graph::names()).chain(loops::NAMES.iter().copied())
}

/// True if it is a combination, which has no entry of its own.
pub fn is_combination(name: &str) -> bool {
    Choices::from_name(&name.to_ascii_lowercase()).is_some()
}

/// The description of a policy.
struct Shown<'a> {
    name: &'a str,
    summary: &'a str,
    source: &'a str,
    knobs: &'static [Knob],
    /// The subject of its decisions: `threads`, `tasks` or `iterations`.
    chooses: &'static str,
}

impl<'a> Shown<'a> {
    fn of(entry: &'static Entry) -> Self {
        let Entry { name, summary, source, knobs, .. } = *entry;
        Self { name, summary, source, knobs, chooses: "threads" }
    }

    fn of_graphs(entry: &'static graph::Entry) -> Self {
        let graph::Entry { name, summary, source, .. } = *entry;
        Self { name, summary, source, knobs: &[], chooses: "tasks" }
    }

    fn of_loops(entry: &'static loops::Entry) -> Self {
        let loops::Entry { name, summary, source } = *entry;
        Self { name, summary, source, knobs: &[], chooses: "iterations" }
    }

    /// A policy of the list, or a combination, which has its knobs but no entry of its own.
    fn named(name: &'a str) -> Option<Self> {
        let listed = registry::ENTRIES.iter().find(|entry| entry.name == name).map(Self::of);
        let listed = listed.or_else(|| graph::find(name).map(Self::of_graphs));
        let listed = listed
            .or_else(|| loops::ENTRIES.iter().find(|entry| entry.name == name).map(Self::of_loops));
        listed.or_else(|| {
            Some(Self {
                name,
                summary: "a combination of assignment, wake-up and balance",
                source: "the choices of Lakshminarayana, Lee, Kim, SC 2009, combined freely",
                knobs: Choices::from_name(name)?.knobs(),
                chooses: "threads",
            })
        })
    }
}

fn describe(entry: &Shown<'_>) -> serde_json::Value {
    let knob = |knob: &Knob| {
        let default = match knob.default() {
            Value::Number(number) => json!(number),
            Value::Word(word) => json!(word),
        };
        match knob {
            Knob::Number { name, bounds: (least, greatest), unit, about, .. } => json!({
                "name": name, "default": default, "least": least, "greatest": greatest, "unit": unit, "about": about,
            }),
            Knob::Word { name, words, about } => json!({
                "name": name, "default": default, "words": words, "about": about,
            }),
        }
    };
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "source": entry.source,
        "chooses": entry.chooses,
        "knobs": entry.knobs.iter().map(knob).collect::<Vec<_>>(),
    })
}
