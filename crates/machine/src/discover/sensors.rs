//! Power sensors of a machine. They are found here and not read.

use super::tree::Tree;

/// A power sensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Sensor {
    /// Its source.
    pub source: SensorSource,
    /// What it measures, in the kernel's words.
    pub name: String,
    /// Its folder under `/sys`.
    pub path: String,
}

/// Source of a power sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SensorSource {
    /// Energy counters: Intel's and AMD's RAPL, as power caps.
    Powercap,
    /// A hardware monitor that measures power, or current and voltage.
    Hwmon,
    /// A battery.
    Battery,
}

impl std::fmt::Display for SensorSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Powercap => "powercap",
            Self::Hwmon => "hwmon",
            Self::Battery => "battery",
        })
    }
}

/// All sensors, in the order of [`SensorSource`] and of their numbers.
pub(super) fn find(tree: &Tree) -> Vec<Sensor> {
    let mut sensors = Vec::new();
    let powercap = "class/powercap";
    for zone in tree.names(powercap) {
        // A zone has a counter; the folder of the driver has none.
        let path = format!("{powercap}/{zone}");
        if tree.names(&path).iter().any(|file| file == "energy_uj") {
            let name = tree.text(&format!("{path}/name")).unwrap_or(zone);
            sensors.push(Sensor { source: SensorSource::Powercap, name, path });
        }
    }
    let hwmon = "class/hwmon";
    for device in tree.names(hwmon) {
        let path = format!("{hwmon}/{device}");
        let files = tree.names(&path);
        let has =
            |start: &str| files.iter().any(|file| file.starts_with(start) && has_reading(file));
        if has("power") || has("energy") || (has("curr") && has("in")) {
            let chip = tree.text(&format!("{path}/name")).unwrap_or(device);
            let labels = files.iter().filter(|file| file.ends_with("_label"));
            let labels = labels.filter(|file| {
                ["power", "energy", "curr"].iter().any(|start| file.starts_with(start))
            });
            let labels: Vec<String> =
                labels.filter_map(|file| tree.text(&format!("{path}/{file}"))).collect();
            let name =
                if labels.is_empty() { chip } else { format!("{chip} ({})", labels.join(", ")) };
            sensors.push(Sensor { source: SensorSource::Hwmon, name, path });
        }
    }
    let supplies = "class/power_supply";
    for supply in tree.names(supplies) {
        let path = format!("{supplies}/{supply}");
        if tree.text(&format!("{path}/type")).as_deref() == Some("Battery") {
            sensors.push(Sensor { source: SensorSource::Battery, name: supply, path });
        }
    }
    sensors
}

/// True if a file of a hardware monitor is a reading, and not a limit or a name.
fn has_reading(file: &str) -> bool {
    file.ends_with("_input") || file.ends_with("_average")
}
