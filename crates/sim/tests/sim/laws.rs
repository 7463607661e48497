//! What holds on any machine, for any workload, under any policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::KindPlan;
use evenkeel_machine::{CoreId, Costs, FemtoJoules, Machine, MicroWatts, Nanos, Work};
use evenkeel_model::{
    Application, BarrierId, Channel, ChannelId, Class, DeviceId, GraphId, LockId, LoopId,
    ParallelLoop, Phase, PhaseId, Program, ProgramId, Scaling, Step, Task, TaskGraph, TaskId,
    ThreadSpec,
};
use evenkeel_policy::registry::{self, Trait};
use evenkeel_policy::{Directives, Event, Interest, Policy, StartError, View};
use evenkeel_sim::{
    Config, Entry, Estimator, Governor, Listener, Log, NoListener, Outcome, SimError, run,
};
use proptest::prelude::*;

/// A combination of no name of its own, beside those that are listed.
const COMBINATION: &str = "aua-pw-aub";

fn policies() -> Vec<&'static str> {
    registry::ENTRIES.iter().map(|entry| entry.name).chain([COMBINATION]).collect()
}

fn those_that_are(it: Trait) -> Vec<&'static str> {
    registry::ENTRIES.iter().filter(|entry| entry.has(it)).map(|entry| entry.name).collect()
}

fn machines() -> impl Strategy<Value = Machine> {
    let kind = (
        prop::collection::vec(1u32..4, 1..3),
        prop::collection::vec(40u32..340, 1..3),
        any::<bool>(),
    );
    let costs = prop_oneof![Just(Costs::FREE), Just(Costs::default())];
    (prop::collection::vec(kind, 1..4), costs, prop::option::of(1_000_000_000u64..20_000_000_000))
        .prop_map(|(kinds, costs, bandwidth)| {
            let count = kinds.len();
            let plans: Vec<_> = kinds
                .into_iter()
                .enumerate()
                .map(|(rank, (clusters, mut capacities, smt))| {
                    // Faster kinds first: each in a band of its own, 300 wide.
                    let band = 300 * (count - 1 - rank) as u32;
                    capacities
                        .iter_mut()
                        .for_each(|capacity| *capacity = (*capacity + band).min(1024));
                    capacities.sort_unstable();
                    capacities.dedup();
                    KindPlan { clusters, capacities, smt }
                })
                .collect();
            crate::support::machine(&plans, costs, bandwidth)
        })
}

/// One way in which the threads of an application meet.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Alone,
    Barrier,
    Lock,
    Ring,
    Pipeline,
    ForkJoin,
    Loop,
    Tasks,
    Io,
    Yield,
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop::sample::select(vec![
        Shape::Alone,
        Shape::Barrier,
        Shape::Lock,
        Shape::Ring,
        Shape::Pipeline,
        Shape::ForkJoin,
        Shape::Loop,
        Shape::Tasks,
        Shape::Io,
        Shape::Yield,
    ])
}

fn applications() -> impl Strategy<Value = Application> {
    (shapes(), 1usize..9, 1u64..6, 1_000u64..20_000_000, 1.0f64..5.0, -10i8..10, 0.0f64..3.0)
        .prop_map(|(shape, count, rounds, work, factor, nice, bytes)| {
            application(shape, count, rounds, work, factor, nice, bytes)
        })
}

