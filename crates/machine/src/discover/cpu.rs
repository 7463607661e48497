//! Raw facts from sysfs about one CPU.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::identity::Design;
use super::tree::Tree;

/// An upper bound of the values in these files, small enough to calculate with.
const MAX_RATING: u64 = 1_000_000;
/// The highest clock that a machine file may state, kHz.
const MAX_KHZ: u64 = 1_000_000_000;
/// The highest cache level that belongs to a core's design. Higher ones belong to the chip.
const CORES_CACHES: u64 = 2;

/// The folder of all CPUs.
pub(super) const CPU: &str = "devices/system/cpu";

/// Facts about one CPU. Clocks in kHz.
#[derive(Default)]
pub(super) struct CpuFacts {
    pub cpu: u32,
    pub capacity: Option<u64>,
    pub highest_perf: Option<u64>,
    pub min_khz: Option<u64>,
    pub max_khz: Option<u64>,
    /// The clock that the present limits allow.
    pub limit_khz: Option<u64>,
    /// The clocks that it can run at, ascending, if they are listed.
    pub clocks: Option<Vec<u64>>,
    /// CPUs that run at the same clock.
    pub clock_domain: Option<Vec<u32>>,
    /// Online threads of the same physical core, including itself; each of them has the same list.
    pub siblings: Vec<u32>,
    pub cluster: Option<Vec<u32>>,
    pub package: Option<Vec<u32>>,
    pub caches: Vec<CacheFacts>,
    pub design: Option<Design>,
    /// Sizes of the caches that belong to a core's design; `None` if there are none.
    pub geometry: Option<Vec<CacheSize>>,
}

/// A cache that holds data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CacheFacts {
    pub level: u64,
    pub bytes: u64,
    /// CPUs that share it.
    pub shared: Vec<u32>,
}

/// A cache of any type, as a part of a core's design.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CacheSize {
    pub level: u64,
    /// `Data`, `Instruction` or `Unified`.
    pub holds: String,
    pub bytes: u64,
}

/// By CPU, the folder of its cpufreq policy and the CPUs that share its clock.
pub(super) type Policies = BTreeMap<u32, Rc<(String, Vec<u32>)>>;

/// The cpufreq folder of each CPU. If its own is missing, a policy's folder or a neighbour's is
/// used.
pub(super) fn clock_domains(tree: &Tree, cpus: &[u32]) -> Policies {
    let folder = format!("{CPU}/cpufreq");
    let mut policies = Policies::new();
    let by_policy = tree.names(&folder).into_iter().filter(|name| name.starts_with("policy"));
    let by_policy = by_policy.map(|name| (None, format!("{folder}/{name}")));
    let own = cpus.iter().map(|&cpu| (Some(cpu), format!("{CPU}/cpu{cpu}/cpufreq")));
    for (owner, path) in by_policy.chain(own) {
        let Some(cpus) = related_cpus(tree, &path) else { continue };
        let policy = Rc::new((path, cpus));
        for &cpu in &policy.1 {
            policies.entry(cpu).or_insert_with(|| Rc::clone(&policy));
        }
        // A CPU's own folder takes precedence over others'.
        if let Some(owner) = owner {
            policies.insert(owner, policy);
        }
    }
    policies
}

/// cpufreq separates numbers by blanks, unlike all other lists.
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

impl CacheSize {
    /// Level and content, which identify a cache of a core.
    pub fn place(&self) -> (u64, &str) {
        (self.level, &self.holds)
    }
}

impl CpuFacts {
    /// Sizes of those of its caches that are in `places`.
    pub fn caches_among(&self, places: &BTreeSet<(u64, &str)>) -> Vec<CacheSize> {
        self.geometry
            .iter()
            .flatten()
            .filter(|cache| places.contains(&cache.place()))
            .cloned()
            .collect()
    }

    /// `named`: its design according to `/proc/cpuinfo`.
    pub fn read(tree: &Tree, cpu: u32, policies: &Policies, named: Option<Design>) -> Self {
        let folder = format!("{CPU}/cpu{cpu}");
        let own = format!("{folder}/cpufreq");
        let (clock, clock_domain) = match policies.get(&cpu) {
            Some(policy) => (policy.0.clone(), Some(policy.1.clone())),
            None => (own, None),
        };
        let list = |list: &str, mask: &str| {
            tree.cpus_or_mask(
                &format!("{folder}/topology/{list}"),
                &format!("{folder}/topology/{mask}"),
            )
        };
        // Kernels before 5.2 use the second name.
        let listed = |new: &str, old: &str| {
            let named = |name: &str, plural: &str| {
                list(&format!("{name}{plural}_list"), &format!("{name}{plural}"))
            };
            named(new, "_cpus").or_else(|| named(old, "_siblings"))
        };
        let clocks = tree.numbers(&format!("{clock}/scaling_available_frequencies"), MAX_KHZ);
        let boosted = tree.numbers(&format!("{clock}/scaling_boost_frequencies"), MAX_KHZ);
        let mut siblings = listed("core", "thread").unwrap_or_default();
        if siblings.binary_search(&cpu).is_err() {
            siblings = vec![cpu];
        }
        let mut facts = Self {
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
            cluster: list("cluster_cpus_list", "cluster_cpus"),
            package: listed("package", "core"),
            design: tree
                .register(&format!("{folder}/regs/identification/midr_el1"))
                .map(Design::of_midr)
                .or(named),
            ..Self::default()
        };
        (facts.caches, facts.geometry) = caches(tree, &folder);
        facts
    }
}

/// Its caches that hold data, and the sizes of all that belong to its design.
fn caches(tree: &Tree, folder: &str) -> (Vec<CacheFacts>, Option<Vec<CacheSize>>) {
    let folder = format!("{folder}/cache");
    let (mut caches, mut sizes) = (Vec::new(), Vec::new());
    for index in tree.names(&folder).into_iter().filter(|name| name.starts_with("index")) {
        let path = format!("{folder}/{index}");
        let Some(holds) = tree.text(&format!("{path}/type")) else { continue };
        let level = tree.number(&format!("{path}/level"), 9);
        let (Some(level), Some(bytes)) = (level, tree.size(&format!("{path}/size"))) else {
            continue;
        };
        let shared = tree
            .cpus_or_mask(&format!("{path}/shared_cpu_list"), &format!("{path}/shared_cpu_map"));
        if let Some(shared) = shared.filter(|_| holds != "Instruction") {
            caches.push(CacheFacts { level, bytes, shared });
        }
        if level <= CORES_CACHES {
            sizes.push(CacheSize { level, holds, bytes });
        }
    }
    sizes.sort();
    (caches, Some(sizes).filter(|sizes| !sizes.is_empty()))
}
