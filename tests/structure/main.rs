//! Dependencies: the arrows between crates, the packages that each brings, and the picture of them
//! in ARCHITECTURE.md.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod licences;
mod lines;
mod picture;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The most packages that a user of the runtime compiles, itself included.
const MOST_OF_RUNTIME: usize = 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cargo(args: &[&str]) -> String {
    let done = Command::new(env!("CARGO")).args(args).current_dir(root()).output().unwrap();
    assert!(done.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// For each crate of the workspace, the crates of the workspace that it needs to run.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |of: &Value| of["name"].as_str().unwrap().to_owned();
    let of_workspace: BTreeSet<String> = packages.iter().map(name).collect();
    let needs = |package: &Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let to_run =
            dependencies.filter(|it| it["kind"].is_null() && it["optional"] == Value::Bool(false));
        to_run.map(name).filter(|needed| of_workspace.contains(needed)).collect()
    };
    packages.iter().map(|package| (name(package), needs(package))).collect()
}

/// All crates that a crate needs, directly or indirectly.
fn all_of(arrows: &BTreeMap<String, BTreeSet<String>>, of: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut open = vec![of.to_owned()];
    while let Some(next) = open.pop() {
        open.extend(arrows[&next].iter().filter(|&needed| all.insert(needed.clone())).cloned());
    }
    all
}

#[test]
fn policies_and_what_they_stand_on_know_no_mechanism_and_no_file() {
    let of_policies = all_of(&arrows(), "evenkeel-policy");
    assert_eq!(of_policies.into_iter().collect::<Vec<_>>(), ["evenkeel-machine", "evenkeel-model"]);
}

#[test]
fn mechanisms_do_not_know_each_other() {
    let arrows = arrows();
    let mechanisms = ["evenkeel-sim", "evenkeel-linux", "evenkeel-runtime"];
    for mechanism in mechanisms {
        let known = all_of(&arrows, mechanism);
        assert!(mechanisms.iter().all(|&other| !known.contains(other)), "{mechanism}: {known:?}");
    }
}

#[test]
fn the_runtime_brings_no_more_than_a_user_of_loops_and_tasks_wants() {
    let tree = cargo(&[
        "tree",
        "--locked",
        "-e",
        "normal",
        "--prefix",
        "none",
        "-f",
        "{p}",
        "-p",
        "evenkeel-runtime",
    ]);
    let packages: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(packages.len() <= MOST_OF_RUNTIME, "{} packages: {packages:?}", packages.len());
    assert!(
        ["toml", "serde_json", "linux-perf-data"].iter().all(|it| !packages.contains(it)),
        "{packages:?}"
    );
}

#[test]
fn the_picture_in_architecture_shows_the_crates_as_they_are() {
    let (folder, wanted) = (root().join("docs/pictures"), picture::of(&arrows()));
    let (source, drawn) = (folder.join("architecture.dot"), folder.join("architecture.svg"));
    if std::env::var_os("EVENKEEL_UPDATE").is_some() {
        std::fs::write(&source, &wanted).unwrap();
        let dot = Command::new("dot").args(["-Tsvg", "-o"]).arg(&drawn).arg(&source).status();
        assert!(dot.expect("graphviz draws it: apt install graphviz").success());
    }
    let there = std::fs::read_to_string(&source).unwrap_or_default();
    assert_eq!(
        there, wanted,
        "EVENKEEL_UPDATE=1 cargo test -p evenkeel --test structure draws it anew"
    );
}
