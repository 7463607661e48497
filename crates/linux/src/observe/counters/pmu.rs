//! The hardware's counters: one PMU for each kind of core, found in sysfs, and how each says
//! instructions and cycles.
//!
//! A hybrid has several: `cpu_core`, `cpu_atom` and `cpu_lowpower` of Intel, `armv8_cortex_a53` and
//! the like of Arm, `apple_firestorm_pmu` and `apple_icestorm_pmu`. A PMU counts only on its own
//! CPUs, which its file `cpus` names. Others have one, `cpu` or `armv8_pmuv3_0`, for all.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use evenkeel_estimate::Event;
use evenkeel_machine::{KindId, Machine};

use super::codes::names;
use crate::observe::watch::Cpu;

/// A PMU of cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    /// Its name in sysfs.
    pub name: String,
    /// The CPUs that it counts on; `None`: all.
    pub cpus: Option<Vec<Cpu>>,
    /// Its number, as perf events name it.
    pub(super) kind: u32,
    /// Its event for instructions.
    pub(super) instructions: u64,
    /// Its event for cycles.
    pub(super) cycles: u64,
    /// By event, what sysfs says of it.
    pub(super) named: [Option<u64>; Event::ALL.len()],
}

/// Why there are no PMUs to count with.
#[derive(Debug, thiserror::Error)]
pub enum PmuError {
    /// The kernel shows none.
    #[error("no hardware counters: no PMU of cores under {} (virtual machines rarely have \
             one)", .0.display())]
    None(PathBuf),
    /// A file of a PMU is not as it should be.
    #[error("{}: found '{found}', expected {expected}", path.display())]
    Odd {
        /// Which.
        path: PathBuf,
        /// What is there.
        found: String,
        /// What could be.
        expected: &'static str,
    },
    /// A file of a PMU cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

const DEVICES: &str = "bus/event_source/devices";

/// True if a PMU of this name counts for cores (and not for caches, buses or memory controllers).
fn is_of_cores(name: &str) -> bool {
    name == "cpu" || ["cpu_", "armv", "apple_"].iter().any(|prefix| name.starts_with(prefix))
}

fn read(path: PathBuf) -> Result<String, PmuError> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(source) => Err(PmuError::Read { path, source }),
    }
}

/// Puts `value` where a format such as `config:0-7,32-35` says: its lowest bits first.
fn place(value: u64, format: &str) -> Option<u64> {
    let ranges = format.strip_prefix("config:")?;
    let (mut left, mut placed) = (value, 0);
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        for bit in low..=high.min(63) {
            placed |= (left & 1) << bit;
            left >>= 1;
        }
    }
    (left == 0).then_some(placed)
}

/// The number of an event such as `event=0xc0,umask=0x01`.
fn event(device: &Path, names: &[&str]) -> Result<u64, PmuError> {
    let path = names.iter().map(|name| device.join("events").join(name)).find(|path| path.exists());
    let path = path.unwrap_or_else(|| device.join("events").join(names[0]));
    let text = read(path.clone())?;
    let odd = |found: &str| PmuError::Odd {
        path: path.clone(),
        found: found.to_owned(),
        expected: "terms as event=0xc0, each with a format of the PMU",
    };
    text.split(',').try_fold(0, |all, term| {
        let (name, value) = term.split_once('=').ok_or_else(|| odd(term))?;
        let value =
            u64::from_str_radix(value.trim_start_matches("0x"), 16).map_err(|_| odd(term))?;
        let format = read(device.join("format").join(name))?;
        Ok(all | place(value, &format).ok_or_else(|| odd(term))?)
    })
}

