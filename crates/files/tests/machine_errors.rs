//! An error of a machine file names its place and its key, what was found and what was expected.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines::{self, MAX_FILE_BYTES, MachineError};
use evenkeel_machine::MAX_CORES;

/// A valid machine file. Line 5 starts the first kind, line 11 the second, 16 and 20 the clusters,
/// 24 the costs.
const GOOD: &str = r#"name = "x"
description = "d"
smt_speed = 0.7

[[kinds]]
name = "big"
dmips_mhz = 1024
idle_power_w = 0.1
cluster_power_w = 0.2
operating_points = [{ mhz = 500, power_w = 0.5 }, { mhz = 1000, power_w = 1 }]
[[kinds]]
name = "little"
dmips_mhz = 512
max_mhz = 500

[[clusters]]
kind = "big"
cores = 2

[[clusters]]
kind = "little"
cores = 4

[costs]
context_switch_us = 3
"#;

/// The message for the good file with `from` replaced by `to`.
fn message(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is not in the good file");
    machines::parse(&GOOD.replacen(from, to, 1), "x.toml").unwrap_err().to_string()
}

#[test]
fn the_good_file_is_good() {
    let machine = machines::parse(GOOD, "x.toml").unwrap();
    assert_eq!(machine.cores_label(), "2big+4little");
    assert_eq!(machine.kinds[1].capacity, 256);
    assert_eq!(machine.costs.context_switch.0, 3_000);
    assert_eq!(machine.costs.migration_within.0, 10_000);
}

#[test]
fn unknown_keys_are_named_with_the_key_that_was_meant() {
    assert_eq!(
        message("idle_power_w", "idle_powr_w"),
        "x.toml:8:1: kind 'big': idle_powr_w: unknown key found, expected perhaps idle_power_w"
    );
    assert_eq!(
        message("smt_speed = 0.7", "zzz = 0.7"),
        "x.toml:3:1: zzz: unknown key found, expected one of name, description, source, \
         memory_bandwidth_mb_s, \
         smt_speed, sensor_interval_ms, kinds, clusters, costs, reference"
    );
    assert_eq!(
        message("power_w = 1 ", "watts = 1 "),
        "x.toml:10:65: kind 'big': watts: unknown key found, expected one of mhz, volts, capacity, \
         power_w, \
         cluster_power_w"
    );
    assert_eq!(
        message("cores = 4", "cors = 4"),
        "x.toml:22:1: cluster 2: cors: unknown key found, expected perhaps cores"
    );
    assert_eq!(
        message("context_switch_us", "context_switch_ms"),
        "x.toml:25:1: costs: context_switch_ms: unknown key found, expected perhaps \
         context_switch_us"
    );
}

#[test]
fn a_list_of_cpus_has_each_core_of_the_cluster_once() {
    let with = |cpus: &str| message("cores = 2", &format!("cores = 2\ncpus = {cpus}"));
    assert_eq!(
        with("[0]"),
        "x.toml:19:8: cluster 1: cpus: [0] found, expected a list of CPUs in quotes, as \"0-3,8\""
    );
    assert_eq!(
        with("\"4-x\""),
        "x.toml:19:8: cluster 1: cpus: '4-x' found, expected CPU numbers and ranges, as 0-3,8"
    );
    assert_eq!(
        with("\"8-10\""),
        "x.toml:19:8: cluster 1: cpus: 3 CPUs found, expected as many as the cluster has logical \
         cores, 2"
    );
    assert_eq!(
        with("\"8,8\""),
        "x.toml:19:8: cluster 1: cpus: CPU 8 twice found, expected each once"
    );
    assert_eq!(
        with("\"70000,8\""),
        "x.toml:19:8: cluster 1: cpus: '70000' found, expected CPU numbers below 65536"
    );
    // The second cluster's cores are 2 to 5 unless it says otherwise.
    assert_eq!(
        with("\"4,5\""),
        "x.toml:21:1: cluster 2: cpus: nothing found, expected a list without CPU 4, which is \
         another cluster's"
    );
    assert_eq!(
        message("cores = 4", "cores = 4\ncpus = \"1-4\""),
        "x.toml:23:8: cluster 2: cpus: CPU 1 found, expected a list without CPU 1, which is \
         another cluster's"
    );
}

