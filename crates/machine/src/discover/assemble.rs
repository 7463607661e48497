//! From kinds and clusters to a machine and its report.

use std::collections::{BTreeMap, BTreeSet};

use super::clusters::{self, Joined};
use super::cpu::CpuFacts;
use super::evidence;
use super::facts::{Facts, IntelKind};
use super::kinds::{Found, Kinds};
use super::report::{CacheRow, ClockSource, CpuSets, KindReport, NameSource, Report, SpeedSource};
use super::sensors::Sensor;
use super::tree::Tree;
use super::{Detected, Given};
use crate::cpus::{name_cpus, write_cpus};
use crate::model::{
    Cluster, ClusterId, Core, CoreId, Costs, DEFAULT_SMT_SPEED, FULL_CAPACITY, Kind, KindId,
    Machine, OperatingPoint, Reference,
};

/// Clock in kHz if no source has one. Only ratios of clocks matter to a policy, and a kind without
/// clocks has one operating point; but times of simulated programs scale with it, so the report
/// says that it is assumed.
const ASSUMED_KHZ: u64 = 1_000_000;

/// Greatest length in characters of a machine name made from the firmware's.
const MAX_NAME: usize = 40;

/// Clocks of a kind, ascending, at least one, and their source.
struct Clocks {
    khz: Vec<u64>,
    source: ClockSource,
}

/// Assembles machine and report. `used`: CPUs that are online and allowed, ascending, at least one.
pub(super) fn assemble(
    facts: &Facts,
    mut found: Kinds,
    sensors: Vec<Sensor>,
    used: &[u32],
    given: &Given,
    tree: Tree,
) -> Detected {
    let clocks: Vec<Clocks> =
        found.kinds.iter().map(|kind| clocks(facts, kind, given.clock_khz)).collect();
    let all: Vec<Kind> = found
        .kinds
        .iter()
        .zip(&clocks)
        .map(|(kind, clocks)| model_kind(kind, clocks, found.source))
        .collect();
    let reference = reference(&all);

    let is_used = |cpu: &u32| used.binary_search(cpu).is_ok();
    let mut in_use = Vec::new();
    let mut rank = vec![None; all.len()];
    for (index, kind) in found.kinds.iter().enumerate() {
        if kind.cpus.iter().any(is_used) {
            rank[index] = Some(KindId(in_use.len() as u8));
            in_use.push(index);
        }
    }
    let mut notes = std::mem::take(&mut found.notes);
    let built = Built::of(facts, &found, &rank, is_used);
    notes.extend(built.notes(facts));

    let kinds: Vec<Kind> = in_use.iter().map(|&index| all[index].clone()).collect();
    let reports: Vec<KindReport> = in_use
        .iter()
        .map(|&index| {
            let cpus = found.kinds[index].cpus.iter().copied().filter(is_used).collect::<Vec<_>>();
            kind_report(facts, &found, index, &all[index], &clocks[index], &cpus)
        })
        .collect();
    let machine = machine(facts, &found, kinds, built, reference, used);
    notes.extend(limits(facts, used));
    let report = Report {
        model: facts.model.clone(),
        cpus: cpu_sets(facts, used),
        missing: missing(facts, &reports, &sensors, used, given),
        kinds: reports,
        evidence: evidence::find(facts, &found.kinds),
        sensors,
        notes,
        untrusted: found.untrusted,
        problems: tree.into_problems(),
    };
    Detected { machine, report }
}

/// The reference of the whole machine: a container's cores are as fast as they are, whichever
/// others it may use.
fn reference(all: &[Kind]) -> Reference {
    Reference::of(all).unwrap_or(Reference {
        slowest_khz: ASSUMED_KHZ,
        slowest_capacity: f64::from(FULL_CAPACITY),
        fastest_capacity: f64::from(FULL_CAPACITY),
    })
}

/// The machine of the kinds in use, and of the clusters and cores as built.
fn machine(
    facts: &Facts,
    found: &Kinds,
    kinds: Vec<Kind>,
    built: Built,
    reference: Reference,
    used: &[u32],
) -> Machine {
    let mut machine = Machine {
        name: name(facts.model.as_deref()),
        description: String::new(),
        source: format!("evenkeel detect; capacity: {}", capacity_source(found)),
        kinds,
        clusters: built.clusters,
        cores: built.cores,
        costs: Costs { private_cache_bytes: private_cache(facts, found, used), ..Costs::default() },
        bandwidth: None,
        smt_speed: DEFAULT_SMT_SPEED,
        sensor_interval: None,
        reference,
    };
    machine.description = format!(
        "{}, as detected: {}",
        facts.model.as_deref().unwrap_or("This machine"),
        machine.cores_label()
    );
    machine
}

