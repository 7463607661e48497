//! Workloads that were worked out from recordings run, and end, whatever was seen and whatever was
//! missed.

use evenkeel_files::machines;
use evenkeel_files::recorded::{Cpu, Fact, Places, Recorded, Tid, What, infer};
use evenkeel_machine::{Machine, Nanos};
use evenkeel_model::Application;
use evenkeel_policy::registry;
use evenkeel_sim::{Config, NoListener, Outcome, run};
use proptest::prelude::*;

/// CPUs that are recorded.
const CPUS: u32 = 2;

/// Policies under which everything must end.
const POLICIES: [&str; 4] = ["linux", "pinned", "acfs", "age"];

fn machine() -> Machine {
    machines::preset("odroid-xu3-paper").unwrap().subset("1big+1little").unwrap()
}

fn simulate(app: &Application, policy: &str) -> Outcome {
    let mut policy = registry::make(policy, &[]).unwrap();
    run(&machine(), std::slice::from_ref(app), policy.as_mut(), &Config::default(), &mut NoListener)
        .unwrap()
}

fn fact(at: u64, tid: usize, what: What) -> Fact {
    Fact { at: Nanos(at), tid: Tid(tid as i32), what }
}

/// A system that does what it is told, and remembers what a recorder would have seen.
#[derive(Debug, Default)]
struct System {
    now: u64,
    /// Per thread: the CPU that it is on, whether it waits for one, whether it has ended.
    threads: Vec<(Option<u32>, bool, bool)>,
    facts: Vec<Fact>,
    /// Nanoseconds on CPUs.
    cpu_time: u64,
    /// Those until the last fact.
    seen_time: u64,
}

impl System {
    fn see(&mut self, tid: usize, what: What) {
        self.facts.push(fact(self.now, tid, what));
        self.seen_time = self.cpu_time;
    }

    fn begin(&mut self, parent: Option<usize>) {
        let tid = self.threads.len();
        self.threads.push((None, true, false));
        let parent = parent.map(|parent| Tid(parent as i32));
        self.see(tid, What::Began { parent, process: Tid(0) });
    }

    fn on(&self, cpu: u32) -> Option<usize> {
        self.threads.iter().position(|it| it.0 == Some(cpu))
    }

    fn leave(&mut self, cpu: u32, preempted: bool) {
        if let Some(tid) = self.on(cpu) {
            (self.threads[tid].0, self.threads[tid].1) = (None, preempted);
            self.see(tid, What::Left { cpu: Cpu(cpu), preempted });
        }
    }

    fn wake(&mut self, tid: usize, by: Option<usize>) {
        let it = self.threads[tid];
        if it.0.is_none() && !it.2 {
            self.threads[tid].1 = true;
            self.see(tid, What::Woke(by.map(|by| Tid(by as i32))));
        }
    }

    /// Goes on in time, then does one of the things that can be done on a CPU.
    fn step(&mut self, (time, cpu, what, whom): (u64, u32, u8, usize)) {
        self.now += time;
        self.cpu_time += time * self.threads.iter().filter(|it| it.0.is_some()).count() as u64;
        let whom = whom % self.threads.len();
        let Some(tid) = self.on(cpu) else {
            let ready = (0..self.threads.len()).map(|i| (i + whom) % self.threads.len());
            if let Some(next) = { ready }.find(|&i| self.threads[i].1 && !self.threads[i].2) {
                (self.threads[next].0, self.threads[next].1) = (Some(cpu), false);
                self.see(next, What::Took(Cpu(cpu)));
            } else {
                self.wake(whom, None);
            }
            return;
        };
        match what {
            0 => self.leave(cpu, true),
            1..=4 => self.leave(cpu, false),
            5 => self.wake(whom, Some(tid)),
            6..=9 => (0..self.threads.len())
                .filter(|&it| it != tid)
                .for_each(|it| self.wake(it, Some(tid))),
            10 if self.threads.len() < 7 => self.begin(Some(tid)),
            11 if whom == tid => {
                self.see(tid, What::Exited);
                let parent = whom / 2;
                self.wake(parent, Some(tid));
                self.leave(cpu, false);
                (self.threads[tid].1, self.threads[tid].2) = (false, true);
            }
            _ => self.wake(whom, None),
        }
    }
}

/// What a system of a few threads that meet, part and end might have done.
fn systems() -> impl Strategy<Value = System> {
    let step = (0..3_000_u64, 0..CPUS, 0..13_u8, 0..64_usize);
    (1..5_usize, prop::collection::vec(step, 0..600)).prop_map(|(threads, steps)| {
        let mut system = System::default();
        (0..threads).for_each(|_| system.begin(None));
        steps.into_iter().for_each(|step| system.step(step));
        system
    })
}

