//! The baselines and the combinations at work: what makes each of them itself, seen in what ran
//! where.

use std::collections::BTreeSet;

use evenkeel_files::machines;
use evenkeel_machine::{CoreId, Costs, KindId, Machine, Nanos, Work};
use evenkeel_model::{
    Application, BarrierId, LockId, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec,
    TimerId, TimerMode,
};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, Entry, Estimator, Log, Outcome, run};

const BASELINES: [&str; 13] = [
    "pinned",
    "cfs-unaware",
    "linux",
    "gts",
    "cs",
    "iks",
    "bfs",
    "mclas",
    "lin",
    "scaled-load",
    "rr",
    "fca-age",
    "age",
];
const BIG: KindId = KindId(0);
const LITTLE: KindId = KindId(1);

fn board(cores: &str) -> Machine {
    let mut machine = machines::preset("odroid-xu3-paper").unwrap().subset(cores).unwrap();
    machine.costs = Costs::FREE;
    machine
}

fn compute(work: u64) -> Step {
    Step::Compute { work: Work(work), phase: PhaseId(0) }
}

fn rounds(times: u64, body: Vec<Step>) -> Step {
    Step::Loop { times: Some(times), body }
}

/// The cores of a kind, by number.
fn cores_of(machine: &Machine, kind: KindId) -> Vec<CoreId> {
    machine.cores_of(kind).collect()
}

/// One thread per program; the phase scales with capacity.
fn app(programs: Vec<Vec<Step>>) -> Application {
    let threads = (0..programs.len())
        .map(|i| ThreadSpec::new(format!("t{i}"), ProgramId(i as u32)))
        .collect();
    Application {
        name: "test".into(),
        phases: vec![Phase::new("work", Scaling::Factor(3.0))],
        barriers: vec![programs.len() as u32],
        timers: programs.len() as u32,
        threads,
        programs: programs.into_iter().map(|steps| Program { steps }).collect(),
        ..Application::default()
    }
}

/// Busy for `busy` instructions in every 20 ms, for two seconds.
fn periodic(timer: u32, busy: u64) -> Vec<Step> {
    let wait = Step::Timer {
        timer: TimerId(timer),
        period: Nanos::from_millis(20),
        mode: TimerMode::Relative,
    };
    vec![rounds(100, vec![compute(busy), wait])]
}

fn simulate(
    machine: &Machine,
    app: &Application,
    name: &str,
    set: &[(&str, &str)],
    config: &Config,
) -> (Outcome, Log) {
    let set: Vec<_> =
        set.iter().map(|&(name, value)| (name.to_string(), value.to_string())).collect();
    let mut policy = registry::make(name, &set).unwrap();
    let mut log = Log::default();
    let outcome = run(machine, std::slice::from_ref(app), policy.as_mut(), config, &mut log)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    (outcome, log)
}

fn plain(machine: &Machine, app: &Application, name: &str) -> (Outcome, Log) {
    simulate(machine, app, name, &[], &Config::default())
}

/// Who ran where from when to when.
fn stretches(log: &Log) -> impl Iterator<Item = (CoreId, Nanos, Nanos)> + '_ {
    log.entries.iter().filter_map(|entry| match *entry {
        Entry::Ran { core, from, to, .. } if to > from => Some((core, from, to)),
        _ => None,
    })
}

/// Whether some core of one set and some core of the other ever ran at once.
fn overlap(log: &Log, one: &[CoreId], other: &[CoreId]) -> bool {
    let of = |cores: &[CoreId]| {
        stretches(log).filter(|(core, ..)| cores.contains(core)).collect::<Vec<_>>()
    };
    let others = of(other);
    of(one).iter().any(|(_, from, to)| others.iter().any(|(_, f, t)| from < t && f < to))
}

fn share_on(outcome: &Outcome, thread: usize, kind: KindId) -> f64 {
    let time_on = &outcome.threads[thread].time_on;
    time_on[kind].as_secs_f64() / time_on.0.iter().copied().sum::<Nanos>().as_secs_f64()
}

