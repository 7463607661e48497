//! Directives of `acfs` on the bench.

use evenkeel_machine::{CoreId, KindId};

use super::*;
use crate::contract::{Directive, QueueId};
use crate::registry::make;
use crate::testing::{Bench, machine};

const BIG: KindId = KindId(0);
const LITTLE: KindId = KindId(1);

fn policy(set: &[(&str, &str)]) -> Box<dyn Policy> {
    let set: Vec<_> =
        set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    make("acfs", &set).unwrap()
}

/// As many applications of one thread as there are cores, thread i on core i, all with this speedup
/// factor.
fn full(big: u32, little: u32, factor: f32, set: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::start(big, little, policy(set));
    for core in 0..big + little {
        let thread = bench.spawn(core);
        bench.threads[thread.index()].speedup[BIG] = factor;
        bench.threads[thread.index()].speedup_offline[BIG] = factor;
        bench.run(thread, CoreId(core));
    }
    bench.now = Nanos::from_secs(1);
    bench
}

fn swaps(said: &[Directive]) -> Vec<(u32, u32)> {
    let swap = |directive: &Directive| match directive {
        Directive::Swap(a, b) => Some((a.0, b.0)),
        _ => None,
    };
    said.iter().filter_map(swap).collect()
}

fn charge_on_little(said: &[Directive], thread: ThreadId) -> Option<f64> {
    said.iter().rev().find_map(|directive| match directive {
        Directive::Charge(one, charge) if *one == thread => {
            Some(f64::from(charge[LITTLE]) / UNIT_CHARGE)
        }
        _ => None,
    })
}

#[test]
fn a_new_thread_takes_the_idlest_cores_fast_ones_first_and_starts_at_the_greatest_v() {
    let mut bench = Bench::start(1, 1, policy(&[]));
    let first = bench.spawn(0);
    bench.run(first, CoreId(0));
    bench.threads[first.index()].virtual_time = 700;
    bench.now = Nanos::from_millis(1);
    let second = bench.spawn(1);
    assert!(bench.said.contains(&Directive::Order(
        second,
        Order::VirtualTime { weight: 1024 * FINE, start: Start::At(700) }
    )));
    assert_eq!(bench.queue_of(first).map(|queue| queue.0), Some(0));
    assert_eq!(bench.queue_of(second).map(|queue| queue.0), Some(1));
}

#[test]
fn a_thread_that_is_ahead_on_a_slow_core_holds_no_newcomer_back_unless_told_so() {
    for (newcomer, v) in [("contending", 500), ("all", 900)] {
        let mut bench = full(1, 1, 2.0, &[("newcomer", newcomer)]);
        (bench.threads[0].virtual_time, bench.threads[1].virtual_time) = (500, 900);
        let thread = bench.spawn(2);
        let order = Order::VirtualTime { weight: 1024 * FINE, start: Start::At(v) };
        assert!(bench.said.contains(&Directive::Order(thread, order)), "{:?}", bench.said);
    }
}

#[test]
fn one_that_starts_when_all_on_fast_cores_have_ended_in_the_same_instant_starts_where_they_were_last_seen()
 {
    let mut bench = full(2, 2, 2.0, &[]);
    for (thread, v) in [500, 600, 550, 9_000_000].into_iter().enumerate() {
        bench.threads[thread].virtual_time = v;
    }
    bench.deliver(Event::Timer);
    bench.exit(ThreadId(0));
    bench.exit(ThreadId(1));
    let thread = bench.spawn(4);
    let order = Order::VirtualTime { weight: 1024 * FINE, start: Start::At(600) };
    assert!(bench.said.contains(&Directive::Order(thread, order)), "{:?}", bench.said);
}

#[test]
fn virtual_time_grows_more_slowly_on_slow_cores_by_the_speedup_of_the_application() {
    let mut bench = full(2, 2, 4.0, &[]);
    let said = bench.deliver(Event::Timer).to_vec();
    for thread in 0..4 {
        assert_eq!(charge_on_little(&said, ThreadId(thread)), Some(0.25));
    }
}

#[test]
fn an_application_of_many_threads_gains_less_than_its_threads_do() {
    let mut bench = Bench::start(1, 3, policy(&[]));
    for core in 0..4 {
        let thread = bench.spawn(0);
        bench.threads[thread.index()].speedup[BIG] = 3.0;
        bench.run(thread, CoreId(core));
    }
    let said = bench.deliver(Event::Timer).to_vec();
    // n = 4, B = 1: 1 + (3 - 1) / (floor(3 / 2) + 1)² = 1.5.
    let charge = charge_on_little(&said, ThreadId(0)).unwrap();
    assert!((charge - 1.0 / 1.5).abs() < 1e-4, "{charge}");
}

