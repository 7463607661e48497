//! The binary from the outside: its output, its files, its exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod advise;
mod bad_input;
mod baselines;
mod commands;
mod detect;
mod estimator;
mod factors;
mod files;
mod habits;
mod lab;
mod live;
mod omp;
mod profile;
mod project;
mod record;
mod reproduce;
mod rtapp;
mod same_bytes;
mod sensors;
mod sweep;
mod sweep_dask;
mod sweep_slurm;
mod width;

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A machine with two kinds and a power model.
const MACHINE: &str = "odroid-xu3-paper";
/// A program that is short at [`SIZE`].
const WORKLOAD: &str = "swaptions";
/// Small enough for a test that is built without much optimisation.
const SIZE: &str = "0.05";

/// The longest that a test waits for something that should happen at once.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How a command ended.
#[derive(Debug)]
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("it ended by itself"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts success.
    #[track_caller]
    fn done(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(args).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

fn evenkeel(args: &[&str]) -> Ended {
    Ended::of(command(args).output().unwrap())
}

/// `simulate` or `compare` of the small run, with more arguments.
fn small<'a>(verb: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![verb, "-m", MACHINE, "-w", WORKLOAD, "--size", SIZE];
    args.extend(more);
    args
}

/// True if this process, and so its children, ignores a signal: SIGHUP under nohup, SIGINT in the
/// background of a shell.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(ignored, 16).unwrap() >> (signal - 1) & 1 == 1
}

/// Makes a copy of the binary, in another process. Otherwise children that this process forks
/// meanwhile would keep the file open for writing, and it could not be executed.
fn copy_of_evenkeel(to: &Path) {
    assert!(
        Command::new("cp").arg(env!("CARGO_BIN_EXE_evenkeel")).arg(to).status().unwrap().success()
    );
}

#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIMEOUT, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Checks a record against the schema, and reports every error.
#[track_caller]
fn assert_valid(record: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/result.schema.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(record)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?} in {record:#}");
}