fn combinations() -> impl Iterator<Item = String> {
    let wakes = ["pw", "fw", "iw", "sw"];
    let balances = ["aub", "rrb", "aab", "age"];
    let pairs = move |a: &'static str| {
        wakes.into_iter().flat_map(move |w| balances.map(|b| format!("{a}-{w}-{b}")))
    };
    ["aua", "fca", "aaa", "age"].into_iter().flat_map(pairs)
}

#[test]
fn every_policy_finishes_any_number_of_busy_threads_and_a_barrier_program_with_all_work_done() {
    let machine = board("4big+4little");
    for threads in [1, 4, 8, 20] {
        let busy = vec![compute(100_000_000)];
        let barriers = vec![rounds(5, vec![compute(10_000_000), Step::Barrier(BarrierId(0))])];
        for (steps, asked) in [(busy, 100_000_000), (barriers, 50_000_000)] {
            let app = app(vec![steps; threads]);
            for name in BASELINES.map(String::from).into_iter().chain(combinations()) {
                let (outcome, _) = plain(&machine, &app, &name);
                for thread in &outcome.threads {
                    assert_eq!(
                        thread.retired,
                        Work(asked),
                        "{name}, {threads} threads: {}",
                        thread.name
                    );
                    assert!(thread.ended.is_some(), "{name}, {threads} threads: {}", thread.name);
                }
            }
        }
    }
}

#[test]
fn no_core_idles_while_as_many_threads_as_cores_are_left() {
    let machine = board("4big+4little");
    let app = app((1..=20).map(|i| vec![compute(20_000_000 * i)]).collect());
    for name in ["cfs-unaware", "linux", "gts", "bfs", "lin", "scaled-load", "rr", "fca-age", "age"]
    {
        let (outcome, log) = plain(&machine, &app, name);
        let mut ends: Vec<_> = outcome.threads.iter().filter_map(|thread| thread.ended).collect();
        ends.sort_unstable();
        // Until the thirteenth of twenty ends, eight are left.
        let until = ends[12];
        let busy: Nanos =
            stretches(&log).map(|(_, from, to)| to.min(until).saturating_sub(from)).sum();
        assert_eq!(busy, Nanos(8 * until.0), "{name}");
    }
}

#[test]
fn pinned_threads_never_move() {
    let (outcome, _) =
        plain(&board("4big+4little"), &app(vec![vec![compute(50_000_000)]; 20]), "pinned");
    assert_eq!(outcome.migrations, 0);
}

#[test]
fn a_busy_thread_stays_on_its_core_while_others_wake_beside_it() {
    // Timers that expire where slices end: at multiples of 20 ms, slices of 3, 10 and 60 ms. The
    // busy one is on the core of the highest number: an idle one beside it would look at what waits
    // first.
    let light = (0..2).map(|i| periodic(i, 1_000_000));
    let gone = (2..7).map(|_| vec![compute(1_000)]);
    let app = app(light.chain(gone).chain([vec![compute(2_000_000_000)]]).collect());
    for name in ["cfs-unaware", "linux", "lin"] {
        let (outcome, _) = plain(&board("4big+4little"), &app, name);
        assert_eq!(outcome.threads[7].migrations, 0, "{name}");
    }
}

#[test]
fn gts_keeps_a_heavy_thread_on_big_and_a_light_one_on_little() {
    // 1.4 G instructions a second on a little core: 2 ms of 20.
    let app = app(vec![vec![compute(5_000_000_000)], periodic(1, 2_800_000)]);
    let (outcome, _) = plain(&board("4big+4little"), &app, "gts");
    assert!(share_on(&outcome, 0, BIG) > 0.99, "heavy: {}", share_on(&outcome, 0, BIG));
    assert!(share_on(&outcome, 1, LITTLE) > 0.9, "light: {}", share_on(&outcome, 1, LITTLE));
}

