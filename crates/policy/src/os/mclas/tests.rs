use evenkeel_machine::PerKind;

use super::*;
use crate::contract::Order;
use crate::registry::make;
use crate::testing::{Bench, machine};

const SLOW: CoreId = CoreId(2);

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn policy(set: &[(&str, &str)]) -> Box<dyn Policy> {
    let set: Vec<_> =
        set.iter().map(|&(name, value)| (name.to_string(), value.to_string())).collect();
    make("mclas", &set).unwrap()
}

/// Two fast cores, 0 and 1, and two slow ones: so R = 12 ms.
fn bench(set: &[(&str, &str)]) -> Bench {
    Bench::start(2, 2, policy(set))
}

/// Lets a thread run and be blocked for these times, on the slow kind, and delivers a tick.
fn lives(bench: &mut Bench, thread: ThreadId, ran: Nanos, blocked: Nanos) {
    let stats = &mut bench.threads[thread.index()];
    stats.time_on[KindId(1)] += ran;
    stats.blocked += blocked;
    tick(bench);
}

fn tick(bench: &mut Bench) {
    bench.deliver(Event::Timer);
}

/// A neutral thread: it has run without a pause until it qualified, at a look while it runs on a
/// slow core.
fn qualified(bench: &mut Bench) -> ThreadId {
    let thread = bench.spawn(0);
    bench.run(thread, SLOW);
    // Idle fast cores would take it at once.
    let fast = [0, 1].map(|core| bench.cores[core].running);
    let stand_ins = [0, 1].map(|_| bench.spawn_on(9, &[CoreId(0), CoreId(1)]));
    for (core, stand_in) in
        stand_ins.into_iter().enumerate().filter(|(core, _)| fast[*core].is_none())
    {
        bench.run(stand_in, CoreId(core as u32));
    }
    lives(bench, thread, ms(400), Nanos::ZERO);
    assert_eq!(bench.queue_of(thread), Some(NEUTRAL));
    for stand_in in stand_ins {
        bench.exit(stand_in);
    }
    thread
}

/// A core picks a thread, as the mechanism does it: what a fast one takes belongs to `H`.
fn pick(bench: &mut Bench, thread: ThreadId, core: CoreId) {
    bench.run(thread, core);
    if core.0 < 2 {
        bench.threads[thread.index()].queue = Some(HIGH);
    }
}

/// Takes a thread off its core, so that it waits from now on.
fn displace(bench: &mut Bench, thread: ThreadId) {
    let core = bench.threads[thread.index()].core.index();
    bench.cores[core].running = None;
    let stats = &mut bench.threads[thread.index()];
    (stats.state, stats.since) = (State::Ready, bench.now);
}

/// A thread that waits in `H`, with both fast cores taken.
fn waits_high(bench: &mut Bench) -> ThreadId {
    let thread = qualified(bench);
    pick(bench, thread, CoreId(0));
    let others = [0, 1].map(|_| bench.spawn(1));
    displace(bench, thread);
    for (core, other) in others.into_iter().enumerate() {
        pick(bench, other, CoreId(core as u32));
        // Qualified, too.
        bench.threads[other.index()].time_on[KindId(0)] = ms(400);
    }
    thread
}

fn last_order(bench: &Bench, of: ThreadId) -> Option<Nanos> {
    bench.said.iter().rev().find_map(|directive| match *directive {
        Directive::Order(thread, Order::Deadline { at, .. }) if thread == of => Some(at),
        _ => None,
    })
}

#[test]
fn no_fast_core_serves_low_threads_and_no_slow_core_high_ones() {
    let bench = bench(&[]);
    for core in [0, 1] {
        assert_eq!(bench.serves(CoreId(core)), [STARVING, HIGH, NEUTRAL]);
    }
    for core in [2, 3] {
        assert_eq!(bench.serves(CoreId(core)), [NEUTRAL, LOW]);
    }
}

#[test]
fn a_thread_without_a_parent_is_low_until_it_qualifies() {
    let mut bench = bench(&[]);
    let thread = bench.spawn(0);
    bench.run(thread, SLOW);
    assert_eq!(bench.queue_of(thread), Some(LOW));
    // P_H = 1/2, then 3/4: not above the threshold of 75 %. Then 7/8.
    for expected in [LOW, LOW, NEUTRAL] {
        lives(&mut bench, thread, ms(100), Nanos::ZERO);
        assert_eq!(bench.queue_of(thread), Some(expected));
    }
    tick(&mut bench);
    assert_eq!(
        bench.cores[0].running,
        Some(thread),
        "a fast core that idles takes it at the next tick"
    );
    assert_eq!(bench.queue_of(thread), Some(HIGH));
}

