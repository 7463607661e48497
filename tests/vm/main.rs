//! `evenkeel vm` from the outside. Tests that boot are ignored unless asked for (`make vm-test`):
//! each takes some seconds, and they need QEMU, a kernel from Debian's archive, and permission to
//! make cgroups. If one of these is missing they say so in a line and pass; with
//! `EVENKEEL_VM=required`, as in CI, they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(feature = "sched_ext")]
mod attach;
mod bad_input;
mod boots;
mod ends;
mod pools;
#[cfg(feature = "sched_ext")]
mod sched_ext;
#[cfg(feature = "sched_ext")]
mod simulated;
#[cfg(feature = "sched_ext")]
mod systemd;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How a command ended.
struct Ended {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Ended {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("it ended by itself"),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }
}

/// Prints that something is tried again, and why. `make vm-test` counts these lines.
fn tell_retry(test: &str, why: &str) {
    println!("once more: {test}: {why}");
    if let Some(path) = std::env::var_os("EVENKEEL_RETRIES") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{test}: {why}").unwrap();
    }
}

/// The name of the test that this thread runs, or a part of it.
fn test_name() -> String {
    std::thread::current().name().unwrap_or("a part of a test").to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cache of kernels for all tests.
fn cache() -> PathBuf {
    root().join("target/vm-cache")
}

fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(args).current_dir(root()).env("EVENKEEL_CACHE", cache());
    command
}

fn vm(args: &[&str]) -> Command {
    evenkeel(&[&["vm"], args].concat())
}

/// Runs a command in the lab; `None`, with a line that says so, if no lab is possible here.
fn booted(args: &[&str]) -> Option<Ended> {
    let ended = Ended::of(vm(args).output().unwrap());
    if is_possible(&ended) { Some(ended) } else { None }
}

fn is_possible(ended: &Ended) -> bool {
    let errors = ["is not installed: apt install", "cannot throttle cores", "cannot fetch"];
    let error = ended.stderr.lines().find(|line| errors.iter().any(|error| line.contains(error)));
    if let Some(error) = error {
        let is_required = std::env::var_os("EVENKEEL_VM").is_some_and(|it| it == "required");
        assert!(!is_required, "no lab, which EVENKEEL_VM requires: {error}");
        println!("skipped: {error}");
    }
    error.is_none()
}