#[test]
fn gts_without_offload_leaves_little_cores_to_light_threads() {
    let app = app(vec![vec![compute(2_000_000_000)]; 8]);
    let machine = board("4big+4little");
    let spread = |offload| {
        let (outcome, _) =
            simulate(&machine, &app, "gts", &[("offload", offload)], &Config::default());
        let busy = cores_of(&machine, LITTLE)
            .into_iter()
            .map(|core| outcome.cores[core.index()].busy)
            .sum::<Nanos>();
        busy.as_secs_f64() / outcome.makespan.as_secs_f64()
    };
    // With all of them on the four big cores, the little ones are done with after the first ticks.
    assert!(spread("off") < 0.5, "{}", spread("off"));
    assert!(spread("on") > 1.0, "{}", spread("on"));
}

#[test]
fn cs_never_runs_both_kinds_at_once_and_takes_the_fast_one_for_heavy_load() {
    let heavy = rounds(20, vec![compute(100_000_000), Step::Sleep(Nanos::from_millis(40))]);
    let light = rounds(20, vec![compute(4_000_000), Step::Sleep(Nanos::from_millis(20))]);
    let app = app(vec![vec![heavy, light]; 6]);
    let machine = board("4big+4little");
    let (outcome, log) = plain(&machine, &app, "cs");
    let (big, little) = (cores_of(&machine, BIG), cores_of(&machine, LITTLE));
    assert!(!overlap(&log, &big, &little));
    let busy =
        |cores: &[CoreId]| cores.iter().map(|core| outcome.cores[core.index()].busy).sum::<Nanos>();
    assert!(busy(&big) > busy(&little) && busy(&little) > Nanos::ZERO, "both had their time");
}

#[test]
fn iks_never_runs_both_cores_of_a_pair_and_switches_pairs_apart() {
    let app = app(vec![
        vec![compute(3_000_000_000)],
        periodic(1, 1_400_000),
        vec![rounds(10, vec![compute(200_000_000), Step::Sleep(Nanos::from_millis(300))])],
    ]);
    let machine = board("4big+4little");
    let (outcome, log) = plain(&machine, &app, "iks");
    for (big, little) in cores_of(&machine, BIG).into_iter().zip(cores_of(&machine, LITTLE)) {
        assert!(!overlap(&log, &[big], &[little]), "{big:?} and {little:?}");
    }
    assert!(share_on(&outcome, 0, BIG) > 0.8, "heavy: {}", share_on(&outcome, 0, BIG));
    assert!(share_on(&outcome, 1, LITTLE) > 0.8, "light: {}", share_on(&outcome, 1, LITTLE));
}

#[test]
fn a_thread_bound_to_a_core_that_is_switched_off_still_ends() {
    for name in ["cs", "iks"] {
        for core in [0, 4] {
            let mut app = app(vec![vec![compute(50_000_000)], periodic(1, 100_000)]);
            app.threads[0].affinity = Some(vec![CoreId(core)]);
            let (outcome, _) = plain(&board("4big+4little"), &app, name);
            assert!(outcome.threads[0].ended.is_some(), "{name}, core {core}");
        }
    }
}

#[test]
fn lin_gives_every_core_the_same_number_of_threads() {
    let (_, log) =
        plain(&board("4big+4little"), &app(vec![vec![compute(1_000_000_000)]; 16]), "lin");
    let mut seen = vec![BTreeSet::new(); 8];
    for entry in &log.entries {
        if let Entry::Ran { thread, core, to, .. } = *entry
            && to <= Nanos::from_millis(300)
        {
            seen[core.index()].insert(thread);
        }
    }
    assert!(seen.iter().all(|threads| threads.len() == 2), "{seen:?}");
}

#[test]
fn rr_gives_all_threads_of_a_core_each_the_same_time_on_the_fast_cores() {
    let (outcome, _) =
        plain(&board("2big+2little"), &app(vec![vec![compute(10_000_000_000)]; 4]), "rr");
    let ends: Vec<_> =
        outcome.threads.iter().filter_map(|thread| thread.ended).map(Nanos::as_secs_f64).collect();
    let (least, greatest) =
        (ends.iter().copied().fold(f64::MAX, f64::min), ends.iter().copied().fold(0.0, f64::max));
    assert!(greatest / least < 1.05, "{ends:?}");
}

