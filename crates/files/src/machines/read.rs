//! From the text of a machine file to a machine.

use toml::de::DeTable;

use super::MAX_FILE_BYTES;
use super::error::MachineError;
use super::kind::{KINDS_EXPECTED, RawKind, read_kinds};
use super::rule::{
    CORES, KIBIBYTES, MEGABYTES_PER_SECOND, MEGAHERTZ, MICROSECONDS, MILLISECONDS, PART_CAPACITY,
    SMT, SMT_CORES, SPEED, bytes_per_second, kilohertz, rounded,
};
use super::section::{Document, Section};
use evenkeel_machine::Nanos;
use evenkeel_machine::parse_cpus;
use evenkeel_machine::{Cluster, ClusterId, Core, CoreId, Costs, Kind, KindId, Machine, Reference};
use evenkeel_machine::{DEFAULT_SMT_SPEED, MAX_CORES};

const MACHINE_KEYS: &[&str] = &[
    "name",
    "description",
    "source",
    "memory_bandwidth_mb_s",
    "smt_speed",
    "sensor_interval_ms",
    "kinds",
    "clusters",
    "costs",
    "reference",
];
const CLUSTER_KEYS: &[&str] =
    &["kind", "cores", "smt", "smt_cores", "cpus", "cache_kib", "bandwidth_mb_s"];
const COST_KEYS: &[&str] = &[
    "context_switch_us",
    "migration_within_us",
    "migration_across_us",
    "refill_bandwidth_mb_s",
    "refill_is_free",
    "private_cache_kib",
];
const REFERENCE_KEYS: &[&str] = &["slowest_mhz", "slowest_capacity", "fastest_capacity"];