#[test]
fn two_threads_swap_when_v_differs_by_more_than_the_threshold_and_not_before() {
    // N = 2, B = 1: threshold = 850 ms / 2 x (1 - 1/2) x 2 (2 - 1) / 2 = 212.5 ms.
    let threshold = 212_500_000;
    let mut bench = full(1, 1, 2.0, &[]);
    bench.threads[0].virtual_time = threshold;
    assert_eq!(swaps(bench.deliver(Event::Timer)), []);
    bench.threads[0].virtual_time = threshold + 1;
    assert_eq!(swaps(bench.deliver(Event::Timer)), [(0, 1)]);
    assert_eq!(bench.queue_of(ThreadId(0)).map(|queue| queue.0), Some(1));
    assert_eq!(bench.queue_of(ThreadId(1)).map(|queue| queue.0), Some(0));
}

#[test]
fn the_adjusted_threshold_keeps_the_period_whatever_the_numbers_and_the_fixed_one_does_not() {
    for (set, threshold) in [("adjusted", 318_750_000), ("fixed", 212_500_000)] {
        let mut bench = full(1, 3, 2.0, &[("threshold", set)]);
        bench.threads[0].virtual_time = threshold;
        assert_eq!(swaps(bench.deliver(Event::Timer)), [], "{set}");
        bench.threads[0].virtual_time = threshold + 1;
        assert_eq!(swaps(bench.deliver(Event::Timer)).len(), 1, "{set}");
    }
}

#[test]
fn the_furthest_ahead_trades_with_the_furthest_behind_until_nobody_is_far_off() {
    let mut bench = full(2, 3, 2.0, &[]);
    for (thread, ms) in [2_000, 3_000, 100, 0, 2_900].into_iter().enumerate() {
        bench.threads[thread].virtual_time = ms * 1_000_000;
    }
    assert_eq!(swaps(bench.deliver(Event::Timer)), [(1, 3), (0, 2)]);
}

#[test]
fn nobody_moves_while_there_is_a_fast_core_for_everyone() {
    let mut bench = Bench::start(2, 2, policy(&[]));
    for core in [0, 2] {
        let thread = bench.spawn(core);
        bench.threads[thread.index()].speedup[BIG] = 3.0;
        bench.run(thread, CoreId(core));
    }
    bench.threads[0].virtual_time = 60_000_000_000;
    // A slow core has taken the second over, long after it was placed.
    bench.now = Nanos::from_secs(1);
    let said = bench.deliver(Event::Timer).to_vec();
    assert_eq!(swaps(&said), []);
    assert!(
        said.contains(&Directive::Move(ThreadId(1), CoreId(1))),
        "the fast core that idles takes the other: {said:?}"
    );
}

#[test]
fn a_fast_core_that_goes_idle_pulls_the_thread_that_is_furthest_behind() {
    let mut bench = full(1, 2, 2.0, &[]);
    (bench.threads[1].virtual_time, bench.threads[2].virtual_time) = (9, 5);
    bench.exit(ThreadId(0));
    assert!(
        bench
            .deliver(Event::CoreIdle(CoreId(0)))
            .contains(&Directive::Move(ThreadId(2), CoreId(0)))
    );
}

#[test]
fn two_fast_cores_that_go_idle_at_once_pull_two_threads() {
    let mut bench = full(2, 2, 2.0, &[]);
    bench.exit(ThreadId(0));
    bench.exit(ThreadId(1));
    bench.deliver(Event::CoreIdle(CoreId(0)));
    bench.deliver(Event::CoreIdle(CoreId(1)));
    let places: Vec<_> =
        bench.cores.iter().map(|core| core.running.map(|thread| thread.0)).collect();
    assert_eq!(places, [Some(2), Some(3), None, None]);
}

