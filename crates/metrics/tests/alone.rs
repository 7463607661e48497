//! Runs alone: their results, and that each is carried out once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines;
use evenkeel_machine::{Machine, Nanos, Work};
use evenkeel_metrics::{AloneCache, AloneError};
use evenkeel_model::{
    Application, Phase, PhaseId, Program, ProgramId, ReferenceCore, Scaling, Step, ThreadSpec,
};
use evenkeel_sim::{Config, Estimator, SimError};

/// One thread that works for `instructions`, twice as fast on the fastest kind as on the slowest.
fn worker(instructions: u64) -> Application {
    Application {
        name: "worker".into(),
        phases: vec![Phase::new("work", Scaling::Factor(2.0))],
        programs: vec![Program {
            steps: vec![Step::Compute { work: Work(instructions), phase: PhaseId(0) }],
        }],
        threads: vec![ThreadSpec::new("thread", ProgramId(0))],
        ..Application::default()
    }
}

fn endless() -> Application {
    let steps = vec![Step::Loop {
        times: None,
        body: vec![Step::Compute { work: Work(1_000), phase: PhaseId(0) }],
    }];
    Application { programs: vec![Program { steps }], ..worker(0) }
}

fn board() -> Machine {
    machines::preset("odroid-xu3-paper").unwrap().with_free_costs()
}

#[test]
fn alone_a_thread_is_as_much_faster_on_fast_cores_as_its_speedup_factor() {
    let board = board();
    let alone = AloneCache::default()
        .measure(&board, &board, &[worker(800_000_000)], &Config::default())
        .unwrap();
    // One instruction per cycle at 0.8 GHz.
    assert_eq!(alone[0].slow.completion, Some(Nanos::from_secs(1)));
    assert_eq!(alone[0].fast.completion, Some(Nanos::from_millis(500)));
    assert_eq!(alone[0].one_slow, Some(alone[0].slow));
}

#[test]
fn one_slow_core_is_one_of_the_whole_machine_though_only_fast_ones_are_used() {
    let board = board();
    let big = board.subset("4big").unwrap();
    let alone = AloneCache::default()
        .measure(&board, &big, &[worker(800_000_000)], &Config::default())
        .unwrap();
    assert_eq!(
        alone[0].slow.completion,
        Some(Nanos::from_millis(500)),
        "the slowest in use are big"
    );
    assert_eq!(alone[0].one_slow.unwrap().completion, Some(Nanos::from_secs(1)));
}

#[test]
fn work_that_was_calibrated_on_a_slow_core_is_the_same_work_on_the_fast_ones() {
    let board = board();
    let little = board.cores.iter().find(|core| core.kind == board.slowest()).unwrap().id;
    let phase = Phase {
        reference_time: true,
        reference: ReferenceCore::Numbered(little),
        ..Phase::new("run", Scaling::Capacity)
    };
    let second = Application { phases: vec![phase], ..worker(1_000_000_000) };
    let alone =
        AloneCache::default().measure(&board, &board, &[second], &Config::default()).unwrap();
    assert_eq!(alone[0].slow.completion, Some(Nanos::from_secs(1)));
    let expected =
        board.kinds[board.slowest().index()].top().capacity / board.kinds[0].top().capacity;
    let found = alone[0].fast.completion.unwrap().as_secs_f64();
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} s, expected {expected} s");
    assert_eq!(alone[0].one_slow, Some(alone[0].slow));
}

#[test]
fn what_has_been_measured_is_not_measured_again() {
    let (board, cache) = (board(), AloneCache::default());
    let pair = [worker(1_000), worker(2_000)];
    let first = cache.measure(&board, &board, &pair, &Config::default()).unwrap();
    assert_eq!(cache.len(), 4, "two applications on two parts of the machine");
    let other =
        Config { estimator: Estimator::Modelled { error: 0.5 }, seed: 9, ..Config::default() };
    assert_eq!(
        cache.measure(&board, &board, &pair, &other).unwrap(),
        first,
        "an estimator does not matter alone"
    );
    assert_eq!(cache.len(), 4);
    cache.measure(&board, &board, &[worker(3_000), worker(2_000)], &Config::default()).unwrap();
    assert_eq!(cache.len(), 6, "only the new one");
}

#[test]
fn what_never_ends_alone_ends_with_the_run_or_is_said_to_be_endless() {
    let (board, cache) = (board(), AloneCache::default());
    let measured = cache.measure(&board, &board, &[endless()], &Config::default());
    assert!(
        matches!(measured, Err(AloneError::Run { source: SimError::Endless { .. }, .. })),
        "{measured:?}"
    );
    // The duration of another application ends the run that they share.
    let brief = Application { duration: Some(Nanos::from_millis(10)), ..endless() };
    let alone = cache.measure(&board, &board, &[endless(), brief], &Config::default()).unwrap();
    assert_eq!((alone[0].fast.completion, alone[0].fast.time), (None, Nanos::from_millis(10)));
    assert!((alone[0].slow.slowdown_over(&alone[0].fast) - 2.0).abs() < 1e-3);
}
