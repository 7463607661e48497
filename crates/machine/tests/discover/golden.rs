//! Machine files and reports of all trees, against tests/golden/detect. `BLESS=1 cargo test`
//! rewrites these.

use evenkeel_files::machines;
use std::path::Path;

use crate::{assert_valid, detect};

#[track_caller]
fn check(file: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/detect").join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(expected, found, "{file}: BLESS=1 writes it anew");
}

#[test]
fn each_tree_gives_the_machine_file_and_the_report_that_are_kept() {
    let names = [
        "odroid-xu3",
        "pixel6",
        "rk3588",
        "alder-lake",
        "lunar-lake",
        "apple-m1",
        "server",
        "one-highest-perf",
        "preferred-cores",
        "offline-cluster",
        "bare",
        "damaged",
        "kirin-960",
        "kirin-980",
        "snapdragon-653",
        "snapdragon-820",
        "snapdragon-821",
        "snapdragon-835",
        "snapdragon-845",
        "snapdragon-8-gen-2",
        "exynos-9810",
        "helio-p60",
        "gb10",
        "kunpeng-920",
        "visionfive2",
        "i7-1370p",
        "lakefield",
        "meteor-lake",
        "strix-point",
        "boost-scatter",
        "masks-only",
        "xeon-lost-caches",
    ];
    for name in names {
        let detected = detect(name);
        assert_valid(&detected.machine);
        check(&format!("{name}.toml"), &machines::to_toml(&detected.machine));
        check(
            &format!("{name}.json"),
            &(serde_json::to_string_pretty(&detected.report).unwrap() + "\n"),
        );
    }
}
