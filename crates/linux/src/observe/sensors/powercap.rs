//! RAPL: energy counters of packages and their parts.
//!
//! Zones are `intel-rapl:0` (a package), `intel-rapl:0:1` (a part of it); AMD's are called the
//! same. A part's energy is in its package's (`core`, `uncore`), but for `dram`, which is beside
//! it. `psys` is the whole platform, packages included, where its maker has wired it: shown, not
//! counted. The same package may be there again by another way (`intel-rapl-mmio:0`). Source: Intel
//! SDM volume 3B, 16.10 (RAPL domains); drivers/powercap/intel_rapl_common.c.

use std::path::Path;

use super::reading::{Means, Sensor, Source};
use super::sysfs::{entries, optional};

/// All counters.
pub fn find(sysfs: &Path) -> Vec<Sensor> {
    let mut sensors: Vec<Sensor> = Vec::new();
    let mut zones = entries(&sysfs.join("class/powercap"));
    // Registers before memory-mapped ones, which are the same again; packages before their parts.
    zones.sort_by_key(|(zone, _)| zone.starts_with("intel-rapl-mmio"));
    for (zone, folder) in zones {
        let file = folder.join("energy_uj");
        // The folder of the driver itself, which is beside its zones, has no counter.
        if !file.exists() {
            continue;
        }
        let own = optional(&folder.join("name")).unwrap_or_else(|| zone.clone());
        let parent = zone
            .rsplit_once(':')
            .filter(|(parent, _)| parent.contains(':'))
            .map(|(parent, _)| parent);
        let parent = parent
            .and_then(|parent| optional(&sysfs.join("class/powercap").join(parent).join("name")));
        let mut name =
            parent.as_ref().map_or_else(|| own.clone(), |parent| format!("{parent}/{own}"));
        let is_again = sensors.iter().any(|sensor| sensor.name == name);
        if is_again {
            name = format!("{name} ({})", zone.split(':').next().unwrap_or(&zone));
        }
        let is_beside = parent.is_none() || own == "dram";
        let range_uj =
            optional(&folder.join("max_energy_range_uj")).and_then(|range| range.parse().ok());
        sensors.push(Sensor {
            name,
            source: Source::Powercap,
            in_total: is_beside && own != "psys" && !is_again,
            means: Means::Counter { file, range_uj: range_uj.filter(|&range| range > 0) },
            only_discharging: None,
            switch: None,
        });
    }
    sensors
}
