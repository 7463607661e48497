//! What sysfs says of each CPU, as it says it: nothing is concluded here.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::tree::Tree;
use crate::file::MAX_CORES;

const CPU: &str = "devices/system/cpu";

/// Greater than any value of these files, and small enough to calculate with.
const MAX_RATING: u64 = 1_000_000;
/// The highest clock that a machine file may state, kHz.
const MAX_KHZ: u64 = 1_000_000_000;

/// The tree, understood.
pub(super) struct Facts {
    /// CPUs that are online, ascending; at least one.
    pub cpus: Vec<CpuFacts>,
    /// CPUs that could be there.
    pub possible: Vec<u32>,
    /// CPUs that are there.
    pub present: Vec<u32>,
    /// CPUs that are there and offline.
    pub offline: Vec<u32>,
    /// CPUs that the kernel's scheduler leaves alone (`isolcpus`).
    pub isolated: Vec<u32>,
    /// Lists of the CPUs of one sort that Intel's counters have.
    pub lists: Vec<(IntelKind, Vec<u32>)>,
    /// What the firmware calls the machine.
    pub model: Option<String>,
    /// Whether the device tree says that the chip is Apple's.
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

    /// Where its CPUs are listed.
    pub const fn device(self) -> &'static str {
        match self {
            Self::Core => "cpu_core",
            Self::Atom => "cpu_atom",
            Self::LowPower => "cpu_lowpower",
        }
    }
}

/// What is said of one CPU. Clocks in kHz.
#[derive(Default)]
pub(super) struct CpuFacts {
    pub cpu: u32,
    pub capacity: Option<u64>,
    pub highest_perf: Option<u64>,
    pub min_khz: Option<u64>,
    pub max_khz: Option<u64>,
    /// The clock that the present limits allow.
    pub limit_khz: Option<u64>,
    /// Clocks that it can run at, ascending, if they are listed.
    pub clocks: Option<Vec<u64>>,
    /// CPUs that run at the same clock.
    pub clock_domain: Option<Vec<u32>>,
    /// Threads of the same physical core that are online, itself among them: the same list for each of them.
    pub siblings: Vec<u32>,
    pub cluster: Option<Vec<u32>>,
    pub package: Option<Vec<u32>>,
    pub caches: Vec<CacheFacts>,
}

/// A cache that holds data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CacheFacts {
    pub level: u64,
    pub bytes: u64,
    /// CPUs that share it.
    pub shared: Vec<u32>,
}

