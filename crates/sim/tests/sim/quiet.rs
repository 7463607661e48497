//! What is left out of a run makes no difference. A policy that says until when it will be quiet
//! ([`Policy::quiet_until`]) keeps its word, and says so long enough before for it to be worth
//! asking. A run without slices and timers of which nothing comes is, to the byte, one with all of
//! them.

use crate::support::KindPlan;
use evenkeel_machine::{CoreId, Costs, Machine, Nanos, Work};
use evenkeel_model::{
    Application, GraphId, Phase, PhaseId, Program, ProgramId, Scaling, Step, Task, TaskGraph,
    ThreadSpec,
};
use evenkeel_policy::{Directives, Event, Interest, Policy, QueueId, StartError, View, registry};
use evenkeel_sim::{Config, Governor, Log, NoListener, Outcome, run};
use proptest::prelude::*;

/// Holds a policy to its word.
struct Held {
    policy: Box<dyn Policy>,
    until: Nanos,
    /// By thread, when it last said so.
    queues: Vec<Option<QueueId>>,
    /// Timers that it had to be told of, and those in vain.
    needed: u32,
    vain: u32,
}

impl Held {
    fn new(policy: &str) -> Self {
        Self {
            policy: registry::make(policy, &[]).unwrap(),
            until: Nanos::ZERO,
            queues: Vec::new(),
            needed: 0,
            vain: 0,
        }
    }

    /// Whether a core has taken a thread from another's queue since, and keeps it: where turns end
    /// on several cores in one instant, one of them may find its own queue empty.
    fn are_elsewhere(&self, view: &View<'_>) -> bool {
        self.queues != queues(view)
    }
}

fn queues(view: &View<'_>) -> Vec<Option<QueueId>> {
    view.threads.iter().map(|stats| stats.queue).collect()
}

impl Policy for Held {
    fn interest(&self) -> Interest {
        [Interest::WOKE, Interest::BLOCKED].into_iter().fold(self.policy.interest(), Interest::and)
    }

    fn skipped(&mut self, last: Nanos) {
        self.policy.skipped(last);
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.policy.start(view, say)
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        let of_interest = match event {
            Event::Woke(_) => Interest::WOKE,
            Event::Blocked(_) => Interest::BLOCKED,
            _ => Interest::NONE,
        };
        let mut said = Directives::default();
        if self.policy.interest().wants(of_interest) {
            self.policy.event(event, view, &mut said);
        }
        if event != Event::Timer {
            self.until = Nanos::ZERO;
        } else if view.now < self.until && !self.are_elsewhere(view) {
            assert!(said.is_empty(), "{} ns too early: {said:?}", self.until.0 - view.now.0);
            self.vain += 1;
        } else {
            self.until = self.policy.quiet_until(view).unwrap_or(Nanos::ZERO);
            self.queues = queues(view);
            self.needed += 1;
        }
        said.drain().for_each(|directive| say.say(directive));
    }
}

fn program(factor: f64, nice: i8, steps: Vec<Step>) -> Application {
    Application {
        name: format!("sf{factor}"),
        phases: vec![Phase::new("work", Scaling::Factor(factor))],
        programs: vec![Program { steps: vec![Step::Loop { times: None, body: steps }] }],
        threads: vec![ThreadSpec { nice, ..ThreadSpec::new("t", ProgramId(0)) }],
        ..Application::default()
    }
}

fn compute(work: u64) -> Step {
    Step::Compute { work: Work(work), phase: PhaseId(0) }
}

/// Programs that work all the time, for the most part; some sleep, now and then or often, and some
/// may use one or two cores only.
fn programs() -> impl Strategy<Value = Application> {
    let kinds = prop::sample::select(vec![0_u64, 0, 0, 700_000_000, 5_000_000]);
    (1.0_f64..4.0, prop::sample::select(vec![0_i8, 0, 0, 5, -3]), kinds, 0_u32..12).prop_map(
        |(factor, nice, sleeps, bound)| {
            let sleep = (sleeps > 0).then_some(Step::Sleep(Nanos(sleeps)));
            let mut program =
                program(factor, nice, [compute(30_000_000)].into_iter().chain(sleep).collect());
            program.threads[0].affinity = match bound {
                0 | 1 => Some(vec![CoreId(bound)]),
                2 | 3 => Some(vec![CoreId(0), CoreId(1)]),
                _ => None,
            };
            program
        },
    )
}

fn machines() -> impl Strategy<Value = Machine> {
    (1_u32..4, 1_u32..4, prop::option::of(1_u32..3)).prop_map(|(fast, slow, between)| {
        let kind = |clusters, capacity| KindPlan {
            clusters: vec![clusters],
            capacities: vec![capacity],
            smt: false,
        };
        let kinds =
            [Some(kind(fast, 1024)), between.map(|cores| kind(cores, 600)), Some(kind(slow, 341))];
        crate::support::machine(&kinds.into_iter().flatten().collect::<Vec<_>>(), Costs::FREE, None)
    })
}

