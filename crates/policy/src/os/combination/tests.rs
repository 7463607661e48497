use evenkeel_machine::{CoreId, Nanos, Work};

use super::*;
use crate::contract::{Directive, Event, Interest, QueueId, ThreadId};
use crate::registry::make;
use crate::testing::{Bench, machine};

const ASSIGNMENTS: [&str; 4] = ["aua", "fca", "aaa", "age"];
const WAKES: [&str; 4] = ["pw", "fw", "iw", "sw"];
const BALANCES: [&str; 4] = ["aub", "rrb", "aab", "age"];

fn policy(name: &str, set: &[(&str, &str)]) -> Box<dyn Policy> {
    let set: Vec<_> =
        set.iter().map(|&(name, value)| (name.to_string(), value.to_string())).collect();
    make(name, &set).unwrap_or_else(|error| panic!("{error}"))
}

fn bench(name: &str, big: u32, little: u32) -> Bench {
    Bench::start(big, little, policy(name, &[]))
}

fn queues(bench: &Bench, threads: &[ThreadId]) -> Vec<u32> {
    threads.iter().filter_map(|&thread| bench.queue_of(thread)).map(|queue| queue.0).collect()
}

/// Starts threads; each runs where it was placed.
fn spawn_running(bench: &mut Bench, count: usize) -> Vec<ThreadId> {
    let threads: Vec<_> = (0..count).map(|_| bench.spawn(0)).collect();
    for &thread in &threads {
        run_at_home(bench, thread);
    }
    threads
}

fn run_at_home(bench: &mut Bench, thread: ThreadId) {
    if let Some(queue) = bench.queue_of(thread)
        && bench.cores[queue.index()].running.is_none()
    {
        bench.run(thread, CoreId(queue.0));
    }
}

fn moves(said: &[Directive]) -> Vec<(ThreadId, CoreId)> {
    let moves = said.iter().filter_map(|directive| match *directive {
        Directive::Move(thread, core) => Some((thread, core)),
        _ => None,
    });
    moves.collect()
}

#[test]
fn the_sixty_four_names_are_sixty_four_combinations() {
    let mut seen = Vec::new();
    for name in names() {
        let choices = Choices::from_name(&name).unwrap_or_else(|| panic!("{name}"));
        assert!(!seen.contains(&choices), "{name}");
        seen.push(choices);
    }
    assert_eq!(seen.len(), 64);
}

fn names() -> impl Iterator<Item = String> {
    let all = ASSIGNMENTS
        .iter()
        .flat_map(|a| WAKES.iter().flat_map(move |w| BALANCES.iter().map(move |b| (a, w, b))));
    all.map(|(a, w, b)| format!("{a}-{w}-{b}"))
}

#[test]
fn short_names_stand_for_their_combinations() {
    let long = [
        (Choices::LIN, "aua-iw-aub"),
        (Choices::SCALED_LOAD, "aaa-iw-aab"),
        (Choices::RR, "aua-iw-rrb"),
        (Choices::FCA_AGE, "fca-sw-age"),
        (Choices::AGE, "age-sw-age"),
    ];
    assert!(long.iter().all(|&(choices, name)| Choices::from_name(name) == Some(choices)));
}

#[test]
fn knobs_of_age_are_there_only_where_age_is() {
    let set = [("prediction".to_string(), "oracle".to_string())];
    assert!(make("aua-iw-age", &set).is_ok());
    assert!(make("lin", &set).is_err());
}

#[test]
fn assignments_differ_in_where_five_threads_go_on_one_fast_core_and_two_at_half_its_speed() {
    // Scaled loads with the slow cores at 1/2: 1st and 2nd thread on the fast core make 1 and 2 (a
    // tie with a slow core, which gets it).
    for (name, expected) in [
        ("aua-pw-aub", [0, 1, 2, 0, 1]),
        ("fca-pw-aub", [0, 1, 2, 0, 1]),
        ("aaa-pw-aub", [0, 1, 2, 0, 0]),
    ] {
        let mut bench = bench(name, 1, 2);
        let threads: Vec<_> = (0..5).map(|_| bench.spawn(0)).collect();
        assert_eq!(queues(&bench, &threads), expected, "{name}");
    }
}

