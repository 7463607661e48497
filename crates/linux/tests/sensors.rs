//! Sensors of recorded machines, and of one whose files change while they are read.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use evenkeel_linux::sensors::{Found, Meter, Reading, Sampler, Source, find};
use evenkeel_machine::Nanos;

/// A tree with these files.
fn sysfs(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (file, content) in files {
        write(root.path(), file, content);
    }
    root
}

fn write(root: &Path, file: &str, content: &str) {
    let file = root.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("{content}\n")).unwrap();
}

/// Names, and whether each counts.
fn listed(found: &Found) -> Vec<(&str, bool)> {
    found.sensors.iter().map(|sensor| (sensor.name.as_str(), found.counts(sensor))).collect()
}

fn watts(found: &Found) -> Vec<f64> {
    let power = |reading| match reading {
        Reading::Power(watts) => watts,
        Reading::Counter { .. } => f64::NAN,
    };
    found.sensors.iter().map(|sensor| power(sensor.read().unwrap())).collect()
}

/// A laptop of two sorts of RAPL, with the driver's own folder, which is no zone.
const RAPL: &[(&str, &str)] = &[
    ("class/powercap/intel-rapl/enabled", "1"),
    ("class/powercap/intel-rapl:0/name", "package-0"),
    ("class/powercap/intel-rapl:0/energy_uj", "262143000000"),
    ("class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
    ("class/powercap/intel-rapl:0:0/name", "core"),
    ("class/powercap/intel-rapl:0:0/energy_uj", "1000"),
    ("class/powercap/intel-rapl:0:0/max_energy_range_uj", "262143328850"),
    ("class/powercap/intel-rapl:0:1/name", "uncore"),
    ("class/powercap/intel-rapl:0:1/energy_uj", "2000"),
    ("class/powercap/intel-rapl:0:2/name", "dram"),
    ("class/powercap/intel-rapl:0:2/energy_uj", "3000"),
    ("class/powercap/intel-rapl:1/name", "psys"),
    ("class/powercap/intel-rapl:1/energy_uj", "4000"),
    ("class/powercap/intel-rapl-mmio:0/name", "package-0"),
    ("class/powercap/intel-rapl-mmio:0/energy_uj", "5000"),
];

#[test]
fn rapl_counts_packages_and_memory_and_nothing_twice() {
    let root = sysfs(RAPL);
    let found = find(root.path());
    let expected = [
        ("package-0", true),
        ("psys", false),
        ("package-0/core", false),
        ("package-0/uncore", false),
        ("package-0/dram", true),
        ("package-0 (intel-rapl-mmio)", false),
    ];
    assert_eq!(listed(&found), expected);
    let package = found.sensors[0].read().unwrap();
    assert_eq!(package, Reading::Counter { uj: 262_143_000_000, range_uj: Some(262_143_328_850) });
}

#[test]
fn hardware_monitors_tell_power_energy_or_current_and_voltage() {
    let root = sysfs(&[
        ("class/hwmon/hwmon0/name", "coretemp"),
        ("class/hwmon/hwmon0/temp1_input", "45000"),
        ("class/hwmon/hwmon1/name", "ina226"),
        ("class/hwmon/hwmon1/in1_input", "5000"),
        ("class/hwmon/hwmon1/curr1_input", "700"),
        ("class/hwmon/hwmon1/power1_input", "3500000"),
        ("class/hwmon/hwmon1/power1_label", "VDD_CPU"),
        ("class/hwmon/hwmon1/power1_max", "9"),
        ("class/hwmon/hwmon2/name", "ina3221"),
        ("class/hwmon/hwmon2/in1_input", "5000"),
        ("class/hwmon/hwmon2/curr1_input", "-400"),
        ("class/hwmon/hwmon2/curr2_input", "400"),
        ("class/hwmon/hwmon10/name", "amdgpu"),
        ("class/hwmon/hwmon10/power1_average", "12000000"),
    ]);
    let found = find(root.path());
    let expected = [("ina226 VDD_CPU", true), ("ina3221 curr1", true), ("amdgpu power1", true)];
    assert_eq!(listed(&found), expected);
    assert_eq!(watts(&found), [3.5, 2.0, 12.0]);
}

#[test]
fn sockets_of_amd_energy_count_and_their_cores_do_not() {
    let root = sysfs(&[
        ("class/hwmon/hwmon0/name", "amd_energy"),
        ("class/hwmon/hwmon0/energy1_input", "77"),
        ("class/hwmon/hwmon0/energy1_label", "Ecore000"),
        ("class/hwmon/hwmon0/energy2_input", "99"),
        ("class/hwmon/hwmon0/energy2_label", "Esocket0"),
    ]);
    assert_eq!(
        listed(&find(root.path())),
        [("amd_energy Ecore000", false), ("amd_energy Esocket0", true)]
    );
}

#[test]
fn the_odroids_sensors_are_found_where_its_makers_put_them() {
    let root = sysfs(&[
        ("bus/i2c/drivers/INA231/3-0040/sensor_name", "sensor_arm"),
        ("bus/i2c/drivers/INA231/3-0040/sensor_W", "1.602000"),
        ("bus/i2c/drivers/INA231/3-0040/enable", "1"),
        ("bus/i2c/drivers/INA231/3-0045/sensor_name", "sensor_kfc"),
        ("bus/i2c/drivers/INA231/3-0045/sensor_W", "0.000000"),
        ("bus/i2c/drivers/INA231/3-0045/enable", "0"),
    ]);
    let found = find(root.path());
    assert_eq!((listed(&found), watts(&found)), (vec![("ina231 sensor_arm", true)], vec![1.602]));
    let (sensor, error) = &found.refused[0];
    assert_eq!(sensor.name, "ina231 sensor_kfc");
    assert!(error.to_string().contains("3-0045/enable says 0"), "{error}");
}

#[test]
fn batteries_tell_what_the_machine_draws_while_they_are_discharging() {
    let battery = |status| {
        sysfs(&[
            ("class/power_supply/AC/type", "Mains"),
            ("class/power_supply/BAT0/type", "Battery"),
            ("class/power_supply/BAT0/status", status),
            ("class/power_supply/BAT0/power_now", "8250000"),
            ("class/power_supply/BAT1/type", "Battery"),
            ("class/power_supply/BAT1/status", status),
            ("class/power_supply/BAT1/current_now", "500000"),
            ("class/power_supply/BAT1/voltage_now", "12000000"),
            ("class/power_supply/hidpp_battery_0/type", "Battery"),
            ("class/power_supply/hidpp_battery_0/scope", "Device"),
            ("class/power_supply/hidpp_battery_0/power_now", "1"),
            ("class/hwmon/hwmon3/name", "BAT0"),
            ("class/hwmon/hwmon3/power1_input", "8250000"),
        ])
    };
    let root = battery("Discharging");
    let found = find(root.path());
    assert_eq!(
        (listed(&found), watts(&found)),
        (vec![("BAT0", true), ("BAT1", true)], vec![8.25, 6.0])
    );
    let root = battery("Charging");
    let found = find(root.path());
    assert!(found.sensors.is_empty() && found.refused.len() == 2);
    assert!(found.refused[0].1.to_string().contains("'Charging'"), "{}", found.refused[0].1);
}

#[test]
fn of_several_sources_one_makes_the_total() {
    let monitor: &[(&str, &str)] =
        &[("class/hwmon/hwmon0/name", "ina226"), ("class/hwmon/hwmon0/power1_input", "3500000")];
    let root = sysfs(&[RAPL, monitor].concat());
    let found = find(root.path());
    assert_eq!(found.total_source(), Some(Source::Powercap));
    assert_eq!(listed(&found).last(), Some(&("ina226 power1", false)));
    assert_eq!(find(sysfs(monitor).path()).total_source(), Some(Source::Hwmon));
    assert_eq!(find(sysfs(&[]).path()).total_source(), None);
}

#[test]
fn what_cannot_be_read_is_named_with_what_would_help() {
    let root = sysfs(&[
        ("class/powercap/intel-rapl:0/name", "package-0"),
        ("class/powercap/intel-rapl:0/energy_uj", "12x"),
        ("class/hwmon/hwmon0/name", "ina226"),
        ("class/hwmon/hwmon0/power1_input", "nan"),
    ]);
    let said: Vec<String> =
        find(root.path()).refused.iter().map(|(_, error)| error.to_string()).collect();
    assert!(
        said[0].ends_with("energy_uj: '12x' found, expected microjoules, a whole number"),
        "{}",
        said[0]
    );
    assert!(said[1].ends_with("power1_input: 'nan' found, expected a number"), "{}", said[1]);

    let file = root.path().join("class/powercap/intel-rapl:0/energy_uj");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&file).is_ok() {
        println!("skipped: root may read any file");
        return;
    }
    let said = find(root.path()).refused[0].1.to_string();
    assert!(
        said.contains("CVE-2020-8694") && said.contains(&format!("chmod a+r {}", file.display())),
        "{said}"
    );
}

