//! What governs the clocks of this machine, as far as policies are told of it.

use std::path::Path;

use evenkeel_machine::Machine;

/// True if schedutil governs all CPUs of a machine, by `cpufreq/scaling_governor` under `sysfs`
/// (Documentation/admin-guide/pm/cpufreq.rst). A CPU whose governor cannot be read has another.
pub fn is_schedutil(machine: &Machine, sysfs: &Path) -> bool {
    let governs = |cpu: u32| {
        let file = sysfs.join(format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
        std::fs::read_to_string(file).is_ok_and(|name| name.trim() == "schedutil")
    };
    machine.cores.iter().all(|core| governs(core.cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedutil_must_govern_every_cpu_of_the_machine() {
        let root = tempfile::tempdir().unwrap();
        let machine =
            evenkeel_files::machines::preset("odroid-xu3").unwrap().subset("1big+1little").unwrap();
        let cpus: Vec<u32> = machine.cores.iter().map(|core| core.cpu).collect();
        let govern = |cpu: u32, governor: &str| {
            let folder = root.path().join(format!("devices/system/cpu/cpu{cpu}/cpufreq"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("scaling_governor"), format!("{governor}\n")).unwrap();
        };
        let steps = [
            (0, "schedutil", false),
            (1, "performance", false),
            (1, "schedutil", true),
            (0, "ondemand", false),
        ];
        for (cpu, governor, expected) in steps {
            govern(cpus[cpu], governor);
            assert_eq!(
                is_schedutil(&machine, root.path()),
                expected,
                "{governor} on the CPU of core {cpu}"
            );
        }
    }
}