#[test]
fn fca_takes_the_fastest_idle_core_where_aua_takes_the_lowest_number() {
    // Slow cores with the lowest numbers make the difference visible.
    let little_first = || {
        let mut machine = machine(&[("big", 1024, 2), ("little", 512, 2)]);
        for core in &mut machine.cores {
            core.kind = evenkeel_machine::KindId(1 - core.kind.0);
        }
        machine
    };
    for (name, expected) in [("aua-pw-aub", 0), ("fca-pw-aub", 2), ("aaa-pw-aub", 2)] {
        let mut bench = Bench::on(little_first(), policy(name, &[]));
        let thread = bench.spawn(0);
        assert_eq!(queues(&bench, &[thread]), [expected], "{name}");
    }
}

#[test]
fn wake_ups_differ_in_where_a_thread_goes_whose_core_is_taken() {
    // Threads 0, 1 on the big cores, 2 on little core 2; 2 blocks, 3 takes its core, 2 wakes; then
    // the same with big core 1 idle.
    for (wake, all_busy_but_3, big_1_idle) in
        [("pw", 2, 2), ("fw", 0, 1), ("iw", 3, 3), ("sw", 3, 1)]
    {
        for (idle_big, expected) in [(false, all_busy_but_3), (true, big_1_idle)] {
            let mut bench = bench(&format!("aua-{wake}-aub"), 2, 2);
            let threads = spawn_running(&mut bench, 3);
            bench.block(threads[2]);
            let taker = bench.spawn(0);
            assert_eq!(queues(&bench, &[taker]), [2]);
            run_at_home(&mut bench, taker);
            if idle_big {
                bench.block(threads[1]);
            }
            bench.wake(threads[2]);
            assert_eq!(
                queues(&bench, &[threads[2]]),
                [expected],
                "{wake}, big core 1 idle: {idle_big}"
            );
        }
    }
}

#[test]
fn a_thread_wakes_on_its_previous_core_if_that_is_idle_unless_a_faster_one_is_wanted() {
    for (wake, expected) in [("pw", 3), ("fw", 1), ("iw", 3), ("sw", 1)] {
        let mut bench = bench(&format!("aua-{wake}-aub"), 2, 2);
        let threads = spawn_running(&mut bench, 4);
        bench.block(threads[3]);
        bench.block(threads[1]);
        bench.wake(threads[3]);
        assert_eq!(queues(&bench, &[threads[3]]), [expected], "{wake}");
    }
}

#[test]
fn aub_levels_counts_and_aab_levels_counts_by_capacity() {
    for (balance, expected) in [("aub", [3, 3]), ("aab", [4, 2])] {
        let mut bench = bench(&format!("aua-pw-{balance}"), 1, 1);
        let threads: Vec<_> = (0..6).map(|_| bench.spawn(0)).collect();
        for &thread in &threads {
            bench.threads[thread.index()].queue = Some(QueueId(1));
        }
        bench.deliver(Event::Timer);
        let queues = queues(&bench, &threads);
        let on = |core| queues.iter().filter(|&&queue| queue == core).count();
        assert_eq!([on(0), on(1)], expected, "{balance}");
    }
}

#[test]
fn rrb_gives_every_thread_its_turn_on_the_fast_core() {
    let mut bench = bench("rr", 1, 3);
    let threads = spawn_running(&mut bench, 4);
    let mut had = vec![threads[0]];
    for _ in 0..3 {
        bench.deliver(Event::Timer);
        let running: Vec<_> = bench.cores.iter().filter_map(|core| core.running).collect();
        assert_eq!(running.len(), 4, "one on each core");
        had.extend(bench.cores[0].running);
    }
    had.sort_unstable();
    assert_eq!(had, threads);
}

