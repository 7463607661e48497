//! Runs whose outcome can be told with a pencil.

use crate::support::{KindPlan, barrier, compute, free_odroid, policy, rounds, threads};
use evenkeel_files::machines;
use evenkeel_machine::{CoreId, KindId, Machine, Nanos, Work};
use evenkeel_model::{
    Application, Class, ConditionId, LockId, LoopId, ParallelLoop, PhaseId, Program, ProgramId,
    Step, ThreadSpec, TimerId, TimerMode,
};
use evenkeel_sim::{
    Config, Entry, Estimator, Governor, Listener, Log, NoListener, Outcome, SimError, run,
};
use proptest::prelude::*;

/// Work that a little core of the Odroid does in a nanosecond, at 800 MHz and one instruction per
/// cycle.
const LITTLE_PER_NS: f64 = 0.8;

fn outcome(machine: &Machine, app: Application, name: &str) -> Outcome {
    with(machine, app, name, &Config::default())
}

fn with(machine: &Machine, app: Application, name: &str, config: &Config) -> Outcome {
    run(machine, &[app], policy(name).as_mut(), config, &mut NoListener).unwrap()
}

/// Equal threads that share a loop of iterations of 0.8 M instructions: a millisecond of a little
/// core each.
fn loop_of(iterations: u64, workers: u32, factor: f64, schedule: &str) -> Application {
    let mut app = threads(workers as usize, factor, vec![Step::ParallelFor(LoopId(0))]);
    app.loops.push(ParallelLoop {
        iterations,
        work: Work(800_000),
        phase: PhaseId(0),
        workers,
        schedule: schedule.into(),
        take_cost: Work(0),
    });
    app
}

#[test]
fn a_single_thread_takes_its_work_divided_by_its_speed() {
    let app = threads(1, 4.0, vec![compute(800_000_000)]);
    assert_eq!(
        outcome(&free_odroid("1little"), app.clone(), "pinned").makespan,
        Nanos(1_000_000_000)
    );
    assert_eq!(outcome(&free_odroid("1big"), app, "pinned").makespan, Nanos(250_000_000));
}

#[test]
fn equal_blocks_with_a_barrier_take_the_time_of_the_slowest_core_when_pinned() {
    let app = threads(8, 4.0, vec![rounds(10, vec![compute(80_000_000), barrier()])]);
    let outcome = outcome(&free_odroid("4big+4little"), app, "pinned");
    assert_eq!(outcome.makespan, Nanos(1_000_000_000));
}

#[test]
fn policies_that_pull_to_idle_fast_cores_speed_a_barrier_program_up() {
    let app = threads(8, 3.4, vec![rounds(200, vec![compute(8_000_000), barrier()])]);
    let time = |name| outcome(&free_odroid("4big+4little"), app.clone(), name).makespan.0 as f64;
    let pinned = time("pinned");
    // 4 x 3.4 + 4 little cores' worth against 8, if nothing were lost.
    for name in ["acfs", "hsp", "round-robin", "gts", "age"] {
        let speedup = pinned / time(name);
        assert!((1.4..17.6 / 8.0).contains(&speedup), "{name}: {speedup}");
    }
}

#[test]
fn a_static_loop_takes_the_time_of_a_slow_cores_share() {
    let outcome = outcome(&free_odroid("4big+4little"), loop_of(800, 8, 4.0, "static"), "pinned");
    assert_eq!(outcome.makespan, Nanos::from_millis(100));
}