#[test]
fn a_low_thread_that_qualifies_while_no_fast_core_idles_is_neutral_or_high_if_it_has_waited_for_more_than_a_slice()
 {
    for (waited, expected) in [(6, NEUTRAL), (7, HIGH)] {
        let mut bench = bench(&[]);
        let thread = bench.spawn(0);
        let others = [0, 1].map(|_| bench.spawn(1));
        (0..2).for_each(|core| bench.run(others[core], CoreId(core as u32)));
        bench.now = ms(waited);
        lives(&mut bench, thread, ms(400), Nanos::ZERO);
        assert_eq!(bench.queue_of(thread), Some(expected), "{waited} ms");
    }
}

#[test]
fn a_pinned_or_neutral_thread_that_is_disqualified_is_low_and_leaves_its_fast_core() {
    let mut bench = bench(&[]);
    let neutral = qualified(&mut bench);
    let pinned = qualified(&mut bench);
    pick(&mut bench, pinned, CoreId(0));
    bench.spawn(2);
    let keeper = bench.spawn(2);
    bench.run(keeper, CoreId(1));
    // P_H was 15/16, and is 15/16 x 1/2 < 50 % after an epoch without running.
    for thread in [neutral, pinned] {
        bench.threads[thread.index()].blocked += ms(100);
    }
    tick(&mut bench);
    assert_eq!([neutral, pinned].map(|thread| bench.queue_of(thread)), [Some(LOW); 2]);
    assert!(bench.said.contains(&Directive::Preempt(CoreId(0))));
}

#[test]
fn a_pinned_thread_that_sleeps_is_judged_all_the_same_so_that_it_wakes_as_what_it_is() {
    let mut bench = bench(&[]);
    let thread = qualified(&mut bench);
    pick(&mut bench, thread, CoreId(0));
    bench.block(thread);
    lives(&mut bench, thread, Nanos::ZERO, ms(100));
    assert_eq!(bench.queue_of(thread), Some(LOW));
}

#[test]
fn high_and_starving_threads_never_fall_to_low_for_they_have_not_run() {
    for queue in [HIGH, STARVING] {
        let mut bench = bench(&[]);
        let thread = waits_high(&mut bench);
        bench.threads[thread.index()].queue = Some(queue);
        bench.threads[thread.index()].blocked += ms(1000);
        tick(&mut bench);
        assert_eq!(bench.queue_of(thread), Some(queue));
    }
}

#[test]
fn a_high_thread_starves_after_its_residence_time_and_is_neutral_after_twice_that() {
    let mut bench = bench(&[("step", "0")]);
    let thread = waits_high(&mut bench);
    let from = bench.now;
    // R is 6 ms for each of two fast cores.
    for (waited, expected) in [(12, HIGH), (13, STARVING), (24, STARVING), (25, NEUTRAL)] {
        bench.now = from + ms(waited);
        tick(&mut bench);
        assert_eq!(bench.queue_of(thread), Some(expected), "{waited} ms");
    }
}

#[test]
fn a_starving_thread_is_overdue_until_a_core_has_picked_it() {
    let mut bench = bench(&[]);
    let thread = waits_high(&mut bench);
    bench.now += ms(13);
    tick(&mut bench);
    assert_eq!(last_order(&bench, thread), Some(Nanos::ZERO));
    tick(&mut bench);
    assert_eq!(last_order(&bench, thread), None, "said once");
    pick(&mut bench, thread, CoreId(0));
    tick(&mut bench);
    assert!(last_order(&bench, thread).is_some_and(|at| at > bench.now), "like others again");
}

#[test]
fn a_fall_into_starving_raises_what_it_takes_to_qualify_once_however_late_the_answer_is() {
    let mut bench = bench(&[("up", "93"), ("down", "50")]);
    let thread = waits_high(&mut bench);
    bench.now += ms(13);
    tick(&mut bench);
    // As if the directives had not been carried out yet.
    bench.threads[thread.index()].queue = Some(HIGH);
    tick(&mut bench);
    // With a P_H of 15/16 a thread qualifies at 93 % and would not at 94 %; two raises would make
    // 95 %, for which it takes 31/32, or 97 %.
    let other = bench.spawn(3);
    lives(&mut bench, other, ms(400), Nanos::ZERO);
    assert_eq!(bench.queue_of(other), Some(LOW));
    let other = bench.spawn(3);
    lives(&mut bench, other, ms(500), Nanos::ZERO);
    assert_ne!(bench.queue_of(other), Some(LOW));
}

