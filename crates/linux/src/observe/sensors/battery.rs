//! Batteries: what the whole machine draws, while it draws it from them.

use std::path::Path;

use super::reading::{Means, Sensor, Source};
use super::sysfs::{entries, optional};

/// Units of power supplies to a watt, a volt and an ampere: millionths.
const MICRO: f64 = 1e6;

/// The batteries of the machine itself, not those of a mouse.
pub fn find(sysfs: &Path) -> Vec<Sensor> {
    let mut sensors = Vec::new();
    for (name, folder) in entries(&sysfs.join("class/power_supply")) {
        let is =
            |file: &str, content: &str| optional(&folder.join(file)).as_deref() == Some(content);
        if !is("type", "Battery") || is("scope", "Device") {
            continue;
        }
        let file = |name: &str| Some(folder.join(name)).filter(|file| file.exists());
        let means = match (file("power_now"), file("current_now"), file("voltage_now")) {
            (Some(file), _, _) => Means::Power { file, per_watt: MICRO },
            (None, Some(current), Some(voltage)) => {
                Means::Product { current, voltage, per_unit: MICRO }
            }
            _ => continue,
        };
        let (only_discharging, switch) = (Some(folder.join("status")), None);
        sensors.push(Sensor {
            name,
            source: Source::Battery,
            in_total: true,
            means,
            only_discharging,
            switch,
        });
    }
    sensors
}
