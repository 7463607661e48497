//! Names of things in tables, plots and traces.

use evenkeel_machine::{CoreId, Machine};
use evenkeel_metrics::{Knob, Record};

/// A core by number and kind: `core 5 (big)`.
pub(crate) fn core(machine: &Machine, core: CoreId) -> String {
    match machine.cores.get(core.index()).and_then(|core| machine.kinds.get(core.kind.index())) {
        Some(kind) => format!("core {} ({})", core.0, kind.name),
        None => format!("core {}", core.0),
    }
}

/// What the speedup of a record is over: its unit in tables and pages.
pub(crate) const OVER_ONE_SLOW: &str = "over 1 slow";

/// The workloads that ran together.
pub(crate) fn workloads(record: &Record) -> String {
    record.workloads.join(" + ")
}

/// Records that may be compared: they have the same machine, cores and workloads.
pub(crate) struct Group {
    /// Machine.
    pub machine: String,
    /// Cores in use.
    pub cores: String,
    /// Workloads that ran together.
    pub workload: String,
    /// Indices of the records, in their order.
    pub records: Vec<usize>,
}

impl Group {
    /// For people.
    pub fn title(&self) -> String {
        plain(&format!("{} on {} ({})", self.workload, self.machine, self.cores))
    }
}

/// Records by what they may be compared with, in order of first appearance.
pub(crate) fn groups(records: &[Record]) -> Vec<Group> {
    let mut groups: Vec<Group> = vec![];
    let mut places = std::collections::BTreeMap::new();
    for (number, record) in records.iter().enumerate() {
        let place = *places
            .entry((&record.machine, &record.cores, &record.workloads))
            .or_insert_with(|| {
                groups.push(Group {
                    machine: record.machine.clone(),
                    cores: record.cores.clone(),
                    workload: workloads(record),
                    records: vec![],
                });
                groups.len() - 1
            });
        groups[place].records.push(number);
    }
    groups
}

/// The policy of each record, with those knobs that differ among the records of that policy:
/// `acfs uf=1.1`.
pub fn policies(records: &[Record]) -> Vec<String> {
    let differs = |record: &Record, knob: &str| {
        let same = records.iter().filter(|other| other.policy == record.policy);
        same.map(|other| other.knobs.get(knob)).any(|value| value != record.knobs.get(knob))
    };
    let label = |record: &Record| {
        let knobs = record.knobs.iter().filter(|(name, _)| differs(record, name));
        knobs.fold(record.policy.clone(), |label, (name, value)| match value {
            Knob::Number(number) => format!("{label} {name}={number}"),
            Knob::Word(word) => format!("{label} {name}={word}"),
        })
    };
    records.iter().map(label).collect()
}

/// Each once, in order of first appearance.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = vec![];
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// The text without characters that move a cursor or break a line.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// At most `most` letters.
pub(crate) fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