#[test]
fn the_first_of_two_unknown_keys_is_told() {
    assert!(message("smt_speed = 0.7", "zz = 0\naa = 1").starts_with("x.toml:3:1: zz:"));
}

#[test]
fn powers_that_cannot_be_are_refused() {
    let expected = "expected a number of watts, 0 or more";
    for found in ["-1", "-0.001", "nan", "-nan", "-inf", "\"much\"", "true", "[1]"] {
        assert_eq!(
            message("idle_power_w = 0.1", &format!("idle_power_w = {found}")),
            format!("x.toml:8:16: kind 'big': idle_power_w: {found} found, {expected}")
        );
    }
    for found in ["inf", "+inf", "1e300", "1_000_001", "99999999999999999999999"] {
        assert_eq!(
            message("power_w = 0.5", &format!("power_w = {found}")),
            format!(
                "x.toml:10:44: kind 'big': power_w: {found} found, expected a number of watts, at \
                 most 1000000"
            )
        );
    }
}

#[test]
fn clocks_and_capacities_that_cannot_be_are_refused() {
    assert_eq!(
        message("max_mhz = 500", "max_mhz = 0"),
        "x.toml:14:11: kind 'little': max_mhz: 0 found, expected a clock in MHz, more than 0"
    );
    assert_eq!(
        message("dmips_mhz = 512", "dmips_mhz = -0.0"),
        "x.toml:13:13: kind 'little': dmips_mhz: -0.0 found, expected a speed per MHz, more than 0"
    );
    assert_eq!(
        message("dmips_mhz = 512", "dmips_mhz = inf"),
        "x.toml:13:13: kind 'little': dmips_mhz: inf found, expected a speed per MHz, at most \
         1000000000"
    );
    assert_eq!(
        message("dmips_mhz = 512", "dmips_mhz = 1"),
        "x.toml:14:11: kind 'little': capacity: 0.5 of 1024 found, expected 1 to 1024"
    );
    assert_eq!(
        message("dmips_mhz = 512", "capacity = 512"),
        "x.toml:13:12: kind 'little': capacity: another measure than the first kind's found, \
         expected dmips_mhz for \
         all or capacity for all"
    );
    assert_eq!(
        message("dmips_mhz = 512", "dmips_mhz = 512\ncapacity = 512"),
        "x.toml:14:12: kind 'little': capacity: a capacity beside dmips_mhz found, expected one of \
         the two"
    );
    assert_eq!(
        message("dmips_mhz = 512\n", ""),
        "x.toml:11:1: kind 'little': dmips_mhz: nothing found, expected dmips_mhz, capacity, or a \
         capacity for each \
         operating point"
    );
}

#[test]
fn operating_points_ascend() {
    for found in ["500", "499.5"] {
        assert_eq!(
            message("mhz = 1000", &format!("mhz = {found}")),
            format!(
                "x.toml:10:59: kind 'big': mhz: {found} found, expected more than the 500 MHz \
                 before it"
            )
        );
    }
    let falling = "{ mhz = 500, capacity = 9 }, { mhz = 600, capacity = 8 }";
    let file = format!("name = \"x\"\n[[kinds]]\nname = \"a\"\noperating_points = [{falling}]\n");
    assert_eq!(
        machines::parse(&file, "f").unwrap_err().to_string(),
        "f:4:74: kind 'a': capacity: 8 found, expected more than the 9 before it"
    );
    assert!(
        message("{ mhz = 500, power_w = 0.5 }, { mhz = 1000, power_w = 1 }", "")
            .contains("operating_points: nothing")
    );
}

#[test]
fn part_of_a_power_model_is_refused() {
    assert_eq!(
        message("idle_power_w = 0.1\n", ""),
        "x.toml:5:1: kind 'big': idle_power_w: nothing found, expected a number of watts, since \
         other power of this \
         kind is given"
    );
    assert!(
        message("cluster_power_w = 0.2\n", "")
            .contains("kind 'big': cluster_power_w: nothing found")
    );
    assert!(
        message(", power_w = 0.5", "")
            .contains("kind 'big': operating_points: power_w: nothing found")
    );
    assert_eq!(
        message(
            "operating_points = [{ mhz = 500, power_w = 0.5 }",
            "dynamic_power_uw_per_mhz_v2 = 9\noperating_points = [{ mhz = 500 }"
        ),
        "x.toml:11:21: kind 'big': volts: nothing found, expected a number of volts"
    );
}

