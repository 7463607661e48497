//! The sentence on a comparison: its content, and what it leaves out.
#![allow(clippy::unwrap_used)]

mod common;

use evenkeel_metrics::{LatencySummary, Record, SeedsRow, WakeupLatency};
use evenkeel_report::{default_baseline, verdict};

/// A run of one application.
fn run(policy: &str, workload: &str, time: f64, energy: Option<f64>) -> Record {
    common::record(policy, &[workload], time, energy)
}

/// A run of two applications.
fn several(policy: &str, time: f64, energy: f64, unfairness: f64) -> Record {
    Record {
        unfairness: Some(unfairness),
        ..common::record(policy, &["mcf", "povray"], time, Some(energy))
    }
}

/// A run that a duration of 10 s ended.
fn timed(policy: &str, energy: f64, p99: f64) -> Record {
    let mut record = run(policy, "ui", 10.0, Some(energy));
    record.apps[0].cut_at_s = Some(10.0);
    let all = LatencySummary { p50: 1.0, p99, max: p99, least: 1.0, mean: 1.0 };
    record.wakeup_latency_us = Some(WakeupLatency { all, kinds: Default::default() });
    record
}

/// A mean over seeds, whose time may be off by so much.
fn within(record: Record, time: f64) -> Record {
    let ci95 = [("makespan_s".to_owned(), time)].into_iter().collect();
    Record { seeds: Some(SeedsRow { count: 5, ci95 }), ..record }
}

fn failed(record: Record) -> Record {
    Record { error: Some("deadlock".into()), ..record }
}

#[track_caller]
fn says(records: &[Record], sentence: &str) {
    assert_eq!(verdict(records, None).as_deref(), Some(sentence));
}

#[test]
fn the_fastest_is_named_with_what_it_costs() {
    let records = [
        several("linux", 10.0, 100.0, 3.0),
        several("gts", 9.5, 99.0, 2.0),
        several("acfs", 8.8, 104.0, 1.1),
    ];
    says(&records, "acfs: 12 % less time than linux, 4 % more energy, fairest.");
}

#[test]
fn the_baseline_is_linux_wherever_it_stands_else_the_first_else_the_one_that_is_wanted() {
    let mut records = [several("pinned", 20.0, 100.0, 3.0), several("linux", 10.0, 100.0, 3.0)];
    assert_eq!(default_baseline(&records).as_deref(), Some("linux"));
    assert_eq!(
        verdict(&records, Some("pinned")).unwrap(),
        "linux: 50 % less time than pinned, the same energy."
    );
    records[1].policy = "gts".into();
    assert_eq!(default_baseline(&records).as_deref(), Some("pinned"));
    assert_eq!(default_baseline(&[]), None);
}

#[test]
fn it_says_that_nothing_differs() {
    let records = [several("linux", 10.0, 100.0, 2.0), several("gts", 10.04, 99.6, 2.001)];
    says(
        &records,
        "No policy differs from linux by more than 0.5 % in time, energy or unfairness.",
    );
    let records = [run("linux", "ep", 10.0, None), run("gts", "ep", 10.0, None)];
    says(&records, "No policy differs from linux by more than 0.5 % in time.");
}

#[test]
fn where_none_is_faster_it_says_that_and_what_else_is_gained() {
    let records = [
        several("linux", 10.0, 100.0, 1.5),
        several("gts", 11.0, 80.0, 1.6),
        several("age", 30.0, 90.0, 2.0),
    ];
    says(
        &records,
        "No policy has less time than linux; gts: 20 % less energy than linux, 10 % more time, \
         less fair.",
    );
    let records = [several("linux", 10.0, 100.0, 1.5), several("gts", 25.0, 110.0, 1.6)];
    says(&records, "No policy has less time, energy or unfairness than linux.");
}

#[test]
fn equals_are_named_beside_the_one_that_takes_the_least_energy() {
    let records = [
        run("linux", "ep", 10.0, Some(1.0)),
        run("acfs", "ep", 5.0, Some(2.5)),
        run("age", "ep", 5.01, Some(1.2)),
    ];
    says(&records, "age (and, as good, acfs): 50 % less time than linux, 20 % more energy.");
}

