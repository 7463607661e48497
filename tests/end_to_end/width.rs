//! Help and tables fit a terminal of 80 columns, and break no word.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::{Ended, MACHINE, command, evenkeel, small};

const COLUMNS: usize = 80;

fn as_wide_as(columns: usize, args: &[&str]) -> String {
    Ended::of(command(args).env("COLUMNS", columns.to_string()).output().unwrap()).done().stdout
}

/// Asserts that each line fits, and that each word also stands on a wide terminal, or in the line
/// that names what is left out.
#[track_caller]
fn fits(args: &[&str]) {
    let (narrow, wide) = (as_wide_as(COLUMNS, args), as_wide_as(1_000, args));
    for line in narrow.lines() {
        assert!(
            line.chars().count() <= COLUMNS,
            "{args:?}: {} columns: {line}",
            line.chars().count()
        );
    }
    let known: BTreeSet<&str> = wide.split_whitespace().collect();
    // That line names what is left out in words of its own, up to where it says which command has
    // it.
    let said = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts = said.split("Too narrow for ");
    let mut shown = vec![parts.next().unwrap_or_default()];
    shown.extend(
        parts
            .filter_map(|part| part.split_once(" have ")?.1.split_once('.'))
            .map(|(_, after)| after),
    );
    for word in shown.into_iter().flat_map(str::split_whitespace).filter(|word| !word.contains('─'))
    {
        assert!(known.contains(word), "{args:?}: '{word}' is part of a word in: {narrow}");
    }
}

#[test]
fn the_help_of_every_command() {
    let unknown = evenkeel(&["no-such-command"]).stderr;
    let (_, commands) = unknown.trim_end().rsplit_once("; expected ").unwrap();
    let commands: Vec<&str> = commands.split(", ").collect();
    assert!(commands.len() > 15, "{commands:?}");
    fits(&["--help"]);
    for command in commands {
        fits(&[command, "--help"]);
        fits(&[command, "-h"]);
    }
    for what in ["machine", "workload", "policy"] {
        fits(&["show", what, "--help"]);
    }
}

#[test]
fn lists_and_descriptions() {
    for list in ["machines", "policies", "workloads"] {
        fits(&[list]);
    }
    fits(&["reproduce", "--list"]);
    for name in [
        "pixel6",
        "alder-lake",
        MACHINE,
        "acfs",
        "age",
        "mclas",
        "heft",
        "4STH-2STM-2STL",
        "ferret:tasks",
    ] {
        fits(&["show", name]);
    }
}

#[test]
fn tables_of_results() {
    fits(&small("simulate", &["-p", "gts"]));
    fits(&small("simulate", &["-p", "gts", "--threads"]));
    fits(&small("compare", &["-p", "pinned,linux,gts"]));
    fits(&small("compare", &["-w", "ferret", "-p", "pinned,linux,gts,acfs:uf=1.2", "--each"]));
    fits(&small("compare", &["-w", "ferret", "-p", "linux,acfs"]));
    fits(&small("advise", &["--among", "linux,gts,acfs"]));
}

#[test]
fn a_run_that_is_out_of_proportion_is_announced_with_the_reason() {
    let args = [
        "compare",
        "-m",
        MACHINE,
        "-w",
        "spin:threads=64,seconds=20000",
        "-p",
        "gts,linux,acfs,age",
    ];
    let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        line.starts_with("warning: this takes roughly ")
            && line.contains(" of 8 cores are simulated"),
        "{line}"
    );
    let short = evenkeel(&small("compare", &["-p", "gts,linux"])).done();
    assert_eq!(short.stderr, "");
}