fn application(
    shape: Shape,
    count: usize,
    rounds: u64,
    work: u64,
    factor: f64,
    nice: i8,
    bytes: f64,
) -> Application {
    let compute = |phase: u32| Step::Compute { work: Work(work), phase: PhaseId(phase) };
    let busy = |us: u64| Step::Busy { time: Nanos::from_micros(us), phase: PhaseId(0) };
    let mut phases =
        vec![Phase::new("a", Scaling::Factor(factor)), Phase::new("b", Scaling::Capacity)];
    phases[1].bytes_per_instruction = bytes;
    phases[1].working_set = 1 << 18;
    let mut app = Application {
        name: format!("{shape:?}"),
        phases,
        barriers: vec![count as u32],
        locks: 1,
        devices: 1,
        channels: vec![Channel::of(2); count.max(2)],
        ..Application::default()
    };
    let body = match shape {
        Shape::Alone => vec![compute(0), Step::Sleep(Nanos(70_000)), compute(1)],
        Shape::Barrier => {
            vec![compute(1), Step::Barrier(BarrierId(0)), compute(0), Step::Milestone]
        }
        Shape::Lock => vec![compute(0), Step::Lock(LockId(0)), compute(1), Step::Unlock(LockId(0))],
        Shape::Io => {
            vec![compute(1), Step::Io { device: DeviceId(0), time: Nanos(300_000) }, busy(50)]
        }
        Shape::Yield => vec![compute(0), Step::Yield, compute(1)],
        Shape::ForkJoin => {
            vec![compute(0), Step::Fork(0), Step::Fork(0), compute(1), Step::JoinAll]
        }
        Shape::Loop => vec![Step::ParallelFor(LoopId(0))],
        Shape::Tasks => vec![Step::RunTasks(GraphId(0))],
        Shape::Ring | Shape::Pipeline => Vec::new(),
    };
    app.programs = match shape {
        // A token goes round: thread i waits for it at queue i and passes it on; thread 0 sends
        // first.
        Shape::Ring => (0..count as u32)
            .map(|i| {
                let next = ChannelId((i + 1) % count as u32);
                let own = ChannelId(i);
                let steps = match i {
                    0 => vec![Step::Send(next), compute(0), Step::Receive(own)],
                    _ => vec![Step::Receive(own), compute(0), Step::Send(next)],
                };
                Program { steps: vec![Step::Loop { times: Some(rounds), body: steps }] }
            })
            .collect(),
        // All but the last produce, the last consumes until the queue is closed.
        Shape::Pipeline => (0..count.max(2))
            .map(|i| {
                let producers = count.max(2) as u32 - 1;
                let channel = ChannelId(0);
                let steps = if i as u32 == producers {
                    vec![Step::Loop { times: None, body: vec![Step::Receive(channel), compute(1)] }]
                } else {
                    let body = vec![compute(0), Step::Send(channel)];
                    vec![
                        Step::Loop { times: Some(rounds), body },
                        Step::Close { channel, senders: producers },
                    ]
                };
                Program { steps }
            })
            .collect(),
        _ => vec![Program { steps: vec![Step::Loop { times: Some(rounds), body }] }],
    };
    let count = if matches!(shape, Shape::Pipeline) { count.max(2) } else { count };
    app.threads = (0..count)
        .map(|i| {
            let program = ProgramId(if app.programs.len() > 1 { i as u32 } else { 0 });
            let mut thread = ThreadSpec::new(format!("t{i}"), program);
            thread.nice = nice;
            thread.delay = Nanos((i as u64 % 3) * 1_000_000);
            if i % 4 == 3 {
                thread.affinity = Some(vec![CoreId(0)]);
            }
            // Other classes, one thread in seven each.
            let ms = Nanos::from_millis;
            match (i + rounds as usize) % 7 {
                1 => {
                    thread.class =
                        Class::RealTime { priority: 1 + i as u8, round_robin: i % 2 == 0 }
                }
                2 => {
                    thread.class =
                        Class::Deadline { runtime: ms(3), period: ms(10), deadline: ms(5) }
                }
                3 => thread.class = Class::Idle,
                _ => {}
            }
            thread
        })
        .collect();
    match shape {
        Shape::ForkJoin => {
            app.programs.push(Program { steps: vec![compute(1)] });
            app.templates.push(ThreadSpec::new("child", ProgramId(1)));
        }
        Shape::Loop => {
            let schedule = ["static", "dynamic,3", "guided,2"][rounds as usize % 3].into();
            app.loops.push(ParallelLoop {
                iterations: 37,
                work: Work(work / 10),
                phase: PhaseId(0),
                workers: count as u32,
                schedule,
                take_cost: Work(100),
            });
        }
        Shape::Tasks => {
            let tasks = vec![Task { work: Work(work / 4), phase: PhaseId(1) }; 20];
            let edges =
                (0..19u32).filter(|i| i % 3 > 0).map(|i| (TaskId(i), TaskId(i + 1))).collect();
            let mut graph = TaskGraph::new(tasks, edges).unwrap();
            graph.create_cost = Work(if rounds.is_multiple_of(2) { 500 } else { 0 });
            app.graphs.push(Arc::new(graph));
        }
        _ => {}
    }
    app
}