#[test]
fn a_meter_follows_files_that_change() {
    const COUNTER: &str = "class/powercap/intel-rapl:0/energy_uj";
    const POWER: &str = "class/hwmon/hwmon0/power1_input";
    let root = sysfs(&[
        ("class/powercap/intel-rapl:0/name", "package-0"),
        ("class/powercap/intel-rapl:0/max_energy_range_uj", "10000000"),
        (COUNTER, "9000000"),
        ("class/hwmon/hwmon0/name", "ina226"),
        (POWER, "2000000"),
    ]);
    let mut meter = Meter::new(find(root.path()).sensors);
    meter.sample();
    for uj in ["10000000", "2500000", "gone", "3000000", "3500000"] {
        write(root.path(), COUNTER, uj);
        meter.sample();
    }
    let (from, to) = meter.series[0].range().unwrap();
    // 1 J, 2.5 J across the wrap, nothing known round the sample that failed, 0.5 J.
    let counted = meter.series[0].energy(from, to);
    assert!((counted.joules - 4.0).abs() < 1e-9 && counted.covered < to - from, "{counted:?}");
    let (from, to) = meter.series[1].range().unwrap();
    assert!((meter.series[1].energy(from, to).mean_w().unwrap() - 2.0).abs() < 1e-9);
}

#[test]
fn a_sampler_covers_the_time_from_its_start_to_its_end() {
    const COUNTER: &str = "class/powercap/intel-rapl:0/energy_uj";
    let root = sysfs(&[
        ("class/powercap/intel-rapl:0/name", "package-0"),
        ("class/powercap/intel-rapl:0/max_energy_range_uj", "10000000"),
        (COUNTER, "9500000"),
    ]);
    let sampler = Sampler::start(find(root.path()).sensors, Nanos::from_millis(2)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    // Renamed into place, since a file that is being written is empty for a moment.
    write(root.path(), "next", "500000");
    fs::rename(root.path().join("next"), root.path().join(COUNTER)).unwrap();
    let meter = sampler.finish().unwrap();
    let (from, to) = meter.series[0].range().unwrap();
    assert!(to - from >= Nanos::from_millis(20));
    assert_eq!(meter.series[0].energy(from, to).joules, 1.0);
    assert_eq!(meter.series[0].energy(from, to).covered, to - from);
}
