//! Tests of each rule of `linux`.

use evenkeel_machine::{CoreId, Machine, Nanos};

use super::energy_tests::{asleep, machine, settle, tick};
use crate::contract::{Directive, Event, QueueId, ThreadId};
use crate::registry::make;
use crate::testing::{self, Bench};

fn linux() -> Box<dyn crate::contract::Policy> {
    make("linux", &[]).unwrap()
}

/// Big cores of 1024 first, then little ones of 512; so are the system's numbers.
fn bench(big: u32, little: u32) -> Bench {
    Bench::start(big, little, linux())
}

fn core_of(bench: &Bench, thread: ThreadId) -> u32 {
    bench.queue_of(thread).unwrap().0
}

/// A tick before any balance is due, which shows the policy where threads are.
fn look(bench: &mut Bench) {
    bench.deliver(Event::Timer);
}

/// Two kinds whose slower one has the lowest numbers of the system, as on most boards.
fn little_first(big: u32, little: u32) -> Machine {
    let mut machine = testing::machine(&[("big", 1024, big), ("little", 512, little)]);
    for core in &mut machine.cores {
        core.cpu = (core.id.0 + little) % (big + little);
    }
    machine
}

/// Cores of a fast kind that are two hardware threads each, and of a slow kind that are one.
fn hybrid(fast: u32, slow: u32) -> Machine {
    let mut machine = testing::machine(&[("fast", 1024, 2 * fast), ("slow", 512, slow)]);
    for core in &mut machine.cores[..2 * fast as usize] {
        core.sibling = Some(CoreId(core.id.0 ^ 1));
    }
    machine
}

#[test]
fn the_first_thread_starts_on_the_first_cpu_and_the_next_where_most_cores_idle() {
    let mut bench = Bench::on(little_first(2, 2), linux());
    let threads: Vec<_> = (0..4).map(|_| bench.spawn(0)).collect();
    let cores: Vec<_> = threads.iter().map(|&thread| core_of(&bench, thread)).collect();
    assert_eq!(cores, [2, 0, 3, 1]);
}

#[test]
fn a_thread_starts_in_its_parents_cluster_where_as_many_cores_idle() {
    let mut bench = bench(2, 2);
    let (one, two) = (bench.spawn_running(0, 300), bench.spawn_running(2, 300));
    let of_two = bench.fork(two);
    assert_eq!(core_of(&bench, of_two), 3);
    let of_one = bench.fork(one);
    assert_eq!(core_of(&bench, of_one), 1);
}

#[test]
fn with_no_core_idle_a_thread_starts_where_load_by_capacity_is_least() {
    let mut bench = bench(1, 1);
    let threads: Vec<_> = (0..6).map(|_| bench.spawn(0)).collect();
    let on_little = threads.into_iter().filter(|&thread| core_of(&bench, thread) == 1).count();
    assert_eq!(on_little, 2, "of six, a third");
}

#[test]
fn a_thread_wakes_where_it_was_if_that_idles_and_fits() {
    let mut bench = bench(1, 2);
    for core in 0..3 {
        let thread = asleep(&mut bench, core, 100);
        bench.wake(thread);
        assert_eq!(core_of(&bench, thread), core);
        bench.exit(thread);
    }
}

#[test]
fn a_thread_too_great_for_its_idle_core_wakes_on_the_first_idle_core_that_it_fits() {
    let mut bench = bench(2, 2);
    let thread = asleep(&mut bench, 2, 500);
    bench.wake(thread);
    assert_eq!(core_of(&bench, thread), 0);
}

#[test]
fn a_thread_that_fits_no_idle_core_wakes_on_the_greatest_of_them() {
    let mut bench = Bench::on(
        testing::machine(&[("prime", 1024, 1), ("big", 800, 1), ("little", 300, 1)]),
        linux(),
    );
    let thread = asleep(&mut bench, 2, 900);
    bench.spawn_running(0, 1024);
    bench.wake(thread);
    assert_eq!(core_of(&bench, thread), 1);
}

#[test]
fn of_busy_cores_a_thread_wakes_on_the_one_where_it_was() {
    let mut bench = bench(1, 1);
    let thread = asleep(&mut bench, 1, 400);
    bench.spawn_running(0, 1024);
    bench.spawn_running(1, 300);
    bench.wake(thread);
    assert_eq!(core_of(&bench, thread), 1);
}

