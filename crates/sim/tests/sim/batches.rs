//! Slices in a row: who only computes has several while nobody waits for its core who has slept.

use crate::support::free_odroid;
use evenkeel_machine::{CoreId, KindId, Nanos, Work};
use evenkeel_model::{Application, Phase, PhaseId, Program, ProgramId, Scaling, Step, ThreadSpec};
use evenkeel_policy::{
    Clock, Directive, Directives, Event, Interest, Order, Policy, QueueId, Slice, Start,
    StartError, ThreadId, Tier, View,
};
use evenkeel_sim::{Config, NoListener, Outcome, run};

const SLICE: Nanos = Nanos::from_millis(3);
const SECONDS: u64 = 6;

fn application(steps: Vec<Step>) -> Application {
    Application {
        name: "program".into(),
        phases: vec![Phase::new("work", Scaling::Factor(2.0))],
        programs: vec![Program { steps }],
        threads: vec![ThreadSpec::new("program", ProgramId(0))],
        ..Application::default()
    }
}

fn works_always() -> Application {
    application(vec![Step::Compute { work: Work(1 << 50), phase: PhaseId(0) }])
}

/// Works for some 0.1 ms, and sleeps for 48.2: it wakes soon after a slice of 3 ms has begun, were
/// the first to begin as it went to sleep, and one of 12, too.
fn sleeps_much() -> Application {
    let work = Step::Compute { work: Work(100_000), phase: PhaseId(0) };
    application(vec![Step::Loop {
        times: None,
        body: vec![work, Step::Sleep(Nanos::from_micros(48_200))],
    }])
}

/// Every core has a queue of its own. Threads belong to core 0, those from `elsewhere` on to core
/// 1, to whose threads core 0 may be host, and have long slices.
struct Rows {
    batch: u32,
    elsewhere: u32,
    /// Slices that have been used up.
    used_up: u32,
}

impl Policy for Rows {
    fn interest(&self) -> Interest {
        Interest::SLICE_USED
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        for core in 0..view.machine.cores.len() as u32 {
            let own = say.make_queue(Clock::Shared);
            say.serve(CoreId(core), vec![Tier::least_key([own])], None);
            say.say(Directive::Sleeper(own, u64::MAX));
        }
        if view.machine.cores.len() > 1 {
            say.host(CoreId(0), vec![QueueId(1)], 0);
        }
        Ok(())
    }

    fn event(&mut self, event: Event, _: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                say.assign(thread, QueueId(u32::from(thread >= ThreadId(self.elsewhere))));
                say.order(thread, Order::VirtualTime { weight: 1024, start: Start::Floor });
                let slice =
                    if thread < ThreadId(self.elsewhere) { SLICE } else { Nanos::from_millis(50) };
                say.slice(thread, Slice { batch: self.batch, ..Slice::of(slice) });
            }
            Event::SliceUsed(..) => self.used_up += 1,
            _ => {}
        }
    }
}

fn simulate(cores: &str, batch: u32, elsewhere: u32, apps: &[Application]) -> (Outcome, u32) {
    let mut policy = Rows { batch, elsewhere, used_up: 0 };
    let config = Config { duration: Some(Nanos::from_secs(SECONDS)), ..Config::default() };
    let outcome = run(&free_odroid(cores), apps, &mut policy, &config, &mut NoListener).unwrap();
    (outcome, policy.used_up)
}

fn longest_wait(outcome: &Outcome) -> Nanos {
    outcome.wakeup_latency[KindId(0).index()].quantile(1.0).unwrap()
}

#[test]
fn who_only_computes_beside_others_who_do_has_so_many_slices_in_a_row() {
    let apps = [works_always(), works_always()];
    for batch in [1, 2, 5] {
        let (outcome, used_up) = simulate("1big", batch, 9, &apps);
        let turns = SECONDS * 1000 / (3 * u64::from(batch));
        assert!(
            outcome.context_switches.abs_diff(turns) <= 1,
            "{batch}: {} for {turns}",
            outcome.context_switches
        );
        assert!(u64::from(used_up).abs_diff(turns) <= 1, "{batch}: {used_up} for {turns}");
        let time = |thread: usize| outcome.threads[thread].time_on[KindId(0)].as_secs_f64();
        assert!(
            (time(0) - time(1)).abs() <= 0.003 * f64::from(batch),
            "{batch}: {} and {}",
            time(0),
            time(1)
        );
    }
}

#[test]
fn who_has_slept_waits_for_one_slice_at_most() {
    let apps = [works_always(), works_always(), sleeps_much()];
    let least = Nanos::from_micros(2_500);
    for batch in [1, 4] {
        let longest = longest_wait(&simulate("1big", batch, 9, &apps).0);
        assert!(
            (least..=SLICE + Nanos::from_micros(100)).contains(&longest),
            "{batch}: {longest:?}"
        );
    }
}

#[test]
fn so_does_who_may_be_the_cores_guest() {
    // Two work on each core; who sleeps much belongs to core 1, whose slices are long, and is
    // further behind than all: it is core 0's guest.
    let apps = [works_always(), works_always(), works_always(), works_always(), sleeps_much()];
    for batch in [1, 4] {
        let (outcome, _) = simulate("2big", batch, 2, &apps);
        assert!(
            longest_wait(&outcome) <= SLICE + Nanos::from_micros(100),
            "{batch}: {:?}",
            longest_wait(&outcome)
        );
        assert!(
            outcome.threads[4].migrations > 10,
            "{batch}: {} migrations",
            outcome.threads[4].migrations
        );
    }
}
