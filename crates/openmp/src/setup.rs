//! Where threads belong, as the library is told.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::mem::offset_of;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use evenkeel_machine::Machine;

use crate::layout::{CpuRow, FOLDER, KnownRow, MAGIC, MAX_CPUS, SETUP, Setup};
use crate::profile::Profile;

/// Environment variable: the folder that the library is told of.
pub const FOLDER_VARIABLE: &str = FOLDER;

/// A CPU that the program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The operating system's number.
    pub number: u32,
    /// Its kind, fastest first.
    pub kind: u32,
    /// Relative to the fastest kind, which has 1024.
    pub capacity: u32,
    /// Whether it is the second or later thread of its core.
    pub is_sibling: bool,
}

/// The CPUs in the order in which threads are placed: the fastest cores first, and second threads
/// of a core after all cores.
pub fn order(mut cpus: Vec<Cpu>) -> Vec<Cpu> {
    cpus.sort_by_key(|cpu| (cpu.is_sibling, cpu.kind, cpu.number));
    cpus.truncate(MAX_CPUS);
    cpus
}

/// The CPUs of a machine, in that order.
pub fn cpus_of(machine: &Machine) -> Vec<Cpu> {
    let cpus = machine.cores.iter().map(|core| Cpu {
        number: core.cpu,
        kind: u32::from(core.kind.0),
        capacity: machine.kind_of(core.id).capacity,
        is_sibling: core.sibling.is_some_and(|sibling| sibling < core.id),
    });
    order(cpus.collect())
}

/// Threads for a program that divides its loops itself, equally: the CPU of each, so that a fast
/// core has more of them. As few as come within 2 % of shares by capacity.
pub fn more_threads(cpus: &[Cpu]) -> Vec<Cpu> {
    let speeds: Vec<f64> = cpus.iter().map(|cpu| f64::from(cpu.capacity)).collect();
    let total: f64 = speeds.iter().sum();
    let mut counts = vec![1_usize; cpus.len()];
    let place = |counts: &[usize]| {
        let of = |(cpu, &count): (&Cpu, &usize)| std::iter::repeat_n(*cpu, count);
        cpus.iter().zip(counts).flat_map(of).take(MAX_CPUS).collect()
    };
    for threads in cpus.len()..MOST_THREADS * cpus.len() {
        let end = |cpu: usize, count: usize| count as f64 / speeds[cpu];
        let longest = (0..cpus.len()).map(|cpu| end(cpu, counts[cpu])).fold(0.0, f64::max);
        if longest <= (1.0 + NEAR) * threads as f64 / total {
            return place(&counts);
        }
        // One more where it is through first.
        let first = (0..cpus.len())
            .min_by(|&a, &b| end(a, counts[a] + 1).total_cmp(&end(b, counts[b] + 1)))
            .unwrap_or(0);
        counts[first] += 1;
    }
    place(&counts)
}

/// How near. Ours.
const NEAR: f64 = 0.02;
/// The most threads on each core, in the mean. Ours.
const MOST_THREADS: usize = 4;

/// `LD_PRELOAD` with the library first, before what is there.
pub fn preloaded(library: &Path, there: Option<&OsStr>) -> std::ffi::OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(there) = there.filter(|there| !there.is_empty()) {
        all.push(":");
        all.push(there);
    }
    all
}

/// How loops are to be divided.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner<'a> {
    /// Threads are placed.
    pub places: bool,
    /// By the capacities of the CPUs from the first loop on; else by what is measured.
    pub by_capacity: bool,
    /// The CPUs are those of [`more_threads`].
    pub more_threads: bool,
    /// Regions are measured from their first run on, for a profile.
    pub learns: bool,
    /// Loops that are known.
    pub profile: Option<&'a Profile>,
}

/// Writes the set-up into a folder.
///
/// # Errors
/// It cannot be written.
pub fn write(folder: &Path, cpus: &[Cpu], manner: Manner<'_>) -> io::Result<()> {
    let known = manner.profile.map(Profile::rows).unwrap_or_default();
    let mut bytes = Vec::with_capacity(size_of::<Setup>());
    bytes.extend(MAGIC.to_ne_bytes());
    let numbers = [
        u32::from(manner.places),
        u32::from(manner.by_capacity),
        u32::from(manner.more_threads),
        cpus.len() as u32,
        u32::from(manner.learns),
        known.len() as u32,
    ];
    numbers.into_iter().for_each(|number| bytes.extend(number.to_ne_bytes()));
    for cpu in cpus {
        let CpuRow { number, kind, capacity } =
            CpuRow { number: cpu.number, kind: cpu.kind, capacity: cpu.capacity };
        [number, kind, capacity].into_iter().for_each(|field| bytes.extend(field.to_ne_bytes()));
    }
    bytes.resize(offset_of!(Setup, known_loop), 0);
    for KnownRow { object, offset, trip, speeds } in known {
        [object, offset, trip].into_iter().for_each(|field| bytes.extend(field.to_ne_bytes()));
        speeds.into_iter().for_each(|speed| bytes.extend(speed.to_ne_bytes()));
    }
    bytes.resize(size_of::<Setup>(), 0);
    // The library takes it from this user alone, whatever the umask.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(folder.join(SETUP))?.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(number: u32, kind: u32, is_sibling: bool) -> Cpu {
        Cpu { number, kind, capacity: 1024 >> kind, is_sibling }
    }

    #[test]
    fn second_threads_of_fast_cores_come_after_slow_cores() {
        let cpus = vec![cpu(0, 0, false), cpu(1, 0, true), cpu(2, 1, false), cpu(3, 0, false)];
        let numbers: Vec<u32> = order(cpus).iter().map(|cpu| cpu.number).collect();
        assert_eq!(numbers, [0, 3, 2, 1]);
    }

    #[test]
    fn a_core_of_three_times_the_speed_has_three_threads() {
        let of = |number, capacity| Cpu { number, kind: 0, capacity, is_sibling: false };
        let numbers = |cpus: &[Cpu]| -> Vec<u32> {
            more_threads(cpus).iter().map(|cpu| cpu.number).collect()
        };
        assert_eq!(numbers(&[of(0, 1024), of(1, 341)]), [0, 0, 0, 1]);
        assert_eq!(numbers(&[of(0, 1024), of(1, 1024), of(2, 512)]), [0, 0, 1, 1, 2]);
        assert_eq!(numbers(&[of(0, 1024), of(1, 1024)]), [0, 1]);
        assert!(more_threads(&[of(0, 1024), of(1, 1)]).len() <= 8);
    }

    #[test]
    fn what_is_preloaded_already_is_kept() {
        let library = Path::new("/l.so");
        assert_eq!(preloaded(library, None), "/l.so");
        assert_eq!(preloaded(library, Some(OsStr::new(""))), "/l.so");
        assert_eq!(preloaded(library, Some(OsStr::new("/a.so /b.so"))), "/l.so:/a.so /b.so");
    }
}