#[test]
fn a_starving_thread_that_turned_neutral_and_is_picked_by_a_slow_core_raises_what_it_takes_to_stay()
{
    for (core, expected) in [(SLOW, LOW), (CoreId(1), HIGH)] {
        let mut bench = bench(&[("down", "46"), ("step", "1")]);
        let thread = waits_high(&mut bench);
        for waited in [13, 14] {
            bench.now += ms(waited);
            tick(&mut bench);
        }
        assert_eq!(bench.queue_of(thread), Some(NEUTRAL));
        pick(&mut bench, thread, core);
        tick(&mut bench);
        // P_H = 15/32 = 46.9 %: it takes 46 % to stay, or 47 %.
        lives(&mut bench, thread, Nanos::ZERO, ms(100));
        assert_eq!(bench.queue_of(thread), Some(expected), "{core:?}");
    }
}

#[test]
fn while_a_fast_core_idles_thresholds_sink_back_to_where_they_started() {
    let mut bench = bench(&[("up", "93"), ("step", "1")]);
    let thread = waits_high(&mut bench);
    bench.now += ms(13);
    tick(&mut bench);
    for core in 0..2 {
        let running = bench.cores[core].running.unwrap();
        bench.exit(running);
    }
    pick(&mut bench, thread, CoreId(0));
    tick(&mut bench);
    let other = bench.spawn(3);
    lives(&mut bench, other, ms(400), Nanos::ZERO);
    assert_ne!(bench.queue_of(other), Some(LOW));
}

#[test]
fn a_child_inherits_its_parents_state_and_history() {
    let mut bench = bench(&[]);
    let low = bench.spawn(0);
    let child = bench.fork(low);
    assert_eq!(bench.queue_of(child), Some(LOW));
    let neutral = qualified(&mut bench);
    let child = bench.fork(neutral);
    assert_eq!(bench.queue_of(child), Some(NEUTRAL));
    lives(&mut bench, child, ms(40), ms(60));
    assert_ne!(bench.queue_of(child), Some(LOW), "P_H = (15/16 + 4/10) / 2");
    lives(&mut bench, child, Nanos::ZERO, ms(100));
    assert_eq!(bench.queue_of(child), Some(LOW));
    for queue in [HIGH, STARVING] {
        bench.threads[neutral.index()].queue = Some(queue);
        let child = bench.fork(neutral);
        assert_eq!(bench.queue_of(child), Some(HIGH), "of one that is {queue:?}");
    }
}

#[test]
fn an_idle_fast_core_takes_the_qualified_thread_of_a_slow_one_that_runs_most() {
    let mut bench = bench(&[]);
    let most = qualified(&mut bench);
    let least = qualified(&mut bench);
    bench.run(most, SLOW);
    bench.run(least, CoreId(3));
    let low = bench.spawn(0);
    bench.run(low, CoreId(1));
    bench.threads[low.index()].queue = Some(LOW);
    lives(&mut bench, least, ms(60), ms(40));
    assert_eq!(bench.cores[0].running, Some(most));
    assert_eq!(bench.queue_of(most), Some(HIGH));
    assert_eq!(bench.cores[3].running, Some(least));
}

#[test]
fn waiting_for_memory_counts_as_blocked_so_that_a_memory_bound_thread_does_not_qualify() {
    let mut bench = bench(&[]);
    let thread = bench.spawn(0);
    bench.run(thread, SLOW);
    bench.threads[thread.index()].stalled = ms(400);
    lives(&mut bench, thread, ms(1000), Nanos::ZERO);
    assert_eq!(bench.queue_of(thread), Some(LOW));
}

