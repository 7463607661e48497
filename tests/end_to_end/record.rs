//! `evenkeel record` from the command line: exit codes, Ctrl-C, and a workload that can be run.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{Ended, command, evenkeel};

fn record(output: &Path, program: &[&str]) -> Child {
    let args = [&["record", "--json", "-o", output.to_str().unwrap(), "--"], program].concat();
    command(&args)
        .env_remove("EVENKEEL_MACHINE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// How it ended; `None`, with a line that says so, if recording is not allowed.
fn ended(child: Child) -> Option<Ended> {
    let ended = Ended::of(child.wait_with_output().unwrap());
    if ended.stderr.contains("CAP_PERFMON") {
        println!("skipped: {}", ended.stderr.trim());
        return None;
    }
    Some(ended)
}

#[test]
fn what_is_recorded_runs_in_the_simulator_and_the_exit_code_is_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let Some(ended) = ended(record(&file, &["sh", "-c", "sleep 0.01 | cat; exit 7"])) else {
        return;
    };
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(found["threads"].as_u64().unwrap() >= 3, "{found}");
    let simulated = evenkeel(&[
        "simulate",
        "-m",
        "odroid-xu3",
        "-w",
        file.to_str().unwrap(),
        "-p",
        "gts",
        "--json",
    ])
    .done()
    .json();
    assert!(simulated["makespan_s"].as_f64().unwrap() >= 0.01, "{simulated}");
}

#[test]
fn a_signal_ends_the_program_and_what_was_recorded_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut child = record(&file, &["sh", "-c", "echo begun >&2; exec sleep 60"]);
    // Waits until it has begun or failed.
    let mut stderr = child.stderr.take().unwrap();
    let mut byte = [0];
    let _ = std::io::Read::read(&mut stderr, &mut byte);
    if byte != *b"b" {
        println!("skipped: recording is not allowed");
        return drop(child.wait());
    }
    std::thread::sleep(Duration::from_millis(20));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    // Not SIGINT: shells let background processes ignore it, these tests and their programs
    // included.
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(143));
    evenkeel(&["show", "workload", file.to_str().unwrap()]).done();
}
