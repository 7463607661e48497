//! Guests: threads that a core takes up before its own, because they are far behind, and that it
//! does not adopt.

use crate::support::free_odroid;
use evenkeel_machine::{CoreId, KindId, Nanos};
use evenkeel_model::{Application, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec};
use evenkeel_policy::{
    Clock, Directive, Directives, Event, Interest, Order, Policy, QueueId, Slice, Start,
    StartError, ThreadId, Tier, View, registry,
};
use evenkeel_sim::{Config, NoListener, Outcome, run};

const BIG: KindId = KindId(0);
const LITTLE: KindId = KindId(1);

fn application(name: &str, steps: Vec<Step>) -> Application {
    Application {
        name: name.into(),
        phases: vec![Phase::new("work", Scaling::Factor(2.0))],
        programs: vec![Program { steps }],
        threads: vec![ThreadSpec::new(name, ProgramId(0))],
        ..Application::default()
    }
}

fn works_always() -> Application {
    application(
        "works",
        vec![Step::Compute { work: evenkeel_machine::Work(1 << 50), phase: PhaseId(0) }],
    )
}

/// Works for some 0.1 ms, and sleeps for 5.
fn sleeps_much() -> Application {
    let work = Step::Compute { work: evenkeel_machine::Work(100_000), phase: PhaseId(0) };
    let body = vec![work, Step::Sleep(Nanos::from_millis(5))];
    application("sleeps", vec![Step::Loop { times: None, body }])
}

fn simulate(cores: &str, policy: &mut dyn Policy, apps: &[Application]) -> Outcome {
    simulate_for(10, cores, policy, apps)
}

fn simulate_for(
    seconds: u64,
    cores: &str,
    policy: &mut dyn Policy,
    apps: &[Application],
) -> Outcome {
    let config = Config { duration: Some(Nanos::from_secs(seconds)), ..Config::default() };
    run(&free_odroid(cores), apps, policy, &config, &mut NoListener).unwrap()
}

/// Thread 0 and all from the second on belong to core 0, thread 1 to core 1, which adopts whom it
/// takes; and is host to those of core 0 if there is a margin.
struct Home {
    margin: Option<u64>,
    /// Picks by core 1 of threads of queue 0, and of queue 1, but for thread 1.
    picks: [u32; 2],
}

impl Policy for Home {
    fn interest(&self) -> Interest {
        Interest::PICKED
    }

    fn start(&mut self, _: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let queues = [say.make_queue(Clock::Shared), say.make_queue(Clock::Shared)];
        for (core, own) in (0..).map(CoreId).zip(queues) {
            let others = queues.into_iter().filter(|&queue| queue != own);
            say.serve(
                core,
                vec![Tier::least_key([own]), Tier::least_key(others.collect::<Vec<_>>())],
                Some(own),
            );
            say.say(Directive::Sleeper(own, u64::MAX));
            say.prefer(own, vec![core]);
        }
        if let Some(margin) = self.margin {
            say.host(CoreId(1), vec![queues[0]], margin);
        }
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                say.assign(thread, QueueId(u32::from(thread == ThreadId(1))));
                say.order(thread, Order::VirtualTime { weight: 1024, start: Start::Floor });
                say.slice(thread, Slice::of(Nanos::from_millis(3)));
            }
            Event::Picked(thread, CoreId(1)) if thread != ThreadId(1) => {
                let queue = view.thread(thread).queue.unwrap();
                self.picks[queue.index()] += 1;
            }
            _ => {}
        }
    }
}

fn picks(margin: Option<u64>, apps: &[Application]) -> [u32; 2] {
    let mut policy = Home { margin, picks: [0, 0] };
    simulate("1big+1little", &mut policy, apps);
    policy.picks
}

#[test]
fn who_is_far_behind_is_a_guest_and_is_not_adopted() {
    let apps = [works_always(), works_always(), sleeps_much(), sleeps_much(), sleeps_much()];
    let [guests, adopted] = picks(Some(20_000_000), &apps);
    assert!(guests > 100 && adopted == 0, "{guests}, {adopted}");
    assert_eq!(picks(None, &apps), [0, 0]);
}