#[test]
fn age_gives_the_fast_core_to_the_thread_that_is_behind_so_that_all_arrive_together() {
    // Two equal threads, one fast core: by turns, both do the work of (3 + 1) / 2 slow cores.
    let machine = board("1big+1little");
    let app = app(vec![vec![compute(3_000_000_000), Step::Barrier(BarrierId(0))]; 2]);
    let (age, _) = plain(&machine, &app, "age");
    let (pinned, _) = plain(&machine, &app, "pinned");
    let gain = pinned.makespan.as_secs_f64() / age.makespan.as_secs_f64();
    assert!((gain - 2.0).abs() < 0.02, "{gain}");
}

#[test]
fn age_with_an_oracle_gives_the_fast_core_to_the_longest_job() {
    let machine = board("1big+1little");
    let long_last = app(vec![vec![compute(500_000_000)], vec![compute(1_500_000_000)]]);
    let long_first = app(vec![vec![compute(1_500_000_000)], vec![compute(500_000_000)]]);
    for (prediction, estimator) in [("oracle", Estimator::Oracle), ("profile", Estimator::Offline)]
    {
        let config = Config { estimator, ..Config::default() };
        for (app, long) in [(&long_last, 1), (&long_first, 0)] {
            let (outcome, _) =
                simulate(&machine, app, "age", &[("prediction", prediction)], &config);
            assert!(
                share_on(&outcome, long, BIG) > 0.95,
                "{prediction}: {}",
                share_on(&outcome, long, BIG)
            );
        }
    }
}

#[test]
fn age_with_order_shortest_gives_it_to_the_shortest() {
    let machine = board("1big+1little");
    let config = Config { estimator: Estimator::Oracle, ..Config::default() };
    for (work, short) in [([500_000_000, 3_000_000_000], 0), ([3_000_000_000, 500_000_000], 1)] {
        let app = app(work.map(|work| vec![compute(work)]).to_vec());
        let set = [("prediction", "oracle"), ("order", "shortest")];
        let (outcome, _) = simulate(&machine, &app, "age", &set, &config);
        assert_eq!(share_on(&outcome, short, BIG), 1.0);
        assert!(outcome.threads[short].ended < outcome.threads[1 - short].ended);
    }
}

#[test]
fn scaled_load_fills_queues_by_capacity() {
    // Factor 3 in speed does not matter here: the board's capacities do.
    let machine = board("1big+1little");
    let ratio = f64::from(machine.kinds[0].capacity) / f64::from(machine.kinds[1].capacity);
    let (_, log) = plain(&machine, &app(vec![vec![compute(4_000_000_000)]; 12]), "scaled-load");
    let mut seen = vec![BTreeSet::new(); 2];
    for entry in &log.entries {
        if let Entry::Ran { thread, core, to, .. } = *entry
            && to <= Nanos::from_millis(200)
        {
            seen[core.index()].insert(thread);
        }
    }
    let on = |kind| seen[cores_of(&machine, kind)[0].index()].len() as f64;
    let (scaled, little) = (on(BIG) / ratio, on(LITTLE));
    assert!((scaled - little).abs() <= 1.0, "{scaled} on big against {little} on little");
}

#[test]
fn late_decisions_lose_no_work() {
    let config = Config { decision_latency: Nanos::from_micros(700), ..Config::default() };
    let steps = vec![rounds(30, vec![compute(2_000_000), Step::Barrier(BarrierId(0))])];
    let app = app(vec![steps; 12]);
    for name in BASELINES {
        let (outcome, _) = simulate(&board("4big+4little"), &app, name, &[], &config);
        assert!(outcome.threads.iter().all(|thread| thread.retired == Work(60_000_000)), "{name}");
    }
}

