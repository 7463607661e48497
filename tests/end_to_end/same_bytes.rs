//! The same input and seed give the same bytes, whatever else runs.

use serde_json::Value;

use crate::{MACHINE, SIZE, evenkeel, small};

/// The record without the only field that may differ.
fn without_wall(mut value: Value) -> Value {
    let records = match &mut value {
        Value::Array(records) => records.iter_mut().collect(),
        record => vec![record],
    };
    for record in records {
        assert!(record.as_object_mut().unwrap().remove("wall_s").is_some());
    }
    value
}

fn compare(more: &[&str]) -> String {
    let mut args =
        vec!["compare", "-m", MACHINE, "-w", "swaptions", "-w", "ferret", "--each", "--size", SIZE];
    args.extend(["-p", "pinned,linux,gts", "--estimator", "modelled=0.2", "--threads", "--json"]);
    args.extend(more);
    without_wall(evenkeel(&args).done().json()).to_string()
}

#[test]
fn one_job_and_two_give_the_same_bytes() {
    let one = compare(&["--jobs", "1"]);
    assert_eq!(one, compare(&["--jobs", "2"]));
    assert_eq!(one, compare(&["--jobs", "2"]), "again");
    assert_eq!(one, compare(&[]));
}

#[test]
fn a_trace_beside_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trace = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let run =
        |more: &[&str]| without_wall(evenkeel(&small("simulate", more)).done().json()).to_string();
    let plain = run(&["-p", "gts", "--json"]);
    for name in ["a", "b"] {
        assert_eq!(plain, run(&["-p", "gts", "--json", "--trace", &trace(name)]));
    }
    let (a, b) = (std::fs::read(trace("a")).unwrap(), std::fs::read(trace("b")).unwrap());
    assert!(!a.is_empty());
    assert_eq!(a, b, "the trace itself is the same, too");
}
