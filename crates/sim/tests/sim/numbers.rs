//! A policy takes a number that is given again for a new thread, or a new application, as it takes
//! one that nobody has had.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::KindPlan;
use evenkeel_machine::{CoreId, Costs, Machine, Nanos, PerKind, Work};
use evenkeel_model::{Application, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec};
use evenkeel_policy::registry::{self, Trait};
use evenkeel_policy::{
    AppId, CoreStats, Directive, Directives, Event, Interest, Order, Policy, Slice, Start,
    StartError, State, ThreadId, ThreadStats, View,
};
use evenkeel_sim::{Config, Log, Outcome, run};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

/// Numbers of some kind, given again once who had them has gone. Of two who are there at once the
/// later one has the greater number here, as in the simulator: where all else is equal, policies go
/// by number.
#[derive(Default)]
struct Numbers {
    /// Those who are there from the beginning, though some begin later: one after the other.
    declared: u32,
    of: BTreeMap<u32, u32>,
    given: BTreeSet<u32>,
    again: u32,
}

impl Numbers {
    fn new(declared: usize) -> Self {
        Self { declared: declared as u32, ..Self::default() }
    }

    fn number(&mut self, whose: u32) -> u32 {
        if let Some(&known) = self.of.get(&whose) {
            return known;
        }
        let first = if whose < self.declared { 0 } else { self.declared };
        let number =
            self.of.range(..whose).next_back().map_or(0, |(_, before)| before + 1).max(first);
        assert!(self.of.range(whose..).all(|(_, &later)| later > number), "{whose}: {:?}", self.of);
        self.again += u32::from(!self.given.insert(number));
        self.of.insert(whose, number);
        number
    }

    fn whose(&self, number: u32) -> u32 {
        *self.of.iter().find(|(_, it)| **it == number).unwrap().0
    }
}

type Said = (Option<Order>, Option<PerKind<u32>>, Option<Slice>);

/// Gives numbers again. What has been said of a number holds for whoever gets it next, as the
/// mechanisms of real threads have it.
struct Renumbered {
    policy: Box<dyn Policy>,
    threads: Numbers,
    apps: Numbers,
    stats: Vec<ThreadStats>,
    affinity: Vec<Option<Box<[CoreId]>>>,
    said: Vec<Said>,
}

