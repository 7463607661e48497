//! Records of any outcome fit the schema, keep its order, and add up.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use evenkeel_files::machines;
use evenkeel_machine::{FemtoJoules, Machine, Nanos, PerKind, Work};
use evenkeel_metrics::{Alone, Progress, Record, Subject};
use evenkeel_policy::{AppId, Knobs};
use evenkeel_sim::{AppOutcome, CoreOutcome, Latencies, Outcome, SensorLog, ThreadOutcome};
use proptest::prelude::*;
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../schema/result.schema.json");

/// Checks a record against the schema, and the order of its properties.
fn check(record: &Record) -> Result<(), String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let value = serde_json::to_value(record).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| error.to_string()).collect();
    if !errors.is_empty() {
        return Err(format!("{errors:?} in {value:#}"));
    }
    let in_schema: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let text = serde_json::to_string(record).unwrap();
    let in_order: Value = serde_json::from_str(&text).unwrap();
    let places: Vec<usize> = in_order
        .as_object()
        .unwrap()
        .keys()
        .filter_map(|key| in_schema.iter().position(|name| *name == key))
        .collect();
    if !places.is_sorted() {
        return Err(format!("out of the schema's order: {text}"));
    }
    let back: Record = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if serde_json::to_string(&back).unwrap() != text {
        return Err(format!("read back it is not the same: {text}"));
    }
    Ok(())
}

/// Times whose sums do not overflow: up to 100 days.
fn time() -> impl Strategy<Value = Nanos> {
    (0_u64..8_640_000_000_000_000).prop_map(Nanos)
}

fn times_on() -> impl Strategy<Value = PerKind<Nanos>> {
    [time(), time()].prop_map(|[big, little]| {
        let mut times = PerKind::all(Nanos::ZERO);
        (times.0[0], times.0[1]) = (big, little);
        times
    })
}

fn app() -> impl Strategy<Value = AppOutcome> {
    let ended = prop::collection::vec(time(), 0..4);
    (1_u32..100, ended, time(), 0_u64..u64::MAX / 1_000).prop_map(
        |(threads, completions, end, retired)| AppOutcome {
            name: "app".into(),
            threads,
            cut_at: completions.is_empty().then_some(end),
            completions,
            retired: Work(retired),
        },
    )
}

fn thread(apps: u32) -> impl Strategy<Value = ThreadOutcome> {
    (0..apps, time(), prop::option::of(time()), times_on(), time(), time(), 0_u64..1_000).prop_map(
        |(app, started, ended, time_on, waiting, blocked, migrations)| ThreadOutcome {
            name: "thread".into(),
            app: AppId(app),
            started,
            ended,
            time_on,
            waiting,
            blocked,
            distance: Work(0),
            retired: Work(migrations * 1_000),
            migrations,
            runs: migrations + 1,
            periods: None,
        },
    )
}

fn outcome(machine: &Machine) -> impl Strategy<Value = Outcome> + use<> {
    let cores: Vec<_> = machine.cores.iter().map(|core| core.id).collect();
    let clusters = machine.clusters.len();
    let apps = prop::collection::vec(app(), 1..4);
    (apps, any::<bool>(), time(), prop::collection::vec(time(), 0..5)).prop_flat_map(
        move |(apps, powered, makespan, wakes)| {
            let count = apps.len() as u32;
            let energy = move |joules: u128| powered.then_some(FemtoJoules(joules * 1_000_000_000));
            let of_cores = cores.clone();
            let core_times = prop::collection::vec((time(), time(), 0_u128..1 << 60), cores.len());
            (prop::collection::vec(thread(count), 0..6), core_times).prop_map(
                move |(threads, core_times)| Outcome {
                    makespan,
                    apps: apps.clone(),
                    threads,
                    cores: of_cores
                        .iter()
                        .zip(core_times)
                        .map(|(&core, (busy, idle, joules))| CoreOutcome {
                            core,
                            busy,
                            idle,
                            energy: energy(joules),
                        })
                        .collect(),
                    cluster_energy: powered.then(|| vec![FemtoJoules(1 << 50); clusters]),
                    wakeup_latency: {
                        let mut latencies = [Latencies::default(), Latencies::default()];
                        wakes
                            .iter()
                            .enumerate()
                            .for_each(|(place, &wake)| latencies[place % 2].add(wake));
                        latencies.to_vec()
                    },
                    sensors: powered.then(|| SensorLog {
                        interval: Nanos::from_millis(270),
                        microwatts: vec![vec![1_000_000; 3]; 2],
                    }),
                    ..Outcome::default()
                },
            )
        },
    )
}

fn progress(ns: u64) -> Progress {
    Progress { completion: Some(Nanos(ns)), time: Nanos(ns), retired: Work(ns) }
}

