//! Which sensors a machine has.

use std::path::Path;

use super::reading::{Sensor, SensorError, Source};
use super::{battery, hwmon, powercap};

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Those that can be read, by source, in the order of their names.
    pub sensors: Vec<Sensor>,
    /// Those that are there but cannot be read now, and why.
    pub refused: Vec<(Sensor, SensorError)>,
}

impl Found {
    /// The source whose sensors make up the machine's energy: the first that has any, in the order
    /// RAPL, hardware monitors, batteries. Sources measure the same energy in different places:
    /// their sum would count it twice.
    pub fn total_source(&self) -> Option<Source> {
        self.sensors.iter().filter(|sensor| sensor.in_total).map(|sensor| sensor.source).min()
    }

    /// True if a sensor is one of those whose sum is the machine's energy.
    pub fn counts(&self, sensor: &Sensor) -> bool {
        sensor.in_total && Some(sensor.source) == self.total_source()
    }
}

/// The sensors under `sysfs`, which stands for `/sys`. Each is read once, to see whether it can be.
pub fn find(sysfs: &Path) -> Found {
    let mut found = Found::default();
    for sensor in
        [powercap::find(sysfs), hwmon::find(sysfs), battery::find(sysfs)].into_iter().flatten()
    {
        match sensor.read() {
            Ok(_) => found.sensors.push(sensor),
            Err(error) => found.refused.push((sensor, error)),
        }
    }
    found
}