proptest! {
    #[test]
    fn a_dynamic_loop_is_within_one_chunk_of_big_cores_times_ratio_plus_little_ones(
        iterations in 1u64..3_000, big in 0u32..5, little in 0u32..5, factor in 1.0f64..5.0, chunk in 1u64..40,
    ) {
        prop_assume!(big + little > 0);
        let machine = free_odroid(&format!("{big}big+{little}little"));
        let app = loop_of(iterations, big + little, factor, &format!("dynamic,{chunk}"));
        let found = outcome(&machine, app, "pinned").makespan.0 as f64;
        let work = iterations as f64 * 800_000.0;
        let ideal = work / LITTLE_PER_NS / (f64::from(big) * factor + f64::from(little));
        // Whoever takes the last chunk takes it before the others run dry, and has it on the
        // slowest core at worst.
        let slowest = if little > 0 { 1.0 } else { factor };
        let chunk_ns = chunk.min(iterations) as f64 * 1e6 / slowest;
        prop_assert!(found >= ideal - 1.0, "{found} beats the ideal {ideal}");
        prop_assert!(found <= ideal + chunk_ns + 1_000.0, "{found}, ideal {ideal}, chunk \
                                                           {chunk_ns}");
    }
}

#[test]
fn a_context_switch_and_a_migration_cost_what_the_machine_says() {
    let mut machine = free_odroid("1big+1little");
    machine.costs.context_switch = Nanos(2_000);
    machine.costs.migration_across = Nanos(30_000);
    // From the little core, alone, to the big one when the other thread there has ended: hsp pulls
    // it over.
    let mut app = threads(2, 4.0, vec![compute(3_200_000)]);
    app.programs.push(Program { steps: vec![compute(1_600_000)] });
    app.threads[1].program = ProgramId(1);
    let log = logged(&machine, app, "hsp");
    let ran: Vec<_> = runs(&log);
    // Big: 2 us, then 3.2 M / 3.2 per ns. Little: 2 us, then 0.998 ms of work at 0.8 per ns. After
    // the move 2 us and 30 us.
    let big = machine.cores_of(KindId(0)).next().unwrap();
    let first = ran.iter().find(|run| run.1 == big).unwrap();
    assert_eq!(first.3 - first.2, Nanos(1_002_000));
    let moved = ran.iter().rfind(|run| run.1 == big).unwrap();
    let left = 1_600_000.0 - 1_000_000.0 * LITTLE_PER_NS;
    assert_eq!(moved.3 - moved.2, Nanos(32_000 + (left / 3.2) as u64));
}

fn logged(machine: &Machine, app: Application, name: &str) -> Log {
    let mut log = Log::default();
    run(machine, &[app], policy(name).as_mut(), &Config::default(), &mut log).unwrap();
    log
}

fn runs(log: &Log) -> Vec<(u32, CoreId, Nanos, Nanos)> {
    let runs = log.entries.iter().filter_map(|entry| match entry {
        Entry::Ran { thread, core, from, to, .. } => Some((thread.0, *core, *from, *to)),
        _ => None,
    });
    runs.collect()
}

#[test]
fn a_lock_is_handed_over_in_order_and_serialises_what_it_protects() {
    let steps = vec![Step::Lock(LockId(0)), compute(800_000), Step::Unlock(LockId(0))];
    let mut app = threads(4, 1.0, steps);
    app.locks = 1;
    let outcome = outcome(&free_odroid("4little"), app, "pinned");
    assert_eq!(outcome.makespan, Nanos::from_millis(4));
    let ends: Vec<_> =
        outcome.threads.iter().map(|thread| thread.ended.unwrap().0 / 1_000_000).collect();
    assert_eq!(ends, [1, 2, 3, 4]);
}

#[test]
fn a_waiter_that_is_signalled_runs_only_once_it_has_its_lock() {
    let lock = LockId(0);
    let condition = ConditionId(0);
    let wait = vec![
        Step::Lock(lock),
        Step::Wait { condition, lock: Some(lock) },
        compute(800_000),
        Step::Unlock(lock),
    ];
    let signal = vec![
        compute(800_000),
        Step::Lock(lock),
        Step::Signal(condition),
        compute(1_600_000),
        Step::Unlock(lock),
    ];
    let mut app = threads(2, 1.0, wait);
    app.programs.push(Program { steps: signal });
    app.threads[1].program = ProgramId(1);
    (app.locks, app.conditions) = (1, 1);
    let outcome = outcome(&free_odroid("2little"), app, "pinned");
    assert_eq!(outcome.threads[1].ended, Some(Nanos::from_millis(3)));
    assert_eq!(outcome.threads[0].ended, Some(Nanos::from_millis(4)));
}

