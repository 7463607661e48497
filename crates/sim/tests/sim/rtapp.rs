//! rt-app files, carried out: what their events take on unequal cores, and that the shipped ones
//! run to their end.

use std::path::Path;

use evenkeel_files::machines;
use evenkeel_files::rtapp;
use evenkeel_machine::{Machine, Nanos};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, NoListener, Outcome, SimError, run};

fn machine(cores: &str) -> Machine {
    crate::support::free("odroid-xu3", cores)
}

fn simulate(machine: &Machine, text: &str, policy: &str) -> Result<Outcome, SimError> {
    let app = rtapp::parse(text, "test.json").unwrap();
    assert_eq!(app.validate(), Ok(()));
    let mut policy = registry::make(policy, &[]).unwrap();
    run(machine, &[app], policy.as_mut(), &Config::default(), &mut NoListener)
}

fn makespan(machine: &Machine, text: &str) -> Nanos {
    simulate(machine, text, "linux").unwrap().makespan
}

fn one(events: &str) -> String {
    format!("{{'tasks': {{'t': {{'loop': 1, {events}}}}}}}")
}

#[test]
fn a_run_takes_times_in_the_ratio_of_capacities_and_a_runtime_the_same_everywhere() {
    let (big, little) = (machine("1big"), machine("1little"));
    let ten_ms = Nanos::from_millis(10);
    assert_eq!(makespan(&big, &one("'run': 10000")), ten_ms);
    let capacity = little.kinds[0].top().capacity;
    let expected = 1e7 * 1024.0 / capacity;
    let found = makespan(&little, &one("'run': 10000")).0 as f64;
    // Speeds are held in whole units: a millionth is theirs.
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} ns, expected {expected}");
    assert_eq!(makespan(&big, &one("'runtime': 10000")), ten_ms);
    assert_eq!(makespan(&little, &one("'runtime': 10000")), ten_ms);
}

#[test]
fn a_run_calibrated_on_a_core_takes_its_time_there() {
    let whole = machine("4big+4little");
    for core in [0, 7] {
        let task = format!("{{'loop': 1, 'cpus': [{core}], 'run': 10000}}");
        let text =
            format!("{{'global': {{'calibration': 'CPU{core}'}}, 'tasks': {{'t': {task}}}}}");
        assert_eq!(makespan(&whole, &text), Nanos::from_millis(10));
    }
}

#[test]
fn a_periodic_timer_does_not_drift_and_a_sleep_does() {
    let beside = |wait: &str| {
        let hog =
            "'hog': {'policy': 'SCHED_FIFO', 'loop': 150, 'cpus': [0], 'run': 9000, 'sleep': 4000}";
        format!("{{'tasks': {{'t': {{'loop': 100, 'cpus': [0], 'run': 1000, {wait}}}, {hog}}}}}")
    };
    let end = |text: &str| {
        let outcome = simulate(&machine("1big"), text, "linux").unwrap();
        outcome
            .threads
            .iter()
            .find(|thread| thread.name == "t-0")
            .and_then(|thread| thread.ended)
            .unwrap()
    };
    let timer = "'timer': {'ref': 'unique', 'period': 20000, 'mode': 'absolute'}";
    assert_eq!(end(&beside(timer)), Nanos::from_millis(2000));
    assert!(end(&beside("'sleep': 19000")) > Nanos::from_millis(2000));
}

#[test]
fn a_relative_timer_lets_a_missed_period_go_and_an_absolute_one_catches_up() {
    // Three periods of 20 ms with 10 ms of work, 25 ms in the second.
    let text = |mode: &str| {
        let timer = format!("'timer': {{'ref': 'unique', 'period': 20000, 'mode': '{mode}'}}");
        one(&format!("'run': 10000, {timer}, 'run': 25000, {timer}, 'run': 10000, {timer}"))
    };
    assert_eq!(makespan(&machine("1big"), &text("relative")), Nanos::from_millis(20 + 25 + 20));
    assert_eq!(makespan(&machine("1big"), &text("absolute")), Nanos::from_millis(60));
}

#[test]
fn a_barrier_waits_for_every_instance_that_names_it() {
    let text = "{'tasks': {'fast': {'instance': 3, 'loop': 1, 'run': 1000, 'barrier': 'b'}, \
                'slow': {'loop': 1, 'run': 9000, 'barrier': 'b'}}}";
    let outcome = simulate(&machine("4big"), text, "linux").unwrap();
    let ends: Vec<_> = outcome.threads.iter().map(|thread| thread.ended).collect();
    assert_eq!(ends, [Some(Nanos::from_millis(9)); 4]);
}

#[test]
fn every_shipped_file_runs_to_its_end_under_every_policy() {
    let machine = machines::preset("odroid-xu3").unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    for name in ["mixed", "timers", "sync", "memory", "policies", "wild"] {
        let text = std::fs::read_to_string(folder.join(format!("rtapp-{name}.json"))).unwrap();
        for entry in registry::ENTRIES {
            let outcome = simulate(&machine, &text, entry.name);
            assert!(outcome.is_ok(), "rtapp-{name} under {}: {outcome:?}", entry.name);
        }
    }
}

#[test]
fn the_mix_of_a_phone_is_done_after_its_six_seconds() {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/rtapp-mixed.json"),
    );
    let outcome =
        simulate(&machines::preset("odroid-xu3").unwrap(), &text.unwrap(), "linux").unwrap();
    assert!(outcome.apps[0].cut_at.is_none());
    let makespan = outcome.makespan.as_secs_f64();
    assert!((6.0..8.0).contains(&makespan), "{makespan} s");
}

#[test]
fn threads_that_go_round_without_taking_time_are_an_error_and_not_a_hang() {
    for events in [
        "'sem_post': 'x', 'sem_wait': 'x'",
        "'loop': 1000000000, 'yield'",
        "'loop': 1000000000, 'signal': 'x'",
    ] {
        let text = format!("{{'global': {{'duration': 1}}, 'tasks': {{'a': {{{events}}}}}}}");
        let error = simulate(&machine("1big"), &text, "linux").unwrap_err().to_string();
        assert!(error.contains("without taking time"), "{error}");
    }
}
