//! `evenkeel sensors`, on made-up trees.

use std::fs;

use crate::{Ended, command};

/// A package of 3 J and its cores, and a battery that is being charged.
fn sysfs() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (file, content) in [
        ("class/powercap/intel-rapl:0/name", "package-0"),
        ("class/powercap/intel-rapl:0/energy_uj", "3000000"),
        ("class/powercap/intel-rapl:0:0/name", "core"),
        ("class/powercap/intel-rapl:0:0/energy_uj", "1000000"),
        ("class/power_supply/BAT0/type", "Battery"),
        ("class/power_supply/BAT0/status", "Charging"),
        ("class/power_supply/BAT0/power_now", "1"),
    ] {
        let file = root.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    root
}

fn sensors(root: &tempfile::TempDir, args: &[&str]) -> Ended {
    let mut sensors = command(&["sensors"]);
    Ended::of(sensors.args(args).env("EVENKEEL_SYSFS", root.path()).output().unwrap())
}

#[test]
fn sensors_are_listed_with_what_they_read_and_why_they_do_not() {
    let root = sysfs();
    let table = sensors(&root, &[]).done();
    assert!(
        table.stdout.contains("package-0/core") && table.stdout.contains("3.0 J so far"),
        "{}",
        table.stdout
    );
    assert_eq!(table.stderr.lines().count(), 1);
    assert!(
        table.stderr.starts_with("note: BAT0: ") && table.stderr.contains("discharging"),
        "{}",
        table.stderr
    );
    let rows = sensors(&root, &["--json"]).done().json();
    let of =
        |key: &str| rows.as_array().unwrap().iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("name"), ["package-0", "package-0/core", "BAT0"]);
    assert_eq!(of("in_total"), [true, false, false]);
    assert_eq!(rows[0]["counter_j"], 3.0);
    assert!(rows[2]["error"].as_str().unwrap().contains("Charging"));
}

#[test]
fn a_duration_gives_energy_and_a_line_for_each_interval() {
    let root = sysfs();
    let measured = sensors(&root, &["--duration", "20ms", "--interval", "5ms"]).done();
    assert!(measured.stdout.contains("Total, of those that count: 0.000 J"), "{}", measured.stdout);
    let is_timed = |line: &&str| {
        line.split_whitespace().next().is_some_and(|first| first.parse::<f64>().is_ok())
    };
    assert_eq!(measured.stdout.lines().filter(is_timed).count(), 4, "{}", measured.stdout);
    let rows = sensors(&root, &["--duration", "5ms", "--json"]).done().json();
    assert_eq!(rows[0]["measured"]["energy_j"], 0.0);
}

#[test]
fn without_sensors_there_is_nothing_to_measure() {
    let root = tempfile::tempdir().unwrap();
    assert!(sensors(&root, &[]).done().stdout.starts_with("no power sensor under "));
    assert_eq!(sensors(&root, &["--json"]).done().stdout, "[]\n");
    let refused = sensors(&root, &["--duration", "1s"]);
    assert_eq!((refused.code, refused.stderr.lines().count()), (1, 1), "{}", refused.stderr);
    assert_eq!(sensors(&root, &["--duration", "1s", "--interval", "0ms"]).code, 2);
}
