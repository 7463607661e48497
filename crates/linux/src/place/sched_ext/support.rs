//! Whether this kernel can have a scheduler of ours, asked before it is tried: so that the answer
//! names the cause.

use std::fs;
use std::path::Path;
use std::time::Duration;

use evenkeel_machine::{Nanos, parse_cpus};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use rustix::time::{ClockId, clock_getres};

use super::error::LoadError;
use super::load::NAME;
use super::members::Whose;
use super::shared::MAX_CPUS;

/// Where the kernel tells of sched_ext, below sysfs.
const FOLDER: &str = "kernel/sched_ext";
/// What loading takes.
const NEEDED_CAPABILITIES: [(CapabilitySet, &str); 2] =
    [(CapabilitySet::BPF, "CAP_BPF"), (CapabilitySet::PERFMON, "CAP_PERFMON")];

/// How often it is looked whether other programs are at work, and how long after one another.
const SAMPLES: usize = 5;
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);

/// How often CPUs have come or gone: a scheduler that is loaded for another number than the present
/// one is refused.
pub fn hotplug_sequence(sysfs: &Path) -> u64 {
    fs::read_to_string(sysfs.join(FOLDER).join("hotplug_seq"))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
}

/// One more than the greatest number that a CPU of this machine can have.
pub fn possible_cpus() -> Option<usize> {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
    parse_cpus(&list).ok()?.into_iter().max().map(|last| last as usize + 1)
}

/// The CPUs that are online, if that can be told.
pub fn online(sysfs: &Path) -> Option<Vec<u32>> {
    parse_cpus(&fs::read_to_string(sysfs.join("devices/system/cpu/online")).ok()?).ok()
}

/// Checks that there is room for all CPUs that are online: threads of any other would never run.
///
/// # Errors
/// There is not.
pub fn check_cpus(sysfs: &Path) -> Result<(), LoadError> {
    let last = online(sysfs).into_iter().flatten().max().unwrap_or(0);
    if (last as usize) < MAX_CPUS { Ok(()) } else { Err(LoadError::TooManyCpus(last)) }
}

/// How long it is between two ticks of the kernel's: clocks that are only read at ticks are as fine
/// as that.
pub fn tick() -> Nanos {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    Nanos(tick.tv_sec as u64 * 1_000_000_000 + tick.tv_nsec as u64)
}

/// True if other threads than this one and `whose` had or waited for a CPU each time that one
/// looked, within some milliseconds.
pub fn others_run(whose: Option<&Whose>) -> bool {
    // proc_loadavg(5): the fourth field begins with the threads that are runnable now, of which one
    // is this.
    let runnable = || -> Option<usize> {
        let text = fs::read_to_string("/proc/loadavg").ok()?;
        text.split_ascii_whitespace().nth(3)?.split('/').next()?.parse().ok()
    };
    (0..SAMPLES).all(|_| {
        std::thread::sleep(SAMPLE_INTERVAL);
        runnable().is_some_and(|all| all > 1 + whose.map_or(0, Whose::runnable))
    })
}

/// Gives up what this thread may do beyond what it still needs: loading the scheduler anew when
/// CPUs come or go, its own memory and class, and signals to the program that it runs.
pub fn drop_privileges() {
    let kept = CapabilitySet::BPF
        | CapabilitySet::PERFMON
        | CapabilitySet::SYS_NICE
        | CapabilitySet::IPC_LOCK
        | CapabilitySet::KILL;
    if let Ok(own) = capabilities(None) {
        let left = own.permitted & kept;
        let sets = CapabilitySets {
            effective: left,
            permitted: left,
            inheritable: CapabilitySet::empty(),
        };
        // To give up less is no reason not to go on.
        let _ = set_capabilities(None, sets);
    }
}

/// Checks that a scheduler can be loaded, as far as can be told beforehand.
///
/// # Errors
/// What is missing, and what to do about it.
pub fn check(sysfs: &Path) -> Result<(), LoadError> {
    let folder = sysfs.join(FOLDER);
    let Ok(state) = fs::read_to_string(folder.join("state")) else {
        return Err(LoadError::NoSchedExt);
    };
    if state.trim() != "disabled" {
        let name = fs::read_to_string(folder.join("root/ops")).unwrap_or_default();
        return Err(LoadError::Another {
            name: name.trim().into(),
            is_ours: name.trim().starts_with(NAME),
        });
    }
    if !sysfs.join("kernel/btf/vmlinux").exists() {
        return Err(LoadError::NoBtf);
    }
    check_cpus(sysfs)?;
    // What more rights would not help with has been said before.
    let missing: Vec<&str> = match capabilities(None) {
        Ok(own) => NEEDED_CAPABILITIES
            .iter()
            .filter(|(one, _)| !own.effective.contains(*one))
            .map(|(_, name)| *name)
            .collect(),
        Err(_) => Vec::new(),
    };
    if missing.is_empty() { Ok(()) } else { Err(LoadError::NotAllowed(missing.join(" and "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_one_that_linux_can_be_built_with() {
        // CONFIG_HZ, kernel/Kconfig.hz and arch/*/Kconfig.
        assert!(
            [24, 32, 48, 64, 100, 128, 250, 256, 300, 1000, 1024, 1200]
                .contains(&(1_000_000_000 + tick().0 / 2).div_euclid(tick().0))
        );
    }

    /// What a kernel says of itself below sysfs.
    fn refused(files: &[(&str, &str)]) -> Option<String> {
        let sysfs = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = sysfs.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check(sysfs.path()).err().map(|error| error.to_string())
    }

    #[test]
    fn a_kernel_without_sched_ext_is_told_from_one_without_types() {
        assert!(refused(&[]).is_some_and(|why| why.starts_with("this kernel has no sched_ext: ")));
        let why = refused(&[("kernel/sched_ext/state", "disabled\n")]);
        assert!(why.is_some_and(|why| why.contains("CONFIG_DEBUG_INFO_BTF")));
    }

    #[test]
    fn more_cpus_than_there_is_room_for_are_refused_before_anything_is_loaded() {
        let online = |cpus: &str| {
            let files = [
                ("kernel/sched_ext/state", "disabled\n"),
                ("kernel/btf/vmlinux", ""),
                ("devices/system/cpu/online", cpus),
            ];
            refused(&files).unwrap_or_default()
        };
        assert!(
            online("0-3,256\n")
                .starts_with("CPU 256 is online, and the scheduler has room for CPUs 0 to 255: ")
        );
        assert!(!online("0-255\n").contains("room"));
    }

    #[test]
    fn another_scheduler_is_named_and_how_it_is_stopped() {
        let beside = |ops: &str| {
            refused(&[("kernel/sched_ext/state", "enabled\n"), ("kernel/sched_ext/root/ops", ops)])
        };
        assert_eq!(
            beside("bpfland_1.1.4_g1234\n").unwrap(),
            "another sched_ext scheduler runs already (bpfland_1.1.4_g1234): stop it first \
             (systemctl stop scx.service, or end its process)"
        );
        let ours = format!("{NAME}_acfs");
        assert_eq!(
            beside(&ours).unwrap(),
            format!("another sched_ext scheduler runs already ({ours}): end that evenkeel first")
        );
    }
}
