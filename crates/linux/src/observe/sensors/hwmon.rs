//! Hardware monitors: chips that count energy, or measure power, or current and voltage. And the
//! INA231 of the Odroid-XU3, which its makers' kernels have in a place of its own.

use std::path::{Path, PathBuf};

use super::reading::{Means, Sensor, Source};
use super::sysfs::{entries, optional};

/// Units of hwmon to a watt: microwatts.
const MICRO: f64 = 1e6;
/// Units of hwmon to a volt and an ampere: millivolts, milliamperes.
const MILLI: f64 = 1e3;

/// All channels that tell an energy or a power.
pub fn find(sysfs: &Path) -> Vec<Sensor> {
    let supplies: Vec<String> =
        entries(&sysfs.join("class/power_supply")).into_iter().map(|(name, _)| name).collect();
    let mut sensors = Vec::new();
    for (device, folder) in entries(&sysfs.join("class/hwmon")) {
        let chip = optional(&folder.join("name")).unwrap_or(device);
        // A battery shows itself here, too, where its charger's current would count as power.
        if supplies.iter().any(|supply| *supply == chip || supply.replace('-', "_") == chip) {
            continue;
        }
        sensors.extend(channels(&chip, &folder));
    }
    sensors.extend(odroid(sysfs));
    sensors
}

/// The channels of a chip. One that has a counter needs no power, and one that has power no
/// current.
fn channels(chip: &str, folder: &Path) -> Vec<Sensor> {
    let files = entries(folder);
    let file =
        |name: String| files.iter().find(|(file, _)| *file == name).map(|(_, path)| path.clone());
    let numbers = |kind: &str, end: &str| -> Vec<u32> {
        let number = |(file, _): &(String, PathBuf)| {
            file.strip_prefix(kind)?.strip_suffix(end)?.parse().ok()
        };
        files.iter().filter_map(number).collect()
    };
    let mut sensors = Vec::new();
    let mut add = |kind: &str, number: u32, means: Means| {
        let label = optional(&folder.join(format!("{kind}{number}_label")));
        let name = format!("{chip} {}", label.clone().unwrap_or_else(|| format!("{kind}{number}")));
        // amd_energy counts each core, and each socket with its cores.
        let is_part = chip == "amd_energy" && label.is_some_and(|label| label.starts_with("Ecore"));
        let (only_discharging, switch) = (None, None);
        sensors.push(Sensor {
            name,
            source: Source::Hwmon,
            in_total: !is_part,
            means,
            only_discharging,
            switch,
        });
    };
    let counters = numbers("energy", "_input");
    for &number in &counters {
        if let Some(file) = file(format!("energy{number}_input")) {
            add("energy", number, Means::Counter { file, range_uj: None });
        }
    }
    let mut powers = numbers("power", "_input");
    powers.extend(
        numbers("power", "_average")
            .into_iter()
            .filter(|number| !powers.contains(number))
            .collect::<Vec<_>>(),
    );
    for &number in powers.iter().filter(|number| !counters.contains(number)) {
        let input =
            file(format!("power{number}_input")).or_else(|| file(format!("power{number}_average")));
        if let Some(file) = input {
            add("power", number, Means::Power { file, per_watt: MICRO });
        }
    }
    let is_told = |number: &u32| counters.contains(number) || powers.contains(number);
    for number in numbers("curr", "_input").into_iter().filter(|number| !is_told(number)) {
        if let (Some(current), Some(voltage)) =
            (file(format!("curr{number}_input")), file(format!("in{number}_input")))
        {
            add("curr", number, Means::Product { current, voltage, per_unit: MILLI });
        }
    }
    sensors
}

/// The four sensors of an Odroid-XU3 under its makers' kernels: `sensor_arm` is the A15 cluster,
/// `sensor_kfc` the A7.
fn odroid(sysfs: &Path) -> Vec<Sensor> {
    let sensor = |(device, folder): (String, PathBuf)| {
        let file = folder.join("sensor_W");
        let name = optional(&folder.join("sensor_name")).unwrap_or(device);
        file.exists().then(|| Sensor {
            name: format!("ina231 {name}"),
            source: Source::Hwmon,
            in_total: true,
            means: Means::Power { file, per_watt: 1.0 },
            only_discharging: None,
            switch: Some(folder.join("enable")).filter(|file| file.exists()),
        })
    };
    entries(&sysfs.join("bus/i2c/drivers/INA231")).into_iter().filter_map(sensor).collect()
}
