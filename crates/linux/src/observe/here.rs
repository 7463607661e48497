//! The machine that this runs on, as far as this process may use it.

use std::io;
use std::path::PathBuf;

use evenkeel_machine::discover::{Detected, DiscoverError, Given, MeasuredSpeed, discover};
use evenkeel_machine::{CpuListError, parse_cpus};

use crate::observe::calibrate::{CalibrateError, Calibration, calibrate};

/// Environment variable: a folder that stands for `/sys`.
pub const SYSFS: &str = "EVENKEEL_SYSFS";
/// Environment variable: the CPUs that may be used, in place of the process's affinity mask.
pub const CPUS: &str = "EVENKEEL_CPUS";

/// This machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Here {
    /// The machine, and where its figures come from.
    pub detected: Detected,
    /// What was measured, if that was asked for.
    pub calibration: Option<Calibration>,
}

/// Why the machine is not known.
#[derive(Debug, thiserror::Error)]
pub enum HereError {
    /// The list of CPUs in the environment is none.
    #[error("{CPUS}: {0}")]
    Cpus(CpuListError),
    /// The list of CPUs in the environment is not even text.
    #[error("{CPUS}: no text found, expected CPU numbers and ranges, as 0-3,8")]
    CpusNoText,
    /// The affinity mask cannot be read.
    #[error("the CPUs that this process may use are not known; {CPUS} can say them")]
    Mask(#[source] io::Error),
    /// There is no machine there.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// The machine described is not this one.
    #[error("{SYSFS} is set: a calibration measures this machine, not the one that {} \
             describes", .0.display())]
    Elsewhere(PathBuf),
    /// It could not be measured.
    #[error("calibration")]
    Calibrate(#[source] CalibrateError),
}

/// Whether the speeds of CPUs are measured, and what a difference between them is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// They are not measured.
    #[default]
    No,
    /// CPUs are of different kinds where they differ by more than the rounds scatter.
    Beyond,
    /// They are of different kinds however much the rounds scatter.
    Forced,
}

/// What stands for `/sys`: the folder that [`SYSFS`] names, or `/sys` itself.
pub fn sysfs() -> PathBuf {
    elsewhere().unwrap_or_else(|| PathBuf::from("/sys"))
}

fn elsewhere() -> Option<PathBuf> {
    std::env::var_os(SYSFS).map(PathBuf::from)
}

/// Finds this machine. [`SYSFS`] and [`CPUS`] in the environment stand for `/sys` and for the
/// affinity mask; with the former and without the latter all CPUs that are online may be used.
/// Measuring the speeds of the CPUs takes as long as [`calibrate`] says.
///
/// # Errors
/// No CPU, none that may be used, an environment variable that makes no sense, or a measurement
/// that failed.
pub fn detect(measure: Measure) -> Result<Here, HereError> {
    let elsewhere = elsewhere();
    let allowed = match std::env::var(CPUS) {
        Ok(list) => Some(parse_cpus(&list).map_err(HereError::Cpus)?),
        Err(std::env::VarError::NotUnicode(_)) => return Err(HereError::CpusNoText),
        Err(std::env::VarError::NotPresent) if elsewhere.is_some() => None,
        Err(std::env::VarError::NotPresent) => Some(allowed_cpus().map_err(HereError::Mask)?),
    };
    let clock_khz = if elsewhere.is_none() { present_clock_khz() } else { None };
    let mut given = Given { allowed, clock_khz, ..Given::default() };
    let root = sysfs();
    let detected = discover(&root, &given)?;
    if measure == Measure::No {
        return Ok(Here { detected, calibration: None });
    }
    if let Some(elsewhere) = elsewhere {
        return Err(HereError::Elsewhere(elsewhere));
    }
    let cpus: Vec<u32> = detected.machine.cores.iter().map(|core| core.cpu).collect();
    let calibration = calibrate(&cpus).map_err(HereError::Calibrate)?;
    given.uncertainty =
        if measure == Measure::Forced { 0.0 } else { calibration.greatest_spread() };
    given.measured = calibration
        .cpus
        .iter()
        .map(|cpu| MeasuredSpeed { cpu: cpu.cpu, speed: cpu.speed })
        .collect();
    Ok(Here { detected: discover(&root, &given)?, calibration: Some(calibration) })
}

/// CPUs that this process may use: its affinity mask, which its cpuset has narrowed already.
///
/// # Errors
/// `/proc` is not there, or does not say.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    // Read and not asked for: the system call's wrappers know of 1024 CPUs at most.
    let status = std::fs::read_to_string("/proc/thread-self/status")?;
    allowed_in(&status).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "/proc/thread-self/status: expected a list as Cpus_allowed_list",
        )
    })
}

fn allowed_in(status: &str) -> Option<Vec<u32>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    parse_cpus(list).ok().filter(|cpus| !cpus.is_empty())
}

/// The clock of the first CPU at present, kHz; `None`: `/proc/cpuinfo` does not tell, as on Arm.
pub fn present_clock_khz() -> Option<u64> {
    clock_in(&std::fs::read_to_string("/proc/cpuinfo").ok()?)
}

fn clock_in(cpuinfo: &str) -> Option<u64> {
    /// The highest clock that a machine file may state, MHz.
    const MAX_MHZ: f64 = 1e6;
    let (_, value) = cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "cpu MHz")?;
    let mhz: f64 = value.trim().parse().ok()?;
    (1e-3..=MAX_MHZ).contains(&mhz).then(|| (mhz * 1e3).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_a_process_is_read_from_its_status() {
        let status =
            "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1,4\nMems_allowed_list:\t0\n";
        assert_eq!(allowed_in(status), Some(vec![0, 1, 4]));
        for status in ["", "Cpus_allowed_list:\t\n", "Cpus_allowed_list:\tall\n"] {
            assert_eq!(allowed_in(status), None, "{status}");
        }
    }

    #[test]
    fn the_clock_is_read_where_there_is_one() {
        assert_eq!(
            clock_in("processor\t: 0\ncpu MHz\t\t: 2595.124\n\ncpu MHz\t\t: 800\n"),
            Some(2_595_124)
        );
        for cpuinfo in [
            "",
            "BogoMIPS: 38.40\n",
            "cpu MHz: fast\n",
            "cpu MHz: -1\n",
            "cpu MHz: NaN\n",
            "cpu MHz: 1e300\n",
        ] {
            assert_eq!(clock_in(cpuinfo), None, "{cpuinfo}");
        }
    }
}