impl Facts {
    /// `None`: there is no CPU.
    pub fn read(tree: &Tree) -> Option<Self> {
        let present = tree.cpus(&format!("{CPU}/present")).unwrap_or_default();
        let numbered = || {
            let number = |name: String| name.strip_prefix("cpu")?.parse::<u32>().ok().filter(|cpu| *cpu < MAX_CORES);
            Some(tree.names(CPU).into_iter().filter_map(number).collect::<Vec<_>>()).filter(|cpus| !cpus.is_empty())
        };
        let online = tree.cpus(&format!("{CPU}/online")).or_else(|| Some(present.clone()).filter(|p| !p.is_empty()));
        let online = online.or_else(numbered)?;
        let policies = clock_domains(tree);
        let lists = IntelKind::ALL.into_iter().filter_map(|kind| {
            let cpus = tree.cpus(&format!("devices/{}/cpus", kind.device()))?;
            Some((kind, cpus))
        });
        let lists = lists.collect();
        let compatible = tree.text("firmware/devicetree/base/compatible").unwrap_or_default();
        let mut cpus: Vec<CpuFacts> = online.iter().map(|&cpu| CpuFacts::read(tree, cpu, &policies)).collect();
        drop_contradictory_siblings(&mut cpus, tree);
        Some(Self {
            cpus,
            possible: tree.cpus(&format!("{CPU}/possible")).unwrap_or_default(),
            offline: match tree.cpus(&format!("{CPU}/offline")) {
                // The kernel lists CPUs there that are not present, too.
                Some(offline) => offline.into_iter().filter(|cpu| present.binary_search(cpu).is_ok()).collect(),
                None => present.iter().copied().filter(|cpu| online.binary_search(cpu).is_err()).collect(),
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

    /// What is said of a CPU that is online.
    pub fn of(&self, cpu: u32) -> Option<&CpuFacts> {
        self.cpus.binary_search_by_key(&cpu, |facts| facts.cpu).ok().map(|index| &self.cpus[index])
    }

    /// The first thread of a CPU's physical core.
    pub fn physical(&self, cpu: u32) -> u32 {
        self.of(cpu).and_then(|facts| facts.siblings.first().copied()).unwrap_or(cpu)
    }
}

/// Siblings are those that say so of each other; a CPU of which others say otherwise has its physical core to itself.
fn drop_contradictory_siblings(cpus: &mut [CpuFacts], tree: &Tree) {
    let lists: BTreeMap<u32, &[u32]> = cpus.iter().map(|facts| (facts.cpu, facts.siblings.as_slice())).collect();
    let agree = |facts: &CpuFacts| {
        facts.siblings.iter().all(|other| lists.get(other).is_none_or(|list| *list == facts.siblings.as_slice()))
    };
    let contradicted: BTreeSet<u32> = cpus.iter().filter(|facts| !agree(facts)).map(|facts| facts.cpu).collect();
    for facts in cpus.iter_mut().filter(|facts| contradicted.contains(&facts.cpu)) {
        tree.problem(&format!("{CPU}/cpu{}/topology", facts.cpu), "siblings that others contradict: not used");
        facts.siblings = vec![facts.cpu];
    }
    // What is offline runs nothing.
    let online: BTreeSet<u32> = cpus.iter().map(|facts| facts.cpu).collect();
    for facts in cpus {
        facts.siblings.retain(|cpu| online.contains(cpu));
    }
}

/// A policy's folder, and the CPUs that share its clock; by CPU.
type Policies = BTreeMap<u32, Rc<(String, Vec<u32>)>>;

/// The folders of cpufreq, for trees in which a CPU's own is missing.
fn clock_domains(tree: &Tree) -> Policies {
    let folder = format!("{CPU}/cpufreq");
    let mut policies = Policies::new();
    for name in tree.names(&folder).into_iter().filter(|name| name.starts_with("policy")) {
        let path = format!("{folder}/{name}");
        if let Some(cpus) = related_cpus(tree, &path) {
            let policy = Rc::new((path, cpus));
            policies.extend(policy.1.iter().map(|&cpu| (cpu, Rc::clone(&policy))));
        }
    }
    policies
}

/// cpufreq's lists have blanks between numbers, unlike all others.
fn related_cpus(tree: &Tree, folder: &str) -> Option<Vec<u32>> {
    let path = format!("{folder}/related_cpus");
    let text = tree.text(&path)?;
    let cpus: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
    match cpus {
        Ok(mut cpus) => {
            cpus.sort_unstable();
            cpus.dedup();
            Some(cpus)
        }
        Err(_) => {
            tree.problem(&path, "expected CPU numbers with blanks between them: not used");
            None
        }
    }
}

impl CpuFacts {
    fn read(tree: &Tree, cpu: u32, policies: &Policies) -> Self {
        let folder = format!("{CPU}/cpu{cpu}");
        let own = format!("{folder}/cpufreq");
        let (clock, clock_domain) = match (related_cpus(tree, &own), policies.get(&cpu)) {
            (Some(cpus), _) => (own, Some(cpus)),
            (None, Some(policy)) => (policy.0.clone(), Some(policy.1.clone())),
            (None, None) => (own, None),
        };
        let listed = |names: [&str; 2]| {
            let lists = names.map(|name| tree.cpus(&format!("{folder}/topology/{name}")));
            lists.into_iter().flatten().next()
        };
        let clocks = tree.numbers(&format!("{clock}/scaling_available_frequencies"), MAX_KHZ);
        let boosted = tree.numbers(&format!("{clock}/scaling_boost_frequencies"), MAX_KHZ);
        let mut siblings = listed(["core_cpus_list", "thread_siblings_list"]).unwrap_or_default();
        if siblings.binary_search(&cpu).is_err() {
            siblings = vec![cpu];
        }
        Self {
            cpu,
            capacity: tree.number(&format!("{folder}/cpu_capacity"), MAX_RATING),
            highest_perf: tree.number(&format!("{folder}/acpi_cppc/highest_perf"), MAX_RATING),
            min_khz: tree.number(&format!("{clock}/cpuinfo_min_freq"), MAX_KHZ),
            max_khz: tree.number(&format!("{clock}/cpuinfo_max_freq"), MAX_KHZ),
            limit_khz: tree.number(&format!("{clock}/scaling_max_freq"), MAX_KHZ),
            clocks: clocks.map(|mut clocks| {
                clocks.extend(boosted.unwrap_or_default());
                clocks.sort_unstable();
                clocks.dedup();
                clocks
            }),
            clock_domain,
            siblings,
            cluster: tree.cpus(&format!("{folder}/topology/cluster_cpus_list")),
            package: listed(["package_cpus_list", "core_siblings_list"]),
            caches: caches(tree, &folder),
        }
    }
}

fn caches(tree: &Tree, folder: &str) -> Vec<CacheFacts> {
    let indices = tree.names(&format!("{folder}/cache")).into_iter().filter(|name| name.starts_with("index"));
    let read = |index: String| {
        let path = format!("{folder}/cache/{index}");
        if tree.text(&format!("{path}/type"))? == "Instruction" {
            return None;
        }
        Some(CacheFacts {
            level: tree.number(&format!("{path}/level"), 9)?,
            bytes: tree.size(&format!("{path}/size"))?,
            shared: tree.cpus(&format!("{path}/shared_cpu_list"))?,
        })
    };
    indices.filter_map(read).collect()
}

/// The device tree's name, or the firmware tables' of a PC.
fn model(tree: &Tree) -> Option<String> {
    let text = |path: &str| {
        let text = tree.text(path)?;
        let clean: String = text.chars().filter(|c| !c.is_control()).collect();
        Some(clean.trim().to_owned()).filter(|clean| !clean.is_empty())
    };
    text("firmware/devicetree/base/model").or_else(|| text("class/dmi/id/product_name"))
}