#[test]
fn age_puts_the_thread_that_is_behind_on_the_fast_core_and_disturbs_nobody_else() {
    let mut bench = bench("age", 1, 3);
    let threads = spawn_running(&mut bench, 4);
    for (thread, progress) in threads.iter().zip([900, 500, 100, 500]) {
        let stats = &mut bench.threads[thread.index()];
        (stats.since_milestone, stats.retired) = (Work(progress), Work(progress));
    }
    bench.deliver(Event::Timer);
    // Not two moves: the core of the thread that goes first would wait for the other.
    let disturbs = |said: &[Directive]| -> Vec<_> {
        said.iter()
            .filter(|said| matches!(said, Directive::Move(..) | Directive::Swap(..)))
            .cloned()
            .collect()
    };
    assert_eq!(disturbs(&bench.said), [Directive::Swap(threads[2], threads[0])]);
    assert_eq!(disturbs(bench.deliver(Event::Timer)), [], "who is in the right place stays there");
}

#[test]
fn age_with_order_shortest_does_the_opposite() {
    let mut bench = Bench::start(1, 1, policy("age", &[("order", "shortest")]));
    let threads = spawn_running(&mut bench, 2);
    let home = bench.queue_of(threads[1]);
    let behind = if home == Some(QueueId(0)) { threads[1] } else { threads[0] };
    let ahead = if behind == threads[0] { threads[1] } else { threads[0] };
    bench.threads[ahead.index()].since_milestone = Work(100);
    bench.threads[ahead.index()].retired = Work(100);
    bench.deliver(Event::Timer);
    assert_eq!(bench.queue_of(ahead), Some(QueueId(0)));
}

#[test]
fn predictions_differ_in_what_they_take_for_the_distance() {
    // Thread 0 has far to go and is ahead; thread 1 is behind but has little to go.
    for (prediction, on_fast) in [("equal", 1), ("oracle", 0), ("profile", 1)] {
        let mut bench = Bench::start(1, 1, policy("age", &[("prediction", prediction)]));
        let threads: Vec<_> = (0..2).map(|_| bench.spawn(0)).collect();
        // The first distances of a profile: thread 1 has the longer intervals.
        for (thread, distance) in threads.iter().zip([1_000, 5_000]) {
            bench.threads[thread.index()].to_milestone = Some(Work(distance));
        }
        bench.deliver(Event::Timer);
        for (thread, (progress, left)) in threads.iter().zip([(800, 9_000), (10, 50)]) {
            let stats = &mut bench.threads[thread.index()];
            (stats.since_milestone, stats.retired) = (Work(progress), Work(progress));
            stats.to_milestone = Some(Work(left));
        }
        bench.deliver(Event::Timer);
        assert_eq!(bench.queue_of(threads[on_fast]), Some(QueueId(0)), "{prediction}");
    }
}

#[test]
fn who_runs_keeps_its_core_though_the_core_is_not_seen_to_run_it() {
    let mut bench = Bench::start(2, 0, policy("age", &[]));
    let threads = [(); 2].map(|()| bench.spawn(0));
    for (&thread, core) in threads.iter().zip([1, 0]) {
        bench.threads[thread.index()].queue = Some(QueueId(core));
        bench.run(thread, CoreId(core));
        bench.deliver(Event::Woke(thread));
    }
    // States of threads and cores are read one after the other, and may change in between.
    bench.cores.iter_mut().for_each(|core| core.running = None);
    assert_eq!(bench.deliver(Event::Timer), []);
}

