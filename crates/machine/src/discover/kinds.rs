//! Kinds of core from what sysfs says of each CPU: the order of trust among sources, and their
//! pitfalls.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::{self, Class};
use super::cpu::CpuFacts;
use super::facts::{Facts, IntelKind};
use super::identity::Design;
use super::names;
use super::report::SpeedSource;
use super::{Given, KIND_TOLERANCE};
use crate::cpus::name_cpus;
use crate::model::{FULL_CAPACITY, MAX_KINDS};

/// The kinds of a machine with all its online CPUs, and how they were found.
pub(super) struct Kinds {
    /// Fastest first; at least one, at most [`MAX_KINDS`].
    pub kinds: Vec<Found>,
    /// The source of their speeds, measurements aside.
    pub source: SpeedSource,
    /// Notes on values that were found and not used.
    pub untrusted: Vec<String>,
    /// Notes for people on how the kinds were found.
    pub notes: Vec<String>,
}

/// A kind.
pub(super) struct Found {
    pub name: String,
    /// The list that its CPUs were found on.
    pub list: Option<IntelKind>,
    /// Its microarchitecture, if the CPUs name it.
    pub design: Option<Design>,
    /// Ascending.
    pub cpus: Vec<u32>,
    /// Speed, of 1024; from 1.
    pub capacity: f64,
    /// True if the capacity was measured.
    pub is_measured: bool,
}

/// CPUs that no source distinguishes, and their speed in the source's unit.
#[derive(Clone)]
struct Group {
    class: Class,
    cpus: Vec<u32>,
    speed: f64,
}

/// A value that each CPU has.
struct Candidate {
    source: SpeedSource,
    /// By index in [`Facts::cpus`].
    values: Vec<u64>,
}

impl Candidate {
    fn least(&self) -> u64 {
        self.values.iter().copied().min().unwrap_or(1)
    }

    fn greatest(&self) -> u64 {
        self.values.iter().copied().max().unwrap_or(1)
    }

    /// True if some are slower than others by more than the tolerance, even if in small steps.
    fn spreads(&self) -> bool {
        (self.least() as f64) < (1.0 - KIND_TOLERANCE) * self.greatest() as f64
    }

    /// True if it splits one class into several kinds.
    fn tells_apart(&self) -> bool {
        let speeds = self.values.iter().zip(0..).map(|(value, index)| (index, *value as f64));
        split_by_gaps(speeds.collect()).len() > 1
    }
}

/// Finds kinds by the most trusted source that distinguishes CPUs, then by measured speeds.
pub(super) fn find(facts: &Facts, given: &Given) -> Kinds {
    let mut untrusted = Vec::new();
    let mut notes = Vec::new();
    let classes = classes::find(facts, &mut untrusted, &mut notes);
    let (source, speeds) = trusted_speeds(facts, &classes, &mut untrusted);

    let mut by_class: BTreeMap<Class, Vec<(u32, f64)>> = BTreeMap::new();
    for (cpu, speed) in facts.online().into_iter().zip(&speeds) {
        by_class
            .entry(classes.get(&cpu).cloned().unwrap_or_default())
            .or_default()
            .push((cpu, *speed));
    }
    // At most as many groups as there may be kinds: a tree with more is split more coarsely.
    let mut tolerance = KIND_TOLERANCE;
    let mut groups = grouped(&by_class, tolerance);
    while groups.len() > MAX_KINDS {
        tolerance = 1.0 - (1.0 - tolerance) * (1.0 - KIND_TOLERANCE);
        groups = grouped(&by_class, tolerance);
    }
    if tolerance > KIND_TOLERANCE {
        notes.push(format!(
            "more than {MAX_KINDS} kinds of core: those within {:.0} % of each other are taken as \
             one",
            tolerance * 1e2
        ));
    }
    if groups.len() > 1 && groups.iter().all(|group| group.speed == groups[0].speed) {
        notes.push(
            "nothing tells how fast the kinds are: taken as equally fast; --calibrate measures it"
                .to_owned(),
        );
    } else if source == SpeedSource::MaxFreq && groups.len() > 1 && !is_one_design(&by_class) {
        notes.push(
            "capacities are those of the clocks: it is assumed that all kinds do as much \
                    per clock; --calibrate measures it"
                .to_owned(),
        );
    }
    note_spread(&groups, facts, &speeds, source, &mut notes);
    let is_measured = !given.measured.is_empty();
    if is_measured {
        groups = by_measured_speed(groups, given, &mut notes);
    }

    // If no source has speeds, a little design must not be the one that is called big.
    let is_little = |group: &Group| group.class.design.as_ref().is_some_and(Design::is_little);
    groups
        .sort_by(|a, b| b.speed.total_cmp(&a.speed).then_with(|| is_little(a).cmp(&is_little(b))));
    let names =
        names::of(&groups.iter().map(|group| group.class.list).collect::<Vec<_>>(), facts.is_apple);
    let fastest = groups.first().map_or(1.0, |group| group.speed);
    let kinds = groups.into_iter().zip(names).map(|(group, name)| Found {
        name,
        list: group.class.list,
        design: group.class.design,
        cpus: group.cpus,
        // The least capacity that a machine file may state.
        capacity: (group.speed / fastest * f64::from(FULL_CAPACITY)).max(1.0),
        is_measured,
    });
    Kinds { kinds: kinds.collect(), source, untrusted, notes }
}

