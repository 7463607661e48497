//! Calibrations of the lab, kept for the same request for an hour.
//!
//! They are in one file in the folder of sessions' files, which is this user's alone. A text
//! identifies a request: the CPUs with their ratios, the period, this boot of this kernel on this
//! host, and the version of Evenkeel. If the file cannot be read or written, the lab calibrates.

use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_linux::affinity::journal::{directory, make_directory};
use evenkeel_linux::lab::{Calibrated, Figures, Slow};
use evenkeel_linux::watch::Cpu;
use evenkeel_machine::Nanos;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::output::OutputFile;

/// Seconds for which a calibration is kept. Ours.
const KEPT_S: u64 = 3_600;
/// The most calibrations that are kept; the oldest are dropped.
const MOST: usize = 32;

/// One calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    request: String,
    /// Seconds since this boot, with the time that the machine was suspended.
    at_s: u64,
    cpus: Vec<Row>,
}

/// One CPU of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    cpu: u32,
    asked: f64,
    share: f64,
    period_ns: u64,
    ratio: Figures,
    unslowed: Figures,
}

impl Row {
    fn of(cpu: &Calibrated) -> Self {
        Self {
            cpu: cpu.asked.cpu.0,
            asked: cpu.asked.ratio,
            share: cpu.share,
            period_ns: cpu.period.0,
            ratio: cpu.ratio,
            unslowed: cpu.unslowed,
        }
    }

    fn calibrated(self) -> Calibrated {
        Calibrated {
            asked: Slow { cpu: Cpu(self.cpu), ratio: self.asked },
            share: self.share,
            period: Nanos(self.period_ns),
            ratio: self.ratio,
            unslowed: self.unslowed,
        }
    }
}

/// What identifies a calibration.
pub struct Request {
    text: String,
    file: PathBuf,
}

impl Request {
    /// For these CPUs, on this machine.
    pub fn new(asked: &[Slow], period: Option<Nanos>) -> Self {
        let kernel = |name: &str| {
            let text =
                fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).unwrap_or_default();
            text.trim().to_owned()
        };
        let cpus: Vec<String> =
            asked.iter().map(|slow| format!("{}={}", slow.cpu.0, slow.ratio)).collect();
        let text = format!(
            "evenkeel {} on {} {} boot {}: {} period {}",
            env!("CARGO_PKG_VERSION"),
            kernel("hostname"),
            kernel("osrelease"),
            kernel("random/boot_id"),
            cpus.join(","),
            period.map_or("chosen".to_owned(), |period| period.0.to_string()),
        );
        Self { text, file: directory().join("lab-calibrations.json") }
    }

    /// The calibration kept for this request, and its age in seconds.
    pub fn find(&self) -> Option<(Vec<Calibrated>, u64)> {
        let now = now_s();
        let entry = read(&self.file)
            .into_iter()
            .rfind(|entry| entry.request == self.text && is_fresh(entry, now))?;
        Some((entry.cpus.into_iter().map(Row::calibrated).collect(), now - entry.at_s))
    }

    /// Keeps a calibration for this request, and drops those that are too old.
    pub fn keep(&self, calibrated: &[Calibrated]) {
        let now = now_s();
        let mut entries = read(&self.file);
        entries.retain(|entry| entry.request != self.text && is_fresh(entry, now));
        let surplus = (entries.len() + 1).saturating_sub(MOST);
        entries.drain(..surplus);
        let cpus = calibrated.iter().map(Row::of).collect();
        entries.push(Entry { request: self.text.clone(), at_s: now, cpus });
        let Ok(text) = serde_json::to_vec_pretty(&entries) else { return };
        let Some(folder) = self.file.parent() else { return };
        if make_directory(folder).is_ok() {
            // After an error the next lab calibrates.
            let _ = OutputFile::begin(&self.file).and_then(|file| file.finish_with(&text));
        }
    }
}

/// The calibrations of the file; none if it does not exist, belongs to another user or has another
/// form.
fn read(file: &Path) -> Vec<Entry> {
    let is_own =
        file.parent().is_some_and(|folder| folder.is_dir() && make_directory(folder).is_ok());
    let text = if is_own { fs::read(file).unwrap_or_default() } else { Vec::new() };
    serde_json::from_slice(&text).unwrap_or_default()
}

fn is_fresh(entry: &Entry, now_s: u64) -> bool {
    now_s.checked_sub(entry.at_s).is_some_and(|age| age < KEPT_S)
}

fn now_s() -> u64 {
    clock_gettime(ClockId::Boottime).tv_sec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibrated(cpu: u32, ratio: f64) -> Calibrated {
        let figures = Figures { median: ratio, spread: 0.01, p5: ratio, p95: ratio, count: 5 };
        let asked = Slow { cpu: Cpu(cpu), ratio };
        Calibrated {
            asked,
            share: 0.6,
            period: Nanos::from_micros(500),
            ratio: figures,
            unslowed: figures,
        }
    }

    fn request(folder: &Path, asked: &[Slow], period: Option<Nanos>) -> Request {
        Request { file: folder.join("x/kept.json"), ..Request::new(asked, period) }
    }

    #[test]
    fn one_is_found_again_for_the_same_request_only() {
        let folder = tempfile::tempdir().unwrap();
        let found = calibrated(1, 3.0);
        let same = request(folder.path(), &[found.asked], None);
        assert_eq!(same.find(), None);
        same.keep(std::slice::from_ref(&found));
        assert_eq!(
            same.find().map(|(cpus, age)| (cpus, age <= 1)),
            Some((vec![found.clone()], true))
        );
        for other in [
            request(folder.path(), &[Slow { ratio: 2.0, ..found.asked }], None),
            request(folder.path(), &[Slow { cpu: Cpu(2), ..found.asked }], None),
            request(folder.path(), &[found.asked], Some(Nanos::from_millis(1))),
            Request { text: same.text.replace("boot ", "boot 0"), file: same.file.clone() },
        ] {
            assert_eq!(other.find(), None, "{}", other.text);
            other.keep(&[calibrated(7, 2.0)]);
        }
        assert!(same.find().is_some(), "others are kept beside it");
    }

    #[test]
    fn one_that_is_old_or_of_another_boot_is_not_fresh() {
        let entry = Entry { request: String::new(), at_s: 100, cpus: Vec::new() };
        assert!(is_fresh(&entry, 100) && is_fresh(&entry, 3_699));
        assert!(!is_fresh(&entry, 3_700) && !is_fresh(&entry, 99));
    }

    #[test]
    fn a_file_of_another_form_is_no_calibration() {
        let folder = tempfile::tempdir().unwrap();
        let request = request(folder.path(), &[calibrated(1, 3.0).asked], None);
        request.keep(&[calibrated(1, 3.0)]);
        fs::write(&request.file, "[{").unwrap();
        assert_eq!(request.find(), None);
    }
}
