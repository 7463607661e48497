use proptest::prelude::*;

use super::*;
use crate::registry::make;
use crate::testing::{Bench, machine};

const BIG: KindId = KindId(0);
const LITTLE: KindId = KindId(1);

/// Thread i on core i, all of this speedup factor.
fn bench(big: u32, little: u32, threads: u32, factor: f32) -> Bench {
    let mut bench = Bench::start(big, little, make("a-dwrr", &[]).unwrap());
    for core in 0..threads {
        let thread = bench.spawn(0);
        bench.threads[thread.index()].speedup[BIG] = factor;
        bench.run(thread, CoreId(core));
        bench.threads[thread.index()].queue = Some(QueueId(core));
    }
    bench
}

fn use_up(bench: &mut Bench, thread: u32, core: u32) -> Vec<Directive> {
    bench.deliver(Event::SliceUsed(ThreadId(thread), CoreId(core))).to_vec()
}

fn slice_of(said: &[Directive]) -> Option<Slice> {
    said.iter().find_map(|directive| match directive {
        Directive::Slice(_, slice) => Some(**slice),
        _ => None,
    })
}

#[test]
fn new_threads_spread_over_all_cores_fast_ones_first() {
    let mut bench = Bench::start(2, 1, make("a-dwrr", &[]).unwrap());
    let threads: Vec<_> = (0..5).map(|_| bench.spawn(0)).collect();
    let queues: Vec<_> = threads.into_iter().map(|thread| bench.queue_of(thread)).collect();
    // No thread runs on this bench: waiting threads count.
    assert_eq!(queues, [0, 1, 2, 0, 1].map(|queue| Some(QueueId(queue))));
}

#[test]
fn the_quota_is_scaled_time_by_the_mean_speedup_factor_and_by_weight() {
    let mut bench = bench(1, 1, 2, 2.0);
    bench.threads[1].speedup[BIG] = 4.0;
    bench.threads[1].weight = 2048;
    bench.now = Nanos::from_millis(200);
    bench.deliver(Event::Timer);
    for (thread, big_ms, little_ms) in [(0, 10, 30), (1, 20, 60)] {
        let slice = slice_of(&use_up(&mut bench, thread, thread)).unwrap();
        let times = (slice.time[BIG], slice.time[LITTLE]);
        assert_eq!(times, (Nanos::from_millis(big_ms), Nanos::from_millis(little_ms)));
        assert!(slice.carry, "what is left when it blocks is kept");
    }
    let said = use_up(&mut bench, 0, 0);
    assert_eq!(slice_of(&said), None, "nothing has changed");
}

#[test]
fn light_threads_have_their_part_of_the_quota_but_the_heaviest_all_of_it() {
    let quotas = |weights: [u32; 2]| {
        let mut bench = Bench::start(1, 1, make("a-dwrr", &[]).unwrap());
        for weight in weights {
            let thread = bench.spawn(0);
            bench.threads[thread.index()].weight = weight;
        }
        bench.now = Nanos::from_millis(200);
        bench.deliver(Event::Timer);
        [0, 1]
            .map(|thread| slice_of(&use_up(&mut bench, thread, 0)).map(|slice| slice.time[LITTLE]))
    };
    let us = |us| Some(Nanos::from_micros(us));
    assert_eq!(quotas([3, 3]), [us(30_000); 2]);
    assert_eq!(quotas([512, 256]), [us(30_000), us(15_000)]);
    assert_eq!(quotas([2048, 3]), [us(60_000), us(750)], "no less than CFS's least slice");
}

#[test]
fn a_core_takes_the_least_round_anywhere_and_its_own_queue_first() {
    let bench = Bench::start(1, 2, make("a-dwrr", &[]).unwrap());
    assert_eq!(bench.serves(CoreId(1)), [1, 2, 0].map(QueueId));
    let starts = |order: &Directive| matches!(order, Directive::Serve { tiers, .. } if tiers[0].choose == crate::Choose::LeastKey);
    assert_eq!(bench.said_at_start.iter().filter(|directive| starts(directive)).count(), 3);
}

#[test]
fn a_fast_core_through_with_its_round_takes_over_who_runs_in_it_on_a_slow_one() {
    let mut bench = bench(1, 1, 2, 2.0);
    let said = use_up(&mut bench, 0, 0);
    assert!(said.contains(&Directive::Move(ThreadId(1), CoreId(0))), "{said:?}");
    assert_eq!(bench.queue_of(ThreadId(1)), Some(QueueId(0)));
}

#[test]
fn who_is_stolen_runs_on_the_slowest_kind_first() {
    let kinds = machine(&[("prime", 1024, 1), ("big", 768, 1), ("little", 256, 1)]);
    let mut bench = Bench::on(kinds, make("a-dwrr", &[]).unwrap());
    for core in 0..3 {
        let thread = bench.spawn(0);
        bench.run(thread, CoreId(core));
    }
    assert!(use_up(&mut bench, 0, 0).contains(&Directive::Move(ThreadId(2), CoreId(0))));
}

#[test]
fn a_slow_core_through_with_its_round_takes_nobody_from_a_fast_one() {
    let mut bench = bench(1, 1, 2, 2.0);
    let said = use_up(&mut bench, 1, 1);
    assert!(!said.iter().any(|directive| matches!(directive, Directive::Move(..))), "{said:?}");
}

#[test]
fn nobody_who_runs_is_stolen_while_somebody_of_the_round_waits() {
    let mut bench = bench(1, 1, 2, 2.0);
    bench.spawn(0);
    let said = use_up(&mut bench, 0, 0);
    assert!(!said.iter().any(|directive| matches!(directive, Directive::Move(..))), "{said:?}");
}

