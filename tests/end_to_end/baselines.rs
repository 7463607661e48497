//! The baselines by their names: what an expert on the kernel expects of them.

use serde_json::Value;

use crate::evenkeel;

/// Two threads that only work, a second each on a big core.
const TWO_BUSY_THREADS: &str = r#"{"tasks":{"hog":{"instance":2,"loop":500,"run":2000}}}"#;

fn two_busy_threads(policy: &str) -> Value {
    let workload = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(workload.path(), TWO_BUSY_THREADS).unwrap();
    let path = workload.path().to_str().unwrap();
    evenkeel(&["simulate", "-m", "odroid-xu3", "-w", path, "-p", policy, "--json"]).done().json()
}

#[test]
fn linux_has_two_busy_threads_on_big_cores_from_the_first_misfit_balance_on() {
    let record = two_busy_threads("linux");
    assert!(record["makespan_s"].as_f64().unwrap() <= 1.05, "{record:#}");
}

#[test]
fn a_kernel_that_takes_all_cores_for_equal_leaves_two_busy_threads_on_slow_ones() {
    let record = two_busy_threads("cfs-unaware");
    assert!((2.6..2.8).contains(&record["makespan_s"].as_f64().unwrap()), "{record:#}");
    assert_eq!(record["migrations"], 0);
    assert!(two_busy_threads("cfs-unaware:first=fast")["makespan_s"].as_f64().unwrap() < 1.05);
}

#[test]
fn eas_refuses_a_machine_without_a_power_model_in_a_sentence() {
    let ended =
        evenkeel(&["simulate", "-m", "quickia", "-w", "swaptions", "--size", "0.05", "-p", "eas"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("eas goes by a power model, and quickia has none"),
        "{}",
        ended.stderr
    );
    let ended = evenkeel(&[
        "compare",
        "-m",
        "quickia",
        "-w",
        "swaptions",
        "--size",
        "0.05",
        "-p",
        "pinned,eas",
        "--json",
    ]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (2, ""),
        "before anything runs: {}",
        ended.stderr
    );
    assert!(ended.stderr.contains("policy eas: eas goes by a power model"), "{}", ended.stderr);
}

#[test]
fn pinned_threads_of_two_programs_do_not_share_a_core_while_others_idle() {
    let args = [
        "simulate",
        "-m",
        "odroid-xu3",
        "-w",
        "gamess",
        "-w",
        "gobmk",
        "--size",
        "0.05",
        "-p",
        "pinned",
        "--json",
    ];
    let record = evenkeel(&args).done().json();
    assert_eq!(record["migrations"], 0);
    let busy = record["kinds"]["little"]["busy_s"].as_f64().unwrap();
    assert_eq!(busy, 0.0, "each on a big core: {record:#}");
}
