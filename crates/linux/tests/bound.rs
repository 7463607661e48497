//! The bound of a queue's keys in BPF (src/bpf/bound.bpf.h), compiled for this machine: threads
//! that arrive, scan and take at once leave none below it. Needs a C compiler.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/programs.rs"]
mod programs;

use std::process::Command;

use tempfile::TempDir;

/// Each of five steps of it, left out, is found within 2,500 (most within 600; 3 runs each).
const ROUNDS: u32 = 20_000;

#[test]
fn no_thread_waits_with_a_key_below_the_bound_however_many_arrive_and_scan_at_once() {
    let folder = TempDir::new().unwrap();
    let Some(bound) = programs::compiled("bound", folder.path()) else { return };
    let done = Command::new(bound).arg(ROUNDS.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}");
    let raised: u32 = said.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(raised > ROUNDS, "a bound that is not raised is no use: {said}");
}