impl Renumbered {
    fn new(policy: Box<dyn Policy>, apps: usize) -> Self {
        let (stats, affinity, said) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            policy,
            threads: Numbers::new(apps),
            apps: Numbers::new(apps),
            stats,
            affinity,
            said,
        }
    }

    fn thread(&self, number: ThreadId) -> ThreadId {
        ThreadId(self.threads.whose(number.0))
    }

    /// The policy's view, by its own numbers: whoever has ended keeps one until somebody else gets
    /// it.
    fn take_in(&mut self, event: Event, view: &View<'_>) {
        // Some that it knows may have ended in this instant, which it has not been told yet.
        let known = self.threads.of.keys().copied().map(ThreadId);
        let leaves = if let Event::Exited(thread) = event { Some(thread) } else { None };
        let mut there: Vec<ThreadId> =
            view.live.iter().chain(view.ran).copied().chain(known).chain(leaves).collect();
        there.sort_unstable();
        there.dedup();
        for thread in there {
            let app = AppId(self.apps.number(view.thread(thread).app.0));
            let number = self.threads.number(thread.0) as usize;
            let parent =
                view.thread(thread).parent.and_then(|parent| self.threads.of.get(&parent.0));
            let stats =
                ThreadStats { app, parent: parent.copied().map(ThreadId), ..*view.thread(thread) };
            let affinity = view.affinity.get(thread.index()).cloned().flatten();
            if self.stats.len() <= number {
                self.stats.resize(number + 1, ThreadStats { state: State::Exited, ..stats });
                self.affinity.resize(number + 1, None);
                self.said.resize(number + 1, Said::default());
            }
            (self.stats[number], self.affinity[number]) = (stats, affinity);
        }
    }

    fn ask(&mut self, event: Event, view: &View<'_>, said: &mut Directives) {
        let renumbered = |threads: &[ThreadId]| -> Vec<ThreadId> {
            threads.iter().map(|thread| ThreadId(self.threads.of[&thread.0])).collect()
        };
        let cores: Vec<CoreStats> = view
            .cores
            .iter()
            .map(|core| CoreStats {
                running: core.running.map(|it| ThreadId(self.threads.of[&it.0])),
                ..*core
            })
            .collect();
        let by_number = |thread: ThreadId| ThreadId(self.threads.of[&thread.0]);
        let event = match event {
            Event::Started(thread) => Event::Started(by_number(thread)),
            Event::Exited(thread) => Event::Exited(by_number(thread)),
            Event::Woke(thread) => Event::Woke(by_number(thread)),
            Event::Blocked(thread) => Event::Blocked(by_number(thread)),
            Event::Milestone(thread) => Event::Milestone(by_number(thread)),
            Event::CriticalSection(thread) => Event::CriticalSection(by_number(thread)),
            Event::Picked(thread, core) => Event::Picked(by_number(thread), core),
            Event::SliceUsed(thread, core) => Event::SliceUsed(by_number(thread), core),
            other => other,
        };
        let (live, ran) = (renumbered(view.live), renumbered(view.ran));
        let view = View {
            cores: &cores,
            threads: &self.stats,
            live: &live,
            ran: &ran,
            affinity: &self.affinity,
            ..*view
        };
        self.policy.event(event, &view, said);
    }

    /// What is said of a number, of the thread that has it.
    fn pass_on(&mut self, directive: Directive, say: &mut Directives) {
        let directive = match directive {
            Directive::Assign(thread, queue) => Directive::Assign(self.thread(thread), queue),
            Directive::AssignAll(threads) => Directive::AssignAll(
                threads.iter().map(|&(thread, queue)| (self.thread(thread), queue)).collect(),
            ),
            Directive::Order(thread, order) => {
                self.said[thread.index()].0 = Some(order);
                Directive::Order(self.thread(thread), order)
            }
            Directive::Charge(thread, charge) => {
                self.said[thread.index()].1 = Some(charge);
                Directive::Charge(self.thread(thread), charge)
            }
            Directive::Slice(thread, slice) => {
                self.said[thread.index()].2 = Some(*slice);
                Directive::Slice(self.thread(thread), slice)
            }
            Directive::Swap(a, b) => Directive::Swap(self.thread(a), self.thread(b)),
            Directive::Move(thread, core) => Directive::Move(self.thread(thread), core),
            other => other,
        };
        say.say(directive);
    }
}

