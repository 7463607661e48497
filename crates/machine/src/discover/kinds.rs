//! From what sysfs says of each CPU to kinds of core: the order of trust, and the traps in it.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{CpuFacts, Facts, IntelKind};
use super::names;
use super::report::SpeedSource;
use super::{Given, KIND_TOLERANCE};
use crate::cpus::name_cpus;
use crate::model::{FULL_CAPACITY, MAX_KINDS};

/// The kinds of a machine, all its CPUs that are online, and how they were told apart.
pub(super) struct Kinds {
    /// Fastest first; at least one, at most [`MAX_KINDS`].
    pub kinds: Vec<Found>,
    /// What told their speeds, a measurement aside.
    pub source: SpeedSource,
    /// What was found and not believed.
    pub untrusted: Vec<String>,
    /// What a reader should know of how they were told apart.
    pub notes: Vec<String>,
}

/// A kind.
pub(super) struct Found {
    pub name: String,
    /// The list that its CPUs were found on.
    pub list: Option<IntelKind>,
    /// Ascending.
    pub cpus: Vec<u32>,
    /// Speed, of 1024; from 1.
    pub capacity: f64,
    /// Whether the capacity was measured.
    pub is_measured: bool,
}

/// CPUs that nothing tells apart, and their speed in the unit of what told it.
#[derive(Clone)]
struct Group {
    list: Option<IntelKind>,
    cpus: Vec<u32>,
    speed: f64,
}

/// A value that each CPU has.
struct Candidate {
    source: SpeedSource,
    /// By place in [`Facts::cpus`].
    values: Vec<u64>,
}

impl Candidate {
    fn least(&self) -> u64 {
        self.values.iter().copied().min().unwrap_or(1)
    }

    fn greatest(&self) -> u64 {
        self.values.iter().copied().max().unwrap_or(1)
    }

    /// Whether it makes more than one kind.
    fn tells_apart(&self) -> bool {
        (self.least() as f64) < (1.0 - KIND_TOLERANCE) * self.greatest() as f64
    }
}

/// Kinds by the most trusted source that tells CPUs apart, then by speeds that were measured.
pub(super) fn find(facts: &Facts, given: &Given) -> Kinds {
    let mut untrusted = Vec::new();
    let lists = on_lists(facts, &mut untrusted);
    let (source, speeds) = trusted_speeds(facts, !lists.is_empty(), &mut untrusted);
    let mut notes = Vec::new();

    let mut by_list: BTreeMap<Option<IntelKind>, Vec<(u32, f64)>> = BTreeMap::new();
    for (cpu, speed) in facts.online().into_iter().zip(&speeds) {
        by_list.entry(lists.get(&cpu).copied()).or_default().push((cpu, *speed));
    }
    // As many groups as there may be kinds: a tree that has more is told apart less finely.
    let mut tolerance = KIND_TOLERANCE;
    let mut groups = grouped(&by_list, tolerance);
    while groups.len() > MAX_KINDS {
        tolerance = 1.0 - (1.0 - tolerance) * (1.0 - KIND_TOLERANCE);
        groups = grouped(&by_list, tolerance);
    }
    if tolerance > KIND_TOLERANCE {
        notes.push(format!(
            "more than {MAX_KINDS} kinds of core: those within {:.0} % of each other are taken as one",
            tolerance * 1e2
        ));
    }
    if let SpeedSource::Assumption = source
        && groups.len() > 1
    {
        notes.push("nothing tells how fast the kinds are: taken as equally fast; --calibrate measures it".to_owned());
    }
    if source == SpeedSource::MaxFreq && groups.len() > 1 {
        notes.push("capacities are those of the clocks: it is assumed that all kinds do as much per clock; --calibrate measures it".to_owned());
    }
    note_spread(&groups, facts, &speeds, source, &mut notes);
    let is_measured = !given.measured.is_empty();
    if is_measured {
        groups = by_measured_speed(groups, given, &mut notes);
    }

    groups.sort_by(|a, b| b.speed.total_cmp(&a.speed));
    let names = names::of(&groups.iter().map(|group| group.list).collect::<Vec<_>>(), facts.is_apple);
    let fastest = groups.first().map_or(1.0, |group| group.speed);
    let kinds = groups.into_iter().zip(names).map(|(group, name)| Found {
        name,
        list: group.list,
        cpus: group.cpus,
        // The least that a machine file may state: slower than that is no core to schedule on.
        capacity: (group.speed / fastest * f64::from(FULL_CAPACITY)).max(1.0),
        is_measured,
    });
    Kinds { kinds: kinds.collect(), source, untrusted, notes }
}