#[test]
fn a_misfit_moves_though_it_runs_to_an_idle_core_of_greater_capacity_when_that_balances() {
    let mut bench = bench(1, 2);
    let fit = bench.spawn_running(1, 300);
    let misfit = bench.spawn_running(2, 500);
    settle(&mut bench);
    tick(&mut bench);
    assert_eq!((bench.cores[0].running, core_of(&bench, misfit)), (Some(misfit), 0));
    assert_eq!(bench.cores[1].running, Some(fit));
}

#[test]
fn idle_cores_balance_every_so_many_milliseconds_as_there_are_cores() {
    let mut bench = bench(2, 6);
    settle(&mut bench);
    tick(&mut bench);
    let misfit = bench.spawn_running(2, 500);
    settle(&mut bench);
    bench.now = bench.now.saturating_sub(Nanos::from_secs(1));
    tick(&mut bench);
    assert_eq!(core_of(&bench, misfit), 2, "4 of 8 ms");
    tick(&mut bench);
    assert_eq!(core_of(&bench, misfit), 0);
}

#[test]
fn a_core_whose_capacity_is_not_5_percent_greater_takes_no_misfit() {
    for (capacity, core) in [(980, 1), (974, 1), (970, 0)] {
        let mut bench =
            Bench::on(testing::machine(&[("big", 1024, 1), ("less", capacity, 1)]), linux());
        let misfit = bench.spawn_running(1, 940);
        settle(&mut bench);
        tick(&mut bench);
        assert_eq!(core_of(&bench, misfit), core, "{capacity}");
    }
}

#[test]
fn a_big_core_that_goes_idle_takes_the_heaviest_misfit_at_once() {
    let mut bench = bench(1, 2);
    let first = bench.spawn_running(0, 900);
    bench.spawn_running(1, 450);
    let heaviest = bench.spawn_running(2, 500);
    settle(&mut bench);
    tick(&mut bench);
    bench.exit(first);
    bench.deliver(Event::CoreIdle(CoreId(0)));
    assert_eq!(bench.cores[0].running, Some(heaviest));
}

#[test]
fn a_misfit_that_may_not_run_on_the_greater_core_stays() {
    let mut bench = bench(1, 1);
    let bound = bench.spawn_on(0, &[CoreId(1)]);
    bench.threads[bound.index()].load = 512;
    bench.run(bound, CoreId(1));
    settle(&mut bench);
    tick(&mut bench);
    assert_eq!(core_of(&bench, bound), 1);
}

#[test]
fn on_equal_cores_nobody_is_a_misfit() {
    let mut bench = bench(0, 2);
    let busy = bench.spawn_running(0, 1024);
    settle(&mut bench);
    tick(&mut bench);
    assert_eq!(core_of(&bench, busy), 0);
}

#[test]
fn a_new_thread_begins_at_half_of_the_capacity_that_is_left_and_that_fades() {
    // 256 of 512 and a load of 200 do not fit; 32 ms later 128 and 200 do.
    for (later, core) in [(0, 0), (64, 1)] {
        let mut bench = bench(1, 1);
        bench.spawn_running(0, 0);
        let thread = bench.spawn(0);
        assert_eq!(core_of(&bench, thread), 1);
        bench.threads[thread.index()].load = 200;
        bench.now += Nanos::from_millis(later);
        bench.block(thread);
        bench.exit(ThreadId(0));
        bench.wake(thread);
        assert_eq!(core_of(&bench, thread), core, "{later} ms");
    }
}

#[test]
fn a_thread_that_slept_is_taken_for_as_great_as_it_was_when_it_worked() {
    let mut bench = bench(1, 1);
    let thread = asleep(&mut bench, 1, 500);
    bench.threads[thread.index()].load = 10;
    bench.wake(thread);
    assert_eq!(core_of(&bench, thread), 0);
}

#[test]
fn an_idle_core_takes_who_waits_in_its_cluster_before_others() {
    let bench = bench(2, 2);
    assert_eq!(bench.serves(CoreId(2)), [2, 3, 0, 1].map(QueueId));
    assert_eq!(bench.serves(CoreId(0)), [0, 1, 2, 3].map(QueueId));
}