impl Policy for Renumbered {
    fn interest(&self) -> Interest {
        self.policy.interest()
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.policy.start(view, say)
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        self.take_in(event, view);
        if let Event::Started(thread) = event {
            let (order, charge, slice) = self.said[self.threads.of[&thread.0] as usize];
            if let Some(Order::VirtualTime { weight, .. }) = order {
                say.order(thread, Order::VirtualTime { weight, start: Start::Keep });
            } else if let Some(order) = order {
                say.order(thread, order);
            }
            charge.into_iter().for_each(|charge| say.charge(thread, charge));
            slice.into_iter().for_each(|slice| say.slice(thread, slice));
        }
        let mut said = Directives::default();
        self.ask(event, view, &mut said);
        said.drain().for_each(|directive| self.pass_on(directive, say));
        if let Event::Exited(thread) = event {
            self.threads.of.remove(&thread.0);
            let app = view.thread(thread).app;
            let is_left = |other: &u32| view.thread(ThreadId(*other)).app == app;
            if !self.threads.of.keys().any(is_left) {
                self.apps.of.remove(&app.0);
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        self.policy.notes()
    }
}

fn compute(work: u64) -> Step {
    Step::Compute { work: Work(work), phase: PhaseId(0) }
}

/// Programs that come one after the other, work, sleep and fork threads that soon end.
fn programs() -> impl Strategy<Value = Vec<Application>> {
    let program = (
        1.0_f64..5.0,
        -5_i8..6,
        1_u64..30_000_000,
        0_u64..30,
        1_u64..8,
        0_u64..200,
        0_u32..8,
        1_usize..4,
    )
        .prop_map(|(factor, nice, work, sleep_ms, rounds, after_ms, bound, forks)| {
            let fork = std::iter::repeat_n(Step::Fork(0), forks);
            let body = fork.chain([
                compute(work),
                Step::JoinAll,
                Step::Sleep(Nanos::from_millis(sleep_ms)),
            ]);
            let mut first = ThreadSpec { nice, ..ThreadSpec::new("first", ProgramId(0)) };
            first.delay = Nanos::from_millis(after_ms);
            first.affinity = (bound == 0).then(|| vec![CoreId(0)]);
            Application {
                name: format!("sf{factor:.1}"),
                phases: vec![Phase::new("work", Scaling::Factor(factor))],
                programs: vec![
                    Program {
                        steps: vec![Step::Loop { times: Some(rounds), body: body.collect() }],
                    },
                    Program { steps: vec![compute(work / 2)] },
                ],
                threads: vec![first],
                templates: vec![ThreadSpec {
                    nice: nice / 2,
                    ..ThreadSpec::new("forked", ProgramId(1))
                }],
                ..Application::default()
            }
        });
    prop::collection::vec(program, 1..8).prop_map(|mut programs| {
        let mut begins = Nanos::ZERO;
        for program in &mut programs {
            begins = begins.saturating_add(program.threads[0].delay);
            program.threads[0].delay = begins;
        }
        programs
    })
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
        crate::support::machine(
            &kinds.into_iter().flatten().collect::<Vec<_>>(),
            Costs::default(),
            None,
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn who_gets_a_number_again_is_taken_for_new(machine in machines(), apps in programs()) {
        let config = Config { duration: Some(Nanos::from_secs(3)), ..Config::default() };
        let mut different = Vec::new();
        for entry in registry::ENTRIES.iter().filter(|entry| !entry.has(Trait::ByNumber)) {
            let (mut plain, mut log, mut log_again) =
                (registry::make(entry.name, &[]).unwrap(), Log::default(), Log::default());
            let Ok(outcome) = run(&machine, &apps, plain.as_mut(), &config, &mut log) else { continue };
            let mut renumbered = Renumbered::new(registry::make(entry.name, &[]).unwrap(), apps.len());
            let again = run(&machine, &apps, &mut renumbered, &config, &mut log_again).unwrap();
            // Who is renumbered is told of every timer.
            let [outcome, again] = [outcome, again].map(|outcome| Outcome { events: 0, ..outcome });
            if outcome != again || log != log_again {
                different.push(entry.name);
            }
        }
        prop_assert!(different.is_empty(), "{different:?}");
    }
}

#[test]
fn numbers_are_given_again_here() {
    let mut again = (0, 0);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..20 {
        let apps = programs().new_tree(&mut runner).unwrap().current();
        let machine = crate::support::machine(
            &[KindPlan { clusters: vec![2], capacities: vec![1024], smt: false }],
            Costs::default(),
            None,
        );
        let mut renumbered = Renumbered::new(registry::make("linux", &[]).unwrap(), apps.len());
        let config = Config { duration: Some(Nanos::from_secs(3)), ..Config::default() };
        run(&machine, &apps, &mut renumbered, &config, &mut evenkeel_sim::NoListener).unwrap();
        again = (again.0 + renumbered.threads.again, again.1 + renumbered.apps.again);
    }
    assert!(again.0 > 100 && again.1 > 10, "threads, applications: {again:?}");
}