#[test]
fn with_more_threads_than_cores_each_kind_has_its_share_rounded_down_for_fast_ones() {
    let mut bench = Bench::start(1, 1, policy(&[]));
    let threads: Vec<_> = (0..5).map(|app| bench.spawn(app)).collect();
    let on_fast = |bench: &Bench| {
        threads.iter().filter(|&&thread| bench.queue_of(thread).unwrap().0 == 0).count()
    };
    assert_eq!(on_fast(&bench), 2);
    let (fast, slow) = (Some(QueueId(0)), Some(QueueId(1)));
    for &thread in &threads {
        bench.threads[thread.index()].queue = if thread == threads[1] { slow } else { fast };
    }
    bench.run(threads[0], CoreId(0));
    bench.run(threads[1], CoreId(1));
    // Cores have taken the threads over since they were placed.
    bench.now = Nanos::from_secs(1);
    bench.deliver(Event::Timer);
    assert_eq!(on_fast(&bench), 2, "one runs there, and one of the four that wait stays");
}

#[test]
fn a_waiting_thread_that_is_behind_takes_the_place_of_the_running_one_that_is_ahead() {
    let mut bench = full(1, 1, 2.0, &[]);
    let (third, fourth) = (bench.spawn(2), bench.spawn(3));
    bench.threads[0].virtual_time = 9_000_000_000;
    bench.threads[1].virtual_time = 8_950_000_000;
    for (thread, v) in [(third, 8_990_000_000), (fourth, 8_000_000_000)] {
        bench.threads[thread.index()].virtual_time = v;
        bench.threads[thread.index()].queue = bench.queue_of(ThreadId(1));
    }
    bench.threads[third.index()].queue = bench.queue_of(ThreadId(0));
    // Cores have taken the threads over since they were placed.
    bench.now = Nanos::from_secs(2);
    let said = bench.deliver(Event::Timer).to_vec();
    assert!(said.contains(&Directive::Move(fourth, CoreId(0))), "{said:?}");
}

#[test]
fn every_kind_is_host_to_those_of_the_others_unless_told_not_to_and_makes_room_for_its_own_if_told_to()
 {
    let said_at_start = |set: &[(&str, &str)]| Bench::start(1, 1, policy(set)).said_at_start;
    let hosts = |said: &[Directive]| {
        let host = |directive: &Directive| match directive {
            Directive::Host { core, guests, behind } => Some((core.0, guests.clone(), *behind)),
            _ => None,
        };
        said.iter().filter_map(host).collect::<Vec<_>>()
    };
    let margins = |said: &[Directive]| {
        let margin = |directive: &Directive| match directive {
            Directive::Preemption(queue, margin) => Some((queue.0, margin.map(|it| it.margin))),
            _ => None,
        };
        said.iter().filter_map(margin).collect::<Vec<_>>()
    };
    let half = 425_000_000;
    let said = said_at_start(&[]);
    assert_eq!(hosts(&said), [(0, vec![QueueId(1)], half), (1, vec![QueueId(0)], half)]);
    assert_eq!(margins(&said), [(0, Some(half)), (1, Some(half))]);
    let said = said_at_start(&[("guests", "far-behind")]);
    assert_eq!((hosts(&said).len(), margins(&said)), (2, vec![]));
    let said = said_at_start(&[("guests", "none")]);
    assert_eq!((hosts(&said), margins(&said)), (vec![], vec![]));
}

#[test]
fn a_guest_trades_with_nobody_as_long_as_it_is_one() {
    // A guest's turn ends at the latest with its last slice, of 3 ms or twice that, which cores
    // notice with a grain of 4 ms.
    for (slices, batch, turn) in [
        ("equal-time", "1", 7),
        ("equal-work", "1", 10),
        ("equal-time", "2", 10),
        ("equal-work", "2", 16),
    ] {
        let mut bench = full(1, 1, 2.0, &[("slices", slices), ("batch", batch)]);
        // The thread on the slow core is far behind, and belongs to the fast one.
        bench.threads[0].virtual_time = 9_000_000_000;
        bench.threads[1].virtual_time = 8_000_000_000;
        bench.threads[1].queue = bench.queue_of(ThreadId(0));
        let waits = bench.spawn(2);
        bench.threads[waits.index()].virtual_time = 8_990_000_000;
        bench.threads[1].since = bench.now;
        bench.now = bench.now.saturating_add(Nanos::from_millis(turn));
        assert_eq!(
            swaps(bench.deliver(Event::Timer)),
            [],
            "it may be in its turn, {slices}, {batch}"
        );
        bench.now = bench.now.saturating_add(Nanos::from_millis(1));
        assert_eq!(
            swaps(bench.deliver(Event::Timer)),
            [(0, 1)],
            "it stays: nobody else came, {slices}, {batch}"
        );
    }
}