fn capacity_source(found: &Kinds) -> SpeedSource {
    if found.kinds.iter().any(|kind| kind.is_measured) {
        SpeedSource::Measured
    } else {
        found.source
    }
}

/// The clocks of the kind's fastest CPU.
fn clocks(facts: &Facts, kind: &Found, present_khz: Option<u64>) -> Clocks {
    let top = |cpu: &&CpuFacts| {
        cpu.max_khz.max(cpu.clocks.as_ref().and_then(|clocks| clocks.last().copied()))
    };
    let of_kind =
        kind.cpus.iter().filter_map(|&cpu| facts.of(cpu)).filter(|cpu| top(cpu).is_some());
    // Reversed, because `max_by_key` returns the last of equals and the first is wanted.
    let fastest = of_kind.rev().max_by_key(top);
    match fastest {
        Some(CpuFacts { clocks: Some(listed), max_khz, .. }) => {
            let boost = max_khz.filter(|max| Some(max) > listed.last());
            Clocks {
                khz: listed.iter().copied().chain(boost).collect(),
                source: ClockSource::AvailableFrequencies,
            }
        }
        Some(CpuFacts { min_khz, max_khz: Some(max), .. }) => {
            let least = min_khz.filter(|min| min < max);
            Clocks { khz: least.into_iter().chain([*max]).collect(), source: ClockSource::Limits }
        }
        _ => match present_khz {
            Some(khz) => Clocks { khz: vec![khz], source: ClockSource::PresentClock },
            None => Clocks { khz: vec![ASSUMED_KHZ], source: ClockSource::Assumption },
        },
    }
}

fn model_kind(kind: &Found, clocks: &Clocks, source: SpeedSource) -> Kind {
    let top = clocks.khz.last().map_or(1.0, |khz| *khz as f64);
    let point = |&khz: &u64| OperatingPoint {
        khz,
        capacity: kind.capacity * (khz as f64 / top),
        busy_power: None,
        cluster_power: None,
    };
    let capacity = if kind.is_measured { SpeedSource::Measured } else { source };
    Kind {
        name: kind.name.clone(),
        capacity: kind.capacity.round() as u32,
        // A machine file cannot state a capacity below 1.
        opps: clocks.khz.iter().map(point).filter(|point| point.capacity >= 1.0).collect(),
        idle_power: None,
        source: format!("capacity: {capacity}; clocks: {}; power: not known", clocks.source),
        core: None,
    }
}

/// Clusters and cores as they get their numbers.
#[derive(Default)]
struct Built {
    clusters: Vec<Cluster>,
    cores: Vec<Core>,
    /// CPUs of physical cores that have more than two threads.
    many_threads: BTreeSet<u32>,
}

impl Built {
    /// The parts of all clusters that are in use. `rank`: by kind as found, its number in the
    /// machine.
    fn of(
        facts: &Facts,
        found: &Kinds,
        rank: &[Option<KindId>],
        is_used: impl Fn(&u32) -> bool,
    ) -> Self {
        let mut built = Self::default();
        for cluster in &clusters::find(facts, &found.kinds) {
            if let Some(kind) = rank[cluster.kind] {
                let cpus = cluster.cpus.iter().copied().filter(&is_used).collect();
                built.add(facts, cluster, kind, cpus);
            }
        }
        built
    }

    /// Adds the part of a cluster that is in use. Siblings are neighbours and come first, as in
    /// machine files.
    fn add(&mut self, facts: &Facts, joined: &Joined, kind: KindId, cpus: Vec<u32>) {
        let mut physical: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &cpu in &cpus {
            physical.entry(facts.physical(cpu)).or_default().push(cpu);
        }
        self.many_threads.extend(physical.values().filter(|cpus| cpus.len() > 2).flatten());
        let (pairs, single): (Vec<&[u32]>, Vec<&[u32]>) =
            physical.values().flat_map(|cpus| cpus.chunks(2)).partition(|cpus| cpus.len() == 2);
        let cluster = ClusterId(self.clusters.len() as u32);
        let first = self.cores.len();
        let in_order = |mut cores: Vec<&[u32]>| {
            cores.sort_unstable();
            cores.concat()
        };
        let paired = 2 * pairs.len();
        for (index, cpu) in in_order(pairs).into_iter().chain(in_order(single)).enumerate() {
            let number = |index: usize| CoreId((first + index) as u32);
            let sibling = (index < paired).then(|| number(index ^ 1));
            self.cores.push(Core { id: number(index), cpu, kind, cluster, sibling });
        }
        let cores: Vec<CoreId> = self.cores[first..].iter().map(|core| core.id).collect();
        if !cores.is_empty() {
            let cache_bytes = joined.cache.as_ref().map_or(0, |cache| cache.bytes);
            self.clusters.push(Cluster { kind, cores, cache_bytes, bandwidth: None });
        }
    }