/// Work that an application's steps ask for. Chunks of a loop cost extra by number: those are added
/// by who counts.
fn asked(app: &Application) -> Option<u64> {
    fn steps(app: &Application, list: &[Step]) -> Option<u64> {
        list.iter().try_fold(0, |sum, step| {
            Some(
                sum + match step {
                    Step::Compute { work, .. } => work.0,
                    Step::Loop { times, body } => (*times)? * steps(app, body)?,
                    Step::Fork(template) => steps(
                        app,
                        &app.programs[app.templates[*template as usize].program.index()].steps,
                    )?,
                    Step::ParallelFor(_) | Step::RunTasks(_) | Step::Receive(_)
                        if app.programs.len() == 1 =>
                    {
                        return None;
                    }
                    _ => 0,
                },
            )
        })
    }
    app.threads.iter().try_fold(0, |sum, thread| {
        Some(sum + steps(app, &app.programs[thread.program.index()].steps)?)
    })
}

#[derive(Clone, Debug)]
struct Case {
    machine: Machine,
    apps: Vec<Application>,
    policy: String,
    config: Config,
}

fn configs() -> impl Strategy<Value = Config> {
    let estimators = prop::sample::select(vec![
        Estimator::Oracle,
        Estimator::Offline,
        Estimator::Sampled,
        Estimator::Modelled { error: 0.2 },
    ]);
    let governors = prop::sample::select(vec![
        Governor::Performance,
        Governor::Fixed { khz: 500_000 },
        Governor::Schedutil,
    ]);
    let latencies = prop::sample::select(vec![0u64, 0, 30_000, 2_000_000]);
    (estimators, governors, latencies, any::<u64>()).prop_map(
        |(estimator, governor, latency, seed)| Config {
            seed,
            estimator,
            governor,
            decision_latency: Nanos(latency),
            ..Config::default()
        },
    )
}

/// Not all policies make sense on each machine, as iks on other than two kinds.
fn those_that_take(machine: &Machine) -> Vec<&'static str> {
    let takes = |policy: &&str| {
        let mut policy = registry::make(policy, &[]).unwrap();
        !matches!(
            run(machine, &[], policy.as_mut(), &Config::default(), &mut NoListener),
            Err(SimError::Policy(_))
        )
    };
    policies().into_iter().filter(takes).collect()
}

fn cases() -> impl Strategy<Value = Case> {
    let chosen = any::<prop::sample::Index>();
    (machines(), prop::collection::vec(applications(), 1..4), chosen, configs()).prop_map(
        |(machine, apps, chosen, config)| {
            let policies = those_that_take(&machine);
            Case { policy: (*chosen.get(&policies)).into(), machine, apps, config }
        },
    )
}

fn carried_out(case: &Case) -> (Outcome, Log) {
    let mut policy = registry::make(&case.policy, &[]).unwrap();
    let mut log = Log::default();
    let outcome = run(&case.machine, &case.apps, policy.as_mut(), &case.config, &mut log).unwrap();
    (outcome, log)
}

/// Looks on at a policy: is told more than it, so that threads are accounted for more often, and
/// says nothing. The policy is shown all threads where those that ran are asked for: others among
/// them must make no difference.
struct Onlooker(Box<dyn Policy>);

impl Policy for Onlooker {
    fn interest(&self) -> Interest {
        let more = [
            Interest::PROGRESS,
            Interest::WOKE,
            Interest::BLOCKED,
            Interest::MILESTONE,
            Interest::CORE_IDLE,
        ];
        more.into_iter().fold(self.0.interest(), Interest::and)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.0.start(view, say)
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        let interest = match event {
            Event::Woke(_) => Interest::WOKE,
            Event::Blocked(_) => Interest::BLOCKED,
            Event::Milestone(_) => Interest::MILESTONE,
            Event::CoreIdle(_) => Interest::CORE_IDLE,
            _ => Interest::NONE,
        };
        if self.0.interest().wants(interest) {
            // Those that ran as well: one of them may have ended in this instant, which the policy
            // has not been told yet.
            let all: Vec<_> = view.live.iter().chain(view.ran).copied().collect();
            self.0.event(event, &View { ran: &all, ..*view }, say);
        }
    }

    fn quiet_until(&self, view: &View<'_>) -> Option<Nanos> {
        self.0.quiet_until(view)
    }

    fn skipped(&mut self, last: Nanos) {
        self.0.skipped(last);
    }

    fn notes(&self) -> Vec<String> {
        self.0.notes()
    }
}

/// Has each pick of a run held to the plain reference, which panics at the first difference.
struct Checks;

impl Listener for Checks {
    const HEARS: bool = false;
    const CHECKS: bool = true;
}

