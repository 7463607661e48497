//! The affinity mechanism, whole, on a kernel made of plain data: see support/mod.rs.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use evenkeel_linux::affinity::kernel::Class;
use evenkeel_linux::watch::Tid;
use evenkeel_machine::{CoreId, Nanos};
use evenkeel_policy::{
    Clock, Directives, Event, Order, Policy, QueueId, Slice, Start, StartError, Tier, View,
    registry,
};
use proptest::prelude::*;
use support::{Fake, Habit, all, mechanism, mechanism_of, run};

/// One fast core and one of a third of its speed.
const FAST_AND_SLOW: &[(f64, u32)] = &[(3.0, 1), (1.0, 1)];
const SPEEDS: &[f64] = &[1.0, 1.0 / 3.0];

/// Progress of each of `count` equal spinning programs after thirty seconds, relative to the
/// greatest.
fn progress(policy: &str, count: i32) -> Vec<f64> {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, policy, FAST_AND_SLOW, &[]);
    let tids: Vec<Tid> =
        (0..count).map(|app| fake.start(10 + app, None, Habit::Spins, SPEEDS)).collect();
    run(&fake, &mut mechanism, 30_000, 4);
    let done: Vec<f64> = tids.iter().map(|&tid| fake.worker(tid).done).collect();
    let greatest = done.iter().copied().fold(0.0, f64::max);
    done.iter().map(|done| done / greatest).collect()
}

#[test]
fn two_equal_programs_on_a_fast_and_a_slow_core_get_equally_far_under_policies_that_share_the_fast_one()
 {
    for policy in ["acfs", "a-dwrr", "prop-sp", "eqp", "age", "rr"] {
        let progress = progress(policy, 2);
        assert!(progress.iter().all(|share| *share > 0.97), "{policy}: {progress:?}");
    }
}

#[test]
fn threads_that_have_ended_take_no_memory_and_those_that_work_go_on() {
    for policy in ["acfs", "hsp", "round-robin", "age"] {
        let fake = Fake::new(2, true);
        let mut mechanism = mechanism(&fake, policy, FAST_AND_SLOW, &[]);
        let lasting = [1, 2].map(|app| fake.start(app, None, Habit::Spins, SPEEDS));
        for process in 100..160 {
            let short = fake.start(process, None, Habit::Spins, SPEEDS);
            run(&fake, &mut mechanism, 16, 4);
            fake.exit(short);
        }
        run(&fake, &mut mechanism, 8, 4);
        assert!(mechanism.stats().len() <= 4, "{policy}: {} threads", mechanism.stats().len());
        assert!(
            mechanism.roster().forgotten().apps >= 58,
            "{policy}: {:?}",
            mechanism.roster().forgotten()
        );
        assert!(lasting.iter().all(|&tid| fake.worker(tid).done > 0.0), "{policy}");
    }
}

#[test]
fn eas_has_a_program_that_mostly_sleeps_on_the_slow_core_and_one_that_never_does_on_the_fast() {
    for busy in [false, true] {
        let fake = Fake::new(2, true);
        let mut mechanism = mechanism(&fake, "eas", FAST_AND_SLOW, &[]);
        let light = fake.start(10, None, Habit::Naps { works: 2, sleeps: 40 }, SPEEDS);
        let heavy = busy.then(|| fake.start(11, None, Habit::Spins, SPEEDS));
        run(&fake, &mut mechanism, 10_000, 4);
        let stats = |tid| {
            mechanism
                .live()
                .find(|live| live.1 == tid)
                .map(|(thread, _)| mechanism.stats()[thread.index()])
        };
        let share_of_fast = |tid| {
            let time_on = stats(tid).unwrap().time_on.0;
            time_on[0].as_secs_f64() / (time_on[0] + time_on[1]).as_secs_f64()
        };
        match heavy {
            None => assert!(share_of_fast(light) < 0.1, "{}", share_of_fast(light)),
            Some(heavy) => assert!(share_of_fast(heavy) > 0.9, "{}", share_of_fast(heavy)),
        }
    }
}