#[test]
fn a_periodic_thread_keeps_its_period_however_long_its_work_takes() {
    let timer = Step::Timer {
        timer: TimerId(0),
        period: Nanos::from_millis(10),
        mode: TimerMode::Absolute,
    };
    let mut app = threads(1, 1.0, vec![rounds(100, vec![compute(800_000), timer])]);
    app.timers = 1;
    assert_eq!(outcome(&free_odroid("1little"), app, "linux").makespan, Nanos::from_millis(1_000));
}

#[test]
fn a_real_time_thread_runs_before_normal_ones_and_equal_ones_take_turns() {
    let mut app = threads(3, 1.0, vec![compute(160_000_000)]);
    for thread in &mut app.threads[1..] {
        thread.class = Class::RealTime { priority: 10, round_robin: true };
    }
    let outcome = outcome(&free_odroid("1little"), app, "linux");
    // 200 ms each; turns of 100 ms for the two.
    let ends: Vec<_> =
        outcome.threads.iter().map(|thread| thread.ended.unwrap().0 / 1_000_000).collect();
    assert_eq!(ends, [600, 300, 400]);
}

#[test]
fn a_deadline_thread_gets_its_runtime_in_each_period_and_no_more() {
    let mut app = threads(2, 1.0, vec![compute(80_000_000)]);
    let ms = Nanos::from_millis;
    app.threads[0].class = Class::Deadline { runtime: ms(2), period: ms(10), deadline: ms(10) };
    let outcome = outcome(&free_odroid("1little"), app, "linux");
    // 100 ms at 2 of every 10: ends in the 50th period, 2 ms into it.
    assert_eq!(outcome.threads[0].ended, Some(ms(492)));
}

#[test]
fn bandwidth_is_shared_so_that_memory_bound_threads_slow_each_other_and_no_one_else() {
    let mut machine = free_odroid("3little");
    machine.bandwidth = Some(1_600_000_000);
    let mut app = threads(3, 1.0, vec![compute(80_000_000)]);
    // Alone 0.8 instructions per ns want 1.6 GB/s; two share it.
    app.phases[0].bytes_per_instruction = 2.0;
    app.phases.push(evenkeel_model::Phase::new("quiet", evenkeel_model::Scaling::Factor(1.0)));
    app.programs
        .push(Program { steps: vec![Step::Compute { work: Work(80_000_000), phase: PhaseId(1) }] });
    app.threads[2].program = ProgramId(1);
    let outcome = outcome(&machine, app, "pinned");
    let ends: Vec<_> = outcome.threads.iter().map(|thread| thread.ended.unwrap()).collect();
    assert_eq!(ends, [Nanos::from_millis(200), Nanos::from_millis(200), Nanos::from_millis(100)]);
}

#[test]
fn two_busy_siblings_run_at_the_speed_of_smt() {
    let plan = KindPlan { clusters: vec![2], capacities: vec![1024], smt: true };
    let machine = crate::support::machine(&[plan], evenkeel_machine::Costs::FREE, None);
    let alone = outcome(&machine, threads(1, 1.0, vec![compute(100_000_000)]), "pinned").makespan;
    let both = outcome(&machine, threads(2, 1.0, vec![compute(100_000_000)]), "pinned").makespan;
    assert!((alone.0 as f64 / both.0 as f64 - machine.smt_speed).abs() < 1e-6);
}

#[test]
fn siblings_that_switch_threads_at_one_instant_still_share_their_core() {
    let plan = KindPlan { clusters: vec![2], capacities: vec![1024], smt: true };
    let machine = crate::support::machine(&[plan], evenkeel_machine::Costs::FREE, None);
    let two = outcome(&machine, threads(2, 1.0, vec![compute(100_000_000)]), "acfs").makespan;
    let four = outcome(&machine, threads(4, 1.0, vec![compute(100_000_000)]), "acfs").makespan;
    assert!((four.0 as f64 / two.0 as f64 - 2.0).abs() < 0.01, "{four} against {two}");
}