fn slices(said: &[Directive]) -> Vec<(u32, Nanos, Nanos)> {
    let slice = |directive: &Directive| match directive {
        Directive::Slice(thread, slice) => Some((thread.0, slice.time[BIG], slice.time[LITTLE])),
        _ => None,
    };
    said.iter().filter_map(slice).collect()
}

#[test]
fn a_thread_has_two_slices_in_a_row_or_as_many_as_are_asked_for_within_a_tenth_of_the_swap_period()
{
    let batches = |knobs: &[(&str, &str)]| {
        let mut bench = full(1, 1, 2.0, knobs);
        let batch = |directive: &Directive| match directive {
            Directive::Slice(_, slice) => Some(slice.batch),
            _ => None,
        };
        bench.deliver(Event::Timer).iter().filter_map(batch).collect::<Vec<_>>()
    };
    assert_eq!(batches(&[]), [2, 2]);
    assert_eq!(batches(&[("batch", "1")]), [1, 1]);
    assert_eq!(batches(&[("batch", "7")]), [7, 7]);
    // 6 ms on the slow core, and 85 in all.
    assert_eq!(batches(&[("batch", "100")]), [14, 14]);
    assert_eq!(batches(&[("batch", "100"), ("slice", "200")]), [1, 1]);
}

#[test]
fn a_slice_is_as_much_work_on_every_kind_unless_it_is_to_be_as_much_time() {
    let both = |ms| [0, 1].map(|thread| (thread, Nanos::from_millis(3), Nanos::from_millis(ms)));
    let mut bench = full(1, 1, 4.0, &[]);
    assert_eq!(slices(bench.deliver(Event::Timer)), both(12));
    let mut bench = Bench::start(1, 1, policy(&[("slices", "equal-time")]));
    let thread = bench.spawn(0);
    assert_eq!(slices(&bench.said), both(3)[..1]);
    bench.run(thread, CoreId(0));
    bench.threads[0].speedup[BIG] = 4.0;
    bench.now = Nanos::from_secs(1);
    let said = bench.deliver(Event::Timer);
    assert_eq!(charge_on_little(said, thread), Some(0.25));
    assert_eq!(slices(said), [], "it is as long as before");
}

#[test]
fn no_slice_is_longer_than_a_tenth_of_the_swap_period_whatever_the_speedup_or_than_it_is_told_to_be()
 {
    for (slice, longest) in [("3", 85), ("200", 200)] {
        let mut bench = full(1, 1, 1e6, &[("slice", slice)]);
        let said = slices(bench.deliver(Event::Timer));
        assert!(
            said.iter().all(|&(.., little)| little == Nanos::from_millis(longest))
                && said.len() == 2,
            "{said:?}"
        );
    }
}

#[test]
fn priorities_and_uf_go_into_the_weight() {
    let mut bench = full(1, 2, 2.0, &[("uf", "3")]);
    bench.threads[0].speedup[BIG] = 4.0;
    bench.threads[1].weight = 2048;
    bench.threads[2].speedup[BIG] = 3.0;
    let said = bench.deliver(Event::Timer).to_vec();
    let weight = |thread| {
        said.iter().find_map(|directive| match directive {
            Directive::Order(one, Order::VirtualTime { weight, .. }) if one.0 == thread => {
                Some(*weight / FINE)
            }
            _ => None,
        })
    };
    assert_eq!((weight(0), weight(1), weight(2)), (Some(3 * 1024), Some(2048), Some(2 * 1024)));
}

#[test]
fn a_weight_and_a_charge_are_said_once() {
    let mut bench = full(2, 2, 2.0, &[]);
    bench.deliver(Event::Timer);
    bench.now = Nanos::from_secs(2);
    assert_eq!(bench.deliver(Event::Timer), []);
}

#[test]
fn a_thread_that_wakes_is_no_further_behind_than_a_swap_period_whenever_it_slept() {
    let mut bench = full(1, 1, 2.0, &[]);
    bench.threads[0].virtual_time = 5_000_000_000;
    bench.threads[1].virtual_time = 5_000_000_000;
    // It is awake at every tick and still far behind.
    bench.deliver(Event::Timer);
    bench.block(ThreadId(1));
    bench.threads[1].virtual_time = 1_000_000_000;
    bench.wake(ThreadId(1));
    let brought = Order::VirtualTime { weight: 1024 * FINE, start: Start::At(4_150_000_000) };
    assert_eq!(bench.said, [Directive::Order(ThreadId(1), brought)]);
    bench.block(ThreadId(1));
    bench.threads[1].virtual_time = 4_150_000_000;
    bench.wake(ThreadId(1));
    assert_eq!(bench.said, [], "not behind");
}