#[test]
fn who_is_behind_by_less_waits_for_its_own() {
    let apps = [works_always(), works_always(), works_always()];
    // Two share core 0, and get behind the third by half of all time: after 8 s by 4, and never by
    // 20.
    let [guests, adopted] = picks(Some(4_000_000_000), &apps);
    assert!(guests > 0 && adopted == 0, "{guests}, {adopted}");
    assert_eq!(picks(Some(20_000_000_000), &apps), [0, 0]);
}

#[test]
fn where_nobody_else_waits_whom_a_core_takes_is_adopted() {
    let apps = [works_always(), sleeps_much(), works_always()];
    let [guests, adopted] = picks(Some(1_000_000_000), &apps);
    assert!(guests == 0 && adopted > 0, "{guests}, {adopted}");
}

#[test]
fn a_guest_whose_turn_is_over_lets_one_of_the_cores_own_go_first() {
    // From the second second on two are as much behind the others: one has core 0, and one is the
    // guest of core 1.
    let late = || {
        let Application { programs, .. } = works_always();
        let steps = [&[Step::Sleep(Nanos::from_secs(2))], &programs[0].steps[..]].concat();
        application("late", steps)
    };
    let mut policy = Home { margin: Some(20_000_000), picks: [0, 0] };
    let outcome = simulate_for(
        4,
        "1big+1little",
        &mut policy,
        &[works_always(), works_always(), late(), late()],
    );
    let own: f64 = outcome.threads[1].time_on.0.iter().map(|time| time.as_secs_f64()).sum();
    assert!((2.9..3.1).contains(&own), "{own}");
}

#[test]
fn whom_a_core_takes_because_it_may_not_run_those_of_its_own_is_no_guest_and_trades() {
    let mut apps: Vec<_> = (0..5).map(|_| works_always()).collect();
    let big = free_odroid("2big+2little").cores_of(BIG).next().unwrap();
    for bound in &mut apps[..2] {
        bound.threads[0].affinity = Some(vec![big]);
    }
    let mut policy = registry::make("acfs", &[]).unwrap();
    let outcome = simulate_for(20, "2big+2little", policy.as_mut(), &apps);
    let on_big: Vec<_> =
        outcome.threads[2..].iter().map(|thread| thread.time_on[BIG].as_secs_f64()).collect();
    assert!(on_big.iter().all(|&time| time > 5.0), "{on_big:?}");
}

#[test]
fn under_acfs_who_sleeps_much_waits_less_for_a_core_if_any_kind_takes_it_up_and_nobody_is_slowed_down_more_than_others()
 {
    let apps: Vec<_> =
        (0..4).map(|_| works_always()).chain((0..8).map(|_| sleeps_much())).collect();
    let [at_once, with, without] = ["at-once", "far-behind", "none"].map(|guests| {
        let mut policy = registry::make("acfs", &[("guests".into(), guests.into())]).unwrap();
        simulate("2big+2little", policy.as_mut(), &apps)
    });
    let latency = |outcome: &Outcome, quantile| {
        let mut all = outcome.wakeup_latency[BIG.index()].clone();
        all.merge(&outcome.wakeup_latency[LITTLE.index()]);
        all.quantile(quantile).unwrap().0
    };
    let late = |outcome: &Outcome| latency(outcome, 0.99);
    assert!(late(&with) * 2 < late(&without), "p99 {} ns against {}", late(&with), late(&without));
    assert!(
        late(&at_once) * 2 < late(&without),
        "p99 {} ns against {}",
        late(&at_once),
        late(&without)
    );
    let half = |outcome: &Outcome| latency(outcome, 0.5);
    assert!(
        half(&at_once) * 10 < half(&with),
        "median {} ns against {}",
        half(&at_once),
        half(&with)
    );
    for outcome in [at_once, with, without] {
        // Those that always work are alike: as much time on each kind, but for a stay.
        let on_big: Vec<_> =
            outcome.threads[..4].iter().map(|thread| thread.time_on[BIG].as_secs_f64()).collect();
        let (least, greatest) =
            on_big.iter().fold((f64::MAX, 0.0), |(l, g): (f64, f64), &t| (l.min(t), g.max(t)));
        assert!(greatest - least < 0.9, "{on_big:?}");
    }
}