#[test]
fn busy_cores_are_levelled_by_capacity_every_sixteen_times_their_number_of_milliseconds() {
    let mut bench = bench(1, 1);
    bench.spawn_running(0, 1024);
    bench.spawn_running(1, 512);
    let waiting: Vec<_> = (0..4).map(|_| bench.spawn(0)).collect();
    for &thread in &waiting {
        bench.threads[thread.index()].queue = Some(QueueId(0));
    }
    let on_little =
        |bench: &Bench| waiting.iter().filter(|&&thread| core_of(bench, thread) == 1).count();
    for _ in 0..7 {
        tick(&mut bench);
    }
    assert_eq!(on_little(&bench), 0, "28 of 32 ms");
    tick(&mut bench);
    assert_eq!(on_little(&bench), 1, "of six with the two that run, a third");
}

#[test]
fn slices_grow_by_the_logarithm_of_the_number_of_cores_up_to_eight() {
    for (cores, micros) in [(1, 750), (2, 1_500), (4, 2_250), (8, 3_000), (12, 3_000)] {
        let mut bench = bench(cores, 0);
        bench.spawn(0);
        let slice = bench.said.iter().find_map(|directive| match directive {
            Directive::Slice(_, slice) => Some(slice.time.0[0]),
            _ => None,
        });
        assert_eq!(slice, Some(Nanos::from_micros(micros)), "{cores}");
    }
}

#[test]
fn a_machine_with_a_power_model_is_energy_aware_under_schedutil_only() {
    for (schedutil, core) in [(true, 1), (false, 0)] {
        let mut bench = Bench::governed(machine(1, 1), schedutil, linux()).unwrap();
        let light = asleep(&mut bench, 0, 50);
        bench.wake(light);
        assert_eq!(core_of(&bench, light), core, "schedutil: {schedutil}");
    }
}

#[test]
fn an_idle_physical_core_of_a_hybrid_takes_what_runs_on_a_slower_kind() {
    let mut bench = Bench::on(hybrid(2, 1), linux());
    let on_slow = bench.spawn_running(4, 10);
    let beside = bench.spawn_running(1, 10);
    look(&mut bench);
    bench.deliver(Event::CoreIdle(CoreId(0)));
    assert_eq!(core_of(&bench, on_slow), 4, "its sibling works");
    bench.deliver(Event::CoreIdle(CoreId(2)));
    assert_eq!((core_of(&bench, on_slow), core_of(&bench, beside)), (2, 1));
}

#[test]
fn an_idle_core_of_a_hybrid_takes_one_of_two_threads_that_share_a_core() {
    let mut bench = Bench::on(hybrid(1, 1), linux());
    let (first, second) = (bench.spawn_running(0, 10), bench.spawn_running(1, 10));
    look(&mut bench);
    bench.deliver(Event::CoreIdle(CoreId(2)));
    assert_eq!((core_of(&bench, first), core_of(&bench, second)), (0, 2));
}

#[test]
fn on_a_hybrid_threads_wake_on_whole_physical_cores_first() {
    let mut bench = Bench::on(hybrid(2, 1), linux());
    let thread = asleep(&mut bench, 0, 100);
    bench.spawn_running(0, 500);
    bench.wake(thread);
    assert_eq!(core_of(&bench, thread), 2, "not the sibling of a core at work");
}

#[test]
fn threads_of_a_core_that_leaves_go_to_the_others() {
    let mut bench = bench(1, 1);
    let thread = bench.spawn(0);
    bench.set_online(CoreId(0), false);
    assert_eq!(core_of(&bench, thread), 1);
}

#[test]
fn on_a_hybrid_threads_start_on_physical_cores_and_clusters_with_most_idle_cores_and_no_sibling_of_a_busy_one()
 {
    let mut bench = Bench::on(hybrid(2, 4), linux());
    let threads: Vec<_> = (0..6).map(|_| bench.spawn(0)).collect();
    let cores: Vec<_> = threads.iter().map(|&thread| core_of(&bench, thread)).collect();
    // Four idle slow cores are more than two threads of a fast one, and then three; with two each
    // the parent's group comes first.
    assert_eq!(cores, [4, 5, 0, 2, 6, 1]);
}

#[test]
fn a_running_thread_is_preempted_only_if_it_is_a_slice_ahead() {
    for (big, little, slice) in [(1, 1, 1_500_000), (4, 4, 3_000_000)] {
        let bench = bench(big, little);
        let margin =
            Directive::Preemption(QueueId(0), Some(crate::contract::Preemption::beyond(slice)));
        assert!(bench.said_at_start.contains(&margin));
    }
}