/// A newcomer that starts at 5 s, beside two threads with `v` of 5 and 4 s, and sleeps when it has
/// run for `ran`. Returns where it is put when it wakes.
fn newcomer_that_sleeps_after(ran: Nanos, weight: u32, set: &[(&str, &str)]) -> Option<u64> {
    let mut bench = full(1, 1, 2.0, set);
    bench.threads[0].virtual_time = 5_000_000_000;
    bench.threads[1].virtual_time = 4_000_000_000;
    let newcomer = bench.spawn_weighing(2, weight);
    let stats = &mut bench.threads[newcomer.index()];
    stats.virtual_time = 5_000_000_000 + ran.0 * 1024 / u64::from(weight);
    stats.time_on[BIG] = Nanos(ran.0 / 2);
    stats.time_on[LITTLE] = Nanos(ran.0 / 2);
    let wakes = |bench: &mut Bench| {
        bench.block(newcomer);
        bench.wake(newcomer);
        bench.said.iter().find_map(|directive| match directive {
            Directive::Order(thread, Order::VirtualTime { start: Start::At(v), .. })
                if *thread == newcomer =>
            {
                Some(*v)
            }
            _ => None,
        })
    };
    let put_back = wakes(&mut bench);
    assert_eq!(wakes(&mut bench), None, "once");
    put_back
}

#[test]
fn a_thread_that_first_wakes_is_no_further_ahead_than_by_all_that_it_has_run() {
    let slept_after = |ran, weight, set: &[(&str, &str)]| {
        newcomer_that_sleeps_after(Nanos::from_millis(ran), weight, set)
    };
    // Half a T_swap is taken off the greatest of 5 s, because the least is further away.
    let from = 4_575_000_000;
    for ran in [0, 100, 999] {
        assert_eq!(slept_after(ran, 1024, &[]), Some(from + ran * 1_000_000), "{ran}");
    }
    // A thread with an eighth of the others' weight is as far ahead after an eighth of the time.
    assert_eq!(slept_after(100, 128, &[]), Some(from + 800_000_000));
    // With trades due sooner less is taken off, and it never goes below the least.
    assert_eq!(slept_after(0, 1024, &[("swap", "200")]), Some(4_900_000_000));
    assert_eq!(slept_after(0, 1024, &[("swap", "5000")]), Some(4_000_000_000));
    assert_eq!(slept_after(0, 1024, &[("newcomer", "all")]), None, "the paper's");
}

#[test]
fn a_sleeping_application_keeps_the_charge_of_its_waking_hours() {
    let mut bench = full(1, 1, 4.0, &[]);
    bench.deliver(Event::Timer);
    bench.block(ThreadId(1));
    bench.now = Nanos::from_secs(2);
    let said = bench.deliver(Event::Timer).to_vec();
    assert_eq!(charge_on_little(&said, ThreadId(1)), None, "{said:?}");
}

/// Virtual time at which a thread starts that may run on the little core only.
fn start_of_a_bound_newcomer(bench: &mut Bench) -> Option<Start> {
    let little = CoreId(bench.cores.len() as u32 - 1);
    let newcomer = bench.spawn_on(9, &[little]);
    bench.said.iter().find_map(|directive| match directive {
        Directive::Order(thread, Order::VirtualTime { start, .. }) if *thread == newcomer => {
            Some(*start)
        }
        _ => None,
    })
}

#[test]
fn a_newcomer_on_slow_cores_alone_starts_even_with_those_that_run_there() {
    let mut bench = Bench::start(1, 1, policy(&[]));
    let bound = bench.spawn_on(0, &[CoreId(1)]);
    bench.run(bound, CoreId(1));
    bench.threads[bound.index()].virtual_time = 77;
    assert_eq!(start_of_a_bound_newcomer(&mut bench), Some(Start::At(77)));
    let mut bench = full(1, 1, 2.0, &[]);
    (bench.threads[0].virtual_time, bench.threads[1].virtual_time) = (500, 900);
    assert_eq!(
        start_of_a_bound_newcomer(&mut bench),
        Some(Start::At(900)),
        "whoever has the fast core is no rival"
    );
}

#[test]
fn threads_that_have_ended_hold_no_newcomer_back() {
    let mut bench = full(1, 1, 2.0, &[("newcomer", "all")]);
    (bench.threads[0].virtual_time, bench.threads[1].virtual_time) = (500, 900);
    bench.deliver(Event::Timer);
    bench.exit(ThreadId(1));
    bench.deliver(Event::Timer);
    assert_eq!(start_of_a_bound_newcomer(&mut bench), Some(Start::At(500)));
}

