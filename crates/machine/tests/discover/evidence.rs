//! Kinds by evidence: the sources that distinguish them, those that are silent, and those that
//! contradict.

use evenkeel_machine::discover::{
    Detected, EvidenceSource, Given, NameSource, SpeedSource, Verdict, discover,
};

use crate::{assert_valid, capacities, clusters, detect, says, tree};

use EvidenceSource::{CacheSizes, CpuCapacity, Cpuinfo, HighestPerf, IntelLists, MaxFreq, Midr};
use Verdict::{Agrees, Contradicts, Partly, Silent};

/// Detects the tree of this name with these lines added.
#[track_caller]
fn detect_with(name: &str, lines: &str) -> Detected {
    let root = tree::tree(name);
    tree::plant(root.path(), lines);
    let detected = discover(root.path(), &Given::default()).unwrap();
    assert_valid(&detected.machine);
    detected
}

fn verdicts(detected: &Detected) -> Vec<(EvidenceSource, Verdict)> {
    detected.report.evidence.iter().map(|row| (row.source, row.verdict)).collect()
}

/// Values and CPUs of a source, group by group.
#[track_caller]
fn groups(detected: &Detected, source: EvidenceSource) -> Vec<(&str, &str)> {
    let row = detected
        .report
        .evidence
        .iter()
        .find(|row| row.source == source)
        .expect("the source has a row");
    row.groups.iter().map(|group| (group.value.as_str(), group.cpus.as_str())).collect()
}

/// Designs by kind, the fastest first.
fn designs(detected: &Detected) -> Vec<&str> {
    detected.report.kinds.iter().map(|kind| kind.design.as_deref().unwrap_or("?")).collect()
}

#[track_caller]
fn assert_found(
    detected: &Detected,
    cores: &str,
    speeds: &[u32],
    evidence: &[(EvidenceSource, Verdict)],
) {
    assert_eq!(detected.machine.cores_label(), cores);
    assert_eq!(capacities(&detected.machine), speeds);
    assert_eq!(verdicts(detected), evidence);
}

#[test]
fn designs_are_two_kinds_though_their_clocks_are_within_a_tenth() {
    let kirin = detect("kirin-980");
    assert_found(
        &kirin,
        "2prime+2big+4little",
        &[1024, 749, 711],
        &[(Midr, Partly), (MaxFreq, Partly)],
    );
    assert_eq!(designs(&kirin), ["Cortex-A76 (HiSilicon)", "Cortex-A76 (HiSilicon)", "Cortex-A55"]);
    assert_eq!(clusters(&kirin.machine), [vec![0, 1, 2, 3], vec![4, 5], vec![6, 7]]);
    assert_eq!(groups(&kirin, MaxFreq), [("2600 MHz", "6-7"), ("1805 to 1901 MHz", "0-5")]);
    let snapdragon = detect("snapdragon-821");
    assert_found(&snapdragon, "2big+2little", &[1024, 957], &[(Midr, Agrees), (MaxFreq, Silent)]);
}

#[test]
fn designs_are_known_from_cpuinfo_where_sysfs_has_no_midr() {
    let kirin = detect("kirin-960");
    assert_found(&kirin, "4big+4little", &[1024, 799], &[(Midr, Agrees), (MaxFreq, Agrees)]);
    assert_eq!(designs(&kirin), ["Cortex-A73", "Cortex-A53"]);
    let snapdragon = detect("snapdragon-820");
    assert_found(&snapdragon, "2big+2little", &[1024, 759], &[(Midr, Agrees), (MaxFreq, Agrees)]);
    assert_eq!(designs(&snapdragon), ["Kryo gold", "Kryo silver"]);
    assert!(says(&snapdragon.report.notes, &["assumed that all kinds do as much per clock"]));
}

#[test]
fn a_part_without_a_name_is_a_design_by_its_numbers() {
    let detected = detect("exynos-9810");
    assert_found(&detected, "4big+4little", &[1024, 679], &[(Midr, Agrees), (MaxFreq, Agrees)]);
    assert_eq!(designs(&detected), ["implementer 0x53 part 0x002", "Cortex-A55"]);
    assert!(says(&detected.report.notes, &["CPUs 4-7: limited to 1794 MHz"]));
}

