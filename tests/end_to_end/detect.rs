//! `evenkeel detect`, in trees that stand in for `/sys`, and `here` as a machine.

use serde_json::Value;

use super::{Ended, SIZE, WORKLOAD, command};

#[path = "../../crates/machine/tests/discover/tree.rs"]
mod tree;

/// Runs with a tree in place of `/sys`, and with these CPUs, if any.
fn in_tree(name: &str, cpus: Option<&str>, args: &[&str]) -> Ended {
    let root = tree::tree(name);
    let mut command = command(args);
    command.env("EVENKEEL_SYSFS", root.path()).env_remove("EVENKEEL_CPUS");
    if let Some(cpus) = cpus {
        command.env("EVENKEEL_CPUS", cpus);
    }
    Ended::of(command.output().unwrap())
}

#[test]
fn a_hybrid_machine_is_told_in_a_table_with_what_is_missing() {
    let found = in_tree("alder-lake", None, &["detect"]).done().stdout;
    let kept = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/golden/detect-alder-lake.txt"),
    );
    assert_eq!(found, kept.unwrap());
}

#[test]
fn the_machine_file_that_detect_writes_is_shown_and_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.toml");
    let file = file.to_str().unwrap();
    let found = in_tree("pixel6", None, &["detect", "-o", file]).done();
    assert!(
        found.stdout.contains("prime") && found.stdout.contains("-m takes it"),
        "{}",
        found.stdout
    );
    let shown = in_tree("bare", None, &["show", "machine", file, "--json"]).done().json();
    assert_eq!(shown["cores"], "2prime+2big+4little");
    let record = in_tree(
        "bare",
        None,
        &["simulate", "-m", file, "-w", WORKLOAD, "--size", SIZE, "-p", "gts", "--json"],
    );
    super::assert_valid(&record.done().json());
    // The printed file equals the written one.
    let printed = in_tree("pixel6", None, &["detect", "--toml"]).done().stdout;
    assert_eq!(printed, std::fs::read_to_string(file).unwrap());
}

#[test]
fn here_is_this_machine_wherever_one_is_named() {
    let shown = in_tree("odroid-xu3", None, &["show", "machine", "here", "--json"]).done().json();
    assert_eq!(shown["cores"], "4big+4little");
    let args = [
        "simulate",
        "-m",
        "here",
        "--cores",
        "1big+1little",
        "-w",
        WORKLOAD,
        "--size",
        SIZE,
        "-p",
        "gts",
        "--json",
    ];
    let record = in_tree("odroid-xu3", None, &args).done().json();
    assert_eq!(record["machine"], "hardkernel-odroid-xu3");
    let guessed = in_tree("bare", None, &["show", "machine", "here"]).done();
    assert!(guessed.stderr.starts_with("note: nothing tells how fast"), "{}", guessed.stderr);
}

#[test]
fn one_json_object_has_machine_and_report() {
    let found = in_tree("lunar-lake", Some("4-7"), &["detect", "--json"]).done().json();
    assert_eq!(found["machine"]["cores"], "4LP-E");
    assert_eq!(found["machine"]["clusters"][0]["cpus"], serde_json::json!([4, 5, 6, 7]));
    assert_eq!(found["report"]["kinds"][0]["capacity_source"], "cpu_capacity");
    assert_eq!(found["report"]["cpus"]["not_allowed"], "0-3");
    assert_eq!(found["calibration"], Value::Null);
}

#[test]
fn each_source_says_which_cores_it_tells_apart() {
    let found = in_tree("kirin-980", None, &["detect"]).done().stdout;
    let lines =
        |words: &[&str]| found.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(
        lines(&[
            "MIDR: Cortex-A55 on 0-3",
            "Cortex-A76 (HiSilicon) on 4-7",
            "tells some kinds apart"
        ]),
        "{found}"
    );
    let scatter = in_tree("boost-scatter", None, &["detect", "--json"]).done().json();
    assert_eq!(scatter["machine"]["cores"], "16core");
    let evidence = scatter["report"]["evidence"].as_array().unwrap();
    let clocks = evidence.iter().find(|row| row["source"] == "max_freq").unwrap();
    assert_eq!(
        (&clocks["verdict"], &clocks["groups"][0]["cpus"]),
        (&"agrees".into(), &"0-15".into())
    );
    let masks = in_tree("masks-only", None, &["detect", "--json"]).done().json();
    assert_eq!(masks["report"]["cpus"]["offline"], "3");
    assert_eq!(masks["report"]["kinds"][0]["physical_cores"], 2);
}

#[test]
fn what_makes_no_machine_is_one_line() {
    let refused = |name: &str, cpus: Option<&str>, args: &[&str], words: &str| {
        let ended = in_tree(name, cpus, args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    };
    refused(
        "server",
        Some("16-20"),
        &["detect"],
        "none of the CPUs that may be used (16-20) is online: expected one of 0-15",
    );
    refused(
        "server",
        Some("none"),
        &["detect"],
        "EVENKEEL_CPUS: 'none' found, expected CPU numbers",
    );
    refused("server", None, &["detect", "--calibrate"], "a calibration measures this machine");
    refused(
        "server",
        None,
        &["detect", "--calibrate", "--force"],
        "a calibration measures this machine",
    );
    refused("server", None, &["detect", "-o", "/nowhere/x.toml"], "there is no such folder");
    let mut command = command(&["detect"]);
    let ended = Ended::of(command.env("EVENKEEL_SYSFS", "/nowhere").output().unwrap());
    assert_eq!(
        (ended.code, ended.stderr.contains("/nowhere: no CPU found")),
        (2, true),
        "{}",
        ended.stderr
    );
}

#[test]
fn this_very_machine_is_found() {
    let mut command = command(&["detect", "--json"]);
    let found = Ended::of(
        command.env_remove("EVENKEEL_SYSFS").env_remove("EVENKEEL_CPUS").output().unwrap(),
    )
    .done()
    .json();
    assert!(!found["machine"]["kinds"].as_array().unwrap().is_empty());
}