#[test]
fn the_static_one_goes_by_whole_run_factors() {
    let mut bench = Bench::start(1, 1, make("acfs-static", &[]).unwrap());
    let thread = bench.spawn(0);
    bench.run(thread, CoreId(0));
    bench.threads[0].speedup[BIG] = 4.0;
    bench.threads[0].speedup_offline[BIG] = 2.0;
    assert_eq!(charge_on_little(bench.deliver(Event::Timer), thread), Some(0.5));
}

#[test]
fn three_kinds_trade_pair_by_pair_and_nobody_twice_at_once() {
    let mut bench =
        Bench::on(machine(&[("prime", 1024, 1), ("big", 768, 1), ("little", 256, 1)]), policy(&[]));
    for core in 0..3 {
        let thread = bench.spawn(core);
        bench.threads[thread.index()].speedup.0[..3].copy_from_slice(&[4.0, 3.0, 1.0]);
        bench.threads[thread.index()].virtual_time = u64::from(2 - core) * 10_000_000_000;
        bench.run(thread, CoreId(core));
    }
    assert_eq!(swaps(bench.deliver(Event::Timer)), [(0, 1)]);
    bench.now = Nanos::from_millis(4);
    assert_eq!(swaps(bench.deliver(Event::Timer)), [(0, 2)]);
}

#[test]
fn threads_bound_to_their_cores_stay_and_others_trade_in_their_stead() {
    let mut bench = Bench::start(2, 1, policy(&[]));
    let bound = bench.spawn_on(0, &[CoreId(0)]);
    let (free, behind) = (bench.spawn(1), bench.spawn(2));
    for (thread, core, v) in [(bound, 0, 9), (free, 1, 8), (behind, 2, 0)] {
        bench.threads[thread.index()].virtual_time = v * 1_000_000_000;
        bench.threads[thread.index()].speedup[BIG] = 2.0;
        bench.run(thread, CoreId(core));
    }
    assert_eq!(swaps(bench.deliver(Event::Timer)), [(free.0, behind.0)]);
}

#[test]
fn a_core_runs_on_though_the_slow_core_beside_it_runs_somebody_of_a_higher_class() {
    let mut bench = Bench::start(1, 2, policy(&[]));
    let (urgent, other) = (bench.spawn(0), bench.spawn(1));
    bench.run(urgent, CoreId(1));
    bench.run(other, CoreId(2));
    bench.threads[urgent.index()].queue = None;
    bench.threads[other.index()].virtual_time = 5;
    bench.now = Nanos::from_secs(1);
    assert!(bench.deliver(Event::CoreIdle(CoreId(0))).contains(&Directive::Move(other, CoreId(0))));
}

#[test]
fn a_thread_that_may_not_go_to_one_kind_still_goes_to_the_next() {
    let mut bench =
        Bench::on(machine(&[("prime", 1024, 1), ("big", 768, 1), ("little", 256, 1)]), policy(&[]));
    for core in 0..3 {
        let thread = bench.spawn(core);
        bench.run(thread, CoreId(core));
    }
    // Three wait for the little core, where one should; the first of them may not go to the prime
    // core.
    let bound = bench.spawn_on(3, &[CoreId(1), CoreId(2)]);
    let others = [bench.spawn(4), bench.spawn(5)];
    for thread in [bound, others[0], others[1]] {
        bench.threads[thread.index()].queue = Some(QueueId(2));
        bench.threads[thread.index()].virtual_time = if thread == bound { 0 } else { 9 };
    }
    bench.now = Nanos::from_secs(1);
    bench.deliver(Event::Timer);
    assert_eq!(bench.queue_of(bound), Some(QueueId(1)));
}

#[test]
fn the_first_siblings_of_fast_cores_are_preferred_to_the_second_ones() {
    let mut smt = machine(&[("big", 1024, 4), ("little", 256, 1)]);
    for core in 0..4 {
        smt.cores[core].sibling = Some(CoreId(core as u32 ^ 1));
    }
    let bench = Bench::on(smt, policy(&[]));
    let preferred = Directive::Prefer(QueueId(0), [0, 2, 1, 3, 4].map(CoreId).to_vec());
    assert!(bench.said_at_start.contains(&preferred), "{:?}", bench.said_at_start);
}