fn pmu(device: &Path, name: String) -> Result<Pmu, PmuError> {
    let number = read(device.join("type"))?;
    let odd = |file: &str, found: String, expected| PmuError::Odd {
        path: device.join(file),
        found,
        expected,
    };
    let kind = number.parse().map_err(|_| odd("type", number.clone(), "a number"))?;
    let cpus = match read(device.join("cpus")) {
        Ok(list) => {
            let parsed = evenkeel_machine::parse_cpus(&list)
                .map_err(|_| odd("cpus", list.clone(), "CPU numbers and ranges, as 0-3,8"))?;
            Some(parsed.into_iter().map(Cpu).collect())
        }
        Err(PmuError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    Ok(Pmu {
        name,
        cpus,
        kind,
        instructions: event(device, names(Event::Instructions))?,
        cycles: event(device, names(Event::Cycles))?,
        named: Event::ALL.map(|it| event(device, names(it)).ok()),
    })
}

/// The kind that all CPUs of a PMU are of; `None` where they are of several.
#[must_use]
pub fn kind_of(pmu: &Pmu, machine: &Machine) -> Option<KindId> {
    let cpus = pmu.cpus.as_ref()?;
    let counted = machine.cores.iter().filter(|core| cpus.iter().any(|cpu| cpu.0 == core.cpu));
    let mut kinds = counted.map(|core| core.kind);
    let first = kinds.next()?;
    kinds.all(|kind| kind == first).then_some(first)
}

/// The PMUs of the machine's cores, by name. `sysfs` is what stands for `/sys`.
///
/// # Errors
/// If there are none, or what is said of one cannot be read.
pub fn pmus(sysfs: &Path) -> Result<Vec<Pmu>, PmuError> {
    let devices = sysfs.join(DEVICES);
    let mut names: Vec<String> = fs::read_dir(&devices)
        .map_err(|source| PmuError::Read { path: devices.clone(), source })?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_of_cores(name))
        .collect();
    names.sort_unstable();
    if names.is_empty() {
        return Err(PmuError::None(devices));
    }
    names.into_iter().map(|name| pmu(&devices.join(&name), name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sysfs with these files of PMUs.
    fn sysfs(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(DEVICES).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }

    #[test]
    fn a_hybrid_has_a_pmu_for_each_kind() {
        let root = sysfs(&[
            ("cpu_core/type", "4"),
            ("cpu_core/cpus", "0-3"),
            ("cpu_core/format/event", "config:0-7"),
            ("cpu_core/events/instructions", "event=0xc0"),
            ("cpu_core/events/cpu-cycles", "event=0x3c"),
            ("cpu_atom/type", "10"),
            ("cpu_atom/cpus", "4-7"),
            ("cpu_atom/format/event", "config:0-7"),
            ("cpu_atom/events/instructions", "event=0xc0"),
            ("cpu_atom/events/cpu-cycles", "event=0x3c"),
            ("uncore_imc/type", "20"),
        ]);
        let found = pmus(root.path()).unwrap();
        let name = |pmu: &Pmu| (pmu.name.clone(), pmu.kind, pmu.instructions, pmu.cycles);
        assert_eq!(
            found.iter().map(name).collect::<Vec<_>>(),
            [("cpu_atom".to_owned(), 10, 0xc0, 0x3c), ("cpu_core".to_owned(), 4, 0xc0, 0x3c)]
        );
        assert_eq!(found[0].cpus, Some([4, 5, 6, 7].map(Cpu).to_vec()));
    }

    #[test]
    fn arm_calls_them_otherwise_and_amd_splits_the_number() {
        let root = sysfs(&[
            ("armv8_cortex_a53/type", "8"),
            ("armv8_cortex_a53/cpus", "0-3"),
            ("armv8_cortex_a53/format/event", "config:0-15"),
            ("armv8_cortex_a53/events/inst_retired", "event=0x0008"),
            ("armv8_cortex_a53/events/cpu_cycles", "event=0x0011"),
        ]);
        let found = pmus(root.path()).unwrap();
        assert_eq!((found[0].instructions, found[0].cycles), (0x08, 0x11));
        assert_eq!(place(0x1c0, "config:0-7,32-35"), Some(0x1_0000_00c0));
    }

    #[test]
    fn a_machine_without_counters_and_a_file_that_is_odd_are_said_in_one_line() {
        let root = sysfs(&[("software/type", "1")]);
        assert!(pmus(root.path()).unwrap_err().to_string().starts_with("no hardware counters"));
        let root = sysfs(&[("cpu/type", "four")]);
        let error = pmus(root.path()).unwrap_err().to_string();
        assert!(error.ends_with("cpu/type: found 'four', expected a number"), "{error}");
    }

    proptest::proptest! {
        /// What a format takes apart can be put together again: no bit is lost.
        #[test]
        fn every_bit_of_a_number_finds_a_place(value in 0u64..0x1000) {
            let placed = place(value, "config:0-7,32-35").unwrap();
            proptest::prop_assert_eq!((placed & 0xff) | (placed >> 32 << 8), value);
            proptest::prop_assert_eq!(place(value | 0x1000, "config:0-7,32-35"), None);
        }
    }
}
