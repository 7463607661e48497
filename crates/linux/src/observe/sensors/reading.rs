//! One sensor, and what it reads now.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// What a sensor says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// An energy counter, microjoules since some time.
    Counter {
        /// What it says.
        uj: u64,
        /// Where it starts anew; `None`: nowhere.
        range_uj: Option<u64>,
    },
    /// Power, watts.
    Power(f64),
}

/// Where a sensor comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// RAPL counters.
    Powercap,
    /// A hardware monitor.
    Hwmon,
    /// A battery.
    Battery,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Powercap => "powercap",
            Self::Hwmon => "hwmon",
            Self::Battery => "battery",
        })
    }
}

/// How to read a sensor.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Means {
    /// A counter in microjoules.
    Counter { file: PathBuf, range_uj: Option<u64> },
    /// Power, in units of which there are so many to a watt.
    Power { file: PathBuf, per_watt: f64 },
    /// Current times voltage, in units of which there are so many to an ampere and a volt.
    Product { current: PathBuf, voltage: PathBuf, per_unit: f64 },
}

impl Means {
    /// The file that a reader would look at first.
    fn file(&self) -> &Path {
        match self {
            Self::Counter { file, .. }
            | Self::Power { file, .. }
            | Self::Product { current: file, .. } => file,
        }
    }
}

/// A power sensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// What it measures, as the kernel calls it: `package-0`, `package-0/core`,
    /// `ina231 sensor_arm`, `BAT0`.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// True if what it measures belongs to the total of its source; `false`: it is part of what
    /// another sensor measures, or measures the same again.
    pub in_total: bool,
    pub(super) means: Means,
    /// A file that says `Discharging` as long as the reading means something.
    pub(super) only_discharging: Option<PathBuf>,
    /// A file that says 0 where the sensor is switched off.
    pub(super) switch: Option<PathBuf>,
}

/// Why a sensor cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SensorError {
    /// No leave.
    #[error("cannot read {}: permission denied; {}", file.display(), remedy(file))]
    Denied {
        /// Which file.
        file: PathBuf,
    },
    /// Another reason.
    #[error("cannot read {}: {error}", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Not what such a file has.
    #[error("{}: '{found}' found, expected {expected}", file.display())]
    Content {
        /// Which file.
        file: PathBuf,
        /// What is there.
        found: String,
        /// What could be.
        expected: &'static str,
    },
    /// A battery that is being charged, or is full, does not say what the machine draws.
    #[error("{}: '{status}': a battery tells what the machine draws only while it is \
             discharging", file.display())]
    NotDischarging {
        /// Which file.
        file: PathBuf,
        /// What it does.
        status: String,
    },
    /// Switched off.
    #[error("{} says 0, the sensor is off; echo 1 | sudo tee {} switches it \
             on", file.display(), file.display())]
    Off {
        /// The switch.
        file: PathBuf,
    },
}

/// What would allow a file to be read.
fn remedy(file: &Path) -> String {
    let is_counter = file.file_name().is_some_and(|name| name == "energy_uj");
    let why = if is_counter { "only root may read it since CVE-2020-8694: " } else { "" };
    format!("{why}run as root, or sudo chmod a+r {}", file.display())
}

impl Sensor {
    /// The file that it reads; of two, the first.
    pub fn file(&self) -> &Path {
        self.means.file()
    }

    /// What it says now.
    ///
    /// # Errors
    /// A file that cannot be read or makes no sense, a sensor that is off, a battery that is not
    /// discharging.
    pub fn read(&self) -> Result<Reading, SensorError> {
        if let Some(file) = &self.switch
            && text(file)? == "0"
        {
            return Err(SensorError::Off { file: file.clone() });
        }
        if let Some(file) = &self.only_discharging {
            let status = text(file)?;
            if status != "Discharging" {
                return Err(SensorError::NotDischarging { file: file.clone(), status });
            }
        }
        match &self.means {
            Means::Counter { file, range_uj } => {
                let found = text(file)?;
                let uj = found
                    .parse()
                    .map_err(|_| content(file, found, "microjoules, a whole number"))?;
                Ok(Reading::Counter { uj, range_uj: *range_uj })
            }
            Means::Power { file, per_watt } => Ok(Reading::Power(number(file)? / per_watt)),
            // Batteries and monitors may count a current that flows out as negative.
            Means::Product { current, voltage, per_unit } => Ok(Reading::Power(
                (number(current)? / per_unit * (number(voltage)? / per_unit)).abs(),
            )),
        }
    }
}

/// A finite number.
fn number(file: &Path) -> Result<f64, SensorError> {
    let found = text(file)?;
    match found.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(content(file, found, "a number")),
    }
}

/// The text of a file, without blanks at its ends.
pub(super) fn text(file: &Path) -> Result<String, SensorError> {
    match fs::read(file) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(SensorError::Denied { file: file.to_owned() })
        }
        Err(error) => Err(SensorError::Unreadable { file: file.to_owned(), error }),
    }
}

fn content(file: &Path, found: String, expected: &'static str) -> SensorError {
    /// Characters of what is there that an error repeats.
    const SHOWN: usize = 30;
    let found = found.chars().take(SHOWN).collect::<String>().escape_debug().to_string();
    SensorError::Content { file: file.to_owned(), found, expected }
}