#[test]
fn once_a_thread_has_gone_beyond_its_profile_the_distances_of_all_of_its_application_double() {
    let mut bench = Bench::start(1, 1, policy("age", &[("prediction", "profile")]));
    let threads: Vec<_> = (0..2).map(|_| bench.spawn(0)).collect();
    for (thread, (told, progress)) in threads.iter().zip([(100, 0), (110, 0)]) {
        bench.threads[thread.index()].to_milestone = Some(Work(told));
        bench.threads[thread.index()].since_milestone = Work(progress);
    }
    bench.deliver(Event::Timer);
    // 500 are beyond 100, 200 and 400: distances are now 800 and 880, and 300 and 480 are left.
    for (thread, progress) in threads.iter().zip([500, 400]) {
        bench.threads[thread.index()].since_milestone = Work(progress);
    }
    bench.deliver(Event::Timer);
    assert_eq!(bench.queue_of(threads[1]), Some(QueueId(0)));
    // 400 and 330 are left.
    for (thread, progress) in threads.iter().zip([400, 550]) {
        bench.threads[thread.index()].since_milestone = Work(progress);
    }
    bench.deliver(Event::Timer);
    assert_eq!(bench.queue_of(threads[0]), Some(QueueId(0)));
}

#[test]
fn critical_sections_count_as_milestones_if_asked_for_and_not_with_distances_that_do_not_know_them()
{
    for (milestones, wanted) in [("bt", false), ("bcjt", true)] {
        let policy = policy("age", &[("milestones", milestones)]);
        assert_eq!(policy.interest().wants(Interest::CRITICAL_SECTION), wanted);
    }
    for prediction in ["oracle", "profile"] {
        let policy = policy("age", &[("milestones", "bcjt"), ("prediction", prediction)]);
        let why = Bench::try_on(machine(&[("big", 1024, 1)]), policy).err();
        assert_eq!(why, Some(crate::StartError::MilestonesUnpredicted));
    }
}

#[test]
fn a_thread_bound_to_the_slow_core_leaves_the_fast_one_to_the_other_however_long_it_is() {
    for name in ["age", "fca-age", "aua-iw-age"] {
        let mut bench = Bench::start(1, 1, policy(name, &[("prediction", "oracle")]));
        let bound = bench.spawn_on(0, &[CoreId(1)]);
        let other = bench.spawn(0);
        bench.threads[bound.index()].to_milestone = Some(Work(9_000));
        bench.threads[other.index()].to_milestone = Some(Work(10));
        bench.deliver(Event::Timer);
        assert_eq!(queues(&bench, &[bound, other]), [1, 0], "{name}");
    }
}

#[test]
fn age_deals_anew_when_a_core_goes_idle() {
    let mut bench = bench("age", 1, 1);
    let threads = spawn_running(&mut bench, 2);
    let fast = bench.cores[0].running.unwrap_or_else(|| panic!("nobody on the fast core"));
    let slow = threads.iter().copied().find(|&thread| thread != fast).unwrap_or(fast);
    bench.block(fast);
    bench.deliver(Event::CoreIdle(CoreId(0)));
    assert_eq!(moves(&bench.said), [(slow, CoreId(0))]);
}

#[test]
fn with_more_threads_than_cores_age_deals_by_capacity() {
    let mut bench = bench("age", 1, 1);
    let threads: Vec<_> = (0..9).map(|_| bench.spawn(0)).collect();
    bench.deliver(Event::Timer);
    let on_fast = queues(&bench, &threads).iter().filter(|&&queue| queue == 0).count();
    assert_eq!(on_fast, 6);
}

#[test]
fn beyond_sixty_four_cores_groups_trade_so_that_the_longest_still_get_fast_cores() {
    let mut bench = Bench::start(4, 124, policy("age", &[]));
    let threads = spawn_running(&mut bench, 128);
    // The four that are furthest behind all run on slow cores, most of them in one group.
    let slow: Vec<_> =
        threads.iter().copied().filter(|&t| bench.queue_of(t).is_some_and(|q| q.0 >= 4)).collect();
    let behind: Vec<_> = slow.iter().copied().step_by(2).take(4).collect();
    for &thread in &threads {
        let progress = if behind.contains(&thread) { 10 } else { 1_000 + u64::from(thread.0) };
        let stats = &mut bench.threads[thread.index()];
        (stats.since_milestone, stats.retired) = (Work(progress), Work(progress));
    }
    for tick in 1..=4 {
        bench.now = Nanos::from_millis(10 * tick);
        bench.deliver(Event::Timer);
    }
    let mut on_fast: Vec<_> = (0..4).filter_map(|core| bench.cores[core].running).collect();
    on_fast.sort_unstable();
    assert_eq!(on_fast, behind);
}