    fn notes(&self, facts: &Facts) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.many_threads.is_empty() {
            let cpus = name_cpus(self.many_threads.iter().copied());
            notes.push(format!(
                "{cpus}: threads of cores with more than two; modelled as cores with two"
            ));
        }
        // Threads of one physical core may end up in two kinds, and thus in two clusters.
        let kind_of: BTreeMap<u32, KindId> =
            self.cores.iter().map(|core| (core.cpu, core.kind)).collect();
        let parted = self.cores.iter().filter(|core| {
            let siblings = facts.of(core.cpu).map_or(&[][..], |facts| &facts.siblings);
            siblings
                .iter()
                .any(|sibling| kind_of.get(sibling).is_some_and(|kind| *kind != core.kind))
        });
        let parted: BTreeSet<u32> = parted.map(|core| core.cpu).collect();
        if !parted.is_empty() {
            let parted = name_cpus(parted);
            notes.push(format!(
                "{parted}: threads of one physical core in two kinds; modelled as \
                                cores of their own"
            ));
        }
        notes
    }
}

fn kind_report(
    facts: &Facts,
    found: &Kinds,
    index: usize,
    model: &Kind,
    clocks: &Clocks,
    cpus: &[u32],
) -> KindReport {
    let kind = &found.kinds[index];
    let physical: BTreeSet<u32> = cpus.iter().map(|&cpu| facts.physical(cpu)).collect();
    let mut caches: Vec<CacheRow> = Vec::new();
    for cache in cpus.first().and_then(|&cpu| facts.of(cpu)).map_or(&[][..], |facts| &facts.caches)
    {
        let cores =
            cache.shared.iter().map(|&cpu| facts.physical(cpu)).collect::<BTreeSet<_>>().len();
        let cpus = write_cpus(cache.shared.iter().copied());
        caches.push(CacheRow { level: cache.level, kib: cache.bytes >> 10, cpus, cores });
    }
    caches.sort_by_key(|cache| cache.level);
    let known = clocks.source != ClockSource::Assumption;
    let megahertz = |khz: Option<&u64>| khz.filter(|_| known).map(|khz| *khz as f64 / 1e3);
    KindReport {
        name: kind.name.clone(),
        name_source: match kind.list {
            None => NameSource::Rank,
            Some(IntelKind::Core) => NameSource::CpuCore,
            Some(IntelKind::Atom) => NameSource::CpuAtom,
            Some(IntelKind::LowPower) => NameSource::CpuLowpower,
        },
        design: kind.design.as_ref().map(ToString::to_string),
        cores: cpus.len(),
        physical_cores: physical.len(),
        cpus: write_cpus(cpus.iter().copied()),
        capacity: model.capacity,
        capacity_source: if kind.is_measured { SpeedSource::Measured } else { found.source },
        min_mhz: megahertz(clocks.khz.first()),
        max_mhz: megahertz(clocks.khz.last()),
        operating_points: model.opps.len(),
        clock_source: clocks.source,
        caches,
    }
}

fn cpu_sets(facts: &Facts, used: &[u32]) -> CpuSets {
    let list = |cpus: &[u32]| write_cpus(cpus.iter().copied());
    let online = facts.online();
    CpuSets {
        used: list(used),
        not_allowed: write_cpus(
            online.iter().copied().filter(|cpu| used.binary_search(cpu).is_err()),
        ),
        possible: list(&facts.possible),
        present: list(&facts.present),
        online: list(&online),
        offline: list(&facts.offline),
        isolated: list(&facts.isolated),
    }
}

/// The largest cache that one physical core of the fastest kind in use has to itself; the default
/// if none is known.
fn private_cache(facts: &Facts, found: &Kinds, used: &[u32]) -> u64 {
    let fastest =
        found.kinds.iter().flat_map(|kind| &kind.cpus).find(|cpu| used.binary_search(cpu).is_ok());
    let Some(cpu) = fastest.and_then(|&cpu| facts.of(cpu)) else {
        return Costs::default().private_cache_bytes;
    };
    let own = cpu
        .caches
        .iter()
        .filter(|cache| cache.shared.iter().all(|other| cpu.siblings.binary_search(other).is_ok()));
    own.map(|cache| cache.bytes).max().unwrap_or(Costs::default().private_cache_bytes)
}