/// The most trusted source, and its value for each CPU, in the order of [`Facts::cpus`].
fn trusted_speeds(
    facts: &Facts,
    classes: &BTreeMap<u32, Class>,
    untrusted: &mut Vec<String>,
) -> (SpeedSource, Vec<f64>) {
    let mut candidate = |source, value: fn(&CpuFacts) -> Option<u64>| {
        let (with, without): (Vec<_>, Vec<_>) =
            facts.cpus.iter().partition(|cpu| value(cpu).is_some());
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

    // Ryzen's firmware ranks equal cores this way, up to a third apart, so that the scheduler
    // prefers some. If the clocks are almost equal, it is such a ranking.
    let clocks_agree = clock.as_ref().is_some_and(|clock| !clock.spreads());
    let is_one_class = classes.values().collect::<BTreeSet<_>>().len() == 1;
    if let Some(ranking) =
        highest.take_if(|highest| highest.spreads() && clocks_agree && is_one_class)
    {
        untrusted.push(format!(
            "{} differs ({} to {}) while the highest clocks do not: taken for a ranking of \
             preferred cores, not for speed",
            ranking.source,
            ranking.least(),
            ranking.greatest()
        ));
    }

    let found: Vec<Candidate> = [capacity, highest, clock].into_iter().flatten().collect();
    let by_gap = found.iter().find(|one| one.tells_apart());
    let by_class = || found.iter().find(|one| tells_classes_apart(one, facts, classes));
    let Some(chosen) = by_gap.or_else(by_class).or(found.first()) else {
        return (SpeedSource::Assumption, vec![1.0; facts.cpus.len()]);
    };
    if chosen.tells_apart() || tells_classes_apart(chosen, facts, classes) {
        let silent = found
            .iter()
            .filter(|one| one.source != SpeedSource::MaxFreq && one.least() == one.greatest());
        for one in silent {
            let (what, value, by) = (one.source, one.least(), chosen.source);
            untrusted.push(format!("{what} is {value} on all CPUs while {by} differs; not used"));
        }
    }
    (chosen.source, chosen.values.iter().map(|value| *value as f64).collect())
}

/// True if it makes one class faster than another, by however little.
fn tells_classes_apart(
    candidate: &Candidate,
    facts: &Facts,
    classes: &BTreeMap<u32, Class>,
) -> bool {
    let mut fastest: BTreeMap<Option<&Class>, u64> = BTreeMap::new();
    for (cpu, value) in facts.cpus.iter().zip(&candidate.values) {
        let of_class = fastest.entry(classes.get(&cpu.cpu)).or_default();
        *of_class = (*of_class).max(*value);
    }
    let mut values = fastest.into_values();
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// True if all CPUs are certainly of one design, so that clocks determine their speeds.
fn is_one_design(by_class: &BTreeMap<Class, Vec<(u32, f64)>>) -> bool {
    by_class.len() == 1
        && by_class.keys().all(|class| class.design.as_ref().is_some_and(Design::is_conclusive))
}

/// Splits each class into groups, at gaps in the speeds.
fn grouped(by_class: &BTreeMap<Class, Vec<(u32, f64)>>, tolerance: f64) -> Vec<Group> {
    let mut groups = Vec::new();
    for (class, cpus) in by_class {
        groups.extend(split(class, cpus.clone(), tolerance, Apart::FromNext));
    }
    groups
}

/// The reference for a CPU's speed.
#[derive(Clone, Copy)]
enum Apart {
    /// The next faster CPU: firmware that ranks equal cores does it in small steps.
    FromNext,
    /// The fastest CPU of the group.
    FromFastest,
}

/// Splits CPUs at gaps between their speeds; the fastest group comes first.
pub(super) fn split_by_gaps(cpus: Vec<(u32, f64)>) -> Vec<Vec<u32>> {
    let groups = split(&Class::default(), cpus, KIND_TOLERANCE, Apart::FromNext);
    groups.into_iter().map(|group| group.cpus).collect()
}

fn split(class: &Class, mut cpus: Vec<(u32, f64)>, tolerance: f64, apart: Apart) -> Vec<Group> {
    // Fastest first; the sort is stable, so equals stay in the order of their numbers.
    cpus.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut groups: Vec<Group> = Vec::new();
    let mut least = f64::MAX;
    for (cpu, speed) in cpus {
        match groups.last_mut() {
            Some(group) if speed >= (1.0 - tolerance) * least => group.cpus.push(cpu),
            _ => {
                groups.push(Group { class: class.clone(), cpus: vec![cpu], speed });
                least = speed;
            }
        }
        if let Apart::FromNext = apart {
            least = speed;
        }
    }
    for group in &mut groups {
        group.cpus.sort_unstable();
    }
    groups
}

/// Notes kinds with CPUs that are slightly slower than their others.
fn note_spread(
    groups: &[Group],
    facts: &Facts,
    speeds: &[f64],
    source: SpeedSource,
    notes: &mut Vec<String>,
) {
    for group in groups {
        let of_group = facts
            .cpus
            .iter()
            .zip(speeds)
            .filter(|(cpu, _)| group.cpus.binary_search(&cpu.cpu).is_ok());
        let (slower, values): (Vec<u32>, Vec<f64>) = of_group
            .filter(|(_, speed)| **speed < group.speed)
            .map(|(cpu, speed)| (cpu.cpu, *speed))
            .unzip();
        if let Some(least) = values.into_iter().min_by(f64::total_cmp) {
            let percent = (1.0 - least / group.speed) * 1e2;
            notes.push(format!(
                "{}: up to {percent:.1} % slower by {source} than the fastest of {}; taken as one \
                 kind",
                name_cpus(slower),
                name_cpus(group.cpus.iter().copied())
            ));
        }
    }
}

/// Splits groups by measured speeds. The speed of a group becomes the median of its members'.
fn by_measured_speed(groups: Vec<Group>, given: &Given, notes: &mut Vec<String>) -> Vec<Group> {
    let measured: BTreeMap<u32, f64> =
        given.measured.iter().map(|one| (one.cpu, one.speed)).collect();
    // A group without a measured CPU keeps its ratio to the fastest group that has one.
    let anchor = groups.iter().filter_map(|group| Some((group.speed, fastest(group, &measured)?)));
    let scale =
        anchor.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |(stated, found)| found / stated);
    let mut tolerance = KIND_TOLERANCE.max(given.uncertainty);
    loop {
        let mut told = Vec::new();
        let parts: Vec<Group> = groups
            .iter()
            .flat_map(|group| measured_parts(group, &measured, scale, tolerance, &mut told))
            .collect();
        if parts.len() <= MAX_KINDS {
            notes.extend(told);
            notes.extend(
                parts
                    .iter()
                    .filter_map(|part| within_the_scatter(part, &measured, given.uncertainty)),
            );
            return parts;
        }
        tolerance = 1.0 - (1.0 - tolerance) * (1.0 - KIND_TOLERANCE);
    }
}

/// A note on CPUs that differ enough for two kinds, but by no more than the measurement scattered.
fn within_the_scatter(part: &Group, measured: &BTreeMap<u32, f64>, scatter: f64) -> Option<String> {
    let greatest = fastest(part, measured)?;
    // Even slower ones are in this kind only because the number of kinds is limited.
    let within = (1.0 - scatter) * greatest..(1.0 - KIND_TOLERANCE) * greatest;
    let slower = |cpu: &&u32| measured.get(cpu).is_some_and(|speed| within.contains(speed));
    let slower: Vec<u32> = part.cpus.iter().filter(slower).copied().collect();
    (!slower.is_empty()).then(|| {
        format!(
            "{}: more than {:.0} % slower than the fastest, and the measurement scattered by {:.0} \
             %; taken as one \
             kind, --force tells them apart",
            name_cpus(slower),
            KIND_TOLERANCE * 1e2,
            scatter * 1e2
        )
    })
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
    let mut parts = split(&group.class, speeds, tolerance, Apart::FromFastest);
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

/// Median of at least one value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}