#[test]
fn programs_that_sleep_when_they_are_found_take_no_core_from_those_that_work() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "age", FAST_AND_SLOW, &[]);
    for app in 0..3 {
        fake.start(20 + app, None, Habit::Naps { works: 1, sleeps: 1_000_000 }, SPEEDS);
    }
    // They are asleep before the first look.
    for _ in 0..50 {
        fake.step();
    }
    let tids = [10, 11].map(|app| fake.start(app, None, Habit::Spins, SPEEDS));
    run(&fake, &mut mechanism, 30_000, 4);
    let [one, other] = tids.map(|tid| fake.worker(tid).done);
    assert!(one.min(other) / one.max(other) > 0.97, "{one} {other}");
}

#[test]
fn two_equal_programs_get_as_far_as_their_cores_when_pinned() {
    let progress = progress("pinned", 2);
    let least = progress.iter().copied().fold(1.0, f64::min);
    // Each has a core of its own, whatever program it is of: the second a slow one, of a third of
    // the speed.
    assert!((least - 1.0 / 3.0).abs() < 0.01, "{progress:?}");
}

#[test]
fn more_equal_programs_than_cores_get_equally_far_under_acfs() {
    for count in [3, 4, 6] {
        let progress = progress("acfs", count);
        assert!(progress.iter().all(|share| *share > 0.95), "{count}: {progress:?}");
    }
}

#[test]
fn hsp_gives_the_fast_core_to_the_program_that_gains_more_from_it() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "hsp", FAST_AND_SLOW, &[("scales", 3.0), ("waits", 1.1)]);
    let waits = fake.start(10, None, Habit::Spins, &[1.0, 1.0 / 1.1]);
    let scales = fake.start(11, None, Habit::Spins, SPEEDS);
    run(&fake, &mut mechanism, 4, 4);
    mechanism.name(Tid(10), "waits");
    mechanism.name(Tid(11), "scales");
    run(&fake, &mut mechanism, 10_000, 4);
    assert!(fake.worker(scales).done > 9_000.0, "{}", fake.worker(scales).done);
    assert!(fake.worker(waits).done > 8_000.0, "{}", fake.worker(waits).done);
}

#[test]
fn a_thread_that_chooses_its_own_cpus_keeps_them() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "acfs", FAST_AND_SLOW, &[]);
    let own = fake.start(10, None, Habit::Spins, SPEEDS);
    let other = fake.start(10, Some(own), Habit::Spins, SPEEDS);
    run(&fake, &mut mechanism, 500, 4);
    // Not the one that it happens to have been given: that could not be told apart.
    let chosen = if fake.worker(own).mask.is_set(0) { 1 } else { 0 };
    fake.choose(own, &[chosen]);
    run(&fake, &mut mechanism, 100, 4);
    let set = fake.worker(own).masks_set;
    run(&fake, &mut mechanism, 3_000, 4);
    assert_eq!(fake.worker(own).masks_set, set, "nobody touches it any more");
    assert!(fake.worker(own).mask.is_set(chosen as usize) && fake.worker(own).mask.count() == 1);
    mechanism.restore();
    assert_eq!(fake.worker(own).mask.count(), 1, "nor at the end");
    assert_eq!(fake.worker(other).mask, all(2));
}

#[test]
fn a_thread_that_naps_is_never_parked_while_it_works() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "acfs", FAST_AND_SLOW, &[]);
    for app in 0..4 {
        fake.start(10 + app, None, Habit::Spins, SPEEDS);
    }
    run(&fake, &mut mechanism, 100, 4);
    let naps = fake.start(20, None, Habit::Naps { works: 1, sleeps: 9 }, SPEEDS);
    run(&fake, &mut mechanism, 200, 4);
    let before = fake.worker(naps).ran;
    run(&fake, &mut mechanism, 5_000, 4);
    let ran = fake.worker(naps).ran - before;
    // One in ten milliseconds; each nap may be prolonged by a wait of some looks when it falls
    // badly.
    assert!(ran > 400, "{ran}");
}

