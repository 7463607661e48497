//! Machine and report of each recorded board and chip.

use evenkeel_files::machines;
use evenkeel_machine::discover::{
    ClockSource, DiscoverError, Given, NameSource, SensorSource, SpeedSource, discover,
};
use evenkeel_machine::{Machine, MicroWatts};

use crate::{assert_valid, capacities, clusters, detect, detect_within, says, tree};

/// Asserts that a preset and a detected machine have the same kinds, cores, clusters and
/// capacities.
#[track_caller]
fn assert_like_preset(found: &Machine, preset: &str) {
    let preset = machines::preset(preset).unwrap();
    assert_eq!(found.cores_label(), preset.cores_label());
    assert_eq!(capacities(found), capacities(&preset));
    assert_eq!(clusters(found), clusters(&preset));
    let tops =
        |machine: &Machine| machine.kinds.iter().map(|kind| kind.top().khz).collect::<Vec<_>>();
    assert_eq!(tops(found), tops(&preset));
    let siblings =
        |machine: &Machine| machine.cores.iter().map(|core| core.sibling).collect::<Vec<_>>();
    assert_eq!(siblings(found), siblings(&preset));
}

#[test]
fn an_odroid_xu3_has_four_big_cores_after_four_little_ones_and_no_caches() {
    let detected = detect("odroid-xu3");
    assert_like_preset(&detected.machine, "odroid-xu3");
    assert_eq!(detected.machine.kinds[0].opps.len(), 19);
    // Capacity is proportional to the clock: 1000 of 2000 MHz is half of 1024.
    let half = detected.machine.kinds[0].opps.iter().find(|point| point.khz == 1_000_000).unwrap();
    assert_eq!(half.capacity, 512.0);
    assert_eq!((half.busy_power, detected.machine.has_power_model()), (None::<MicroWatts>, false));
    let report = &detected.report;
    assert_eq!(report.kinds[0].capacity_source, SpeedSource::CpuCapacity);
    assert_eq!(report.kinds[0].clock_source, ClockSource::AvailableFrequencies);
    assert!(says(&report.missing, &["caches of big, little"]));
    assert!(says(&report.missing, &["power model"]));
    assert!(says(&report.notes, &["CPUs 4-7: limited to 1800 MHz"]));
    assert_eq!(
        report.sensors.len(),
        4,
        "the chip that measures heat is none: {:?}",
        report.sensors
    );
    assert!(
        report
            .sensors
            .iter()
            .all(|sensor| (sensor.source, sensor.name.as_str()) == (SensorSource::Hwmon, "ina231"))
    );
}

#[test]
fn a_pixel_6_has_three_kinds_the_little_cores_numbered_first() {
    let detected = detect("pixel6");
    assert_like_preset(&detected.machine, "pixel6");
    assert_eq!(detected.report.kinds[2].cpus, "0-3");
    assert!(detected.machine.clusters.iter().all(|cluster| cluster.cache_bytes == 4 << 20));
    // The cache that a prime core has to itself.
    assert_eq!(detected.machine.costs.private_cache_bytes, 1 << 20);
    let sensors = &detected.report.sensors;
    assert_eq!(sensors.len(), 1);
    assert_eq!((sensors[0].source, sensors[0].name.as_str()), (SensorSource::Battery, "battery"));
}

#[test]
fn an_rk3588_has_two_clusters_of_one_kind_though_one_is_binned_lower() {
    let detected = detect("rk3588");
    assert_like_preset(&detected.machine, "rk3588");
    assert!(says(&detected.report.notes, &["CPUs 6-7: up to 2.1 % slower", "taken as one kind"]));
}

#[test]
fn an_i9_12900k_has_p_cores_with_siblings_and_e_cores_in_clusters_of_four() {
    let detected = detect("alder-lake");
    assert_like_preset(&detected.machine, "alder-lake");
    let caches: Vec<u64> =
        detected.machine.clusters.iter().map(|cluster| cluster.cache_bytes >> 10).collect();
    assert_eq!(caches, [30_720, 2_048, 2_048]);
    let report = &detected.report;
    assert_eq!(report.kinds[0].name_source, NameSource::CpuCore);
    assert_eq!(report.kinds[1].name_source, NameSource::CpuAtom);
    assert_eq!(report.kinds[0].capacity_source, SpeedSource::HighestPerf);
    assert_eq!((report.kinds[0].cores, report.kinds[0].physical_cores), (16, 8));
    // With SMT, Linux leaves cpu_capacity at 1024 for all.
    assert!(says(&report.untrusted, &["cpu_capacity is 1024 on all CPUs", "not used"]));
    // Favoured cores are not a kind.
    assert!(says(&report.notes, &["CPUs 0-7,12-15: up to 1.5 % slower"]));
    let sensors: Vec<&str> = report.sensors.iter().map(|sensor| sensor.name.as_str()).collect();
    assert_eq!(sensors, ["package-0", "core", "uncore"]);
}