/// On which list each CPU is. Empty where there are no lists.
fn on_lists(facts: &Facts, untrusted: &mut Vec<String>) -> BTreeMap<u32, IntelKind> {
    let mut lists = BTreeMap::new();
    let mut twice = BTreeSet::new();
    for (kind, cpus) in &facts.lists {
        for &cpu in cpus {
            if lists.insert(cpu, *kind).is_some() {
                twice.insert(cpu);
            }
        }
    }
    if !twice.is_empty() {
        // The last counts: cpu_lowpower is the narrowest of them.
        untrusted.push(format!("{}: on more than one of the lists of CPUs; the last counts", name_cpus(twice)));
    }
    lists.retain(|cpu, _| facts.of(*cpu).is_some());
    lists
}

/// The most trusted source, and its value for each CPU, in the order of [`Facts::cpus`].
fn trusted_speeds(facts: &Facts, has_lists: bool, untrusted: &mut Vec<String>) -> (SpeedSource, Vec<f64>) {
    let mut candidate = |source, value: fn(&CpuFacts) -> Option<u64>| {
        let (with, without): (Vec<_>, Vec<_>) = facts.cpus.iter().partition(|cpu| value(cpu).is_some());
        if !with.is_empty() && !without.is_empty() {
            let cpus = name_cpus(with.iter().map(|cpu| cpu.cpu));
            untrusted.push(format!("{source}: there for {cpus} only; not used"));
            return None;
        }
        let values: Vec<u64> = facts.cpus.iter().filter_map(value).collect();
        (!values.is_empty()).then_some(Candidate { source, values })
    };
    let capacity = candidate(SpeedSource::CpuCapacity, |cpu| cpu.capacity);
    let mut highest = candidate(SpeedSource::HighestPerf, |cpu| cpu.highest_perf);
    let clock = candidate(SpeedSource::MaxFreq, |cpu| cpu.max_khz);

    // Ryzen's firmware ranks equal cores this way, for the scheduler to prefer some: up to a third apart. Where the clocks are
    // all but equal, it is that.
    let clocks_agree = clock.as_ref().is_some_and(|clock| !clock.tells_apart());
    if let Some(ranking) = highest.take_if(|highest| highest.tells_apart() && clocks_agree && !has_lists) {
        untrusted.push(format!(
            "{} differs ({} to {}) while the highest clocks do not: taken for a ranking of preferred cores, not for speed",
            ranking.source,
            ranking.least(),
            ranking.greatest()
        ));
    }

    let found: Vec<Candidate> = [capacity, highest, clock].into_iter().flatten().collect();
    let Some(chosen) = found.iter().find(|one| one.tells_apart()).or(found.first()) else {
        return (SpeedSource::Assumption, vec![1.0; facts.cpus.len()]);
    };
    if chosen.tells_apart() {
        let silent = found.iter().filter(|one| one.source != SpeedSource::MaxFreq && one.least() == one.greatest());
        for one in silent {
            let (what, value, by) = (one.source, one.least(), chosen.source);
            untrusted.push(format!("{what} is {value} on all CPUs while {by} differs; not used"));
        }
    }
    (chosen.source, chosen.values.iter().map(|value| *value as f64).collect())
}

/// Groups of one list each, whose members are within the tolerance of their fastest.
fn grouped(by_list: &BTreeMap<Option<IntelKind>, Vec<(u32, f64)>>, tolerance: f64) -> Vec<Group> {
    let mut groups = Vec::new();
    for (list, cpus) in by_list {
        groups.extend(split(*list, cpus.clone(), tolerance));
    }
    groups
}