#[test]
fn a_newcomer_has_no_more_than_its_share_beside_one_that_has_run_alone_however_late_it_is_placed() {
    let spin = || vec![compute(100_000_000_000)];
    let mut app =
        app(vec![spin(), [vec![Step::Sleep(Nanos::from_secs(1)), Step::Fork(0)], spin()].concat()]);
    app.templates = vec![ThreadSpec::new("late", ProgramId(0))];
    for name in BASELINES.into_iter().filter(|name| *name != "pinned") {
        // Of the pair one works at a time.
        let machine = board(if name == "iks" { "1big+1little" } else { "1big" });
        for latency in [0, 70] {
            let (decision_latency, duration) =
                (Nanos::from_micros(latency), Some(Nanos::from_secs(4)));
            let config = Config { decision_latency, duration, ..Config::default() };
            let (outcome, _) = simulate(&machine, &app, name, &[], &config);
            let [one, woken, late] = [0, 1, 2].map(|thread| {
                outcome.threads[thread].time_on.0.iter().copied().sum::<Nanos>().as_secs_f64()
            });
            // Three seconds of three threads, after the first has had one.
            assert!((1.8..2.2).contains(&one), "{name}, {latency} us: {one}, {woken}, {late}");
            assert!((0.8..1.2).contains(&late), "{name}, {latency} us: {one}, {woken}, {late}");
        }
    }
}

#[test]
fn eight_threads_of_alder_lake_have_eight_physical_fast_cores() {
    let mut machine = machines::preset("alder-lake").unwrap();
    machine.costs = Costs::FREE;
    for name in ["pinned", "cfs-unaware", "gts", "fca-age", "hsp", "acfs", "round-robin"] {
        let set: &[(&str, &str)] = if name == "cfs-unaware" { &[("first", "fast")] } else { &[] };
        let app = app(vec![vec![compute(10_000_000)]; 8]);
        let (_, log) = simulate(&machine, &app, name, set, &Config::default());
        let first: BTreeSet<_> =
            stretches(&log).filter(|(_, from, _)| *from == Nanos::ZERO).collect();
        let physical: BTreeSet<_> = first
            .iter()
            .filter(|(core, ..)| machine.cores[core.index()].kind == BIG)
            .map(|(core, ..)| {
                machine.cores[core.index()].sibling.map_or(*core, |sibling| sibling.min(*core))
            })
            .collect();
        assert_eq!(physical.len(), 8, "{name}: {first:?}");
    }
}

#[test]
fn under_linux_no_thread_of_alder_lake_starts_on_the_sibling_of_a_busy_core_while_others_idle() {
    let mut machine = machines::preset("alder-lake").unwrap();
    machine.costs = Costs::FREE;
    let (_, log) = plain(&machine, &app(vec![vec![compute(10_000_000)]; 8]), "linux");
    let first: BTreeSet<_> = stretches(&log)
        .filter(|(_, from, _)| *from == Nanos::ZERO)
        .map(|(core, ..)| core)
        .collect();
    assert_eq!(first.len(), 8);
    let shares = |core: &&CoreId| {
        machine.cores[core.index()].sibling.is_some_and(|sibling| first.contains(&sibling))
    };
    assert_eq!(first.iter().find(shares), None, "{first:?}");
}

#[test]
fn age_counts_critical_sections_as_milestones_under_bcjt_and_not_under_bt() {
    let locked = [Step::Lock(LockId(0)), compute(1_000_000), Step::Unlock(LockId(0))];
    let mut app = app(vec![vec![rounds(3_000, locked.to_vec())], vec![compute(3_000_000_000)]]);
    app.locks = 1;
    let machine = board("1big+1little");
    // Whoever always is where it began is behind, and has the fast core for as long as the other
    // lives.
    for (milestones, expected) in [("bt", 0.5), ("bcjt", 1.0)] {
        let config = Config { duration: Some(Nanos::from_millis(500)), ..Config::default() };
        let (outcome, _) = simulate(&machine, &app, "age", &[("milestones", milestones)], &config);
        let share = share_on(&outcome, 0, BIG);
        assert!((share - expected).abs() < 0.1, "{milestones}: {share}");
    }
}