#[test]
fn a_chip_like_lunar_lake_has_p_and_low_power_cores_with_capacities_of_the_kernel() {
    let detected = detect("lunar-lake");
    assert_eq!(detected.machine.cores_label(), "4P+4LP-E");
    assert_eq!(capacities(&detected.machine), [1024, 671]);
    assert_eq!(detected.report.kinds[1].capacity_source, SpeedSource::CpuCapacity);
    assert_eq!(clusters(&detected.machine), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
    assert!(detected.machine.cores.iter().all(|core| core.sibling.is_none()));
    assert!(says(&detected.report.untrusted, &["highest_perf is 255 on all CPUs"]));
    let sources: Vec<SensorSource> =
        detected.report.sensors.iter().map(|sensor| sensor.source).collect();
    assert_eq!(sources, [SensorSource::Powercap, SensorSource::Battery]);
}

#[test]
fn low_power_cores_that_the_kernel_lists_with_the_e_cores_are_told_by_their_speed() {
    let root = tree::tree("alder-lake");
    tree::plant(root.path(), "devices/system/cpu/cpu{22-23}/acpi_cppc/highest_perf = 21");
    let detected = discover(root.path(), &Given::default()).unwrap();
    assert_eq!(detected.machine.cores_label(), "16P+6E+2LP-E");
    assert_valid(&detected.machine);
}

#[test]
fn an_apple_m1_has_kinds_by_apples_names() {
    let detected = detect("apple-m1");
    let found = detected.machine;
    assert_like_preset(&found, "apple-m1");
    assert_eq!(found.name, "apple-mac-mini-m1-2020");
    let preset = machines::preset("apple-m1").unwrap();
    let clocks =
        |machine: &Machine| machine.kinds[0].opps.iter().map(|point| point.khz).collect::<Vec<_>>();
    assert_eq!(clocks(&found), clocks(&preset));
    assert_eq!(detected.report.sensors[0].name, "macsmc_hwmon (Total System Power)");
}

#[test]
fn a_symmetric_server_has_one_kind_and_a_cluster_for_each_package() {
    let detected = detect("server");
    assert_eq!(detected.machine.cores_label(), "16core");
    let of_first = vec![0, 8, 1, 9, 2, 10, 3, 11];
    assert_eq!(
        clusters(&detected.machine),
        [of_first.clone(), of_first.iter().map(|cpu| cpu + 4).collect()]
    );
    assert!(detected.machine.cores.iter().all(|core| core.sibling.is_some()));
    assert_eq!(detected.report.cpus.isolated, "7,15");
    assert_eq!(
        detected.machine.kinds[0].opps.iter().map(|point| point.khz / 1_000).collect::<Vec<_>>(),
        [1500, 2400, 3200]
    );
    assert_eq!(detected.report.untrusted, Vec::<String>::new());
}

#[test]
fn one_highest_perf_for_all_says_nothing_and_the_clock_tells_the_kinds() {
    let detected = detect("one-highest-perf");
    assert_eq!(detected.machine.cores_label(), "2big+4little");
    assert_eq!(capacities(&detected.machine), [1024, 731]);
    assert_eq!(detected.report.kinds[0].capacity_source, SpeedSource::MaxFreq);
    assert!(says(&detected.report.untrusted, &["highest_perf is 255 on all CPUs", "not used"]));
    assert!(says(
        &detected.report.notes,
        &["assumed that all kinds do as much per clock", "--calibrate"]
    ));
}

#[test]
fn a_ranking_of_preferred_cores_is_not_taken_for_speed() {
    let detected = detect("preferred-cores");
    assert_eq!(detected.machine.cores_label(), "4core");
    assert!(says(
        &detected.report.untrusted,
        &["highest_perf differs (196 to 236)", "ranking of preferred cores"]
    ));
}

#[test]
fn an_offline_cluster_is_said_to_be_missing_and_is_not_in_the_machine() {
    let detected = detect("offline-cluster");
    assert_eq!(detected.machine.cores_label(), "4core");
    assert_eq!(detected.report.cpus.offline, "4-7");
    assert!(says(&detected.report.missing, &["CPUs 4-7: offline"]));
}

#[test]
fn a_container_that_sees_a_part_of_the_cores_has_a_machine_of_those() {
    let whole = detect("alder-lake").machine;
    let detected = detect_within("alder-lake", Some(&[2, 3, 4, 16, 17])).unwrap();
    assert_valid(&detected.machine);
    assert_eq!(detected.machine.cores_label(), "3P+2E");
    assert_eq!(clusters(&detected.machine), [vec![2, 3, 4], vec![16, 17]]);
    // CPU 5, the sibling of 4, may not be used: 4 has the core to itself.
    let siblings: Vec<bool> =
        detected.machine.cores.iter().map(|core| core.sibling.is_some()).collect();
    assert_eq!(siblings, [true, true, false, false, false]);
    assert_eq!(detected.report.cpus.not_allowed, "0-1,5-15,18-23");
    assert!(says(&detected.report.missing, &["CPUs 0-1,5-15,18-23: not allowed"]));
    assert_eq!(detected.machine.reference, whole.reference);
}

#[test]
fn a_container_of_e_cores_has_cores_no_faster_than_they_are() {
    let detected = detect_within("alder-lake", Some(&[16, 17, 18, 19])).unwrap();
    assert_valid(&detected.machine);
    assert_eq!(
        (detected.machine.cores_label().as_str(), capacities(&detected.machine)),
        ("4E", vec![605])
    );
    assert_eq!(detected.machine.reference.fastest_capacity, 1024.0);
}

#[test]
fn no_cpu_that_may_be_used_is_an_error_that_says_which_there_are() {
    let error = detect_within("offline-cluster", Some(&[4, 5])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "none of the CPUs that may be used (4-5) is online: expected one of 0-3"
    );
    let error = detect_within("offline-cluster", Some(&[])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "none of the CPUs that may be used (none) is online: expected one of 0-3"
    );
    let empty = tree::empty();
    let error = discover(empty.path(), &Given::default()).unwrap_err();
    assert!(matches!(&error, DiscoverError::NoCpus { root } if root == empty.path()), "{error}");
}

#[test]
fn a_machine_that_tells_nothing_is_taken_as_symmetric_and_said_to_be_a_guess() {
    let detected = detect("bare");
    assert_eq!(detected.machine.cores_label(), "2core");
    assert_eq!(clusters(&detected.machine), [vec![0, 1]]);
    let report = detected.report;
    assert_eq!(
        (report.kinds[0].capacity_source, report.kinds[0].clock_source),
        (SpeedSource::Assumption, ClockSource::Assumption)
    );
    assert_eq!(report.kinds[0].max_mhz, None);
    for words in [
        ["speeds", "taken as equal"],
        ["clocks", "1000 MHz"],
        ["caches", "32 KiB"],
        ["power sensors", "none"],
    ] {
        assert!(says(&report.missing, &words), "{words:?} in {:?}", report.missing);
    }
    let root = tree::tree("bare");
    let detected =
        discover(root.path(), &Given { clock_khz: Some(2_596_000), ..Given::default() }).unwrap();
    assert_eq!(detected.machine.kinds[0].top().khz, 2_596_000);
    assert_eq!(detected.report.kinds[0].clock_source, ClockSource::PresentClock);
}

#[test]
fn damaged_files_are_named_and_the_rest_is_used() {
    let detected = detect("damaged");
    assert_valid(&detected.machine);
    assert_eq!(detected.machine.cores_label(), "2big+2little");
    let problems = &detected.report.problems;
    for words in [
        ["cpu0/cpu_capacity", "'-5' found"],
        ["cpu3/cpu_capacity", "cannot be read"],
        ["cpu/present", "from the lower number to the higher"],
        ["cpu_core/cpus", "below 65536"],
        ["scaling_available_frequencies", "'fast' found"],
        ["index3/size", "'big' found"],
        ["related_cpus", "expected CPU numbers"],
        ["cpu0/topology", "siblings that others contradict"],
    ] {
        assert!(says(problems, &words), "{words:?} in {problems:#?}");
    }
    assert!(says(&detected.report.untrusted, &["cpu_capacity: there for CPU 1 only"]));
}
