//! Energy-aware scheduling at work: where threads run, and what that costs.

use crate::support::{free, free_odroid};
use evenkeel_machine::{FemtoJoules, KindId, Machine, Nanos, Work};
use evenkeel_model::{
    Application, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec, TimerId, TimerMode,
};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, Governor, NoListener, Outcome, run};

const BIG: KindId = KindId(0);
const LITTLE: KindId = KindId(1);

/// One thread per program; the phase scales with capacity.
fn app(machine: &Machine, programs: Vec<Vec<Step>>) -> Application {
    let factor = machine.reference.fastest_capacity / machine.reference.slowest_capacity;
    Application {
        name: "test".into(),
        phases: vec![Phase::new("work", Scaling::Factor(factor))],
        timers: programs.len() as u32,
        threads: (0..programs.len())
            .map(|i| ThreadSpec::new(format!("t{i}"), ProgramId(i as u32)))
            .collect(),
        programs: programs.into_iter().map(|steps| Program { steps }).collect(),
        ..Application::default()
    }
}

fn compute(work: f64) -> Step {
    Step::Compute { work: Work(work as u64), phase: PhaseId(0) }
}

/// Every 20 ms so much of them of a little core at its highest clock.
fn periodic(machine: &Machine, timer: u32, ms: f64) -> Vec<Step> {
    let speed =
        Phase::new("work", Scaling::Capacity).speed(machine, machine.reference.slowest_capacity);
    let wait = Step::Timer {
        timer: TimerId(timer),
        period: Nanos::from_millis(20),
        mode: TimerMode::Relative,
    };
    vec![Step::Loop { times: None, body: vec![compute(speed * ms * 1e6), wait] }]
}

fn simulate(
    machine: &Machine,
    app: &Application,
    policy: &str,
    set: &[(&str, &str)],
    governor: Governor,
) -> Outcome {
    let set: Vec<_> =
        set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let config = Config { duration: Some(Nanos::from_secs(5)), governor, ..Config::default() };
    let mut policy = registry::make(policy, &set).unwrap();
    run(machine, std::slice::from_ref(app), policy.as_mut(), &config, &mut NoListener).unwrap()
}

fn joules(outcome: &Outcome) -> f64 {
    let cores = outcome.cores.iter().map(|core| core.energy.unwrap());
    cores.chain(outcome.cluster_energy.clone().unwrap()).map(FemtoJoules::as_joules_f64).sum()
}

fn share_on(outcome: &Outcome, thread: usize, kind: KindId) -> f64 {
    let time_on = &outcome.threads[thread].time_on;
    time_on[kind].as_secs_f64() / time_on.0.iter().copied().sum::<Nanos>().as_secs_f64()
}

#[test]
fn eas_packs_small_loads_on_the_little_cluster_for_less_energy_than_linux_whatever_the_clock() {
    let machine = free_odroid("4big+4little");
    let app = app(&machine, (0..8).map(|timer| periodic(&machine, timer, 2.0)).collect());
    for governor in [Governor::Performance, Governor::Schedutil] {
        let eas = simulate(&machine, &app, "eas", &[], governor);
        for thread in 0..8 {
            let share = share_on(&eas, thread, LITTLE);
            assert!(share > 0.95, "{governor:?}, thread {thread}: {share}");
        }
        for first in ["slow", "fast"] {
            let linux = simulate(&machine, &app, "cfs-unaware", &[("first", first)], governor);
            let ratio = joules(&eas) / joules(&linux);
            assert!(
                ratio < 0.6,
                "{governor:?}, first={first}: {} J and {} J",
                joules(&eas),
                joules(&linux)
            );
            let work = |outcome: &Outcome| outcome.apps[0].retired.0 as f64;
            assert!(
                work(&eas) > 0.99 * work(&linux),
                "the same is done: {} and {}",
                work(&eas),
                work(&linux)
            );
        }
    }
}

#[test]
fn over_utilised_heavy_threads_move_to_the_big_cores_as_they_become_free() {
    let machine = free_odroid("2big+4little");
    // Four that never sleep; the first two end early, and by then the other two have big cores.
    // Which of the four go up first is not the point: the short ones are done, on little cores if
    // need be, in 0.2 s by their capacity, and then a tick follows.
    let speed =
        Phase::new("work", Scaling::Capacity).speed(&machine, machine.reference.fastest_capacity);
    let programs = [0.2, 0.2, 1e3, 1e3].map(|seconds| vec![compute(speed * seconds * 1e9)]);
    let app = app(&machine, programs.into());
    let eas = simulate(&machine, &app, "eas", &[], Governor::Performance);
    for thread in [2, 3] {
        let on_little = eas.threads[thread].time_on[LITTLE].as_secs_f64();
        let latest = 0.2
            / (machine.kinds[LITTLE.index()].capacity as f64
                / machine.kinds[BIG.index()].capacity as f64)
            + 0.05;
        assert!(
            on_little < latest,
            "thread {thread}: {on_little} s on little cores, {latest} at the latest"
        );
        let (on_big, total) = (eas.threads[thread].time_on[BIG], eas.makespan);
        assert!(
            on_big + Nanos((latest * 1e9) as u64) >= total,
            "thread {thread}: {:?}",
            eas.threads[thread].time_on
        );
    }
}

#[test]
fn a_thread_that_grows_heavy_leaves_the_little_cluster() {
    let machine = free_odroid("1big+2little");
    let mut steps = periodic(&machine, 0, 2.0);
    steps = vec![
        Step::Loop { times: Some(100), body: steps.pop().into_iter().flat_map(body_of).collect() },
        compute(1e15),
    ];
    let app = app(&machine, vec![steps]);
    let eas = simulate(&machine, &app, "eas", &[], Governor::Schedutil);
    // Two seconds of light load, then nothing but work: PELT passes four fifths of a little core
    // within a fraction of a second.
    let time_on = &eas.threads[0].time_on;
    assert!(time_on[BIG].as_secs_f64() > 2.5, "{time_on:?}");
    assert!((0.2..0.5).contains(&time_on[LITTLE].as_secs_f64()), "{time_on:?}");
}

fn body_of(step: Step) -> Vec<Step> {
    match step {
        Step::Loop { body, .. } => body,
        other => vec![other],
    }
}

#[test]
fn loads_are_told_at_the_clock_of_then_so_that_a_slow_clock_does_not_make_a_thread_look_heavy() {
    // Half of a little core at 1400 MHz: at 800, nine tenths of the time.
    let machine = free("odroid-xu3", "2big+2little");
    let app = app(&machine, vec![periodic(&machine, 0, 10.5)]);
    for governor in [Governor::Schedutil, Governor::Fixed { khz: 1 }] {
        let eas = simulate(&machine, &app, "eas", &[], governor);
        assert!(share_on(&eas, 0, LITTLE) > 0.95, "{governor:?}: {:?}", eas.threads[0].time_on);
    }
}