#[test]
fn a_governor_sees_a_core_that_switches_threads_while_another_goes_idle() {
    let plan = KindPlan { clusters: vec![2], capacities: vec![256, 512, 1024], smt: false };
    let machine = crate::support::machine(&[plan], evenkeel_machine::Costs::FREE, None);
    let mut app = threads(3, 1.0, vec![compute(200_000_000)]);
    app.programs.push(Program { steps: vec![compute(1_000_000)] });
    app.threads[0].program = ProgramId(1);
    let schedutil = Config { governor: Governor::Schedutil, ..Config::default() };
    let performance = outcome(&machine, app.clone(), "linux").makespan;
    let climbing = with(&machine, app, "linux", &schedutil).makespan;
    assert!(climbing < performance + Nanos::from_millis(160), "{climbing} against {performance}");
}

#[test]
fn an_earlier_deadline_goes_first_whatever_the_period() {
    let mut app = threads(2, 1.0, vec![compute(1_600_000)]);
    let ms = Nanos::from_millis;
    app.threads[0].class = Class::Deadline { runtime: ms(5), period: ms(50), deadline: ms(50) };
    app.threads[1].class = Class::Deadline { runtime: ms(5), period: ms(100), deadline: ms(10) };
    let outcome = outcome(&free_odroid("1little"), app, "linux");
    assert_eq!(outcome.threads[1].ended, Some(ms(2)));
    assert_eq!(outcome.threads[0].ended, Some(ms(4)));
}

#[test]
fn a_real_time_thread_preempts_where_the_policy_moves_threads_about() {
    let mut app = threads(3, 2.0, vec![compute(800_000_000)]);
    app.programs.push(Program {
        steps: vec![rounds(100, vec![compute(80_000), Step::Sleep(Nanos::from_millis(2))])],
    });
    app.threads[2].program = ProgramId(1);
    app.threads[2].class = Class::RealTime { priority: 50, round_robin: false };
    for name in ["acfs", "age", "hsp", "linux"] {
        let outcome = outcome(&free_odroid("1big+1little"), app.clone(), name);
        assert_eq!(outcome.threads[2].waiting, Nanos::ZERO, "{name}");
    }
}

#[test]
fn a_real_time_thread_that_starts_beside_a_normal_one_takes_a_core_of_its_own() {
    let mut app = threads(2, 2.0, vec![compute(800_000_000)]);
    app.threads[1].class = Class::RealTime { priority: 50, round_robin: false };
    for name in ["pinned", "linux", "acfs"] {
        let outcome = outcome(&free_odroid("4big"), app.clone(), name);
        assert!(outcome.threads.iter().all(|thread| thread.waiting == Nanos::ZERO), "{name}");
    }
}

#[test]
fn a_thread_that_becomes_idle_class_gives_way_at_once() {
    let mut app = threads(2, 1.0, vec![compute(8_000_000)]);
    app.programs.push(Program {
        steps: vec![compute(800_000), Step::SetClass(Class::Idle), compute(8_000_000)],
    });
    app.threads[0].program = ProgramId(1);
    let outcome = outcome(&free_odroid("1little"), app, "linux");
    // 10 ms of the other's work, and hardly any of its own beside it.
    assert!(
        outcome.threads[1].ended.unwrap() < Nanos::from_millis(16),
        "{:?}",
        outcome.threads[1].ended
    );
}

/// Ends a run before its n-th event.
struct Until(u32);

impl Listener for Until {
    const HEARS: bool = false;
    const MAY_STOP: bool = true;

    fn goes_on(&mut self) -> bool {
        self.0 -= 1;
        self.0 > 0
    }
}

