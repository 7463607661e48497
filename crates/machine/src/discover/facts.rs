//! Raw facts from sysfs about all CPUs, without conclusions.

use std::collections::{BTreeMap, BTreeSet};

use super::cpu::{CPU, CacheSize, CpuFacts, clock_domains};
use super::identity;
use super::tree::Tree;
use crate::model::MAX_CORES;

/// The content of a tree.
pub(super) struct Facts {
    /// CPUs that are online, ascending; at least one.
    pub cpus: Vec<CpuFacts>,
    /// CPUs that could be plugged in.
    pub possible: Vec<u32>,
    /// CPUs that are present.
    pub present: Vec<u32>,
    /// CPUs that are present and offline.
    pub offline: Vec<u32>,
    /// CPUs that the kernel's scheduler leaves alone (`isolcpus`).
    pub isolated: Vec<u32>,
    /// CPUs of each sort, as listed by Intel's performance counters.
    pub lists: Vec<(IntelKind, Vec<u32>)>,
    /// The firmware's name of the machine.
    pub model: Option<String>,
    /// True if the device tree says that the chip is Apple's.
    pub is_apple: bool,
}

/// The sorts of core that Linux names on Intel chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IntelKind {
    Core,
    Atom,
    LowPower,
}

impl IntelKind {
    const ALL: [Self; 3] = [Self::Core, Self::Atom, Self::LowPower];

    /// The device that lists its CPUs.
    pub const fn device(self) -> &'static str {
        match self {
            Self::Core => "cpu_core",
            Self::Atom => "cpu_atom",
            Self::LowPower => "cpu_lowpower",
        }
    }
}

impl Facts {
    /// Reads a tree; `None` if it has no CPU.
    pub fn read(tree: &Tree) -> Option<Self> {
        let number = |name: String| {
            name.strip_prefix("cpu")?.parse::<u32>().ok().filter(|cpu| *cpu < MAX_CORES)
        };
        let numbered = || tree.names(CPU).into_iter().filter_map(number).collect::<Vec<_>>();
        let present = tree.cpus(&format!("{CPU}/present")).unwrap_or_else(numbered);
        // Without a list, each CPU has a file; the first CPU, which cannot be switched off, has
        // none.
        let is_on =
            |cpu: &u32| tree.text(&format!("{CPU}/cpu{cpu}/online")).is_none_or(|text| text != "0");
        let one_by_one = || Some(present.iter().copied().filter(is_on).collect::<Vec<_>>());
        let online = tree
            .cpus(&format!("{CPU}/online"))
            .or_else(one_by_one)
            .filter(|cpus| !cpus.is_empty())?;
        let policies = clock_domains(tree, &online);
        let mut named =
            tree.cpuinfo().map_or_else(BTreeMap::new, |text| identity::of_cpuinfo(&text));
        let lists = IntelKind::ALL.into_iter().filter_map(|kind| {
            let cpus = tree.cpus(&format!("devices/{}/cpus", kind.device()))?;
            Some((kind, cpus))
        });
        let lists = lists.collect();
        let compatible = tree.text("firmware/devicetree/base/compatible").unwrap_or_default();
        let mut cpus: Vec<CpuFacts> = online
            .iter()
            .map(|&cpu| CpuFacts::read(tree, cpu, &policies, named.remove(&cpu)))
            .collect();
        drop_contradictory_siblings(&mut cpus, tree);
        Some(Self {
            cpus,
            possible: tree.cpus(&format!("{CPU}/possible")).unwrap_or_default(),
            offline: match tree.cpus(&format!("{CPU}/offline")) {
                // The kernel also lists CPUs that are not present.
                Some(offline) => {
                    offline.into_iter().filter(|cpu| present.binary_search(cpu).is_ok()).collect()
                }
                None => present
                    .iter()
                    .copied()
                    .filter(|cpu| online.binary_search(cpu).is_err())
                    .collect(),
            },
            present,
            isolated: tree.cpus(&format!("{CPU}/isolated")).unwrap_or_default(),
            lists,
            model: model(tree),
            is_apple: compatible.split('\0').any(|entry| entry.starts_with("apple,")),
        })
    }

    /// CPUs that are online, ascending.
    pub fn online(&self) -> Vec<u32> {
        self.cpus.iter().map(|facts| facts.cpu).collect()
    }

    /// Facts about an online CPU.
    pub fn of(&self, cpu: u32) -> Option<&CpuFacts> {
        self.cpus.binary_search_by_key(&cpu, |facts| facts.cpu).ok().map(|index| &self.cpus[index])
    }

    /// The caches, by level and content, whose size is known for each CPU: a tree may lack some.
    pub fn common_caches(&self) -> BTreeSet<(u64, &str)> {
        let mut sets = self.cpus.iter().map(|cpu| {
            cpu.geometry.iter().flatten().map(CacheSize::place).collect::<BTreeSet<_>>()
        });
        let first = sets.next().unwrap_or_default();
        sets.fold(first, |common, set| common.intersection(&set).copied().collect())
    }

    /// The first thread of a CPU's physical core.
    pub fn physical(&self, cpu: u32) -> u32 {
        self.of(cpu).and_then(|facts| facts.siblings.first().copied()).unwrap_or(cpu)
    }
}

/// Siblings must list each other; a CPU that others contradict has its physical core to itself.
fn drop_contradictory_siblings(cpus: &mut [CpuFacts], tree: &Tree) {
    let lists: BTreeMap<u32, &[u32]> =
        cpus.iter().map(|facts| (facts.cpu, facts.siblings.as_slice())).collect();
    let agree = |facts: &CpuFacts| {
        facts
            .siblings
            .iter()
            .all(|other| lists.get(other).is_none_or(|list| *list == facts.siblings.as_slice()))
    };
    let contradicted: BTreeSet<u32> =
        cpus.iter().filter(|facts| !agree(facts)).map(|facts| facts.cpu).collect();
    for facts in cpus.iter_mut().filter(|facts| contradicted.contains(&facts.cpu)) {
        tree.problem(
            &format!("{CPU}/cpu{}/topology", facts.cpu),
            "siblings that others contradict: not used",
        );
        facts.siblings = vec![facts.cpu];
    }
    // Offline CPUs run nothing.
    let online: BTreeSet<u32> = cpus.iter().map(|facts| facts.cpu).collect();
    for facts in cpus {
        facts.siblings.retain(|cpu| online.contains(cpu));
    }
}

/// The device tree's name of the machine, or that in a PC's firmware tables.
fn model(tree: &Tree) -> Option<String> {
    let text = |path: &str| {
        let text = tree.text(path)?;
        let clean: String = text.chars().filter(|c| !c.is_control()).collect();
        Some(clean.trim().to_owned()).filter(|clean| !clean.is_empty())
    };
    text("firmware/devicetree/base/model").or_else(|| text("class/dmi/id/product_name"))
}