#[test]
fn with_three_kinds_all_but_the_slowest_are_fast_and_an_idle_faster_one_takes_from_a_slower() {
    let machine = machine(&[("prime", 1024, 1), ("big", 800, 1), ("little", 300, 1)]);
    let mut bench = Bench::on(machine, policy(&[]));
    assert_eq!(bench.serves(CoreId(1)), [STARVING, HIGH, NEUTRAL]);
    assert_eq!(bench.serves(CoreId(2)), [NEUTRAL, LOW]);
    let thread = bench.spawn(0);
    bench.run(thread, CoreId(1));
    (bench.threads[thread.index()].queue, bench.threads[thread.index()].time_on) =
        (Some(HIGH), PerKind::all(ms(100)));
    tick(&mut bench);
    assert_eq!(bench.cores[0].running, Some(thread));
    assert_eq!(bench.notes().len(), 1);
}

#[test]
fn on_one_kind_everybody_is_low_and_served_by_all() {
    let mut bench = Bench::start(0, 2, policy(&[]));
    let thread = bench.spawn(0);
    bench.run(thread, CoreId(0));
    lives(&mut bench, thread, ms(1000), Nanos::ZERO);
    assert_eq!(bench.queue_of(thread), Some(LOW));
    assert!((0..2).all(|core| bench.serves(CoreId(core)).contains(&LOW)));
}

#[test]
fn when_the_slow_cores_leave_the_fast_ones_serve_everybody_and_the_other_way_round() {
    for (gone, left) in [([2, 3], 0), ([0, 1], 2)] {
        let mut bench = bench(&[]);
        for core in gone {
            bench.set_online(CoreId(core), false);
        }
        assert_eq!(bench.serves(CoreId(left)), [STARVING, HIGH, NEUTRAL, LOW]);
        for core in gone {
            bench.set_online(CoreId(core), true);
        }
        assert_eq!(bench.serves(CoreId(left)).len(), if left == 0 { 3 } else { 2 });
    }
}

#[test]
fn a_thread_bound_to_slow_cores_is_low_whatever_it_does() {
    let mut bench = bench(&[]);
    let thread = bench.spawn_on(0, &[CoreId(2), CoreId(3)]);
    bench.run(thread, SLOW);
    lives(&mut bench, thread, ms(1000), Nanos::ZERO);
    assert_eq!(bench.queue_of(thread), Some(LOW));
}

#[test]
fn a_thread_bound_to_fast_cores_is_high_and_starves_but_never_turns_neutral_for_no_slow_core_could_have_it()
 {
    let mut bench = bench(&[]);
    let thread = bench.spawn_on(0, &[CoreId(0)]);
    assert_eq!(bench.queue_of(thread), Some(HIGH));
    bench.run(thread, CoreId(0));
    lives(&mut bench, thread, Nanos::ZERO, ms(1000));
    assert_eq!(bench.queue_of(thread), Some(HIGH), "though it does not qualify");
    displace(&mut bench, thread);
    for waited in [13, 100] {
        bench.now += ms(waited);
        tick(&mut bench);
        assert_eq!(bench.queue_of(thread), Some(STARVING), "{waited} ms");
    }
}

#[test]
fn with_more_threads_than_are_looked_at_in_a_tick_all_have_their_turn() {
    let mut bench = bench(&[]);
    let threads: Vec<_> = (0..LOOKS * 4 + 3).map(|_| bench.spawn(0)).collect();
    for &thread in &threads {
        bench.threads[thread.index()].time_on[KindId(1)] = ms(400);
    }
    let low = |bench: &Bench| {
        threads.iter().filter(|&&thread| bench.queue_of(thread) == Some(LOW)).count()
    };
    tick(&mut bench);
    assert_eq!(low(&bench), 3);
    tick(&mut bench);
    assert_eq!(low(&bench), 0);
}

#[test]
fn who_runs_is_looked_at_in_every_tick_however_many_sleep_beside_it() {
    let mut bench = bench(&[]);
    let sleepers: Vec<_> = (0..100).map(|_| bench.spawn(1)).collect();
    sleepers.into_iter().for_each(|sleeper| bench.block(sleeper));
    let thread = bench.spawn(0);
    bench.run(thread, SLOW);
    lives(&mut bench, thread, ms(400), Nanos::ZERO);
    assert_ne!(bench.queue_of(thread), Some(LOW));
}

#[test]
fn thresholds_the_wrong_way_round_are_refused() {
    let why =
        Bench::try_on(machine(&[("big", 1024, 1)]), policy(&[("up", "30"), ("down", "40")])).err();
    assert_eq!(why.unwrap().to_string(), "mclas needs down below up; they are 40 and 30");
}
