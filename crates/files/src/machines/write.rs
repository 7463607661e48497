//! From a machine to the text of a machine file.

use std::fmt::Write as _;

use super::core::write_core;
use evenkeel_machine::write_cpus;
use evenkeel_machine::{Cluster, Costs, FULL_CAPACITY, Kind, Machine, Reference};

/// The machine as a machine file: capacity and power of each operating point, however they were
/// stated in the file that it came from. [`super::parse`] makes the same machine of it.
pub fn to_toml(machine: &Machine) -> String {
    let mut out = String::new();
    write(machine, &mut out).map_or_else(|_| String::new(), |()| out)
}

fn write(machine: &Machine, out: &mut String) -> std::fmt::Result {
    writeln!(out, "name = {}", quoted(&machine.name))?;
    writeln!(out, "description = {}", quoted(&machine.description))?;
    writeln!(out, "source = {}", quoted(&machine.source))?;
    if let Some(bandwidth) = machine.bandwidth {
        writeln!(out, "memory_bandwidth_mb_s = {}", bandwidth as f64 / 1e6)?;
    }
    writeln!(out, "smt_speed = {}", machine.smt_speed)?;
    if let Some(interval) = machine.sensor_interval {
        writeln!(out, "sensor_interval_ms = {}", interval.0 as f64 / 1e6)?;
    }
    for kind in &machine.kinds {
        write_kind(out, kind)?;
    }
    for cluster in &machine.clusters {
        write_cluster(machine, out, cluster)?;
    }
    write_costs(out, &machine.costs)?;
    // Without this table a reader would take the machine for a whole one.
    let is_whole =
        machine.kinds.first().is_some_and(|kind| kind.top().capacity == f64::from(FULL_CAPACITY));
    if !is_whole || Reference::of(&machine.kinds) != Some(machine.reference) {
        let Reference { slowest_khz, slowest_capacity, fastest_capacity } = machine.reference;
        writeln!(out, "\n[reference]\nslowest_mhz = {}", slowest_khz as f64 / 1e3)?;
        writeln!(
            out,
            "slowest_capacity = {slowest_capacity}\nfastest_capacity = {fastest_capacity}"
        )?;
    }
    Ok(())
}

fn write_cluster(machine: &Machine, out: &mut String, cluster: &Cluster) -> std::fmt::Result {
    let doubled =
        cluster.cores.iter().filter(|core| machine.cores[core.index()].sibling.is_some()).count()
            / 2;
    let physical = cluster.cores.len() - doubled;
    writeln!(out, "\n[[clusters]]\nkind = {}", quoted(&machine.kinds[cluster.kind.index()].name))?;
    writeln!(out, "cores = {physical}")?;
    if doubled > 0 {
        writeln!(out, "smt = 2\nsmt_cores = {doubled}")?;
    }
    let cores = || cluster.cores.iter().map(|core| &machine.cores[core.index()]);
    if cores().any(|core| core.cpu != core.id.0) {
        writeln!(out, "cpus = {}", quoted(&write_cpus(cores().map(|core| core.cpu))))?;
    }
    writeln!(out, "cache_kib = {}", cluster.cache_bytes as f64 / 1024.0)?;
    if let Some(bandwidth) = cluster.bandwidth {
        writeln!(out, "bandwidth_mb_s = {}", bandwidth as f64 / 1e6)?;
    }
    Ok(())
}

fn write_kind(out: &mut String, kind: &Kind) -> std::fmt::Result {
    writeln!(out, "\n[[kinds]]\nname = {}\nsource = {}", quoted(&kind.name), quoted(&kind.source))?;
    if let Some(idle) = kind.idle_power {
        writeln!(out, "idle_power_w = {}", idle.as_watts_f64())?;
    }
    writeln!(out, "operating_points = [")?;
    for point in &kind.opps {
        write!(out, "    {{ mhz = {}, capacity = {}", point.khz as f64 / 1e3, point.capacity)?;
        if let Some(power) = point.busy_power {
            write!(out, ", power_w = {}", power.as_watts_f64())?;
        }
        if let Some(power) = point.cluster_power {
            write!(out, ", cluster_power_w = {}", power.as_watts_f64())?;
        }
        writeln!(out, " }},")?;
    }
    writeln!(out, "]")?;
    kind.core.as_ref().map_or(Ok(()), |core| write_core(out, core))
}

fn write_costs(out: &mut String, costs: &Costs) -> std::fmt::Result {
    writeln!(out, "\n[costs]\ncontext_switch_us = {}", costs.context_switch.0 as f64 / 1e3)?;
    writeln!(out, "migration_within_us = {}", costs.migration_within.0 as f64 / 1e3)?;
    writeln!(out, "migration_across_us = {}", costs.migration_across.0 as f64 / 1e3)?;
    match costs.refill_bandwidth {
        Some(bandwidth) => writeln!(out, "refill_bandwidth_mb_s = {}", bandwidth as f64 / 1e6)?,
        None => writeln!(out, "refill_is_free = true")?,
    }
    writeln!(out, "private_cache_kib = {}", costs.private_cache_bytes as f64 / 1024.0)
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