#[test]
fn a_listener_ends_a_run_alone_and_beside_another_one_that_hears_all_until_then() {
    let machine = free_odroid("1little");
    let sleeps = vec![Step::Loop { times: Some(1 << 40), body: vec![Step::Sleep(Nanos(10))] }];
    let app = &[threads(1, 1.0, sleeps)];
    let config = &Config::default();
    let (mut one, mut log) = (Until(100), Log::default());
    let ended = run(&machine, app, policy("pinned").as_mut(), config, &mut one);
    assert_eq!((ended.unwrap_err(), one.0), (SimError::Stopped, 0));
    let both = &mut (&mut Until(100), &mut log);
    let ended = run(&machine, app, policy("pinned").as_mut(), config, both);
    assert_eq!(ended.unwrap_err(), SimError::Stopped);
    assert!(log.entries.len() > 10);
}

#[test]
fn a_fork_that_never_ends_needs_a_duration_too() {
    let mut app = threads(1, 1.0, vec![Step::Fork(0), compute(800_000)]);
    app.programs
        .push(Program { steps: vec![Step::Loop { times: None, body: vec![compute(800_000)] }] });
    app.templates.push(ThreadSpec::new("child", ProgramId(1)));
    let error = run(
        &free_odroid("1little"),
        &[app],
        policy("linux").as_mut(),
        &Config::default(),
        &mut NoListener,
    )
    .unwrap_err();
    assert!(matches!(error, SimError::Endless { .. }));
}

#[test]
fn a_loop_for_more_threads_than_there_are_is_refused() {
    let mut app = loop_of(10, 2, 1.0, "static");
    app.loops[0].workers = 3;
    let error = run(
        &free_odroid("2little"),
        &[app],
        policy("linux").as_mut(),
        &Config::default(),
        &mut NoListener,
    )
    .unwrap_err();
    assert!(error.to_string().contains("for 3 threads, and 2 take part"), "{error}");
}

#[test]
fn a_moved_thread_pays_for_its_working_set_at_half_speed() {
    let mut machine = free_odroid("1big+1little");
    machine.costs.refill_bandwidth = Some(1_000_000_000);
    let run_for = |working_set: u64| {
        let mut app = threads(
            1,
            4.0,
            vec![
                compute(800_000),
                Step::SetAffinity(Some([CoreId(0)].into())),
                compute(32_000_000),
            ],
        );
        app.phases[0].working_set = working_set;
        app.threads[0].affinity = Some(vec![CoreId(1)]);
        outcome(&machine, app, "linux").makespan
    };
    // 100 kB at 1 GB/s are 100 us of progress lost.
    assert_eq!(run_for(100_000) - run_for(0), Nanos(100_000));
}

#[test]
fn schedutil_climbs_under_load_and_saves_energy_when_there_is_little_of_it() {
    let plan = KindPlan { clusters: vec![1], capacities: vec![256, 512, 1024], smt: false };
    let machine = crate::support::machine(&[plan], evenkeel_machine::Costs::FREE, None);
    let schedutil = Config { governor: Governor::Schedutil, ..Config::default() };
    let light = || {
        threads(
            1,
            1.0,
            vec![rounds(200, vec![compute(200_000), Step::Sleep(Nanos::from_millis(10))])],
        )
    };
    let performance = outcome(&machine, light(), "linux");
    let saving = with(&machine, light(), "linux", &schedutil);
    assert!(saving.cores[0].energy < performance.cores[0].energy);
    // Under full load it ends at the top: within the time that PELT takes to climb (5 half-lives)
    // of performance.
    let heavy = || threads(1, 1.0, vec![compute(2_000_000_000)]);
    let performance = outcome(&machine, heavy(), "linux").makespan;
    let climbing = with(&machine, heavy(), "linux", &schedutil).makespan;
    assert!(climbing > performance + Nanos::from_millis(5), "{climbing} against {performance}");
    assert!(climbing < performance + Nanos::from_millis(160), "{climbing} against {performance}");
}