#[test]
fn kinds_are_named_once_and_have_cores() {
    assert_eq!(
        message("\"little\"\ndmips", "\"big\"\ndmips"),
        "x.toml:12:8: kind 'big': name: a second kind of this name found, expected another name"
    );
    assert_eq!(
        message("kind = \"little\"", "kind = \"big\""),
        "x.toml:12:8: kind 'little': name: a kind without cores found, expected at least one \
         cluster of it"
    );
    assert_eq!(
        message("kind = \"little\"", "kind = \"medium\""),
        "x.toml:21:8: cluster 2: kind: unknown kind \"medium\" found, expected one of big, little"
    );
    for found in ["\"2big\"", "\"\"", "\"a+b\"", "\"a b\"", "7"] {
        assert!(
            message("\"big\"", found)
                .starts_with(&format!("x.toml:6:8: kind 1: name: {found} found, expected a name"))
        );
    }
    assert!(
        machines::parse("name = \"x\"", "f")
            .unwrap_err()
            .to_string()
            .starts_with("f:1:1: kinds: nothing found")
    );
    assert!(
        machines::parse("name = \"x\"\nkinds = []", "f")
            .unwrap_err()
            .to_string()
            .contains("kinds: nothing found")
    );
    let kinds: String = (0..9)
        .map(|k| format!("[[kinds]]\nname = \"k{k}\"\ndmips_mhz = 1\nmax_mhz = 1\n"))
        .collect();
    assert_eq!(
        machines::parse(&format!("name = \"x\"\n{kinds}"), "f").unwrap_err().to_string(),
        "f:34:1: kinds: 9 kinds found, expected at most 8"
    );
}

#[test]
fn core_counts_are_bounded_before_anything_is_allocated() {
    for found in ["4000000000", "65_537", "0xffff_ffff", "0x7fff_ffff_ffff_ffff"] {
        assert_eq!(
            message("cores = 4", &format!("cores = {found}")),
            format!(
                "x.toml:22:9: cluster 2: cores: {found} found, expected a whole number of cores, \
                 at most {MAX_CORES}"
            )
        );
    }
    for found in ["0", "-3", "1.5", "\"four\"", "0xffff_ffff_ffff_ffff"] {
        assert_eq!(
            message("cores = 4", &format!("cores = {found}")),
            format!(
                "x.toml:22:9: cluster 2: cores: {found} found, expected a whole number of cores, 1 \
                 or more"
            )
        );
    }
    assert_eq!(
        message("cores = 4", "cores = 65_535"),
        "x.toml:22:9: cluster 2: cores: 65537 logical cores so far found, expected at most 65536"
    );
    assert_eq!(
        message("cores = 4", "cores = 65_000\nsmt = 2"),
        "x.toml:22:9: cluster 2: cores: 130002 logical cores so far found, expected at most 65536"
    );
    assert!(
        message("cores = 4\n", "\n").starts_with("x.toml:20:1: cluster 2: cores: nothing found")
    );
}

#[test]
fn smt_is_one_or_two_threads_at_a_speed_above_nothing() {
    assert_eq!(
        message("cores = 4", "cores = 4\nsmt = 3"),
        "x.toml:23:7: cluster 2: smt: 3 found, expected 1 or 2 threads per core, at most 2"
    );
    assert!(message("cores = 4", "cores = 4\nsmt = 0").contains("smt: 0 found"));
    assert_eq!(
        message("cores = 4", "cores = 4\nsmt = 2\nsmt_cores = 5"),
        "x.toml:24:13: cluster 2: smt_cores: 5 found, expected smt = 2 and at most the 4 cores of \
         the cluster"
    );
    for found in ["0", "-0.5", "nan"] {
        assert!(
            message("0.7", found).starts_with(&format!("x.toml:3:13: smt_speed: {found} found"))
        );
    }
    assert_eq!(
        message("0.7", "1.01"),
        "x.toml:3:13: smt_speed: 1.01 found, expected a relative speed, at most 1"
    );
}