fn split(list: Option<IntelKind>, mut cpus: Vec<(u32, f64)>, tolerance: f64) -> Vec<Group> {
    // Fastest first; the sort is stable, so equals stay in the order of their numbers.
    cpus.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut groups: Vec<Group> = Vec::new();
    for (cpu, speed) in cpus {
        match groups.last_mut() {
            Some(group) if speed >= (1.0 - tolerance) * group.speed => group.cpus.push(cpu),
            _ => groups.push(Group { list, cpus: vec![cpu], speed }),
        }
    }
    for group in &mut groups {
        group.cpus.sort_unstable();
    }
    groups
}

/// Says which kinds have CPUs that are slightly slower than others of the same.
fn note_spread(groups: &[Group], facts: &Facts, speeds: &[f64], source: SpeedSource, notes: &mut Vec<String>) {
    for group in groups {
        let of_group = facts.cpus.iter().zip(speeds).filter(|(cpu, _)| group.cpus.binary_search(&cpu.cpu).is_ok());
        let (slower, values): (Vec<u32>, Vec<f64>) =
            of_group.filter(|(_, speed)| **speed < group.speed).map(|(cpu, speed)| (cpu.cpu, *speed)).unzip();
        if let Some(least) = values.into_iter().min_by(f64::total_cmp) {
            let percent = (1.0 - least / group.speed) * 1e2;
            notes.push(format!(
                "{}: up to {percent:.1} % slower by {source} than the fastest of {}; taken as one kind",
                name_cpus(slower),
                name_cpus(group.cpus.iter().copied())
            ));
        }
    }
}

/// Splits groups by measured speeds, which become theirs: that of a group is the median of its members'.
fn by_measured_speed(groups: Vec<Group>, given: &Given, notes: &mut Vec<String>) -> Vec<Group> {
    let measured: BTreeMap<u32, f64> = given.measured.iter().map(|one| (one.cpu, one.speed)).collect();
    // A group without a measured CPU keeps its ratio to the fastest group that has one.
    let anchor = groups.iter().filter_map(|group| Some((group.speed, fastest(group, &measured)?)));
    let scale = anchor.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |(stated, found)| found / stated);
    let mut tolerance = KIND_TOLERANCE.max(given.uncertainty);
    loop {
        let mut told = Vec::new();
        let parts: Vec<Group> =
            groups.iter().flat_map(|group| measured_parts(group, &measured, scale, tolerance, &mut told)).collect();
        if parts.len() <= MAX_KINDS {
            notes.extend(told);
            return parts;
        }
        tolerance = 1.0 - (1.0 - tolerance) * (1.0 - KIND_TOLERANCE);
    }
}

fn fastest(group: &Group, measured: &BTreeMap<u32, f64>) -> Option<f64> {
    group.cpus.iter().filter_map(|cpu| measured.get(cpu).copied()).max_by(f64::total_cmp)
}

fn measured_parts(
    group: &Group,
    measured: &BTreeMap<u32, f64>,
    scale: f64,
    tolerance: f64,
    notes: &mut Vec<String>,
) -> Vec<Group> {
    let otherwise = fastest(group, measured).unwrap_or(group.speed * scale);
    let speed_of = |cpu: u32| measured.get(&cpu).copied().unwrap_or(otherwise);
    let speeds = group.cpus.iter().map(|&cpu| (cpu, speed_of(cpu))).collect();
    let mut parts = split(group.list, speeds, tolerance);
    for part in &mut parts {
        part.speed = median(part.cpus.iter().map(|&cpu| speed_of(cpu)).collect());
    }
    if let [fast, slow @ ..] = parts.as_slice() {
        for slow in slow {
            notes.push(format!(
                "{}: {:.2} of the speed of {}, told by the measurement alone; a kind of its own",
                name_cpus(slow.cpus.iter().copied()),
                slow.speed / fast.speed,
                name_cpus(fast.cpus.iter().copied())
            ));
        }
    }
    parts
}

/// Of at least one value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}
