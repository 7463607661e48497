//! Measures of task graphs, on cases that can be computed by hand.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines;
use evenkeel_files::task_graphs::{Format, parse};
use evenkeel_machine::{Machine, Nanos};
use evenkeel_metrics::GraphRow;
use evenkeel_model::{Application, Step};

/// Two tasks of 10 ms after one of 20 ms; on a little core 3.8 times as long.
fn fork() -> Application {
    parse(b"digraph { a [weight=20] node [weight=10] a -> { b c } }", Format::Dot, "fork", 8)
        .unwrap()
}

fn board() -> Machine {
    machines::preset("odroid-xu3-paper").unwrap()
}

#[test]
fn the_path_the_bound_and_the_serial_time_are_those_of_the_fastest_core() {
    let row = GraphRow::of(&board(), &fork(), "heft", Nanos::from_millis(50)).unwrap();
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} for {expected}")
    };
    near(row.critical_path_s, 0.030);
    near(row.bound_s, 0.030);
    near(row.serial_s, 0.040);
    near(row.slr.unwrap(), 5.0 / 3.0);
    near(row.speedup.unwrap(), 0.8);
    near(row.efficiency.unwrap(), 0.1);
    assert_eq!((row.policy.as_str(), row.tasks, row.edges), ("heft", 3, 2));
}

#[test]
fn rounds_of_a_graph_add_up() {
    let mut app = fork();
    app.programs[0].steps =
        vec![Step::Loop { times: Some(3), body: app.programs[0].steps.clone() }];
    let row = GraphRow::of(&board(), &app, "fifo", Nanos::from_millis(500)).unwrap();
    assert_eq!(row.tasks, 9);
    assert!((row.critical_path_s / 0.090 - 1.0).abs() < 1e-6);
}

#[test]
fn an_application_that_does_anything_else_has_no_row() {
    let mut app = fork();
    app.programs[0].steps.push(Step::Yield);
    assert_eq!(GraphRow::of(&board(), &app, "fifo", Nanos(1)), None);
}