#[test]
fn decisions_that_come_late_do_no_harm_but_come_late() {
    let app = || threads(2, 4.0, vec![compute(3_200_000_000)]);
    let machine = free_odroid("1big+1little");
    let late = |ms| Config { decision_latency: Nanos::from_millis(ms), ..Config::default() };
    let at_once = with(&machine, app(), "acfs", &late(0)).makespan;
    let later = with(&machine, app(), "acfs", &late(20)).makespan;
    // The last stretch of whoever ends second is what a late answer can lose.
    assert!(later >= at_once);
    assert!(later.0 < at_once.0 + 200_000_000, "{later} against {at_once}");
}

#[test]
fn a_sensor_that_reads_at_an_interval_sees_about_what_there_is() {
    let machine = machines::preset("odroid-xu3").unwrap();
    let outcome = outcome(&machine, threads(4, 3.0, vec![compute(20_000_000_000)]), "gts");
    let sensors = outcome.sensors.unwrap();
    assert!(sensors.readings() > 10);
    let of_clusters = outcome.cluster_energy.unwrap();
    for ((seen, own), cluster) in sensors.energies().zip(of_clusters).zip(&machine.clusters) {
        let cores = cluster.cores.iter().map(|core| outcome.cores[core.index()].energy.unwrap().0);
        let truth = (cores.sum::<u128>() + own.0) as f64;
        assert!((seen.0 as f64 - truth).abs() <= 0.15 * truth, "{} of {truth}", seen.0);
    }
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock_that_names_them() {
    let lock = |id| Step::Lock(LockId(id));
    let mut app = threads(2, 1.0, vec![lock(0), compute(800_000), lock(1)]);
    app.programs.push(Program { steps: vec![lock(1), compute(800_000), lock(0)] });
    app.threads[1].program = ProgramId(1);
    app.locks = 2;
    let error = run(
        &free_odroid("2little"),
        &[app],
        policy("linux").as_mut(),
        &Config::default(),
        &mut NoListener,
    )
    .unwrap_err();
    let SimError::Deadlock { waiting, .. } = error else { panic!("{error}") };
    assert!(
        waiting.contains("t0 waits for lock 1") && waiting.contains("t1 waits for lock 0"),
        "{waiting}"
    );
}

#[test]
fn a_program_without_an_end_needs_a_duration() {
    let endless =
        || threads(1, 1.0, vec![Step::Loop { times: None, body: vec![compute(800_000)] }]);
    let machine = free_odroid("1little");
    let error =
        run(&machine, &[endless()], policy("linux").as_mut(), &Config::default(), &mut NoListener)
            .unwrap_err();
    assert!(matches!(error, SimError::Endless { .. }));
    let config = Config { duration: Some(Nanos::from_millis(50)), ..Config::default() };
    let outcome = with(&machine, endless(), "linux", &config);
    assert_eq!(outcome.apps[0].retired, Work(40_000_000));
}

#[test]
fn a_fork_runs_beside_its_parent_which_joins_it() {
    let mut app =
        threads(1, 1.0, vec![Step::Fork(0), compute(800_000), Step::JoinAll, compute(800_000)]);
    app.programs.push(Program { steps: vec![compute(1_600_000)] });
    app.templates.push(ThreadSpec::new("child", ProgramId(1)));
    assert_eq!(outcome(&free_odroid("2little"), app, "linux").makespan, Nanos::from_millis(3));
}

#[test]
fn the_sampling_estimator_knows_a_factor_once_it_has_seen_both_kinds() {
    let machine = free_odroid("1big+1little");
    let apps = || {
        let high = threads(1, 4.0, vec![compute(16_000_000_000)]);
        let low = threads(1, 1.5, vec![compute(16_000_000_000)]);
        [high, low]
    };
    let share = |estimator| {
        let config = Config { estimator, ..Config::default() };
        let outcome =
            run(&machine, &apps(), policy("acfs").as_mut(), &config, &mut NoListener).unwrap();
        let on_big = outcome.threads[0].time_on[KindId(0)].0 as f64;
        on_big / outcome.apps[0].completions[0].0 as f64
    };
    let (sampled, oracle) = (share(Estimator::Sampled), share(Estimator::Oracle));
    assert!((sampled - oracle).abs() < 0.05, "{sampled}, {oracle}");
}
