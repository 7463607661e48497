//! Energy-aware placement of `linux`, tested through `eas` under any governor.

use evenkeel_machine::{CoreId, Machine, MicroWatts, Nanos, OperatingPoint};

use crate::contract::{Directive, Event, QueueId, ThreadId};
use crate::registry::make;
use crate::testing::{self, Bench};

/// Big cores of 1024 and little ones of 512 for a tenth of the power, each with a point of half the
/// capacity for a third of the power; a cluster draws half of what a core does.
pub(super) fn machine(big: u32, little: u32) -> Machine {
    let mut machine = testing::machine(&[("big", 1024, big), ("little", 512, little)]);
    for (kind, watts) in machine.kinds.iter_mut().zip([900_000, 90_000]) {
        let point = |khz: u64, share: f64, watts: u64| OperatingPoint {
            khz,
            capacity: f64::from(kind.capacity) * share,
            busy_power: Some(MicroWatts(watts)),
            cluster_power: Some(MicroWatts(watts / 2)),
        };
        kind.opps = vec![point(500_000, 0.5, watts / 3), point(1_000_000, 1.0, watts)];
    }
    machine
}

fn bench(big: u32, little: u32) -> Bench {
    Bench::on(machine(big, little), make("eas", &[]).unwrap())
}

/// A sleeping thread of this load, last on this core.
pub(super) fn asleep(bench: &mut Bench, core: u32, load: u16) -> ThreadId {
    let thread = bench.spawn(0);
    let stats = &mut bench.threads[thread.index()];
    (stats.queue, stats.core, stats.load) = (Some(QueueId(core)), CoreId(core), load);
    settle(bench);
    bench.block(thread);
    thread
}

/// Moves time on until the initial utilisation of threads has faded.
pub(super) fn settle(bench: &mut Bench) {
    bench.now += Nanos::from_secs(1);
}

pub(super) fn tick(bench: &mut Bench) -> Vec<Directive> {
    bench.now += Nanos::from_millis(4);
    bench.deliver(Event::Timer).to_vec()
}

#[test]
fn a_light_thread_wakes_on_a_little_core_and_stays_there_while_it_costs_no_more() {
    let mut bench = bench(2, 2);
    let light = asleep(&mut bench, 0, 50);
    tick(&mut bench);
    bench.wake(light);
    assert_eq!(bench.queue_of(light), Some(QueueId(2)));
    bench.block(light);
    bench.threads[light.index()].queue = Some(QueueId(3));
    bench.wake(light);
    assert_eq!(bench.queue_of(light), Some(QueueId(3)), "the other little core costs the same");
}

#[test]
fn a_thread_wakes_on_a_little_core_only_if_it_fits_there_with_a_margin_beside_what_that_has() {
    // 300 + 100 of 512, or 300 + 120, with a margin of a quarter.
    for (load, core) in [(100, 1), (120, 0)] {
        let mut bench = bench(1, 1);
        bench.spawn_running(1, 300);
        let thread = asleep(&mut bench, 0, load);
        tick(&mut bench);
        bench.wake(thread);
        assert_eq!(bench.queue_of(thread), Some(QueueId(core)), "{load}");
    }
}

#[test]
fn a_thread_that_would_raise_the_clock_of_all_wakes_where_it_does_not() {
    let mut bench = bench(1, 2);
    bench.spawn_running(1, 150);
    let thread = asleep(&mut bench, 1, 100);
    tick(&mut bench);
    bench.wake(thread);
    // Beside it, 250 x 1.25 needs the upper point; alone, 150 x 1.25 stays below it.
    assert_eq!(bench.queue_of(thread), Some(QueueId(2)));
}

#[test]
fn threads_that_wake_between_two_ticks_count_for_each_other() {
    let mut bench = bench(1, 2);
    let threads = [(); 2].map(|()| asleep(&mut bench, 0, 150));
    tick(&mut bench);
    // 300 x 1.25 on one little core needs the upper point, 150 x 1.25 on each does not.
    threads.iter().for_each(|&thread| bench.wake(thread));
    assert_eq!(
        threads.map(|thread| bench.queue_of(thread)),
        [1, 2].map(|core| Some(QueueId(core)))
    );
}

#[test]
fn of_cores_that_cost_the_same_the_one_with_the_most_spare_capacity_is_taken() {
    let mut bench = bench(1, 3);
    for (core, load) in [(1, 60), (2, 20), (3, 150)] {
        bench.spawn_running(core, load);
    }
    let thread = asleep(&mut bench, 0, 30);
    tick(&mut bench);
    bench.wake(thread);
    // On 1 as on 2 the cluster's clock and power are those that 3 needs.
    assert_eq!(bench.queue_of(thread), Some(QueueId(2)));
}

#[test]
fn a_thread_that_fits_nowhere_wakes_where_it_was() {
    let mut bench = bench(1, 1);
    bench.spawn_running(0, 700);
    bench.spawn_running(1, 300);
    let thread = asleep(&mut bench, 1, 50);
    tick(&mut bench);
    bench.threads[thread.index()].load = 300;
    bench.wake(thread);
    assert_eq!(
        bench.queue_of(thread),
        Some(QueueId(1)),
        "neither 1000 of 1024 nor 600 of 512 leave a margin"
    );
}

#[test]
fn while_there_is_room_nobody_is_pulled_and_when_there_is_none_idle_cores_take_whoever_waits() {
    let mut bench = bench(4, 4);
    let served = |bench: &Bench| bench.serves(CoreId(1)).len();
    assert_eq!(served(&bench), 1);
    let busy = bench.spawn_running(0, 1024);
    (0..2).for_each(|_| {
        tick(&mut bench);
        assert_eq!(served(&bench), 8);
    });
    bench.threads[busy.index()].load = 0;
    tick(&mut bench);
    assert_eq!(served(&bench), 8, "until the next balance of eight cores");
    tick(&mut bench);
    assert_eq!(served(&bench), 1);
}

#[test]
fn over_utilised_a_thread_wakes_where_it_was_though_that_costs_more() {
    let mut bench = bench(2, 2);
    bench.spawn_running(0, 1024);
    let light = asleep(&mut bench, 1, 50);
    tick(&mut bench);
    bench.wake(light);
    assert_eq!(bench.queue_of(light), Some(QueueId(1)));
}

#[test]
fn with_three_kinds_a_thread_wakes_on_the_cheapest_that_it_fits_on() {
    let mut kinds = testing::machine(&[("prime", 1024, 1), ("big", 768, 1), ("little", 256, 1)]);
    for (kind, watts) in kinds.kinds.iter_mut().zip([1_000_000, 400_000, 50_000]) {
        kind.opps[0].busy_power = Some(MicroWatts(watts));
    }
    for (load, core) in [(100, 2), (300, 1), (700, 0)] {
        let mut bench = Bench::on(kinds.clone(), make("eas", &[]).unwrap());
        let thread = asleep(&mut bench, 1, load);
        bench.wake(thread);
        assert_eq!(bench.queue_of(thread), Some(QueueId(core)), "{load}");
    }
}

#[test]
fn a_machine_without_a_power_model_is_refused_in_a_sentence() {
    let mut machine = machine(1, 1);
    machine.kinds[1].idle_power = None;
    let refused = Bench::try_on(machine, make("eas", &[]).unwrap()).err();
    assert!(refused.is_some_and(|why| why.to_string().contains("bench has none")));
}