#[test]
fn a_measure_of_one_workload_is_not_said_of_all() {
    let records = [
        several("linux", 10.0, 100.0, 3.0),
        several("acfs", 8.0, 100.0, 1.5),
        run("linux", "ep", 10.0, Some(10.0)),
        run("acfs", "ep", 8.0, Some(10.0)),
    ];
    says(
        &records,
        "acfs: 20 % less time than linux, the same energy, fairest on the 1 with several \
         applications \
         (geometric means of 2 workloads).",
    );
}

#[test]
fn runs_of_a_set_duration_are_not_compared_by_time() {
    let records = [timed("linux", 5.0, 100.0), timed("gts", 5.5, 25.0), timed("age", 4.0, 5_000.0)];
    says(&records, "gts: 75 % less wake-up latency than linux, 10 % more energy.");
    let records = [timed("linux", 5.0, 100.0), timed("age", 4.0, 5_000.0)];
    says(
        &records,
        "No policy has less wake-up latency than linux; age: 20 % less energy than linux, 50 times \
         the wake-up latency.",
    );
}

#[test]
fn one_that_failed_somewhere_is_said_and_does_not_win() {
    let records = [
        run("linux", "ep", 10.0, None),
        run("gts", "ep", 9.0, None),
        run("age", "ep", 1.0, None),
        run("linux", "cg", 10.0, None),
        run("gts", "cg", 9.0, None),
        failed(run("age", "cg", 0.0, None)),
    ];
    says(
        &records,
        "gts: 10 % less time than linux (geometric means of 2 workloads); age failed on 1 of 2.",
    );
    let records = [failed(run("linux", "ep", 0.0, None)), run("gts", "ep", 9.0, None)];
    says(&records, "No policy can be set beside linux; linux failed on 1 of 1.");
}

#[test]
fn one_policy_is_no_comparison() {
    assert_eq!(verdict(&[], None), None);
    assert_eq!(verdict(&[run("linux", "ep", 1.0, None)], None), None);
}

#[test]
fn a_difference_within_the_intervals_of_means_is_not_called_better() {
    let runs = |doubt: f64| {
        [
            within(run("linux", "mcf", 10.0, None), doubt),
            within(run("gts", "mcf", 9.0, None), doubt),
            within(run("acfs", "mcf", 8.8, None), doubt),
        ]
    };
    says(&runs(0.05), "acfs: 12 % less time than linux.");
    says(&runs(0.2), "acfs (and, as good, gts): 12 % less time than linux.");
    says(&runs(2.0), "No policy differs from linux by more than its 95 % interval in time.");
}

#[test]
fn a_wide_interval_of_the_best_makes_others_as_good_and_none_the_fairest() {
    let mean = |policy: &str, time: f64, unfairness: f64, within: [f64; 2]| {
        let ci95 = ["makespan_s", "unfairness"].map(str::to_owned).into_iter().zip(within);
        let seeds = Some(SeedsRow { count: 5, ci95: ci95.collect() });
        Record { seeds, ..several(policy, time, 100.0, unfairness) }
    };
    let records = |within: f64| {
        [
            mean("linux", 10.0, 2.0, [0.0, 0.0]),
            mean("acfs", 8.0, 1.0, [within, within / 4.0]),
            mean("hsp", 8.4, 1.02, [0.0, 0.0]),
        ]
    };
    says(&records(0.0), "acfs: 20 % less time than linux, the same energy, fairest.");
    says(
        &records(0.8),
        "acfs (and, as good, hsp): 20 % less time than linux, the same energy, fairer.",
    );
}

#[test]
fn a_baseline_in_doubt_is_one_that_nothing_is_told_from() {
    let records =
        [within(run("linux", "mcf", 10.0, None), 1.5), within(run("acfs", "mcf", 9.0, None), 0.0)];
    says(&records, "No policy differs from linux by more than its 95 % interval in time.");
}
