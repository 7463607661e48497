//! `evenkeel machines`, `evenkeel show machine`.

use evenkeel_files::machines::MAX_FILE_BYTES;
use evenkeel_machine::{
    Cluster, DataCache, Kind, KindId, Machine, MicroWatts, Microarchitecture, Nanos, write_cpus,
};
use serde_json::json;

use crate::args::ListArgs;
use crate::commands::this_machine;
use crate::error::{Failure, Result};
use crate::output::{print, print_json};
use crate::{stdin, table};

/// Lists those that are built in.
///
/// # Errors
/// Stdout cannot be written to.
pub fn list(args: &ListArgs) -> Result {
    let presets = evenkeel_files::machines::presets().iter();
    let machines: Vec<Machine> = presets
        .map(|preset| evenkeel_files::machines::preset(preset.name))
        .collect::<std::result::Result<_, _>>()
        .map_err(Failure::input)?;
    if args.json {
        let brief = |machine: &Machine| {
            json!({
                "name": machine.name,
                "description": machine.description,
                "source": machine.source,
                "cores": machine.cores_label(),
                "power_model": machine.has_power_model(),
            })
        };
        return print_json(&machines.iter().map(brief).collect::<Vec<_>>());
    }
    let mut rows = table::plain(["MACHINE", "CORES", "POWER", "WHAT IT IS", "FROM"]);
    for machine in &machines {
        let power = if machine.has_power_model() { "yes" } else { "-" };
        rows.add_row([
            &machine.name,
            &machine.cores_label(),
            power,
            &machine.description,
            &machine.source,
        ]);
    }
    print(&table::fitted(rows, &[4], "`evenkeel show machine NAME` and --json have it"))
}

/// The machine of this name or in this file; `here` is the one that this runs on, `-` the one that
/// stdin describes.
///
/// # Errors
/// There is none.
pub fn load(name: &str) -> Result<Machine> {
    match name {
        this_machine::HERE => this_machine::here(),
        stdin::NAME => {
            let bytes = stdin::read("machine", MAX_FILE_BYTES)?;
            let text = std::str::from_utf8(bytes);
            let text =
                text.map_err(|error| Failure::usage(format!("{}: {error}", stdin::CALLED)))?;
            evenkeel_files::machines::parse(text, stdin::CALLED).map_err(Failure::input)
        }
        _ => evenkeel_files::machines::load(name).map_err(Failure::input),
    }
}

/// All of a machine, or the part of it that `--cores` names.
///
/// # Errors
/// It has no such cores.
pub fn part(machine: &Machine, cores: Option<&str>) -> Result<Machine> {
    cores.map_or_else(|| Ok(machine.clone()), |cores| machine.subset(cores).map_err(Failure::input))
}

/// Describes one.
///
/// # Errors
/// There is none, or it has no such cores.
pub fn show(name: &str, cores: Option<&str>, as_json: bool) -> Result {
    let machine = part(&load(name)?, cores)?;
    if as_json { print_json(&describe(&machine)) } else { print(&text(&machine)) }
}

fn watts(power: Option<MicroWatts>) -> Option<f64> {
    power.map(MicroWatts::as_watts_f64)
}

/// All that there is to say about a machine, for JSON.
pub fn describe(machine: &Machine) -> serde_json::Value {
    let kinds = machine.kinds.iter().enumerate().map(|(rank, kind)| {
        let opps = kind.opps.iter().map(|opp| {
            json!({
                "mhz": opp.khz as f64 / 1e3,
                "capacity": opp.capacity,
                "busy_power_w": watts(opp.busy_power),
                "cluster_power_w": watts(opp.cluster_power),
            })
        });
        json!({
            "name": kind.name,
            "capacity": kind.capacity,
            "cores": machine.cores_of(KindId(rank as u8)).map(|core| core.0).collect::<Vec<_>>(),
            "idle_power_w": watts(kind.idle_power),
            "operating_points": opps.collect::<Vec<_>>(),
            "source": kind.source,
            "core": kind.core.as_ref().map(describe_built),
        })
    });
    let clusters = machine.clusters.iter().map(|cluster| {
        json!({
            "kind": machine.kinds[cluster.kind.index()].name,
            "cores": cluster.cores.iter().map(|core| core.0).collect::<Vec<_>>(),
            "cpus": cpus(machine, cluster).collect::<Vec<_>>(),
            "cache_bytes": cluster.cache_bytes,
            "bandwidth_bytes_per_s": cluster.bandwidth,
        })
    });
    let costs = &machine.costs;
    json!({
        "name": machine.name,
        "description": machine.description,
        "source": machine.source,
        "cores": machine.cores_label(),
        "kinds": kinds.collect::<Vec<_>>(),
        "clusters": clusters.collect::<Vec<_>>(),
        "siblings": machine.cores.iter().map(|core| core.sibling.map(|sibling| sibling.0)).collect::<Vec<_>>(),
        "costs": {
            "context_switch_us": micros(costs.context_switch),
            "migration_within_us": micros(costs.migration_within),
            "migration_across_us": micros(costs.migration_across),
            "refill_bandwidth_bytes_per_s": costs.refill_bandwidth,
            "private_cache_bytes": costs.private_cache_bytes,
        },
        "bandwidth_bytes_per_s": machine.bandwidth,
        "smt_speed": machine.smt_speed,
        "sensor_interval_s": machine.sensor_interval.map(Nanos::as_secs_f64),
    })
}

fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

