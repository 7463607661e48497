//! The page with plots that `--html` asks for: records, timelines, and what all the names stand
//! for.

use evenkeel_machine::{CoreId, Nanos, Work};
use evenkeel_metrics::Record;
use evenkeel_policy::{AppId, ThreadId, graph, registry};
use evenkeel_report::html::{Described, Meta, page};
use evenkeel_report::{Timeline, policy_labels};
use evenkeel_sim::{Listener, Log};

use crate::error::Result;
use crate::output::OutputFile;
use crate::plan::Plan;

/// Listens for what ran where, which is all that a timeline shows: a whole log of a long run is
/// several times as large.
#[derive(Default)]
pub struct Runs(Log);

impl Listener for Runs {
    fn started(&mut self, at: Nanos, thread: ThreadId, app: AppId, name: &str) {
        self.0.started(at, thread, app, name);
    }
    fn ran(&mut self, thread: ThreadId, core: CoreId, from: Nanos, to: Nanos, retired: Work) {
        self.0.ran(thread, core, from, to, retired);
    }
}

impl Runs {
    /// The timeline of the run whose record will have this index; `None` if the run failed.
    pub fn timeline(&self, index: usize, plan: &Plan, record: &Record) -> Option<Timeline> {
        timeline(index, plan, record, &self.0)
    }
}

/// The timeline of the run whose record has this index; `None` if the run failed.
pub fn timeline(index: usize, plan: &Plan, record: &Record, log: &Log) -> Option<Timeline> {
    let apps: Vec<String> = record.apps.iter().map(|app| app.name.clone()).collect();
    record.error.is_none().then(|| Timeline::new(index, &plan.used, &apps, log))
}

/// Writes the page. `baseline` is an index into the policies of the plan; the first workload's
/// records come first.
///
/// # Errors
/// The file cannot be written.
pub fn write(
    plan: &Plan,
    records: &[Record],
    timelines: &[Timeline],
    baseline: usize,
    file: OutputFile,
) -> Result {
    let meta = Meta {
        baseline: policy_labels(records).into_iter().nth(baseline),
        machines: vec![described(&plan.used.name, &plan.used.description, &plan.used.source)],
        workloads: workloads(plan),
        policies: policies(plan),
        made_by: concat!("evenkeel ", env!("CARGO_PKG_VERSION")).into(),
        command: command(),
        ..Meta::default()
    };
    file.finish_with(page(records, timelines, &meta).as_bytes())
}

fn described(name: &str, text: &str, source: &str) -> Described {
    Described { name: name.into(), text: text.into(), source: source.into() }
}

/// The plan's workloads that are built in.
fn workloads(plan: &Plan) -> Vec<Described> {
    let named = plan.sets.iter().flat_map(|set| &set.workloads);
    let known = named.filter_map(|spec| {
        let name = spec.split(':').next()?;
        let info = evenkeel_files::programs::list().iter().find(|info| info.name == name)?;
        Some(described(spec, &info.summary, info.source))
    });
    known.collect()
}

fn policies(plan: &Plan) -> Vec<Described> {
    let mut known: Vec<Described> = Vec::new();
    for policy in &plan.policies {
        let system = registry::ENTRIES.iter().find(|entry| entry.name == policy.system());
        let system = system.map(|entry| described(entry.name, entry.summary, entry.source));
        let tasks = policy.graph().and_then(graph::find);
        let tasks = tasks.map(|entry| described(entry.name, entry.summary, entry.source));
        for entry in system.into_iter().chain(tasks) {
            if known.iter().all(|other| other.name != entry.name) {
                known.push(entry);
            }
        }
    }
    known
}

/// The command line, quoted for a shell, without the number of jobs, which changes nothing in a
/// page.
pub fn command() -> String {
    quoted(std::env::args())
}

fn quoted(args: impl Iterator<Item = String>) -> String {
    let mut args = args.peekable();
    let mut kept = Vec::new();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--jobs" | "-j" => drop(args.next()),
            _ if arg.starts_with("--jobs=") || arg.starts_with("-j") => {}
            _ => kept.push(arg),
        }
    }
    let args = kept.into_iter();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+%@".contains(c);
    let quoted = args.enumerate().map(|(place, arg)| match place {
        0 => "evenkeel".into(),
        _ if !arg.is_empty() && arg.chars().all(plain) => arg,
        _ => format!("'{}'", arg.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let args = [
            "/usr/bin/ek",
            "compare",
            "--jobs",
            "2",
            "-j2",
            "-j",
            "2",
            "--jobs=2",
            "-w",
            "my file.json",
            "-p",
            "gts:up=600",
            "it's",
        ];
        let line = quoted(args.into_iter().map(str::to_owned));
        assert_eq!(line, r"evenkeel compare -w 'my file.json' -p gts:up=600 'it'\''s'");
    }
}