#[test]
fn what_a_parent_was_given_is_not_taken_for_a_choice_of_its_child() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "acfs", FAST_AND_SLOW, &[]);
    let parent = fake.start(10, None, Habit::Spins, SPEEDS);
    run(&fake, &mut mechanism, 50, 4);
    assert_eq!(fake.worker(parent).mask.count(), 1);
    let child = fake.start(10, Some(parent), Habit::Spins, SPEEDS);
    run(&fake, &mut mechanism, 10_000, 4);
    let (a, b) = (fake.worker(parent).done, fake.worker(child).done);
    assert!(b / a > 0.9, "{a} {b}");
    mechanism.restore();
    assert_eq!(fake.worker(child).mask, all(2));
}

#[test]
fn a_thread_whose_parent_is_not_told_is_not_taken_to_have_chosen_what_it_was_born_with() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "acfs", FAST_AND_SLOW, &[]);
    let parent = fake.start(10, None, Habit::Spins, SPEEDS);
    run(&fake, &mut mechanism, 50, 4);
    assert_eq!(fake.worker(parent).mask.count(), 1);
    let child = fake.start(10, Some(parent), Habit::Spins, SPEEDS);
    fake.hide_parent();
    run(&fake, &mut mechanism, 500, 4);
    assert!(fake.worker(child).masks_set > 0, "it is placed");
    mechanism.restore();
    assert_eq!(fake.worker(child).mask, all(2));
}

#[test]
fn a_thread_that_has_made_itself_real_time_keeps_its_class_and_gets_its_cpus_back() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "acfs", FAST_AND_SLOW, &[]);
    let tids: Vec<Tid> =
        (0..4).map(|app| fake.start(10 + app, None, Habit::Spins, SPEEDS)).collect();
    run(&fake, &mut mechanism, 100, 4);
    fake.0.borrow_mut().workers[1].class = Class::Urgent;
    run(&fake, &mut mechanism, 2_000, 4);
    assert_eq!(fake.worker(tids[1]).class, Class::Urgent);
    assert_eq!(fake.worker(tids[1]).mask, all(2));
    mechanism.restore();
    assert_eq!(fake.worker(tids[1]).class, Class::Urgent);
}

#[test]
fn a_thread_that_makes_itself_real_time_just_before_it_is_parked_keeps_its_class_and_its_cpus() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "acfs", FAST_AND_SLOW, &[]);
    let tids: Vec<Tid> =
        (0..3).map(|app| fake.start(10 + app, None, Habit::Spins, SPEEDS)).collect();
    fake.step();
    // One of three is to wait: decided here, before they change, and asked for after.
    mechanism.look(fake.now(), &fake.seen());
    fake.0.borrow_mut().workers.iter_mut().for_each(|worker| worker.class = Class::Urgent);
    mechanism.enforce();
    assert!(tids.iter().all(|&tid| fake.worker(tid).class == Class::Urgent), "nobody is parked");
    run(&fake, &mut mechanism, 2_000, 4);
    for tid in tids {
        assert_eq!((fake.worker(tid).class, fake.worker(tid).mask), (Class::Urgent, all(2)));
    }
}

/// Serves the first threads, one for each core, and no others: a wrong policy.
struct Neglects {
    served: usize,
}

impl Policy for Neglects {
    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let (served, _neglected) = (say.make_queue(Clock::Shared), say.make_queue(Clock::Shared));
        self.served = view.machine.cores.len();
        for core in &view.machine.cores {
            say.serve(core.id, vec![Tier::least_key([served])], None);
        }
        Ok(())
    }

    fn event(&mut self, event: Event, _: &View<'_>, say: &mut Directives) {
        if let Event::Started(thread) = event {
            say.assign(thread, QueueId(u32::from(thread.index() >= self.served)));
        }
    }
}

#[test]
fn whom_a_policy_neglects_is_parked_for_a_second_and_then_let_go() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism_of(&fake, Box::new(Neglects { served: 0 }), FAST_AND_SLOW, &[]);
    let tids: Vec<Tid> =
        (0..3).map(|app| fake.start(10 + app, None, Habit::Spins, SPEEDS)).collect();
    run(&fake, &mut mechanism, 900, 4);
    let neglected = fake.worker(tids[2]);
    assert!(neglected.class == Class::Idle && neglected.ran < 10, "{neglected:?}");
    run(&fake, &mut mechanism, 2_000, 4);
    let ran = fake.worker(tids[2]).ran - neglected.ran;
    assert!(ran > 500, "{ran}");
}