/// Reads a machine file. `file_name` is for errors only.
///
/// # Errors
/// Each names the place, the key, what was found and what was expected. Any bytes are met with a
/// machine or an error; time and memory are bounded by the length of the text and [`MAX_CORES`].
pub fn parse(text: &str, file_name: &str) -> Result<Machine, MachineError> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(MachineError::TooLarge { file: file_name.to_owned(), limit: MAX_FILE_BYTES });
    }
    let document = Document { file: file_name, text };
    let root = DeTable::parse(text).map_err(|error| MachineError::Syntax {
        place: document.place(error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    let file = Section::new(&document, root.get_ref(), 0, String::new(), MACHINE_KEYS)?;
    read_machine(&document, &file)
}

fn read_machine(document: &Document<'_>, file: &Section<'_>) -> Result<Machine, MachineError> {
    let name = file.name("name", "the machine's name, in quotes")?.value.to_owned();
    let description = file.prose("description")?;
    let source = file.prose("source")?;
    let bandwidth =
        file.number("memory_bandwidth_mb_s", MEGABYTES_PER_SECOND)?.map(bytes_per_second);
    let smt_speed = file.number("smt_speed", SPEED)?.map_or(DEFAULT_SMT_SPEED, |speed| speed.value);
    let sensor_interval = file
        .number("sensor_interval_ms", MILLISECONDS)?
        .map(|ms| Nanos(rounded(ms.value * 1e6).max(1)));
    let stated =
        file.table("reference", "reference: ", REFERENCE_KEYS)?.map(|table| read_reference(&table));
    let stated = stated.transpose()?;

    let mut kinds = read_kinds(document, file, stated.is_some())?;
    // Ranked: the fastest first. The sort is stable, so equals keep the order of the file.
    kinds.sort_by(|a, b| b.kind.top().capacity.total_cmp(&a.kind.top().capacity));

    let (clusters, cores) = read_clusters(document, file, &kinds)?;
    for (rank, raw) in kinds.iter().enumerate() {
        if !clusters.iter().any(|cluster| cluster.kind.index() == rank) {
            let (found, expected) = ("a kind without cores", "at least one cluster of it");
            return Err(document.error(&raw.subject, "name", &raw.name_span, found, expected));
        }
    }
    let costs = match file.table("costs", "costs: ", COST_KEYS)? {
        Some(table) => read_costs(&table)?,
        None => Costs::default(),
    };
    let kinds: Vec<Kind> = kinds.into_iter().map(|raw| raw.kind).collect();
    let reference = stated
        .or_else(|| Reference::of(&kinds))
        .ok_or_else(|| file.missing("kinds", KINDS_EXPECTED))?;
    Ok(Machine {
        name,
        description,
        source,
        kinds,
        clusters,
        cores,
        costs,
        bandwidth,
        smt_speed,
        sensor_interval,
        reference,
    })
}

const CPUS_EXPECTED: &str = "a list of CPUs in quotes, as \"0-3,8\"";
const CLUSTERS_EXPECTED: &str = "at least one [[clusters]] table";

fn read_reference(section: &Section<'_>) -> Result<Reference, MachineError> {
    let slowest_khz = kilohertz(&section.required_number("slowest_mhz", MEGAHERTZ)?);
    let fastest = section.required_number("fastest_capacity", PART_CAPACITY)?;
    let slowest = section.required_number("slowest_capacity", PART_CAPACITY)?;
    if slowest.value < 1.0 || slowest.value > fastest.value {
        let expected = format!("from 1 to fastest_capacity, {}", fastest.value);
        return Err(section.error(
            "slowest_capacity",
            &slowest.span,
            format!("{}", slowest.value),
            expected,
        ));
    }
    Ok(Reference { slowest_khz, slowest_capacity: slowest.value, fastest_capacity: fastest.value })
}

fn read_clusters(
    document: &Document<'_>,
    file: &Section<'_>,
    kinds: &[RawKind],
) -> Result<(Vec<Cluster>, Vec<Core>), MachineError> {
    let tables = file.tables("clusters", CLUSTERS_EXPECTED)?.unwrap_or_default();
    if tables.is_empty() {
        return Err(file.missing("clusters", CLUSTERS_EXPECTED));
    }
    let mut clusters = Vec::with_capacity(tables.len());
    let mut cores: Vec<Core> = Vec::new();
    let mut taken = vec![false; MAX_CORES as usize];
    for (index, table) in tables.iter().enumerate() {
        let subject = format!("cluster {}: ", index + 1);
        let section = Section::new(document, table.value, table.span.start, subject, CLUSTER_KEYS)?;
        let names =
            || kinds.iter().map(|raw| raw.kind.name.as_str()).collect::<Vec<_>>().join(", ");
        let wanted = section.name("kind", "the name of a kind")?;
        let Some(rank) = kinds.iter().position(|raw| raw.kind.name == wanted.value) else {
            let found = format!("unknown kind {}", document.shown(&wanted.span));
            return Err(section.error("kind", &wanted.span, found, format!("one of {}", names())));
        };
        let physical = section.required_number("cores", CORES)?;
        let smt = section.number("smt", SMT)?;
        let doubled = match (&smt, section.number("smt_cores", SMT_CORES)?) {
            (Some(smt), None) if smt.value > 1.0 => physical.value,
            (_, None) => 0.0,
            (Some(smt), Some(some)) if smt.value > 1.0 && some.value <= physical.value => {
                some.value
            }
            (_, Some(some)) => {
                let expected =
                    format!("smt = 2 and at most the {} cores of the cluster", physical.value);
                return Err(section.error(
                    "smt_cores",
                    &some.span,
                    document.shown(&some.span),
                    expected,
                ));
            }
        };
        // All three are whole and at most MAX_CORES: exact in f64.
        let logical = physical.value + doubled;
        if cores.len() as f64 + logical > f64::from(MAX_CORES) {
            let found = format!("{} logical cores so far", cores.len() as f64 + logical);
            return Err(section.error(
                "cores",
                &physical.span,
                found,
                format!("at most {MAX_CORES}"),
            ));
        }
        let first = cores.len() as u32;
        let kind = KindId(rank as u8);
        add_cores(&mut cores, kind, ClusterId(index as u32), physical.value as u32, doubled as u32);
        set_cpus(&section, &mut cores[first as usize..], &mut taken)?;
        let cache = section.number("cache_kib", KIBIBYTES)?;
        clusters.push(Cluster {
            kind,
            cores: (first..cores.len() as u32).map(CoreId).collect(),
            cache_bytes: cache.map_or(0, |kib| rounded(kib.value * 1024.0)),
            bandwidth: section
                .number("bandwidth_mb_s", MEGABYTES_PER_SECOND)?
                .map(bytes_per_second),
        });
    }
    Ok((clusters, cores))
}

/// Numbers the cores of a cluster: the siblings of a physical core are neighbours, and those that
/// have one come first.
fn add_cores(cores: &mut Vec<Core>, kind: KindId, cluster: ClusterId, physical: u32, doubled: u32) {
    for index in 0..physical {
        let id = cores.len() as u32;
        if index < doubled {
            cores.push(Core {
                id: CoreId(id),
                cpu: id,
                kind,
                cluster,
                sibling: Some(CoreId(id + 1)),
            });
            cores.push(Core {
                id: CoreId(id + 1),
                cpu: id + 1,
                kind,
                cluster,
                sibling: Some(CoreId(id)),
            });
        } else {
            cores.push(Core { id: CoreId(id), cpu: id, kind, cluster, sibling: None });
        }
    }
}

/// Sets the numbers by which the operating system knows the cores of a cluster, where the file
/// gives them. `taken[n]` is true if some core has the number `n`.
fn set_cpus(
    section: &Section<'_>,
    cores: &mut [Core],
    taken: &mut [bool],
) -> Result<(), MachineError> {
    let listed = section.string("cpus", CPUS_EXPECTED)?;
    if let Some(listed) = &listed {
        let error =
            |found: String, expected: String| section.error("cpus", &listed.span, found, expected);
        let cpus = parse_cpus(listed.value)
            .map_err(|problem| error(problem.found(), problem.expected()))?;
        if cpus.len() != cores.len() {
            let expected = format!("as many as the cluster has logical cores, {}", cores.len());
            return Err(error(format!("{} CPUs", cpus.len()), expected));
        }
        for (core, cpu) in cores.iter_mut().zip(cpus) {
            core.cpu = cpu;
        }
    }
    for core in cores {
        if std::mem::replace(&mut taken[core.cpu as usize], true) {
            let expected = format!("a list without CPU {}, which is another cluster's", core.cpu);
            return Err(match &listed {
                Some(listed) => {
                    section.error("cpus", &listed.span, format!("CPU {}", core.cpu), expected)
                }
                None => section.missing("cpus", expected),
            });
        }
    }
    Ok(())
}

fn read_costs(section: &Section<'_>) -> Result<Costs, MachineError> {
    let default = Costs::default();
    let time = |key: &'static str, otherwise: Nanos| -> Result<Nanos, MachineError> {
        Ok(section
            .number(key, MICROSECONDS)?
            .map_or(otherwise, |us| Nanos(rounded(us.value * 1e3))))
    };
    let refill = section.number("refill_bandwidth_mb_s", MEGABYTES_PER_SECOND)?;
    let refill_bandwidth = match (section.flag("refill_is_free")?.unwrap_or(false), refill) {
        (true, Some(stated)) => {
            let found = "a bandwidth beside refill_is_free";
            return Err(section.error(
                "refill_bandwidth_mb_s",
                &stated.span,
                found,
                "one of the two",
            ));
        }
        (true, None) => None,
        (false, Some(stated)) => Some(bytes_per_second(stated)),
        (false, None) => default.refill_bandwidth,
    };
    let private = section.number("private_cache_kib", KIBIBYTES)?;
    Ok(Costs {
        context_switch: time("context_switch_us", default.context_switch)?,
        migration_within: time("migration_within_us", default.migration_within)?,
        migration_across: time("migration_across_us", default.migration_across)?,
        refill_bandwidth,
        private_cache_bytes: private
            .map_or(default.private_cache_bytes, |kib| rounded(kib.value * 1024.0)),
    })
}