#[test]
fn two_fast_cores_through_at_once_take_a_thread_each() {
    let mut bench = bench(2, 2, 4, 2.0);
    let at_once =
        [Event::SliceUsed(ThreadId(0), CoreId(0)), Event::SliceUsed(ThreadId(1), CoreId(1))];
    bench.deliver_at_once(&at_once);
    let running: Vec<_> =
        bench.cores.iter().take(2).map(|core| core.running.map(|thread| thread.0)).collect();
    assert_eq!(running, [Some(2), Some(3)]);
}

#[test]
fn who_would_get_two_rounds_ahead_stays_in_its_round() {
    let mut bench = bench(2, 0, 2, 1.0);
    let said = |bench: &mut Bench| use_up(bench, 0, 0);
    let order = |key| Directive::Order(ThreadId(0), Order::Fixed { key, step: 1 });
    assert_eq!(said(&mut bench), [], "the queue has raised the key by itself");
    assert_eq!(said(&mut bench), [order(1)]);
    assert_eq!(said(&mut bench), [order(1)]);
    use_up(&mut bench, 1, 1);
    assert_eq!(said(&mut bench), [], "the other is through with the first round");
}

#[test]
fn who_slept_through_rounds_wakes_in_that_of_its_core() {
    let mut bench = bench(2, 0, 2, 1.0);
    bench.block(ThreadId(0));
    (0..3).for_each(|_| assert_eq!(use_up(&mut bench, 1, 1), []));
    bench.wake(ThreadId(0));
    assert_eq!(bench.said, [Directive::Order(ThreadId(0), Order::Fixed { key: 3, step: 1 })]);
}

#[test]
fn a_fast_core_that_idles_takes_over_who_runs_on_a_slow_one() {
    let mut bench = bench(1, 1, 2, 2.0);
    bench.exit(ThreadId(0));
    bench.deliver(Event::CoreIdle(CoreId(0)));
    assert_eq!(bench.cores[0].running, Some(ThreadId(1)));
}

#[test]
fn of_those_who_run_on_slow_cores_one_that_is_behind_is_taken_over_first() {
    let mut bench = bench(1, 2, 3, 2.0);
    use_up(&mut bench, 1, 1);
    bench.exit(ThreadId(0));
    bench.deliver(Event::CoreIdle(CoreId(0)));
    assert_eq!(bench.cores[0].running, Some(ThreadId(2)));
}

#[test]
fn the_busiest_core_is_stolen_from_first() {
    let mut bench = bench(3, 0, 3, 1.0);
    for queue in [1, 2, 2] {
        let thread = bench.spawn(0);
        bench.threads[thread.index()].queue = Some(QueueId(queue));
    }
    bench.now = Nanos::from_millis(30);
    bench.deliver(Event::Timer);
    assert_eq!(bench.serves(CoreId(0)), [0, 2, 1].map(QueueId));
    assert_eq!(bench.serves(CoreId(1)), [1, 2, 0].map(QueueId));
    bench.now = Nanos::from_millis(60);
    assert_eq!(bench.deliver(Event::Timer), [], "said once");
}

#[test]
fn on_many_cores_who_waits_in_the_least_round_goes_to_clusters_that_are_through_with_it() {
    let kinds = machine(&[("big", 1024, 40), ("little", 512, 40)]);
    let mut bench = Bench::on(kinds, make("a-dwrr", &[]).unwrap());
    assert_eq!(bench.serves(CoreId(41))[..2], [41, 40].map(QueueId));
    for core in 0..80 {
        let thread = bench.spawn(0);
        bench.run(thread, CoreId(core));
        bench.threads[thread.index()].queue = Some(QueueId(core));
    }
    let waits = bench.spawn(0);
    bench.threads[waits.index()].queue = Some(QueueId(50));
    bench.now = Nanos::from_millis(30);
    bench.deliver(Event::Timer);
    assert_eq!(bench.queue_of(waits), Some(QueueId(50)), "the fast cores are in that round, too");
    use_up(&mut bench, 7, 7);
    bench.now = Nanos::from_millis(60);
    bench.deliver(Event::Timer);
    assert_eq!(bench.queue_of(waits), Some(QueueId(7)));
}

proptest! {
    #[test]
    fn one_look_at_those_left_behind_finds_who_a_look_at_all_slower_cores_would(
        threads in prop::collection::vec((prop::option::of(0u32..7), any::<bool>(), prop::bool::weighted(0.2)), 1..10),
    ) {
        // Threads and their states, from a bench whose own policy does not matter.
        let mut bench = Bench::on(machine(&[("prime", 1024, 2), ("big", 800, 2), ("little", 300, 3)]), make("pinned", &[]).unwrap());
        let mut policy = ADwrr::new(&Knobs::new("a-dwrr", ENTRY.knobs, &[]).unwrap());
        policy.start(&bench.view_of(&[]), &mut Directives::default()).unwrap();
        for &(core, is_ahead, is_sent) in &threads {
            let thread = bench.spawn(0);
            bench.threads[thread.index()].queue = Some(QueueId(0));
            policy.rounds.enter(thread, 0, true);
            if is_ahead {
                policy.rounds.advance(thread);
            }
            policy.sent.push(if is_sent { bench.view_of(&[]).carried_out + 1 } else { 0 });
            if let Some(core) = core.filter(|&core| bench.cores[core as usize].running.is_none()) {
                bench.run(thread, CoreId(core));
            }
        }
        let view = bench.view_of(&[]);
        for core in [0, 2].map(CoreId) {
            let all_run = policy.rounds.all_in_base(|thread| runs_on(thread, &view).is_some());
            let expected = policy.stealable(core, policy.rounds.base() + 1, &view).filter(|_| all_run);
            prop_assert_eq!(policy.left_behind(view.kind(core), &view), expected);
        }
    }
}
