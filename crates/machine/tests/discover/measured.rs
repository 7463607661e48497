//! Measured speeds take precedence.

use evenkeel_machine::discover::{Detected, Given, MeasuredSpeed, SpeedSource, discover};

use crate::{assert_valid, capacities, says, tree};

/// Detects a tree with these measured speeds, CPU by CPU.
fn with_speeds(name: &str, speeds: &[f64], uncertainty: f64) -> Detected {
    let root = tree::tree(name);
    let measured =
        speeds.iter().zip(0..).map(|(&speed, cpu)| MeasuredSpeed { cpu, speed }).collect();
    let detected =
        discover(root.path(), &Given { measured, uncertainty, ..Given::default() }).unwrap();
    assert_valid(&detected.machine);
    detected
}

#[test]
fn cores_that_differ_by_more_than_a_tenth_become_kinds() {
    let detected = with_speeds("bare", &[300.0, 100.0], 0.0);
    assert_eq!(detected.machine.cores_label(), "1big+1little");
    assert_eq!(capacities(&detected.machine), [1024, 341]);
    assert_eq!(detected.report.kinds[1].capacity_source, SpeedSource::Measured);
    let told = "CPU 1: 0.33 of the speed of CPU 0";
    assert!(
        detected.report.notes.iter().any(|note| note.starts_with(told)),
        "{:?}",
        detected.report.notes
    );
}

#[test]
fn cores_that_differ_by_less_than_a_tenth_stay_one_kind() {
    assert_eq!(with_speeds("bare", &[100.0, 91.0], 0.0).machine.cores_label(), "2core");
}

#[test]
fn differences_within_the_uncertainty_of_the_measurement_make_no_kinds() {
    assert_eq!(with_speeds("bare", &[100.0, 75.0], 0.3).machine.cores_label(), "2core");
    assert_eq!(with_speeds("bare", &[100.0, 65.0], 0.3).machine.cores_label(), "1big+1little");
}

#[test]
fn a_difference_within_the_scatter_is_said_and_force_makes_kinds_of_it() {
    let words =
        ["CPU 1: more than 10 % slower", "scattered by 30 %", "taken as one kind", "--force"];
    let detected = with_speeds("bare", &[100.0, 75.0], 0.3);
    assert_eq!(detected.machine.cores_label(), "2core");
    assert!(says(&detected.report.notes, &words), "{:?}", detected.report.notes);
    // With --force no scatter is taken into account.
    let forced = with_speeds("bare", &[100.0, 75.0], 0.0);
    assert_eq!(forced.machine.cores_label(), "1big+1little");
    for (speeds, scatter) in [([100.0, 75.0], 0.0), ([100.0, 95.0], 0.3), ([100.0, 65.0], 0.3)] {
        let detected = with_speeds("bare", &speeds, scatter);
        assert!(
            !says(&detected.report.notes, &["--force"]),
            "{speeds:?}: {:?}",
            detected.report.notes
        );
    }
}

#[test]
fn more_speeds_than_kinds_that_a_machine_may_have_are_told_apart_less_finely() {
    // Nine steps of 12 % on a machine of 16 CPUs.
    let speeds: Vec<f64> = (0..16).map(|cpu| 100.0 * 0.88_f64.powi(cpu.min(8))).collect();
    let detected = with_speeds("boost-scatter", &speeds, 0.0);
    assert!((2..=8).contains(&detected.machine.kinds.len()), "{}", detected.machine.cores_label());
    assert!(!says(&detected.report.notes, &["--force"]), "no scatter: {:?}", detected.report.notes);
}

#[test]
fn kinds_that_sysfs_tells_keep_apart_and_get_the_measured_capacity() {
    // The little cores do more per clock than the table says, and one of the big ones is slowed to
    // a half.
    let detected =
        with_speeds("odroid-xu3", &[50.0, 50.0, 51.0, 49.0, 50.0, 100.0, 98.0, 102.0], 0.0);
    assert_eq!(detected.machine.cores_label(), "3prime+1big+4little");
    assert_eq!(capacities(&detected.machine), [1024, 512, 512]);
    assert_eq!(detected.report.kinds[1].cpus, "4");
}

#[test]
fn kinds_that_were_not_measured_keep_their_ratio() {
    // Only a big core is measured.
    let root = tree::tree("odroid-xu3");
    let measured = vec![MeasuredSpeed { cpu: 4, speed: 7.0 }];
    let detected = discover(root.path(), &Given { measured, ..Given::default() }).unwrap();
    assert_eq!(capacities(&detected.machine), [1024, 377]);
}

#[test]
fn threads_of_one_core_that_run_at_two_speeds_are_modelled_as_two_cores() {
    let mut speeds = [100.0; 16];
    speeds[8] = 40.0;
    let detected = with_speeds("server", &speeds, 0.0);
    assert_eq!(detected.machine.cores_label(), "15big+1little");
    let caches: Vec<u64> =
        detected.machine.clusters.iter().map(|cluster| cluster.cache_bytes >> 20).collect();
    assert_eq!(caches, [32, 32, 32], "a core that is slowed shares what it shared");
    assert!(
        detected
            .report
            .notes
            .iter()
            .any(|note| note.starts_with("CPUs 0,8: threads of one physical core"))
    );
}
