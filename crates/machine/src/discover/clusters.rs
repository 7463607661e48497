//! Clusters from what sysfs says of each CPU: cores of one kind that share a clock or a cache.
//!
//! `cluster_cpus_list` alone does not suffice. On x86 it is the cores that share a second-level
//! cache: one P core with its two threads, four E cores. Older Arm kernels do not have it. So a
//! cluster is made by the first of these that joins more than one physical core: the listed
//! cluster, a level-2 cache, a clock, a further cache, the package.

use std::collections::BTreeMap;

use super::cpu::CacheFacts;
use super::facts::Facts;
use super::kinds::Found;

/// The lowest level of a cache that makes a cluster.
const LOWEST_SHARED_LEVEL: u64 = 2;

/// A cluster of a machine, with all its online CPUs.
pub(super) struct Joined {
    /// Rank of its kind.
    pub kind: usize,
    /// Ascending.
    pub cpus: Vec<u32>,
    /// The first cache from the second level on that all its CPUs share, together with CPUs of
    /// other kinds that they are joined with.
    pub cache: Option<CacheFacts>,
}

/// Clusters of one kind each, in the order of their first CPUs.
pub(super) fn find(facts: &Facts, kinds: &[Found]) -> Vec<Joined> {
    // CPUs with the same list are one cluster, so lists that contradict each other still put each
    // CPU in exactly one.
    let mut joined: BTreeMap<(usize, Vec<u32>), Vec<u32>> = BTreeMap::new();
    for (rank, kind) in kinds.iter().enumerate() {
        for &cpu in &kind.cpus {
            joined.entry((rank, joined_with(facts, cpu))).or_default().push(cpu);
        }
    }
    let with_cache = |((kind, list), cpus): ((usize, Vec<u32>), Vec<u32>)| {
        // The shared cache is that of the whole list, which may include other kinds, and not one of
        // some of its cores.
        let cache = shared_cache(facts, if list.is_empty() { &cpus } else { &list });
        Joined { kind, cpus, cache }
    };
    let mut clusters: Vec<Joined> = joined.into_iter().map(with_cache).collect();
    clusters.sort_by_key(|cluster| cluster.cpus.first().copied());
    clusters
}

/// The CPUs that a CPU makes a cluster with, of any kind. Empty if there is no information; CPUs
/// without it are joined with each other.
fn joined_with(facts: &Facts, cpu: u32) -> Vec<u32> {
    let Some(of_cpu) = facts.of(cpu) else { return Vec::new() };
    let cache = |level: u64| {
        of_cpu.caches.iter().filter(move |cache| cache.level == level).map(|cache| &cache.shared)
    };
    let second = cache(LOWEST_SHARED_LEVEL);
    let further = (LOWEST_SHARED_LEVEL + 1..=9).flat_map(cache);
    let candidates = of_cpu
        .cluster
        .iter()
        .chain(second)
        .chain(&of_cpu.clock_domain)
        .chain(further)
        .chain(&of_cpu.package);
    let joins = |list: &&Vec<u32>| {
        let mut physical =
            list.iter().filter(|cpu| facts.of(**cpu).is_some()).map(|cpu| facts.physical(*cpu));
        let first = physical.next();
        physical.any(|core| Some(core) != first)
    };
    let mut candidates = candidates.filter(|list| list.binary_search(&cpu).is_ok());
    candidates.find(joins).cloned().unwrap_or_default()
}

/// The cache of the lowest level, from the second on, that all these CPUs share.
fn shared_cache(facts: &Facts, cpus: &[u32]) -> Option<CacheFacts> {
    let online = cpus.iter().copied().filter(|cpu| facts.of(*cpu).is_some());
    let caches = &facts.of(online.clone().next()?)?.caches;
    let has_all =
        |cache: &&CacheFacts| online.clone().all(|cpu| cache.shared.binary_search(&cpu).is_ok());
    let shared = caches.iter().filter(|cache| cache.level >= LOWEST_SHARED_LEVEL).filter(has_all);
    shared.min_by_key(|cache| cache.level).cloned()
}
