//! `--profile-from`: what a smaller run beforehand changes, and what it leaves alone.

use serde_json::Value;

use crate::evenkeel;

/// Threads of unequal lengths with few milestones between, for which a profile helps.
const PROGRAM: [&str; 6] = ["-m", "amp-1f7s", "-w", "sc09-freqmine", "--size", "0.05"];

/// Makespans of age with these predictions, in their order.
fn makespans(predictions: &[&str], more: &[&str]) -> Vec<Value> {
    let policies =
        predictions.iter().map(|it| format!("age:prediction={it}")).collect::<Vec<_>>().join(",");
    let records =
        evenkeel(&[&["compare"], &PROGRAM[..], &["-p", &policies, "--json"], more].concat())
            .done()
            .json();
    records.as_array().unwrap().iter().map(|record| record["makespan_s"].clone()).collect()
}

#[test]
fn a_profile_is_told_to_those_alone_who_go_by_one() {
    let predictions = ["equal", "oracle", "profile"];
    let (without, with) =
        (makespans(&predictions, &[]), makespans(&predictions, &["--profile-from", "0.1"]));
    assert_eq!(with[..2], without[..2], "equal and oracle");
    assert_ne!(with[2], without[2], "profile");
}

#[test]
fn a_profile_of_the_run_itself_is_nearer_to_the_oracle_than_none() {
    let seconds = |run: Vec<Value>| run.iter().map(|it| it.as_f64().unwrap()).collect::<Vec<_>>();
    let run = seconds(makespans(&["equal", "oracle", "profile"], &["--profile-from", "1"]));
    assert!((run[2] - run[1]).abs() < (run[0] - run[1]).abs(), "equal, oracle, profile: {run:?}");
}

#[test]
fn a_profile_that_nobody_goes_by_and_one_that_is_not_there_are_noted() {
    let said = |policy: &str, more: &[&str]| {
        evenkeel(&[&["simulate"], &PROGRAM[..], &["-p", policy], more].concat()).done().stderr
    };
    let (profiled, from) = ("age:prediction=profile", ["--profile-from", "0.1"]);
    assert!(said("age", &from).contains("--profile-from: no policy here goes by a profile"));
    assert!(
        said(profiled, &[]).contains("goes by true distances: a profile is made by --profile-from")
    );
    assert_eq!(
        said(profiled, &from) + &said("age", &[]) + &said(profiled, &["--estimator", "offline"]),
        ""
    );
}

#[test]
fn a_size_that_is_none_is_one_line() {
    for size in ["0", "-1", "nan", "small"] {
        let ended = evenkeel(
            &[&["simulate"], &PROGRAM[..], &["-p", "age", "--profile-from", size]].concat(),
        );
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{size}: {}", ended.stderr);
        assert!(
            ended.stderr.lines().count() == 1 && ended.stderr.contains("--profile-from"),
            "{}",
            ended.stderr
        );
    }
}
