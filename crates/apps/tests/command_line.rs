//! The output of `evenkeel-apps`, and its exit codes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

fn apps(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenkeel-apps")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_run_tells_its_checksum_and_its_time_in_one_line() {
    let text =
        stdout(&apps(&["swaptions", "--size", "small", "--version", "pinned", "--workers", "2"]));
    assert!(text.starts_with("swaptions pinned, 2 workers: checksum "), "{text}");
    assert!(text.ends_with(" s\n") && text.lines().count() == 1, "{text}");
}

#[test]
fn json_is_one_object_with_the_same_checksum_in_every_version() {
    let run = |version: &str| {
        let text = stdout(&apps(&["canneal", "--size", "small", "--version", version, "--json"]));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let (serial, pinned) = (run("serial"), run("pinned"));
    assert_eq!(serial["checksum"], pinned["checksum"]);
    assert_eq!((&serial["workers"], &serial["size"]), (&1.into(), &"small".into()));
    assert!(pinned["parallel_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_slow_core_changes_the_time_and_not_the_checksum() {
    let run = |more: &[&str]| {
        let text = stdout(&apps(&[&["swaptions", "--size", "small", "--json"], more].concat()));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["checksum"].clone()
    };
    let checksum = run(&[]);
    for version in ["serial", "pinned", "loop-static", "loop-dynamic"] {
        assert_eq!(run(&["--version", version, "--slow", "0=3"]), checksum, "{version}");
    }
}

#[test]
fn the_list_names_nine_apps() {
    let apps: serde_json::Value =
        serde_json::from_str(&stdout(&apps(&["list", "--json"]))).unwrap();
    assert_eq!(apps.as_array().unwrap().len(), 9);
}

#[test]
fn what_cannot_be_run_is_one_line_and_exit_code_2() {
    for (args, said) in [
        (&["ferrett"][..], "no app \"ferrett\", expected blackscholes, "),
        (&["dedup", "--version", "loop-static"], "dedup has no version loop-static"),
        (&["canneal", "--workers", "0"], "invalid value '0'"),
        (&["canneal", "--version", "fast"], "possible values: serial, pinned, "),
        (&["canneal", "--machine", "no-such-machine"], "no-such-machine"),
        (&["canneal", "--slow", "3"], "'3' found, expected CPU=RATIO"),
        (
            &["canneal", "--slow", "60000=2", "--size", "small"],
            "no worker is on CPU 60000, which is to be slow; they are on 0",
        ),
        (
            &["canneal", "--slow", "0=2", "--version", "tasks"],
            "expected a program of phases, in version serial",
        ),
        (&["dedup", "--slow", "0=2"], "expected a program of phases"),
        (&["canneal", "--sice", "small"], "unexpected argument '--sice'"),
        (&[], "required"),
    ] {
        let output = apps(args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty() && stderr.lines().count() == 1, "{args:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(said), "{args:?}: {stderr}");
    }
}