/// All, and those more often that say when they are quiet.
fn policies() -> impl Strategy<Value = &'static str> {
    let all = registry::ENTRIES.iter().map(|entry| entry.name).collect::<Vec<_>>();
    prop_oneof![prop::sample::select(vec!["acfs", "linux", "eas"]), prop::sample::select(all)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_policy_says_nothing_before_the_time_until_which_it_is_quiet(
        machine in machines(),
        apps in prop::collection::vec(programs(), 1..14),
        policy in prop::sample::select(vec!["acfs", "acfs-static", "linux", "eas"]),
        latency in prop::sample::select(vec![0, 70_000]),
    ) {
        let config = Config {
            duration: Some(Nanos::from_secs(5)), decision_latency: Nanos(latency), ..Config::default()
        };
        run(&machine, &apps, &mut Held::new(policy), &config, &mut NoListener).unwrap();
    }

    #[test]
    fn a_run_without_ticks_that_bring_nothing_is_one_with_all_of_them(
        machine in machines(),
        apps in prop::collection::vec(programs(), 0..3),
        ends in prop::collection::vec((1_u64..5_000_000_000, 0_u64..9, 0_u64..300_000_000), 1..7),
        policy in policies(),
        latency in prop::sample::select(vec![0, 0, 70_000]),
        governor in prop::sample::select(vec![Governor::Performance, Governor::Performance, Governor::Schedutil]),
    ) {
        let finite = ends.into_iter().map(|(work, after, again)| {
            let steps = vec![
                Step::Sleep(Nanos(after * 333_333_333)),
                compute(work),
                Step::Sleep(Nanos(again)),
                compute(work / 2),
            ];
            let mut program = program(2.0, 0, Vec::new());
            program.programs[0].steps = steps;
            program
        });
        let apps: Vec<_> = apps.into_iter().chain(finite).collect();
        let run = |every_tick| {
            let config = Config {
                duration: Some(Nanos::from_secs(8)),
                decision_latency: Nanos(latency),
                governor,
                every_tick,
                ..Config::default()
            };
            let mut log = Log::default();
            let mut policy = registry::make(policy, &[]).unwrap();
            let outcome = run(&machine, &apps, policy.as_mut(), &config, &mut log);
            outcome.map(|outcome| (Outcome { events: 0, ..outcome }, log))
        };
        prop_assert_eq!(format!("{:?}", run(false)), format!("{:?}", run(true)));
    }
}

/// How many events a graph of 40 independent tasks takes on eight cores, each so long.
fn events_of_a_graph(policy: &str, seconds: u64, every_tick: bool) -> u64 {
    let kind = |capacity| KindPlan { clusters: vec![4], capacities: vec![capacity], smt: false };
    let machine = Machine {
        sensor_interval: None,
        ..crate::support::machine(&[kind(1024), kind(341)], Costs::FREE, None)
    };
    let tasks = (0..40)
        .map(|i| Task { work: Work((seconds + i) * 1_000_000_000), phase: PhaseId(0) })
        .collect();
    let workers = ThreadSpec::new("worker", ProgramId(0));
    let app = Application {
        name: "graph".into(),
        phases: vec![Phase::new("task", Scaling::Factor(3.0))],
        programs: vec![Program { steps: vec![Step::RunTasks(GraphId(0))] }],
        threads: vec![workers; 8],
        graphs: vec![std::sync::Arc::new(TaskGraph::new(tasks, Vec::new()).unwrap())],
        ..Application::default()
    };
    let mut policy = registry::make(policy, &[]).unwrap();
    let config = Config { every_tick, ..Config::default() };
    run(&machine, &[app], policy.as_mut(), &config, &mut NoListener).unwrap().events
}

#[test]
fn what_a_run_takes_follows_what_happens_and_not_how_long_it_lasts() {
    for (policy, most) in [("pinned", 1_000), ("linux", 10_000), ("eas", 10_000), ("acfs", 200_000)]
    {
        let events = events_of_a_graph(policy, 500, false);
        assert!(events < most, "{policy}: {events} events");
    }
}

#[test]
fn acfs_knows_when_the_next_swap_may_be_due() {
    let kind = |capacity| KindPlan { clusters: vec![2], capacities: vec![capacity], smt: false };
    let machine = crate::support::machine(&[kind(1023), kind(341)], Costs::FREE, None);
    for (programs, looks) in [(4, 12), (6, 30)] {
        let apps: Vec<_> = (0..programs).map(|_| program(3.0, 0, vec![compute(1 << 40)])).collect();
        let mut held = Held::new("acfs");
        let config = Config { duration: Some(Nanos::from_secs(20)), ..Config::default() };
        run(&machine, &apps, &mut held, &config, &mut NoListener).unwrap();
        assert!(
            held.needed < looks * 20,
            "{programs} programs: {} needed, {} in vain",
            held.needed,
            held.vain
        );
    }
}