/// All that there is to say about a machine, for people.
fn text(machine: &Machine) -> String {
    let mut text = facts(machine);
    if machine.cores.iter().any(|core| core.sibling.is_some()) {
        text.push_str(&table::facts(&[(
            "SMT",
            &format!("two busy siblings run at {} of one's speed each", machine.smt_speed),
        )]));
    }
    text.push_str(&format!("\n{}", clusters(machine)));
    for kind in &machine.kinds {
        text.push_str(&format!(
            "\n{}: capacity {}, idle {} W\n",
            kind.name,
            kind.capacity,
            power(kind.idle_power)
        ));
        if !kind.source.is_empty() {
            text.push_str(&table::wrapped(&format!("from {}\n", kind.source), 5));
        }
        if let Some(core) = &kind.core {
            text.push_str(&table::wrapped(&format!("built {}\n", built(core)), 6));
        }
        text.push_str(&operating_points(kind));
    }
    text
}

/// How a kind of core is built, in a line.
fn built(core: &Microarchitecture) -> String {
    let order = core.window.map_or("in order".to_owned(), |window| format!("window {window}"));
    let kib = |bytes: u64| bytes >> 10;
    let caches: Vec<String> = core
        .data_caches
        .iter()
        .map(|cache| format!("{} KiB {} cycles", kib(cache.bytes), cache.latency))
        .collect();
    let own = [(core.counts_instructions, "instructions"), (core.counts_cycles, "cycles")];
    let own: Vec<&str> = own.iter().filter(|(has, _)| *has).map(|(_, name)| *name).collect();
    let beside = match own.is_empty() {
        true => String::new(),
        false => format!(" beside {}", own.join(" and ")),
    };
    let source = if core.source.is_empty() { String::new() } else { format!(" ({})", core.source) };
    format!(
        "{} wide, {order}; code {} KiB; data {}; memory {}; {} counters{beside}{source}",
        core.width,
        kib(core.code_cache_bytes),
        caches.join(", "),
        core.memory_latency,
        core.counters,
    )
}

/// The same for JSON.
fn describe_built(core: &Microarchitecture) -> serde_json::Value {
    let cache = |cache: &DataCache| json!({ "bytes": cache.bytes, "cycles": cache.latency });
    json!({
        "width": core.width,
        "window": core.window,
        "mispredict_cycles": core.mispredict_penalty,
        "code_cache_bytes": core.code_cache_bytes,
        "data_caches": core.data_caches.iter().map(cache).collect::<Vec<_>>(),
        "memory_ns": core.memory_latency.0,
        "outstanding_misses": core.most_misses,
        "tlb_bytes": core.tlb_bytes,
        "tlb_cycles": core.tlb_penalty,
        "counters": core.counters,
        "counts_instructions": core.counts_instructions,
        "counts_cycles": core.counts_cycles,
        "source": core.source,
    })
}

fn facts(machine: &Machine) -> String {
    let costs = &machine.costs;
    let bandwidth = machine.bandwidth.map_or("no limit modelled".to_owned(), |bytes| {
        gigabytes(bytes) + "/s, shared by all cores"
    });
    let refill = costs.refill_bandwidth.map_or("free".to_owned(), |bytes| gigabytes(bytes) + "/s");
    let sensor = machine
        .sensor_interval
        .map_or("none described".to_owned(), |interval| format!("every {interval}"));
    table::facts(&[
        ("machine", &machine.name),
        ("is", &machine.description),
        ("from", &machine.source),
        ("cores", &machine.cores_label()),
        ("memory", &bandwidth),
        ("context switch", &costs.context_switch),
        (
            "migration",
            &format!(
                "{} within a cluster, {} across",
                costs.migration_within, costs.migration_across
            ),
        ),
        ("cache refill", &refill),
        ("power sensor", &sensor),
    ])
}

/// The clusters as a table.
fn clusters(machine: &Machine) -> String {
    let mut clusters = table::plain(["CLUSTER", "KIND", "CORES", "CPUS", "CACHE"]);
    for (number, cluster) in machine.clusters.iter().enumerate() {
        let kind = machine.kinds[cluster.kind.index()].name.clone();
        let cache = if cluster.cache_bytes == 0 {
            "-".into()
        } else {
            format!("{} KiB", cluster.cache_bytes >> 10)
        };
        let cores = write_cpus(cluster.cores.iter().map(|core| core.0));
        clusters.add_row([
            number.to_string(),
            kind,
            cores,
            write_cpus(cpus(machine, cluster)),
            cache,
        ]);
    }
    table::text(clusters)
}

/// The operating points of a kind as a table.
fn operating_points(kind: &Kind) -> String {
    let mut points =
        table::figures(["MHz", "capacity", "busy W", "cluster W"].map(str::to_owned).to_vec(), 0);
    for opp in &kind.opps {
        points.add_row([
            (opp.khz as f64 / 1e3).to_string(),
            format!("{:.1}", opp.capacity),
            power(opp.busy_power),
            power(opp.cluster_power),
        ]);
    }
    table::text(points)
}

/// Watts, if they are known.
fn power(power: Option<MicroWatts>) -> String {
    watts(power).map_or("-".to_owned(), |watts| format!("{watts:.3}"))
}

fn gigabytes(bytes: u64) -> String {
    format!("{} GB", bytes as f64 / 1e9)
}

/// The numbers by which the operating system knows the cores of a cluster.
fn cpus<'a>(machine: &'a Machine, cluster: &'a Cluster) -> impl Iterator<Item = u32> + 'a {
    cluster.cores.iter().map(|core| machine.cores[core.index()].cpu)
}