#[test]
fn up_to_sixty_four_cores_the_longest_of_all_have_the_fast_cores() {
    for (fast, slow) in [(2, 6), (8, 56)] {
        let count = (fast + slow) as usize;
        let mut bench = Bench::start(fast, slow, policy("age", &[]));
        let threads = spawn_running(&mut bench, count);
        for (i, &thread) in threads.iter().enumerate() {
            bench.threads[thread.index()].since_milestone = Work(1_000 * (1 + i as u64 * 37 % 64));
        }
        bench.deliver(Event::Timer);
        let mut by_progress = threads.clone();
        by_progress.sort_by_key(|thread| bench.threads[thread.index()].since_milestone);
        let flat = &by_progress[..fast as usize];
        let on_fast =
            |thread: &ThreadId| bench.queue_of(*thread).is_some_and(|queue| queue.0 < fast);
        assert!(flat.iter().all(on_fast), "{count} cores");
    }
}

#[test]
fn beyond_sixty_four_cores_one_that_goes_idle_has_only_its_own_group_dealt() {
    let mut bench = Bench::start(4, 124, policy("age", &[]));
    let threads = spawn_running(&mut bench, 128);
    for (i, &thread) in threads.iter().enumerate() {
        bench.threads[thread.index()].since_milestone = Work(1_000 * (1 + i as u64 * 37 % 128));
    }
    let gone = bench.cores[2].running.unwrap_or(threads[0]);
    bench.block(gone);
    let before: Vec<_> = threads.iter().map(|&thread| bench.queue_of(thread)).collect();
    bench.deliver(Event::CoreIdle(CoreId(2)));
    // Two groups: cores are dealt to them in turn, fastest first, so that even numbers are one.
    let moved =
        threads.iter().zip(before).filter(|(thread, before)| bench.queue_of(**thread) != *before);
    let groups: Vec<_> =
        moved.filter_map(|(&thread, _)| bench.queue_of(thread)).map(|queue| queue.0 % 2).collect();
    assert!(!groups.is_empty() && groups.iter().all(|&group| group == 0), "{groups:?}");
}

#[test]
fn nobody_is_put_where_it_may_not_run() {
    for name in names() {
        let mut bench = bench(&name, 2, 2);
        let bound = bench.spawn_on(0, &[CoreId(3)]);
        let others = spawn_running(&mut bench, 5);
        run_at_home(&mut bench, bound);
        for round in 0..6 {
            bench.block(others[round % 5]);
            bench.deliver(Event::CoreIdle(CoreId(round as u32 % 4)));
            bench.deliver(Event::Timer);
            bench.wake(others[round % 5]);
            bench.block(bound);
            bench.wake(bound);
            assert_eq!(bench.queue_of(bound), Some(QueueId(3)), "{name}");
        }
    }
}

#[test]
fn threads_of_a_core_that_leaves_are_placed_elsewhere() {
    for name in names() {
        let mut bench = bench(&name, 2, 2);
        let threads = spawn_running(&mut bench, 6);
        bench.set_online(CoreId(0), false);
        for event in [Event::Timer, Event::CoreIdle(CoreId(1))] {
            bench.deliver(event);
            assert!(!queues(&bench, &threads).contains(&0), "{name}");
        }
    }
}

#[test]
fn with_no_core_online_nobody_is_dealt_anywhere() {
    for name in names() {
        let mut bench = bench(&name, 2, 2);
        let threads = spawn_running(&mut bench, 6);
        // The view shows the cores offline before the policy is told, and their threads still count
        // as running.
        bench.cores.iter_mut().for_each(|core| core.online = false);
        bench.deliver(Event::CoreIdle(CoreId(1)));
        bench.deliver(Event::Timer);
        assert_eq!(queues(&bench, &threads).len(), 6, "{name}");
    }
}