#[test]
fn midr_in_sysfs_is_believed_before_cpuinfo() {
    let detected =
        detect_with("kirin-980", "proc/cpuinfo/{0-7} = CPU implementer: 0x41; CPU part: 0xd03");
    assert_eq!(detected, detect("kirin-980"));
}

#[test]
fn one_part_for_all_in_one_block_of_cpuinfo_is_no_design() {
    let detected = detect("snapdragon-653");
    assert_found(&detected, "3big+4little", &[1024, 733], &[(MaxFreq, Agrees)]);
    assert!(says(&detected.report.untrusted, &["designs: there for CPU 7 only; not used"]));
    assert!(says(&detected.report.missing, &["CPU 6: offline"]));
    assert_eq!(designs(&detected), ["?", "?"]);
}

#[test]
fn a_cpu_that_has_lost_its_clock_has_that_of_the_neighbour_that_names_it() {
    // Only CPU 5's related_cpus describes CPU 4.
    let detected = detect("snapdragon-653");
    assert_eq!(detected.report.kinds[0].cpus, "4-5,7");
    assert_eq!(clusters(&detected.machine), [vec![0, 1, 2, 3], vec![4, 5, 7]]);
    assert!(
        !says(&detected.report.untrusted, &["cpuinfo_max_freq"]),
        "{:?}",
        detected.report.untrusted
    );
}

