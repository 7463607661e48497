//! Any tree gives a valid machine or an error.

use std::fmt::Write as _;

use evenkeel_machine::discover::{Given, MeasuredSpeed, discover};
use proptest::prelude::*;

use crate::{assert_valid, tree};

/// Files that are read, relative to a CPU's folder.
const OF_CPU: &[&str] = &[
    "cpu_capacity",
    "acpi_cppc/highest_perf",
    "cpufreq/cpuinfo_max_freq",
    "cpufreq/cpuinfo_min_freq",
    "cpufreq/scaling_max_freq",
    "cpufreq/scaling_available_frequencies",
    "cpufreq/related_cpus",
    "topology/core_cpus_list",
    "topology/cluster_cpus_list",
    "topology/package_cpus_list",
    "topology/thread_siblings",
    "topology/core_siblings",
    "online",
    "regs/identification/midr_el1",
    "cache/index0/level",
    "cache/index0/type",
    "cache/index0/size",
    "cache/index2/level",
    "cache/index2/type",
    "cache/index2/size",
    "cache/index2/shared_cpu_list",
    "cache/index2/shared_cpu_map",
];

/// Fields of a CPU in `/proc/cpuinfo`.
const OF_CPUINFO: &[&str] =
    &["processor", "CPU implementer", "CPU part", "vendor_id", "cpu family", "model", "Revision"];

/// The rest.
const OF_MACHINE: &[&str] = &[
    "devices/system/cpu/online",
    "devices/system/cpu/present",
    "devices/system/cpu/offline",
    "devices/cpu_core/cpus",
    "devices/cpu_atom/cpus",
    "devices/cpu_lowpower/cpus",
    "devices/system/cpu/cpufreq/policy0/related_cpus",
    "devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
    "../proc/cpuinfo",
    "firmware/devicetree/base/model",
    "firmware/devicetree/base/compatible",
    "class/powercap/intel-rapl:0/energy_uj",
    "class/hwmon/hwmon0/power1_input",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (1..2_000_u32).prop_map(|number| number.to_string()),
        2 => (1..9_000_000_u64).prop_map(|number| number.to_string()),
        2 => "[0-7](-[0-7])?(,[0-7])?",
        1 => "[0-7]( [0-7]){0,3}",
        1 => "[0-9]{1,3}[KMG]",
        1 => prop::sample::select(vec!["Unified", "Data", "Instruction"]).prop_map(str::to_owned),
        1 => "(0x)?[0-9a-f]{1,9}(,[0-9a-f]{8})?",
        1 => Just("apple,x".to_owned()),
        1 => "[^\n=]{0,12}",
    ]
}

fn line() -> impl Strategy<Value = String> {
    let of_cpu = (0..8, prop::sample::select(OF_CPU), text())
        .prop_map(|(cpu, file, text)| format!("devices/system/cpu/cpu{cpu}/{file} = {text}"));
    // The same value for all CPUs passes the check that each CPU has one.
    let of_all = (prop::sample::select(OF_CPU), text(), text(), 0..7).prop_map(
        |(file, one, other, last)| {
            let mut lines = format!("devices/system/cpu/cpu{{0-{last}}}/{file} = {one}\n");
            let _ = write!(lines, "devices/system/cpu/cpu{{{}-7}}/{file} = {other}", last + 1);
            lines
        },
    );
    let of_machine = (prop::sample::select(OF_MACHINE), text())
        .prop_map(|(file, text)| format!("{file} = {text}"));
    let field =
        (prop::sample::select(OF_CPUINFO), text()).prop_map(|(key, text)| format!("{key}: {text}"));
    let of_cpuinfo = (prop::collection::vec(field, 1..5), 0..8)
        .prop_map(|(fields, first)| format!("proc/cpuinfo/{{{first}-7}} = {}", fields.join("; ")));
    prop_oneof![2 => of_cpu, 4 => of_all, 2 => of_machine, 1 => of_cpuinfo]
}

proptest! {
    #[test]
    fn any_tree_is_met_with_a_valid_machine_or_an_error(
        lines in prop::collection::vec(line(), 0..24),
        allowed in prop::option::of(prop::collection::vec(0..9_u32, 0..9)),
        measured in prop::collection::vec((0..9_u32, 1e-3..1e9), 0..9),
        uncertainty in 0.0..2.0,
        is_listed in prop::bool::weighted(0.8),
    ) {
        let root = tree::empty();
        if is_listed {
            tree::plant(root.path(), "devices/system/cpu/online = 0-7");
        }
        tree::plant(root.path(), &lines.join("\n"));
        let measured = measured.into_iter().map(|(cpu, speed)| MeasuredSpeed { cpu, speed }).collect();
        let given = Given { allowed: allowed.clone(), clock_khz: None, measured, uncertainty };
        if let Ok(detected) = discover(root.path(), &given) {
            assert_valid(&detected.machine);
            for row in &detected.report.evidence {
                prop_assert!(row.groups.iter().all(|group| !group.value.is_empty() && !group.cpus.is_empty()));
            }
            for pair in detected.machine.kinds.windows(2) {
                prop_assert!(pair[0].top().capacity >= pair[1].top().capacity);
            }
            if let Some(allowed) = allowed {
                prop_assert!(detected.machine.cores.iter().all(|core| allowed.contains(&core.cpu)));
            }
        }
    }

    #[test]
    fn a_core_is_as_fast_in_a_container_as_outside(
        name in prop::sample::select(vec!["odroid-xu3", "pixel6", "alder-lake", "server", "kirin-980", "strix-point"]),
        allowed in prop::collection::btree_set(0..8_u32, 1..8),
    ) {
        let root = tree::tree(name);
        let whole = discover(root.path(), &Given::default()).unwrap().machine;
        let given = Given { allowed: Some(allowed.iter().copied().collect()), ..Given::default() };
        let part = discover(root.path(), &given).unwrap().machine;
        assert_valid(&part);
        prop_assert_eq!(part.cores.len(), allowed.len());
        for core in &part.cores {
            let before = whole.cores.iter().find(|before| before.cpu == core.cpu).unwrap();
            prop_assert_eq!(part.kind_of(core.id), whole.kind_of(before.id));
        }
    }
}