/// Runs by core and by thread, in order of time.
fn runs(log: &Log) -> Vec<(u32, CoreId, Nanos, Nanos)> {
    let runs = log.entries.iter().filter_map(|entry| match entry {
        Entry::Ran { thread, core, from, to, .. } => Some((thread.0, *core, *from, *to)),
        _ => None,
    });
    runs.collect()
}

fn disjoint<K: Ord>(spans: impl Iterator<Item = (K, Nanos, Nanos)>) -> bool {
    let mut by_key: BTreeMap<K, Vec<(Nanos, Nanos)>> = BTreeMap::new();
    for (key, from, to) in spans {
        by_key.entry(key).or_default().push((from, to));
    }
    by_key.values_mut().all(|spans| {
        spans.sort_unstable();
        spans.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn work_is_conserved_time_adds_up_and_no_core_runs_two_threads(case in cases()) {
        let (outcome, log) = carried_out(&case);
        for (app, spec) in outcome.apps.iter().zip(&case.apps) {
            prop_assert_eq!(app.completions.len(), 1);
            if let Some(asked) = asked(spec) {
                prop_assert_eq!(app.retired.0, asked, "{}", app.name);
            }
        }
        let runs = runs(&log);
        prop_assert!(disjoint(runs.iter().map(|&(_, core, from, to)| (core, from, to))), "a core ran two threads");
        prop_assert!(disjoint(runs.iter().map(|&(thread, _, from, to)| (thread, from, to))), "a thread ran twice at once");
        for (id, thread) in outcome.threads.iter().enumerate() {
            let ran: Nanos = runs.iter().filter(|run| run.0 == id as u32).map(|run| run.3 - run.2).sum();
            prop_assert_eq!(thread.time_on.0.iter().copied().sum::<Nanos>(), ran);
            let ended = thread.ended.unwrap();
            prop_assert_eq!(ran + thread.waiting + thread.blocked, ended - thread.started, "{}", &thread.name);
        }
        for core in &outcome.cores {
            let ran: Nanos = runs.iter().filter(|run| run.1 == core.core).map(|run| run.3 - run.2).sum();
            prop_assert_eq!(core.busy, ran);
            prop_assert_eq!(core.busy + core.idle, outcome.makespan);
        }
    }

    #[test]
    fn every_pick_is_that_of_the_plain_reference(case in cases()) {
        let mut policy = registry::make(&case.policy, &[]).unwrap();
        run(&case.machine, &case.apps, policy.as_mut(), &case.config, &mut Checks).unwrap();
    }

    #[test]
    fn threads_run_only_where_they_may(case in cases()) {
        let (outcome, log) = carried_out(&case);
        let runs = runs(&log);
        for (id, thread) in outcome.threads.iter().enumerate() {
            let number = thread.name.strip_prefix('t').and_then(|number| number.parse::<usize>().ok());
            if number.is_some_and(|number| number % 4 == 3) {
                prop_assert!(runs.iter().filter(|run| run.0 == id as u32).all(|run| run.1 == CoreId(0)));
            }
        }
    }

    #[test]
    fn energy_is_the_integral_of_power(case in cases()) {
        let (outcome, log) = carried_out(&case);
        let idle = |core: CoreId| {
            let power = case.machine.kind_of(core).idle_power.unwrap();
            let siblings = if case.machine.cores[core.index()].sibling.is_some() { 2 } else { 1 };
            MicroWatts(power.0 / siblings)
        };
        for core in &outcome.cores {
            let mut power = idle(core.core);
            let (mut since, mut energy) = (Nanos::ZERO, FemtoJoules::ZERO);
            for entry in &log.entries {
                if let Entry::Power { at, core: of, power: next } = entry && *of == core.core {
                    energy += FemtoJoules::integral(power, *at - since);
                    (power, since) = (*next, *at);
                }
            }
            energy += FemtoJoules::integral(power, outcome.makespan - since);
            prop_assert_eq!(core.energy, Some(energy));
        }
    }

    #[test]
    fn no_runnable_thread_waits_while_a_core_that_may_serve_it_idles(
        case in cases(),
        policy in prop::sample::select(those_that_are(Trait::WorkConserving)),
    ) {
        let mut case = case;
        case.policy = policy.into();
        case.config.decision_latency = Nanos::ZERO;
        // Under schedutil linux is eas, which leaves cores idle by design.
        if case.policy == "linux" && case.config.governor == Governor::Schedutil {
            case.config.governor = Governor::Performance;
        }
        for thread in case.apps.iter_mut().flat_map(|app| &mut app.threads) {
            thread.affinity = None;
        }
        let (outcome, log) = carried_out(&case);
        let mut idle_cores = changes(outcome.cores.len() as i64);
        let mut waiting = changes(0);
        for (_, _, from, to) in runs(&log) {
            add(&mut idle_cores, from, -1);
            add(&mut idle_cores, to, 1);
            add(&mut waiting, from, -1);
            add(&mut waiting, to, 1);
        }
        // A thread that stops running without waiting is blocked or has ended; it waits again from
        // its next start or wake-up.
        let mut last_end: BTreeMap<u32, Nanos> = BTreeMap::new();
        for entry in &log.entries {
            match entry {
                Entry::Started { at, .. } => add(&mut waiting, *at, 1),
                Entry::Ran { thread, to, .. } => { last_end.insert(thread.0, *to); }
                Entry::Ended { at, thread } => add(&mut waiting, last_end.get(&thread.0).copied().unwrap_or(*at), -1),
                Entry::Woke { at, thread, .. } => {
                    add(&mut waiting, last_end.get(&thread.0).copied().unwrap_or(*at), -1);
                    add(&mut waiting, *at, 1);
                }
                _ => {}
            }
        }
        let (mut idle, mut wait) = (0, 0);
        let mut times: Vec<Nanos> = idle_cores.keys().chain(waiting.keys()).copied().collect();
        times.sort_unstable();
        times.dedup();
        for pair in times.windows(2) {
            idle += idle_cores.get(&pair[0]).copied().unwrap_or(0);
            wait += waiting.get(&pair[0]).copied().unwrap_or(0);
            prop_assert!(idle == 0 || wait <= 0, "{idle} idle cores and {wait} waiting threads \
                                                  from {} to {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn a_policy_that_never_answers_still_finishes_the_run(case in cases()) {
        struct Mute;
        impl Policy for Mute {
            fn start(&mut self, _: &View<'_>, _: &mut Directives) -> Result<(), StartError> { Ok(()) }
            fn event(&mut self, _: Event, _: &View<'_>, _: &mut Directives) {}
        }
        let outcome = run(&case.machine, &case.apps, &mut Mute, &case.config, &mut NoListener).unwrap();
        prop_assert!(outcome.apps.iter().all(|app| app.completions.len() == 1));
    }

    #[test]
    fn who_looks_does_not_change_the_outcome(case in cases()) {
        let mut onlooker = Onlooker(registry::make(&case.policy, &[]).unwrap());
        let mut log = Log::default();
        let outcome = run(&case.machine, &case.apps, &mut onlooker, &case.config, &mut log).unwrap();
        let (unseen, unseen_log) = carried_out(&case);
        // Where it is told of cores that idle, fewer timers can be left out.
        prop_assert_eq!(Outcome { events: 0, ..outcome }, Outcome { events: 0, ..unseen });
        prop_assert_eq!(log, unseen_log);
    }

    #[test]
    fn the_same_run_has_the_same_outcome_with_and_without_a_listener(case in cases()) {
        let (outcome, log) = carried_out(&case);
        let (again, log_again) = carried_out(&case);
        prop_assert_eq!(&outcome, &again);
        prop_assert_eq!(log, log_again);
        let mut policy = registry::make(&case.policy, &[]).unwrap();
        let unheard = run(&case.machine, &case.apps, policy.as_mut(), &case.config, &mut NoListener).unwrap();
        prop_assert_eq!(outcome, unheard);
    }
}

fn changes(at_start: i64) -> BTreeMap<Nanos, i64> {
    BTreeMap::from([(Nanos::ZERO, at_start)])
}

fn add(changes: &mut BTreeMap<Nanos, i64>, at: Nanos, by: i64) {
    *changes.entry(at).or_default() += by;
}

proptest! {
    // Each case is tried under every policy that it is about.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn who_needs_no_speedup_factors_decides_the_same_whatever_they_are(case in cases()) {
        let needs = those_that_are(Trait::NeedsFactors);
        for policy in those_that_take(&case.machine).into_iter().filter(|policy| !needs.contains(policy)) {
            let outcomes = [Estimator::Oracle, Estimator::Modelled { error: 0.5 }].map(|estimator| {
                let config = Config { estimator, ..case.config.clone() };
                carried_out(&Case { policy: policy.into(), config, ..case.clone() })
            });
            prop_assert_eq!(&outcomes[0], &outcomes[1], "{}", policy);
        }
    }
}
