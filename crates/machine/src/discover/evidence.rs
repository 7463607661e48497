//! Evidence for the kinds: which of the found kinds each source supports or contradicts.

use std::collections::{BTreeMap, BTreeSet};

use super::cpu::{CacheSize, CpuFacts};
use super::facts::Facts;
use super::identity::Design;
use super::kinds::{Found, split_by_gaps};
use super::report::{EvidenceGroup, EvidenceRow, EvidenceSource, Verdict};
use crate::cpus::write_cpus;

/// The sources that have a value for each CPU, the most trusted first.
pub(super) fn find(facts: &Facts, kinds: &[Found]) -> Vec<EvidenceRow> {
    let named = |cpu: &CpuFacts| cpu.design.as_ref().map(ToString::to_string);
    let design = match facts.cpus.iter().find_map(|cpu| cpu.design.as_ref()) {
        Some(Design::Arm { .. }) => EvidenceSource::Midr,
        _ => EvidenceSource::Cpuinfo,
    };
    // A cache that a tree lacks for some CPUs makes no difference between cores.
    let common = facts.common_caches();
    let caches = |cpu: &CpuFacts| (!common.is_empty()).then(|| sizes(&cpu.caches_among(&common)));
    let rows = [
        row(design, by_text(facts, named), kinds),
        row(EvidenceSource::IntelLists, by_text(facts, |cpu| on_list(facts, cpu.cpu)), kinds),
        row(EvidenceSource::CacheSizes, by_text(facts, caches), kinds),
        row(EvidenceSource::CpuCapacity, by_speed(facts, |cpu| cpu.capacity, 1.0, ""), kinds),
        row(EvidenceSource::HighestPerf, by_speed(facts, |cpu| cpu.highest_perf, 1.0, ""), kinds),
        row(EvidenceSource::MaxFreq, by_speed(facts, |cpu| cpu.max_khz, 1e3, " MHz"), kinds),
    ];
    rows.into_iter().flatten().collect()
}

/// A value, and the CPUs that have it.
type Groups = Vec<(String, Vec<u32>)>;

fn row(source: EvidenceSource, groups: Option<Groups>, kinds: &[Found]) -> Option<EvidenceRow> {
    let groups = groups?;
    let verdict = verdict(&groups, kinds);
    let group = |(value, cpus): (String, Vec<u32>)| EvidenceGroup { value, cpus: write_cpus(cpus) };
    Some(EvidenceRow { source, groups: groups.into_iter().map(group).collect(), verdict })
}

fn verdict(groups: &Groups, kinds: &[Found]) -> Verdict {
    let kind_of = |cpu: u32| kinds.iter().position(|kind| kind.cpus.binary_search(&cpu).is_ok());
    let kinds_of =
        |cpus: &[u32]| cpus.iter().filter_map(|&cpu| kind_of(cpu)).collect::<BTreeSet<_>>();
    if groups.len() == 1 {
        return if kinds.len() == 1 { Verdict::Agrees } else { Verdict::Silent };
    }
    let mut seen = BTreeSet::new();
    let mut is_exact = true;
    for (_, cpus) in groups {
        let of_group = kinds_of(cpus);
        is_exact &= of_group.len() == 1;
        // A kind with CPUs of an earlier group is split by this source.
        if of_group.into_iter().any(|kind| !seen.insert(kind)) {
            return Verdict::Contradicts;
        }
    }
    if is_exact { Verdict::Agrees } else { Verdict::Partly }
}

/// CPUs by a text that each has, in the order of first CPUs.
fn by_text(facts: &Facts, text: impl Fn(&CpuFacts) -> Option<String>) -> Option<Groups> {
    let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for cpu in &facts.cpus {
        groups.entry(text(cpu)?).or_default().push(cpu.cpu);
    }
    let mut groups: Groups = groups.into_iter().collect();
    groups.sort_by_key(|(_, cpus)| cpus.first().copied());
    Some(groups)
}

/// CPUs by a figure of each, grouped within the tolerance; the greatest first.
fn by_speed(
    facts: &Facts,
    value: fn(&CpuFacts) -> Option<u64>,
    unit: f64,
    name: &str,
) -> Option<Groups> {
    let values: BTreeMap<u32, u64> =
        facts.cpus.iter().map(|cpu| Some((cpu.cpu, value(cpu)?))).collect::<Option<_>>()?;
    let speeds = values.iter().map(|(&cpu, &value)| (cpu, value as f64)).collect();
    let group = |cpus: Vec<u32>| {
        let of_group =
            || cpus.iter().filter_map(|cpu| values.get(cpu)).map(|value| *value as f64 / unit);
        let (least, greatest) =
            (of_group().fold(f64::MAX, f64::min), of_group().fold(0.0, f64::max));
        let text = if least < greatest {
            format!("{least} to {greatest}{name}")
        } else {
            format!("{greatest}{name}")
        };
        (text, cpus)
    };
    Some(split_by_gaps(speeds).into_iter().map(group).collect())
}

fn on_list(facts: &Facts, cpu: u32) -> Option<String> {
    // Being on none of the lists is a property, too.
    if facts.lists.is_empty() {
        return None;
    }
    let list = facts.lists.iter().rev().find(|(_, cpus)| cpus.binary_search(&cpu).is_ok());
    Some(list.map_or("none", |(kind, _)| kind.device()).to_owned())
}

/// `L1d 32 KiB, L1i 32 KiB, L2 512 KiB`.
fn sizes(caches: &[CacheSize]) -> String {
    let one = |cache: &CacheSize| {
        let holds = match cache.holds.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        format!("L{}{holds} {} KiB", cache.level, cache.bytes as f64 / 1024.0)
    };
    caches.iter().map(one).collect::<Vec<_>>().join(", ")
}