/// Facts that need not fit together.
fn any_facts() -> impl Strategy<Value = Vec<Fact>> {
    let tid = || (0..5_i32).prop_map(Tid);
    let cpu = || (0..3_u32).prop_map(Cpu);
    let what = prop_oneof![
        (prop::option::of(tid()), tid())
            .prop_map(|(parent, process)| What::Began { parent, process }),
        Just(What::Named("name".into())),
        prop::collection::vec(cpu(), 0..3).prop_map(What::Allowed),
        Just(What::Exited),
        cpu().prop_map(What::Took),
        cpu().prop_map(What::Took),
        (cpu(), any::<bool>()).prop_map(|(cpu, preempted)| What::Left { cpu, preempted }),
        prop::option::of(tid()).prop_map(What::Woke),
        prop::option::of(tid()).prop_map(What::Woke),
    ];
    let one =
        (0..5_000_u64, tid(), what).prop_map(|(at, tid, what)| Fact { at: Nanos(at), tid, what });
    prop::collection::vec(one, 0..300)
}

/// Valid, and runs to its end under each policy with all its work done.
fn ends(recorded: &Recorded) {
    let app = &recorded.application;
    assert_eq!(app.validate(), Ok(()));
    if app.threads.is_empty() {
        return;
    }
    for policy in POLICIES {
        let outcome = simulate(app, policy);
        assert_eq!(outcome.threads.len() as u64, recorded.summary.threads, "{policy}");
        assert!(outcome.threads.iter().all(|thread| thread.ended.is_some()), "{policy}");
        assert_eq!(outcome.apps[0].retired.0, recorded.summary.work_ns, "{policy}");
    }
}

proptest! {
    #[test]
    fn what_was_seen_whole_ends_and_is_the_work_that_was_done(system in systems()) {
        let recorded = infer(system.facts, &Places::default(), "made");
        ends(&recorded);
        prop_assert_eq!(recorded.summary.work_ns, system.seen_time);
    }

    #[test]
    fn what_was_seen_in_part_ends(system in systems(), lost in prop::collection::vec(any::<prop::sample::Index>(), 0..9), from in 0..40_usize) {
        let mut facts = system.facts;
        facts.drain(..from.min(facts.len()));
        for lost in lost {
            if !facts.is_empty() {
                facts.remove(lost.index(facts.len()));
            }
        }
        ends(&infer(facts, &Places::of(&machine()), "made"));
    }

    #[test]
    fn whatever_is_said_to_have_been_seen_ends(facts in any_facts()) {
        let span = facts.iter().map(|fact| fact.at.0).max().unwrap_or(0);
        let recorded = infer(facts, &Places::default(), "made");
        ends(&recorded);
        prop_assert!(recorded.summary.work_ns <= 3 * span);
    }
}

#[test]
fn threads_of_a_barrier_are_seen_to_meet_at_it() {
    let mut system = System::default();
    (0..3).for_each(|_| system.begin(None));
    for round in 0..20_u64 {
        let last = (round % 3) as usize;
        let take = |system: &mut System, tid: usize, cpu: u32| {
            (system.threads[tid].0, system.threads[tid].1) = (Some(cpu), false);
            system.see(tid, What::Took(Cpu(cpu)));
        };
        (0..3).for_each(|tid| take(&mut system, tid, tid as u32));
        system.now += 1_000_000;
        (0..3).filter(|&tid| tid != last).for_each(|tid| system.leave(tid as u32, false));
        system.now += 100_000;
        (0..3).filter(|&tid| tid != last).for_each(|tid| system.wake(tid, Some(last)));
        system.leave(last as u32, true);
        system.now += 3_000;
    }
    let recorded = infer(system.facts, &Places::default(), "made");
    assert_eq!((recorded.application.barriers.clone(), recorded.summary.meetings), (vec![3], 20));
    assert_eq!(recorded.summary.semaphores, 0);
    ends(&recorded);
}

#[test]
fn a_parent_that_its_last_child_wakes_joins_all() {
    let mut system = System::default();
    system.begin(None);
    let took = |tid: usize, cpu: u32| (tid, What::Took(Cpu(cpu)));
    let left = |tid: usize, cpu: u32| (tid, What::Left { cpu: Cpu(cpu), preempted: false });
    let began = |tid: usize| (tid, What::Began { parent: Some(Tid(0)), process: Tid(0) });
    let seen = [
        took(0, 0),
        began(1),
        began(2),
        left(0, 0),
        took(1, 0),
        took(2, 1),
        (1, What::Exited),
        left(1, 0),
        (0, What::Woke(Some(Tid(2)))),
        took(0, 0),
        (2, What::Exited),
        left(2, 1),
        left(0, 0),
    ];
    let facts =
        seen.into_iter().enumerate().map(|(i, (tid, what))| fact(i as u64 * 1_000_000, tid, what));
    let recorded = infer(facts, &Places::default(), "made");
    assert_eq!(
        (recorded.summary.forks, recorded.summary.joins, recorded.summary.semaphores),
        (2, 1, 0)
    );
    ends(&recorded);
}