/// A queue for each core; the second thread belongs to core 1, which is host to the others, of core
/// 0, from this margin on.
struct Host(Option<u64>);

impl Policy for Host {
    fn start(&mut self, _: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let queues = [say.make_queue(Clock::Shared), say.make_queue(Clock::Shared)];
        for (core, own) in (0..).map(CoreId).zip(queues) {
            let other = queues[1 - core.index()];
            say.serve(core, vec![Tier::least_key([own]), Tier::least_key([other])], Some(own));
            say.prefer(own, vec![core]);
        }
        if let Some(behind) = self.0 {
            say.host(CoreId(1), vec![queues[0]], behind);
        }
        Ok(())
    }

    fn event(&mut self, event: Event, _: &View<'_>, say: &mut Directives) {
        if let Event::Started(thread) = event {
            say.assign(thread, QueueId(u32::from(thread.index() == 1)));
            say.order(thread, Order::VirtualTime { weight: 1024, start: Start::Keep });
            say.slice(thread, Slice::of(Nanos::from_millis(4)));
        }
    }
}

#[test]
fn a_core_takes_up_who_waits_for_another_and_is_far_behind_and_does_not_adopt_it() {
    for (behind, share) in [(Some(20_000_000), 0.9), (None, 0.45)] {
        let fake = Fake::new(2, true);
        let mut mechanism = mechanism_of(&fake, Box::new(Host(behind)), FAST_AND_SLOW, &[]);
        let tids: Vec<Tid> =
            (0..3).map(|app| fake.start(10 + app, None, Habit::Spins, SPEEDS)).collect();
        run(&fake, &mut mechanism, 5_000, 4);
        let ran: Vec<_> = tids.iter().map(|&tid| fake.worker(tid).ran).collect();
        let (least, greatest) = (ran.iter().min().unwrap(), ran.iter().max().unwrap());
        let seen = *least as f64 / *greatest as f64;
        assert!(seen > share && seen < share + 0.1, "{behind:?}: {ran:?}");
    }
}

/// One queue, and so many slices of 4 ms in a row.
struct Rows(u32);

impl Policy for Rows {
    fn start(&mut self, _: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let queue = say.make_queue(Clock::Shared);
        say.serve(CoreId(0), vec![Tier::least_key([queue])], None);
        Ok(())
    }

    fn event(&mut self, event: Event, _: &View<'_>, say: &mut Directives) {
        if let Event::Started(thread) = event {
            say.assign(thread, QueueId(0));
            say.order(thread, Order::VirtualTime { weight: 1024, start: Start::Keep });
            say.slice(thread, Slice { batch: self.0, ..Slice::of(Nanos::from_millis(4)) });
        }
    }
}

#[test]
fn a_thread_that_always_works_beside_others_that_do_has_so_many_slices_in_a_row() {
    for batch in [1, 2, 5] {
        let fake = Fake::new(1, true);
        let mut mechanism = mechanism_of(&fake, Box::new(Rows(batch)), &[(1.0, 1)], &[]);
        let tids = [10, 11].map(|app| fake.start(app, None, Habit::Spins, &[1.0]));
        run(&fake, &mut mechanism, 4_000, 4);
        let runs: u64 = mechanism.stats().iter().map(|stats| stats.runs).sum();
        let turns = 1_000 / u64::from(batch);
        assert!((turns * 8 / 10..=turns * 11 / 10).contains(&runs), "{batch}: {runs} for {turns}");
        let ran = tids.map(|tid| fake.worker(tid).ran);
        assert!(ran[0].abs_diff(ran[1]) * 20 < ran[0] + ran[1], "{batch}: {ran:?}");
    }
}

#[test]
fn a_thread_that_runs_idle_by_itself_stays_so() {
    let fake = Fake::new(2, true);
    let mut mechanism = mechanism(&fake, "acfs", FAST_AND_SLOW, &[]);
    let tid = fake.start(10, None, Habit::Spins, SPEEDS);
    fake.0.borrow_mut().workers[0].class = Class::Idle;
    for app in 0..4 {
        fake.start(20 + app, None, Habit::Spins, SPEEDS);
    }
    run(&fake, &mut mechanism, 2_000, 4);
    assert_eq!(fake.worker(tid).class, Class::Idle);
    mechanism.restore();
    assert_eq!(fake.worker(tid).class, Class::Idle);
}

