//! Machines detected in trees that stand for `/sys`: one for each board, chip or defect.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod any_tree;
mod evidence;
mod fixtures;
mod golden;
mod measured;
mod tree;

use evenkeel_files::machines;
use evenkeel_machine::Machine;
use evenkeel_machine::discover::{Detected, DiscoverError, Given, discover};

/// Detects the tree of this name; `cpus`: those that may be used.
fn detect_within(name: &str, cpus: Option<&[u32]>) -> Result<Detected, DiscoverError> {
    let root = tree::tree(name);
    discover(root.path(), &Given { allowed: cpus.map(<[u32]>::to_vec), ..Given::default() })
}

/// Detects the tree of this name.
fn detect(name: &str) -> Detected {
    detect_within(name, None).unwrap()
}

/// True if one of the lines has all of these words.
fn says(lines: &[String], words: &[&str]) -> bool {
    lines.iter().any(|line| words.iter().all(|word| line.contains(word)))
}

/// CPUs by cluster, in the order of cores.
fn clusters(machine: &Machine) -> Vec<Vec<u32>> {
    let cpus = |cores: &[evenkeel_machine::CoreId]| {
        cores.iter().map(|core| machine.cores[core.index()].cpu).collect()
    };
    machine.clusters.iter().map(|cluster| cpus(&cluster.cores)).collect()
}

/// Capacities of the kinds, fastest first.
fn capacities(machine: &Machine) -> Vec<u32> {
    machine.kinds.iter().map(|kind| kind.capacity).collect()
}

/// Asserts that a file could have described the machine.
#[track_caller]
fn assert_valid(machine: &Machine) {
    let written = machines::to_toml(machine);
    assert_eq!(
        machines::parse(&written, "detected")
            .map_err(|error| format!("{error}\n{written}"))
            .as_ref(),
        Ok(machine)
    );
}
