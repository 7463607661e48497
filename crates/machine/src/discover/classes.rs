//! Classes of CPUs whose designs differ, and that are thus different kinds at any speeds.

use std::collections::{BTreeMap, BTreeSet};

use super::cpu::{CacheSize, CpuFacts};
use super::facts::{Facts, IntelKind};
use super::identity::Design;
use crate::cpus::name_cpus;
use crate::model::MAX_KINDS;

/// Properties that CPUs of one class share. A property that is not used is `None` for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    /// The list that its CPUs are on.
    pub list: Option<IntelKind>,
    pub design: Option<Design>,
    pub geometry: Option<Vec<CacheSize>>,
}

/// The class of each CPU that is online; at most [`MAX_KINDS`] in all.
pub(super) fn find(
    facts: &Facts,
    untrusted: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> BTreeMap<u32, Class> {
    let lists = on_lists(facts, untrusted);
    let has_designs = is_whole(facts, "designs", |cpu| cpu.design.is_some(), untrusted);
    let is_certain =
        has_designs && facts.cpus.iter().flat_map(|cpu| &cpu.design).all(Design::is_conclusive);
    // Licensees choose the caches of an Arm design, so a named design needs no further evidence.
    let has_geometry =
        !is_certain && is_whole(facts, "sizes of caches", |cpu| cpu.geometry.is_some(), untrusted);
    let common = facts.common_caches();
    if has_geometry
        && facts.cpus.iter().any(|cpu| cpu.geometry.as_ref() != Some(&cpu.caches_among(&common)))
    {
        untrusted.push(
            "sizes of caches: some are there for a part of the CPUs only; not used".to_owned(),
        );
    }
    let with = |designs: bool, geometry: bool| -> BTreeMap<u32, Class> {
        let class = |cpu: &CpuFacts| Class {
            list: lists.get(&cpu.cpu).copied(),
            design: cpu.design.clone().filter(|_| designs),
            geometry: geometry.then(|| cpu.caches_among(&common)),
        };
        facts.cpus.iter().map(|cpu| (cpu.cpu, class(cpu))).collect()
    };
    let count = |classes: &BTreeMap<u32, Class>| classes.values().collect::<BTreeSet<_>>().len();
    let tries = [(has_designs, has_geometry), (has_designs, false), (false, false)];
    let found = tries.into_iter().map(|(designs, geometry)| with(designs, geometry));
    let found = found.enumerate().find(|(_, classes)| count(classes) <= MAX_KINDS);
    if found.as_ref().is_some_and(|(index, _)| *index > 0) {
        notes.push(format!(
            "more than {MAX_KINDS} kinds of core by their designs and caches: these \
                            are not all used"
        ));
    }
    // The lists alone make at most four classes.
    found.map_or_else(BTreeMap::new, |(_, classes)| classes)
}

/// True if all CPUs have the property. Reports it if only some do.
fn is_whole(
    facts: &Facts,
    what: &str,
    has: fn(&CpuFacts) -> bool,
    untrusted: &mut Vec<String>,
) -> bool {
    let with: Vec<u32> = facts.cpus.iter().filter(|cpu| has(cpu)).map(|cpu| cpu.cpu).collect();
    let is_whole = with.len() == facts.cpus.len();
    if !with.is_empty() && !is_whole {
        untrusted.push(format!("{what}: there for {} only; not used", name_cpus(with)));
    }
    is_whole
}

/// The list that each CPU is on. Empty if there are no lists.
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
        // The last counts: cpu_lowpower is the narrowest.
        untrusted.push(format!(
            "{}: on more than one of the lists of CPUs; the last counts",
            name_cpus(twice)
        ));
    }
    lists.retain(|cpu, _| facts.of(*cpu).is_some());
    lists
}