#[test]
fn sizes_that_overflow_are_refused() {
    assert_eq!(
        message("cores = 4", "cores = 4\ncache_kib = 1e30"),
        "x.toml:23:13: cluster 2: cache_kib: 1e30 found, expected a number of KiB, at most \
         1000000000"
    );
    assert!(
        message("cores = 4", "cores = 4\nbandwidth_mb_s = 1e30")
            .contains("bandwidth_mb_s: 1e30 found")
    );
    assert!(
        message("context_switch_us = 3", "context_switch_us = -3")
            .contains("context_switch_us: -3 found")
    );
    let volts =
        "dynamic_power_uw_per_mhz_v2 = 1e9\noperating_points = [{ mhz = 500, volts = 1000 }";
    assert_eq!(
        message("operating_points = [{ mhz = 500, power_w = 0.5 }", volts),
        "x.toml:11:42: kind 'big': volts: 500000000000 watts found, expected at most 1000000 watts"
    );
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    let error = machines::parse("name = \"x\"\nkinds = [[\n", "f").unwrap_err();
    assert!(matches!(error, MachineError::Syntax { .. }));
    let place = error.place().unwrap();
    assert_eq!((place.line, place.column), (2, 11));
    assert!(
        machines::parse("name = \"x\"\nname = \"y\"\n", "f")
            .unwrap_err()
            .to_string()
            .starts_with("f:2:1: duplicate key")
    );
    let deep = format!("a = {}", "[".repeat(100_000));
    assert!(matches!(machines::parse(&deep, "f"), Err(MachineError::Syntax { .. })));
}

#[test]
fn columns_count_characters_and_long_values_are_cut() {
    let file = "name = \"ü\"\n[[kinds]]\nname = \"b\"\noperating_points = \
                [{ mhz = 1, capacity = \"üü\" }]";
    assert!(
        machines::parse(file, "f")
            .unwrap_err()
            .to_string()
            .starts_with("f:4:43: kind 'b': capacity: \"üü\" found")
    );
    let long = message("0.7", &format!("\"{}\"", "a\\n".repeat(5_000)));
    assert!(long.len() < 200, "{long}");
}

#[test]
fn a_file_that_is_too_long_is_refused_unread() {
    let long = " ".repeat(MAX_FILE_BYTES as usize + 1);
    assert!(matches!(machines::parse(&long, "f"), Err(MachineError::TooLarge { .. })));
}

/// The table of a core, for the end of the first kind.
const CORE: &str = "[kinds.core]\nwidth = 3\nwindow = 128\nmispredict_cycles = 15\n\
    code_cache_kib = 32\ndata_caches = [{ kib = 32, cycles = 4 }, { kib = 2048, cycles = 21 }]\n\
    memory_ns = 110\noutstanding_misses = 6\ntlb_kib = 2048\ntlb_cycles = 30\ncounters = 6\n";

#[test]
fn a_core_is_described_whole_and_its_caches_grow() {
    let with = |core: &str| {
        let little = "[[kinds]]\nname = \"little\"";
        let text = GOOD.replacen(little, &format!("{core}{little}"), 1);
        machines::parse(&text, "x.toml")
    };
    let machine = with(CORE).unwrap();
    let core = machine.kinds[0].core.as_ref().unwrap();
    assert_eq!((core.width, core.window, core.data_caches[1].bytes), (3, Some(128), 2 << 20));
    assert_eq!(machine.kinds[1].core, None);
    let message = |from: &str, to: &str| with(&CORE.replacen(from, to, 1)).unwrap_err().to_string();
    assert_eq!(
        message("width = 3\n", ""),
        "x.toml:11:1: kind 'big': core: width: nothing found, expected a whole number of instructions, \
         1 or more"
    );
    assert_eq!(
        message("kib = 2048, cycles = 21", "kib = 32, cycles = 21"),
        "x.toml:16:50: kind 'big': core: kib: 32 found, expected more than the 32 KiB before it"
    );
    assert_eq!(
        message("window = 128", "windw = 128"),
        "x.toml:13:1: kind 'big': core: windw: unknown key found, expected perhaps window"
    );
    assert_eq!(
        message("{ kib = 32, cycles = 4 }, { kib = 2048, cycles = 21 }", ""),
        "x.toml:11:1: kind 'big': core: data_caches: nothing found, expected at least one cache, \
         { kib = …, cycles = … }"
    );
}