/// All that have a name, and a combination that has none.
fn policies() -> Vec<&'static str> {
    registry::ENTRIES.iter().map(|entry| entry.name).chain(["aaa-fw-rrb"]).collect()
}

#[derive(Clone, Debug)]
enum Deed {
    Start { process: i32, parent: prop::sample::Index, naps: Option<(u64, u64)> },
    Exit(prop::sample::Index),
    Choose(prop::sample::Index, Vec<u32>),
    Pass(u64),
}

fn deed(cpus: u32) -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => (0..4, any::<prop::sample::Index>(), prop::option::of((1..20_u64, 1..20_u64)))
            .prop_map(|(process, parent, naps)| Deed::Start { process, parent, naps }),
        1 => any::<prop::sample::Index>().prop_map(Deed::Exit),
        1 => (any::<prop::sample::Index>(), prop::sample::subsequence((0..cpus).collect::<Vec<_>>(), 1..=cpus as usize))
            .prop_map(|(who, cpus)| Deed::Choose(who, cpus)),
        3 => (1..200_u64).prop_map(Deed::Pass),
    ]
}

proptest! {
    /// Whatever threads do, under every policy: nothing panics, no thread is left without a CPU, a
    /// thread that chose its CPUs keeps them, all others get back what they had, and no thread
    /// starves while the rest of the world goes on.
    #[test]
    fn nothing_is_lost_whatever_threads_do(
        policy in prop::sample::select(policies()),
        deeds in prop::collection::vec(deed(4), 1..40),
        tick in 1..8_u64,
        may_park in any::<bool>(),
    ) {
        let fake = Fake::new(4, may_park);
        let kinds: &[(f64, u32)] = if policy == "iks" { &[(2.0, 2), (1.0, 2)] } else { &[(3.0, 1), (2.0, 1), (1.0, 2)] };
        let mut mechanism = mechanism(&fake, policy, kinds, &[]);
        let speeds = [1.0, 0.7, 0.4, 0.4];
        let mut tids = vec![fake.start(100, None, Habit::Spins, &speeds)];
        let mut chose = Vec::new();
        for deed in deeds {
            match deed {
                Deed::Start { process, parent, naps } => {
                    let parent = *parent.get(&tids);
                    let alive = fake.worker(parent).alive;
                    let habit = naps.map_or(Habit::Spins, |(works, sleeps)| Habit::Naps { works, sleeps });
                    // Children of a thread that has just chosen inherit its choice.
                    if !chose.iter().any(|(tid, _)| *tid == parent) {
                        tids.push(fake.start(100 + process, alive.then_some(parent), habit, &speeds));
                    }
                }
                Deed::Exit(who) => fake.exit(*who.get(&tids)),
                Deed::Choose(who, cpus) => {
                    let tid = *who.get(&tids);
                    fake.choose(tid, &cpus);
                    // What is chosen right when the mechanism has chosen the same cannot be told
                    // from its choice.
                    run(&fake, &mut mechanism, tick, tick);
                    chose.push((tid, fake.worker(tid).mask));
                }
                Deed::Pass(ms) => run(&fake, &mut mechanism, ms, tick),
            }
        }
        run(&fake, &mut mechanism, 200, tick);
        let before: Vec<u64> = tids.iter().map(|&tid| fake.worker(tid).ran).collect();
        run(&fake, &mut mechanism, 4_000, tick);
        for (&tid, before) in tids.iter().zip(before) {
            let worker = fake.worker(tid);
            if worker.alive && !chose.iter().any(|(chosen, _)| *chosen == tid) {
                prop_assert!(worker.ran > before, "{policy}: {tid:?} starves: {worker:?}");
            }
        }
        mechanism.restore();
        for &tid in &tids {
            let worker = fake.worker(tid);
            if worker.alive {
                prop_assert_eq!(worker.class, Class::Other);
                if !chose.iter().any(|(chosen, _)| *chosen == tid) {
                    prop_assert_eq!(worker.mask, all(4));
                }
            }
        }
    }
}