fn subject<'a>(machine: &'a Machine, knobs: &'a Knobs, workloads: &'a [String]) -> Subject<'a> {
    Subject { machine, policy: "pinned", knobs, workloads, seed: 7 }
}

fn board() -> Machine {
    machines::preset("odroid-xu3-paper").unwrap()
}

proptest! {
    #[test]
    fn a_record_of_any_outcome_fits_the_schema_and_adds_up(
        outcome in outcome(&board()), alone in prop::collection::vec([1_u64..1 << 60, 1_u64..1 << 60], 4),
        one_slow in any::<bool>(), per_thread in any::<bool>(),
    ) {
        let (machine, knobs, workloads) = (board(), Knobs::default(), ["w".to_owned()]);
        let alone: Vec<Alone> = alone.into_iter().take(outcome.apps.len()).map(|[fast, slow]| {
            Alone { fast: progress(fast), slow: progress(slow), one_slow: one_slow.then(|| progress(slow)) }
        }).collect();
        let record = subject(&machine, &knobs, &workloads).record(&outcome, &alone, per_thread, Duration::ZERO);
        prop_assert_eq!(check(&record), Ok(()));
        prop_assert_eq!(record.unfairness.is_some(), outcome.apps.len() > 1);
        prop_assert_eq!(record.threads.is_some(), per_thread);
        prop_assert_eq!(record.apps.len(), outcome.apps.len());
        if let Some(energy) = record.energy_j {
            let kinds: f64 = record.kinds.values().filter_map(|kind| kind.energy_j).sum();
            prop_assert!((kinds - energy).abs() <= 1e-9 * energy);
        }
    }
}

#[test]
fn a_failure_fits_the_schema() {
    let (machine, knobs, workloads) = (board(), Knobs::default(), ["w".to_owned()]);
    let record =
        subject(&machine, &knobs, &workloads).failure("deadlock".into(), Duration::from_millis(3));
    check(&record).unwrap();
    assert_eq!(record.error.as_deref(), Some("deadlock"));
}

#[test]
fn two_applications_side_by_side_come_to_the_measures_by_hand() {
    let app = |name: &str, ns| AppOutcome {
        name: name.into(),
        threads: 1,
        completions: vec![Nanos(ns)],
        retired: Work(ns),
        ..AppOutcome::default()
    };
    let outcome = Outcome {
        makespan: Nanos::from_secs(4),
        apps: vec![app("a", 2_000_000_000), app("b", 4_000_000_000)],
        ..Outcome::default()
    };
    let alone = |fast, slow| Alone { fast: progress(fast), slow: progress(slow), one_slow: None };
    let alone = [alone(1_000_000_000, 3_000_000_000), alone(1_000_000_000, 6_000_000_000)];
    let (machine, knobs, workloads) = (board(), Knobs::default(), ["a".to_owned(), "b".to_owned()]);
    let record =
        subject(&machine, &knobs, &workloads).record(&outcome, &alone, false, Duration::ZERO);
    let slowdowns: Vec<f64> = record.apps.iter().filter_map(|app| app.slowdown).collect();
    assert_eq!(slowdowns, [2.0, 4.0]);
    assert_eq!(record.unfairness, Some(2.0));
    assert_eq!(record.antt, Some(3.0));
    assert_eq!(record.stp, Some(0.75));
    // 3/2 - 1 and 6/4 - 1.
    assert!((record.asp.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(record.speedup, None);
}

#[test]
fn one_application_is_set_against_one_slow_core() {
    let app = AppOutcome { threads: 8, completions: vec![Nanos(100)], ..AppOutcome::default() };
    let outcome = Outcome { makespan: Nanos(100), apps: vec![app], ..Outcome::default() };
    let alone =
        [Alone { fast: progress(100), slow: progress(300), one_slow: Some(progress(1_200)) }];
    let (machine, knobs, workloads) = (board(), Knobs::default(), ["a".to_owned()]);
    let record =
        subject(&machine, &knobs, &workloads).record(&outcome, &alone, false, Duration::ZERO);
    assert_eq!(record.speedup, Some(12.0));
    assert_eq!(record.unfairness, None);
    check(&record).unwrap();
}

#[test]
fn a_run_that_failed_has_null_for_every_figure_and_can_be_read_back() {
    let machine = machines::preset("odroid-xu3").unwrap();
    let knobs = Knobs::default();
    let subject =
        Subject { machine: &machine, policy: "p", knobs: &knobs, workloads: &[], seed: 1 };
    let failed = subject.failure("deadlock".into(), Duration::ZERO);
    check(&failed).unwrap();
    let written = serde_json::to_value(&failed).unwrap();
    for name in ["makespan_s", "energy_j", "edp_js", "migrations", "swaps", "context_switches"] {
        assert!(written[name].is_null(), "{name}: {written:#}");
    }
    assert_eq!(serde_json::from_value::<Record>(written).unwrap(), failed);
}