/// Notes on clocks that are limited below the hardware's maximum.
fn limits(facts: &Facts, used: &[u32]) -> Vec<String> {
    let mut limited: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for cpu in used.iter().filter_map(|&cpu| facts.of(cpu)) {
        if let (Some(limit), Some(max)) = (cpu.limit_khz, cpu.max_khz)
            && limit < max
        {
            limited.entry(limit).or_default().push(cpu.cpu);
        }
    }
    let line = |(limit, cpus): (u64, Vec<u32>)| {
        format!("{}: limited to {} MHz at present", name_cpus(cpus), limit as f64 / 1e3)
    };
    limited.into_iter().map(line).collect()
}

/// What could not be found out, and what is assumed in its place.
fn missing(
    facts: &Facts,
    kinds: &[KindReport],
    sensors: &[Sensor],
    used: &[u32],
    given: &Given,
) -> Vec<String> {
    let mut missing = missing_cpus(facts, used, given);
    missing.extend(missing_speeds(facts, kinds));
    missing.extend(missing_of_kinds(kinds));
    missing.push("power model: sysfs has none; energy is not told from a model".to_owned());
    if sensors.is_empty() {
        missing.push("power sensors: none found".to_owned());
    }
    missing.push(
        "costs of switching and moving, memory bandwidth, speed of busy siblings: not looked for; \
         defaults"
            .to_owned(),
    );
    missing
}

/// CPUs that are not in the machine.
fn missing_cpus(facts: &Facts, used: &[u32], given: &Given) -> Vec<String> {
    let mut missing = Vec::new();
    let online: BTreeSet<u32> = facts.online().into_iter().collect();
    let named = |cpus: Vec<u32>| (!cpus.is_empty()).then(|| name_cpus(cpus));
    if let Some(cpus) = named(facts.offline.clone()) {
        missing.push(format!(
            "{cpus}: offline; their kind is not known, and they are not in the machine"
        ));
    }
    if let Some(cpus) =
        named(online.iter().copied().filter(|cpu| used.binary_search(cpu).is_err()).collect())
    {
        missing.push(format!("{cpus}: not allowed to this process, and not in the machine"));
    }
    // A mask may have bits for CPUs that could be plugged in; any others are a mistake in the list.
    let known = |cpu: &u32| {
        online.contains(cpu)
            || [&facts.possible, &facts.present].iter().any(|set| set.contains(cpu))
    };
    if let Some(cpus) =
        named(given.allowed.iter().flatten().copied().filter(|cpu| !known(cpu)).collect())
    {
        missing.push(format!("{cpus}: allowed, and not there"));
    }
    missing
}

/// Speeds that no source tells, or that it could not tell apart.
fn missing_speeds(facts: &Facts, kinds: &[KindReport]) -> Option<String> {
    if kinds.iter().any(|kind| kind.capacity_source == SpeedSource::Assumption) {
        Some(
            "speeds of the cores: nothing tells them; taken as equal; --calibrate measures them"
                .to_owned(),
        )
    } else if let [kind] = kinds
        && facts.lists.is_empty()
        && kind.capacity_source != SpeedSource::Measured
    {
        let source = kind.capacity_source;
        Some(format!(
            "differences between cores: {source} tells none, nor would it where the kernel knows \
             none; --calibrate looks for them"
        ))
    } else {
        None
    }
}

/// Clocks, operating points and caches, with the kinds that lack them.
fn missing_of_kinds(kinds: &[KindReport]) -> Vec<String> {
    let mut missing = Vec::new();
    let names = |holds: &dyn Fn(&KindReport) -> bool| {
        let names: Vec<&str> =
            kinds.iter().filter(|kind| holds(kind)).map(|kind| kind.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    if let Some(names) = names(&|kind| kind.clock_source == ClockSource::Assumption) {
        missing.push(format!(
            "clocks of {names}: nothing tells them; taken as {} MHz",
            ASSUMED_KHZ / 1_000
        ));
    }
    if let Some(names) =
        names(&|kind| kind.operating_points < 2 && kind.clock_source != ClockSource::Assumption)
    {
        missing.push(format!("operating points of {names}: only one clock is known"));
    }
    if let Some(names) =
        names(&|kind| kind.clock_source == ClockSource::Limits && kind.operating_points >= 2)
    {
        missing.push(format!("operating points of {names}: only the ends of the range are known"));
    }
    if let Some(names) = names(&|kind| kind.caches.is_empty()) {
        missing.push(format!(
            "caches of {names}: not known; moving a thread within a cluster is taken to lose 32 KiB"
        ));
    }
    missing
}

/// A name for files and records: the firmware's in small letters, digits and hyphens.
fn name(model: Option<&str>) -> String {
    let mut name = String::new();
    for c in model.unwrap_or_default().chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() == MAX_NAME {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "here".to_owned() } else { name.to_owned() }
}