#[test]
fn caches_of_one_cpu_do_not_matter_where_the_designs_are_known() {
    let detected = detect("snapdragon-835");
    assert_found(&detected, "4big+4little", &[1024, 824], &[(Midr, Agrees), (MaxFreq, Agrees)]);
    assert_eq!(clusters(&detected.machine), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
    assert_eq!(detected.report.untrusted, Vec::<String>::new());
}

#[test]
fn four_designs_are_four_kinds_though_two_have_one_capacity_and_one_clock() {
    let detected = detect("snapdragon-8-gen-2");
    let evidence = [(Midr, Agrees), (CpuCapacity, Partly), (MaxFreq, Partly)];
    assert_found(&detected, "1prime+2big+2mid+3little", &[1024, 855, 855, 280], &evidence);
    assert_eq!(designs(&detected), ["Cortex-X3", "Cortex-A710", "Cortex-A715", "Cortex-A510"]);
    assert_eq!(clusters(&detected.machine), [vec![0, 1, 2], vec![3, 4], vec![5, 6], vec![7]]);
}

#[test]
fn small_steps_of_capacity_within_one_design_are_one_kind() {
    let detected = detect("gb10");
    let evidence = [
        (Midr, Agrees),
        (CacheSizes, Agrees),
        (CpuCapacity, Agrees),
        (HighestPerf, Agrees),
        (MaxFreq, Agrees),
    ];
    assert_found(&detected, "10big+10little", &[1024, 731], &evidence);
    assert_eq!(designs(&detected), ["Cortex-X925", "Cortex-A725"]);
    let fives = [0, 5, 10, 15].map(|first| (first..first + 5).collect::<Vec<u32>>());
    assert_eq!(clusters(&detected.machine), fives);
    assert_eq!(
        groups(&detected, CpuCapacity),
        [("997 to 1024", "5-9,15-19"), ("718 to 731", "0-4,10-14")]
    );
}

#[test]
fn of_designs_whose_speeds_nothing_tells_the_little_one_is_called_little() {
    let detected = detect("helio-p60");
    assert_found(&detected, "4big+4little", &[1024, 1024], &[(Midr, Agrees), (MaxFreq, Silent)]);
    assert_eq!(designs(&detected), ["Cortex-A73", "Cortex-A53"]);
    assert!(says(&detected.report.notes, &["nothing tells how fast the kinds are", "--calibrate"]));
}

#[test]
fn designs_and_caches_that_agree_are_both_said() {
    let detected = detect("snapdragon-845");
    assert_found(
        &detected,
        "4big+4little",
        &[1024, 645],
        &[(Midr, Agrees), (CacheSizes, Agrees), (MaxFreq, Agrees)],
    );
    assert_eq!(
        groups(&detected, CacheSizes),
        [
            ("L1d 32 KiB, L1i 32 KiB, L2 128 KiB", "0-3"),
            ("L1d 64 KiB, L1i 64 KiB, L2 256 KiB", "4-7")
        ]
    );
    // The clock of cpuinfo_max_freq alone is added to the list.
    assert_eq!(
        (detected.report.kinds[0].max_mhz, detected.report.kinds[0].operating_points),
        (Some(2803.2), 24)
    );
}

#[test]
fn a_hybrid_without_intels_lists_is_told_by_its_caches() {
    let detected = detect("i7-1370p");
    let evidence =
        [(Cpuinfo, Silent), (CacheSizes, Agrees), (HighestPerf, Agrees), (MaxFreq, Agrees)];
    assert_found(&detected, "12big+8little", &[1024, 596], &evidence);
    assert_eq!(clusters(&detected.machine)[1..], [vec![12, 13, 14, 15], vec![16, 17, 18, 19]]);
    assert_eq!(groups(&detected, Cpuinfo), [("GenuineIntel family 6 model 186", "0-19")]);
    assert!(says(
        &detected.report.notes,
        &["up to 4.5 % slower by highest_perf", "taken as one kind"]
    ));
}

#[test]
fn one_big_core_is_seen_where_only_the_caches_differ() {
    let detected = detect("lakefield");
    let evidence = [(Cpuinfo, Silent), (CacheSizes, Agrees), (MaxFreq, Silent)];
    assert_found(&detected, "1big+4little", &[1024, 956], &evidence);
    assert_eq!(
        (detected.report.kinds[0].cpus.as_str(), clusters(&detected.machine)[0].len()),
        ("4", 4)
    );
    assert!(says(&detected.report.notes, &["assumed that all kinds do as much per clock"]));
}

#[test]
fn low_power_cores_are_a_kind_though_lists_and_caches_are_those_of_the_e_cores() {
    let detected = detect("meteor-lake");
    let evidence = [
        (Cpuinfo, Silent),
        (IntelLists, Partly),
        (CacheSizes, Partly),
        (HighestPerf, Agrees),
        (MaxFreq, Agrees),
    ];
    assert_found(&detected, "12P+8E+2LP-E", &[1024, 649, 427], &evidence);
    assert_eq!(
        groups(&detected, IntelLists),
        [("cpu_core", "0-1,10-19"), ("cpu_atom", "2-9,20-21")]
    );
    assert_eq!(detected.report.kinds[2].name_source, NameSource::CpuAtom);
    assert_eq!(
        clusters(&detected.machine)[1..],
        [vec![2, 3, 4, 5], vec![6, 7, 8, 9], vec![20, 21]]
    );
}

#[test]
fn a_cpu_that_is_on_no_list_is_a_kind_of_its_own() {
    let detected = detect_with("meteor-lake", "devices/cpu_atom/cpus = 2-9");
    assert_eq!(detected.machine.cores_label(), "12P+8E+2core");
    assert_eq!(groups(&detected, IntelLists)[2], ("none", "20-21"));
}

#[test]
fn equal_caches_and_families_leave_two_kinds_to_highest_perf_and_clock() {
    let detected = detect("strix-point");
    let evidence =
        [(Cpuinfo, Silent), (CacheSizes, Silent), (HighestPerf, Agrees), (MaxFreq, Agrees)];
    assert_found(&detected, "8big+16little", &[1024, 607], &evidence);
    assert_eq!(detected.report.kinds[0].capacity_source, SpeedSource::HighestPerf);
    let cpus: Vec<&str> = detected.report.kinds.iter().map(|kind| kind.cpus.as_str()).collect();
    assert_eq!(cpus, ["0-3,12-15", "4-11,16-23"]);
    // The ranking of the four does not make kinds.
    assert_eq!(groups(&detected, HighestPerf)[0], ("196 to 211", "0-3,12-15"));
}

#[test]
fn clocks_that_scatter_over_equal_cores_are_one_kind() {
    let detected = detect("boost-scatter");
    assert_found(
        &detected,
        "16core",
        &[1024],
        &[(Cpuinfo, Agrees), (CacheSizes, Agrees), (MaxFreq, Agrees)],
    );
    assert!(detected.machine.cores.iter().all(|core| core.sibling.is_some()));
    assert!(says(
        &detected.report.notes,
        &["CPUs 0-6,8-14: up to 21.3 % slower", "taken as one kind"]
    ));
    // A gap is not scatter.
    let gap = detect_with(
        "boost-scatter",
        "devices/system/cpu/cpu{6-7,14-15}/cpufreq/cpuinfo_max_freq = 6803000",
    );
    assert_eq!(gap.machine.cores_label(), "4big+12little");
}

#[test]
fn masks_serve_where_there_are_no_lists() {
    let detected = detect("masks-only");
    assert_found(&detected, "3core", &[1024], &[(CacheSizes, Agrees)]);
    let report = &detected.report;
    assert_eq!((report.cpus.online.as_str(), report.cpus.offline.as_str()), ("0-2", "3"));
    assert_eq!((report.kinds[0].cores, report.kinds[0].physical_cores), (3, 2));
    let siblings: Vec<bool> =
        detected.machine.cores.iter().map(|core| core.sibling.is_some()).collect();
    assert_eq!(siblings, [true, true, false]);
    let caches: Vec<(u64, &str)> =
        report.kinds[0].caches.iter().map(|cache| (cache.kib, cache.cpus.as_str())).collect();
    assert_eq!(caches, [(32, "0-1"), (512, "0-1")]);
    assert_eq!(report.problems, Vec::<String>::new());
}

#[test]
fn caches_that_a_tree_has_lost_are_no_difference_between_cores() {
    let detected = detect("xeon-lost-caches");
    assert_found(&detected, "8core", &[1024], &[(Cpuinfo, Agrees)]);
    assert!(says(&detected.report.untrusted, &["sizes of caches", "a part of the CPUs only"]));
    assert_eq!(clusters(&detected.machine), [[0, 4], [1, 5], [2, 6], [3, 7]]);
    // The sizes of the caches that all CPUs still have distinguish kinds.
    let detected = detect_with("lakefield", "devices/system/cpu/cpu3/cache/index1/size = lost");
    assert_eq!(detected.machine.cores_label(), "1big+4little");
    assert_eq!(
        groups(&detected, CacheSizes),
        [("L1d 32 KiB, L2 1536 KiB", "0-3"), ("L1d 48 KiB, L2 512 KiB", "4")]
    );
    assert!(says(&detected.report.untrusted, &["sizes of caches"]));
}

#[test]
fn lists_that_end_in_a_zero_byte_are_read() {
    let detected = detect("kunpeng-920");
    assert_found(
        &detected,
        "8core",
        &[1024],
        &[(Midr, Agrees), (CacheSizes, Agrees), (CpuCapacity, Agrees)],
    );
    assert_eq!(clusters(&detected.machine), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
    assert_eq!(detected.report.problems, Vec::<String>::new());
}

#[test]
fn four_equal_risc_v_cores_are_one_kind() {
    let detected = detect("visionfive2");
    assert_found(&detected, "4core", &[1024], &[(CacheSizes, Agrees), (CpuCapacity, Agrees)]);
    assert_eq!((designs(&detected), detected.report.untrusted.len()), (vec!["?"], 0));
    assert_eq!(detected.machine.clusters[0].cache_bytes, 2 << 20);
}

#[test]
fn a_clock_that_splits_a_kind_contradicts_it() {
    // One A715 is clocked lower than its capacity says.
    let slow = "devices/system/cpu/cpufreq/policy3/related_cpus = 4 5 6\n\
                devices/system/cpu/cpu3/cpufreq/related_cpus = 3\n\
                devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq = 2400000";
    let detected = detect_with("snapdragon-8-gen-2", slow);
    let evidence = [(Midr, Agrees), (CpuCapacity, Partly), (MaxFreq, Contradicts)];
    assert_found(&detected, "1prime+2big+2mid+3little", &[1024, 855, 855, 280], &evidence);
}

#[test]
fn caches_that_split_a_design_contradict_it_and_make_no_kind() {
    let detected = detect_with("gb10", "devices/system/cpu/cpu19/cache/index2/size = 3072K");
    assert_eq!(detected.machine.cores_label(), "10big+10little");
    assert_eq!(verdicts(&detected)[1], (CacheSizes, Contradicts));
    assert_eq!(groups(&detected, CacheSizes)[2], ("L1d 64 KiB, L1i 64 KiB, L2 3072 KiB", "19"));
}

#[test]
fn a_ranking_with_a_gap_contradicts_equal_cores_and_is_not_used() {
    let detected =
        detect_with("preferred-cores", "devices/system/cpu/cpu3/acpi_cppc/highest_perf = 166");
    assert_found(&detected, "4core", &[1024], &[(HighestPerf, Contradicts), (MaxFreq, Agrees)]);
    assert_eq!(groups(&detected, HighestPerf), [("211 to 236", "0-2"), ("166", "3")]);
    assert!(says(
        &detected.report.untrusted,
        &["highest_perf differs (166 to 236)", "ranking of preferred cores"]
    ));
}

#[test]
fn highest_perf_of_different_designs_is_speed_even_where_the_clocks_agree() {
    let detected =
        detect_with("i7-1370p", "devices/system/cpu/cpu{0-19}/cpufreq/cpuinfo_max_freq = 3900000");
    let evidence =
        [(Cpuinfo, Silent), (CacheSizes, Agrees), (HighestPerf, Agrees), (MaxFreq, Silent)];
    assert_found(&detected, "12big+8little", &[1024, 596], &evidence);
    assert_eq!(detected.report.untrusted, Vec::<String>::new());
}

#[test]
fn one_capacity_for_two_designs_says_less_than_clocks_that_differ_slightly() {
    let detected = detect_with("snapdragon-821", "devices/system/cpu/cpu{0-3}/cpu_capacity = 1024");
    let evidence = [(Midr, Agrees), (CpuCapacity, Silent), (MaxFreq, Silent)];
    assert_found(&detected, "2big+2little", &[1024, 957], &evidence);
    assert!(says(
        &detected.report.untrusted,
        &["cpu_capacity is 1024 on all CPUs while cpuinfo_max_freq differs"]
    ));
}

#[test]
fn clocks_of_one_arm_design_are_speeds_without_an_assumption() {
    let lines = "devices/system/cpu/cpu{0-7}/regs/identification/midr_el1 = 0x00000000410fd034";
    let detected = detect_with("kirin-980", lines);
    assert_found(&detected, "2big+6little", &[1024, 749], &[(Midr, Silent), (MaxFreq, Agrees)]);
    assert!(
        !says(&detected.report.notes, &["assumed that all kinds"]),
        "{:?}",
        detected.report.notes
    );
}

#[test]
fn more_designs_than_kinds_that_a_machine_may_have_are_not_used() {
    let parts = |first: u32| {
        (0..9).map(move |cpu| format!("CPU implementer: 0x41; CPU part: {:#x}", first + cpu))
    };
    let lines = |parts: &mut dyn Iterator<Item = String>| {
        let lines =
            parts.enumerate().map(|(cpu, fields)| format!("proc/cpuinfo/{cpu} = {fields}\n"));
        "devices/system/cpu/online = 0-8\n".to_owned() + &lines.collect::<String>()
    };
    let detected = detect_with("bare", &lines(&mut parts(0xd00)));
    assert_found(&detected, "9core", &[1024], &[(Midr, Contradicts)]);
    assert!(says(&detected.report.notes, &["more than 8 kinds of core by their designs"]));
    let detected = detect_with("bare", &lines(&mut parts(0xd00).take(8)).replace("0-8", "0-7"));
    assert_eq!(detected.machine.kinds.len(), 8);
}
