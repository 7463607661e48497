//! What is handed out, to whom, and in which pieces.

use proptest::prelude::*;

use super::*;
use crate::loops::shares::Shares;

/// All chunks, by worker: workers on kinds, with so many nanoseconds per iteration by kind. The
/// first to be done asks first.
fn run(
    schedule: &str,
    iterations: u64,
    places: usize,
    kinds: &[u8],
    iteration_ns: &[u64],
) -> Vec<Vec<Chunk>> {
    let dispenser =
        ChunkDispenser::new(schedule.parse().unwrap(), iterations, places, PastRuns::default());
    run_to_the_end(dispenser, kinds, |worker, count| {
        count * iteration_ns[usize::from(kinds[worker])]
    })
}

/// The same, where a worker takes so long for so many iterations.
fn run_to_the_end(
    mut dispenser: ChunkDispenser,
    kinds: &[u8],
    mut span: impl FnMut(usize, u64) -> u64,
) -> Vec<Vec<Chunk>> {
    let mut at: Vec<_> = (0..kinds.len()).map(|worker| dispenser.place(worker).unwrap()).collect();
    let mut chunks = vec![Vec::new(); kinds.len()];
    let mut spans = vec![Nanos::ZERO; kinds.len()];
    let mut coming: Vec<_> = (0..kinds.len()).map(|worker| (Nanos::ZERO, worker)).collect();
    while let Some(&(now, worker)) = coming.iter().min() {
        coming.retain(|&(_, it)| it != worker);
        dispenser.done(at[worker], worker, spans[worker]);
        let kind = KindId(kinds[worker]);
        if let Some(chunk) = dispenser.take(&mut at[worker], kind, now) {
            chunks[worker].push(chunk);
            spans[worker] = Nanos(span(worker, chunk.count));
            coming.push((now + spans[worker], worker));
        }
    }
    chunks
}

fn counts(chunks: &[Chunk]) -> Vec<u64> {
    chunks.iter().map(|chunk| chunk.count).collect()
}

#[test]
fn chunks_double_until_two_take_a_microsecond_and_are_as_long_as_suits_the_share_from_then_on() {
    // 3,272 us are left, whose root with a microsecond is 57.2.
    let chunks = run("dynamic", 1 << 15, 1, &[0], &[100]).remove(0);
    assert_eq!(counts(&chunks)[..8], [1, 2, 4, 8, 16, 16, 572, 572]);
}

#[test]
fn four_times_the_loop_has_chunks_of_twice_the_length_until_they_are_long_enough() {
    let seventh = |n| counts(&run("dynamic", n, 2, &[0], &[100])[0])[6];
    // Without the 47 that sizing takes, shares of 5, 20 and 80 ms; of 4.8 us the root is 2.2.
    assert_eq!([100_000, 400_000, 1_600_000].map(seventh), [706, 1_414, 2_828]);
    assert_eq!((seventh(47 + 96), seventh(100_000_000)), (21, 4_000));
}

#[test]
fn as_many_iterations_as_there_are_numbers_are_handed_out() {
    for schedule in ["dynamic", "aid-dynamic"] {
        // They take no time, so that none ever tells.
        let chunks = counts(&run(schedule, u64::MAX, 1, &[0], &[0])[0]);
        assert_eq!(
            chunks.iter().map(|&count| u128::from(count)).sum::<u128>(),
            u128::from(u64::MAX)
        );
    }
}

#[test]
fn a_caller_is_as_patient_as_a_chunk_is_long_where_the_end_has_no_shorter_ones() {
    let wait = |schedule: &str| {
        let mut dispenser =
            ChunkDispenser::new(schedule.parse().unwrap(), 1 << 15, 1, PastRuns::default());
        let mut place = dispenser.place(0).unwrap();
        while let Some(chunk) = dispenser.take(&mut place, KindId(0), Nanos::ZERO) {
            dispenser.done(place, 0, Nanos(100 * chunk.count));
        }
        dispenser.longest_chunk_time()
    };
    // Chunks of 572 iterations of 100 ns.
    assert_eq!((wait("dynamic"), wait("aid-dynamic")), (Nanos(57_200), Nanos::ZERO));
}

#[test]
fn one_chunk_that_met_an_interrupt_does_not_tell() {
    let mut dispenser =
        ChunkDispenser::new("dynamic".parse().unwrap(), 1 << 15, 1, PastRuns::default());
    let (mut place, mut now, mut longest) = (dispenser.place(0).unwrap(), Nanos::ZERO, 0);
    while let Some(chunk) = dispenser.take(&mut place, KindId(0), now) {
        longest = longest.max(chunk.count);
        let interrupt = if now == Nanos::ZERO { 5_000 } else { 0 };
        let span = Nanos(100 * chunk.count + interrupt);
        now += span;
        dispenser.done(place, 0, span);
    }
    assert_eq!(longest, 572);
}

/// Chunks of one worker in a loop of 1,000 that took 20 ns per iteration the last time.
fn remembering(iteration_ns: u64) -> Vec<u64> {
    let mut dispenser = ChunkDispenser::new(
        "dynamic".parse().unwrap(),
        1_000,
        2,
        PastRuns { iteration_ns: Some(20.0), speeds: &[] },
    );
    let (mut place, mut now, mut counts) = (dispenser.place(0).unwrap(), Nanos::ZERO, Vec::new());
    while let Some(chunk) = dispenser.take(&mut place, KindId(0), now) {
        counts.push(chunk.count);
        now += Nanos(iteration_ns * chunk.count);
        dispenser.done(place, 0, Nanos(iteration_ns * chunk.count));
    }
    counts
}

#[test]
fn a_loop_that_is_run_again_finds_out_nothing_anew() {
    // A microsecond confirms, and of half of the rest, 9.5 us as it was, the root is 3.1.
    assert_eq!(remembering(20)[..4], [50, 154, 154, 154]);
    assert_eq!(remembering(100)[..4], [50, 154, 154, 154]);
}

#[test]
fn a_loop_that_is_not_what_it_was_is_sized_anew() {
    // A millisecond per iteration: two chunks tell, then one by one.
    assert_eq!(remembering(1_000_000)[..4], [50, 1, 1, 1]);
}

/// A loop that took 100 ns per iteration, three of four on the first worker, and now takes so many.
fn kept(iterations: u64, kinds: &[u8], iteration_ns: &[u64]) -> Vec<Vec<Chunk>> {
    let before = PastRuns { iteration_ns: Some(100.0), speeds: &[3.0, 1.0] };
    let dispenser = ChunkDispenser::new("aid-affinity".parse().unwrap(), iterations, 2, before);
    run_to_the_end(dispenser, kinds, |worker, count| {
        count * iteration_ns[usize::from(kinds[worker])]
    })
}

#[test]
fn each_worker_begins_where_it_was_and_the_first_piece_is_short() {
    let chunks = kept(1 << 16, &[0, 1], &[100, 300]);
    let boundary = 3 << 14;
    assert_eq!(
        chunks.concat().iter().find(|chunk| chunk.first == boundary).map(|chunk| chunk.count),
        Some(10)
    );
    assert_eq!(chunks[0][0], Chunk { first: 0, count: 10 });
    let is_moved = |chunk: &&Chunk| chunk.first < boundary;
    let moved: u64 = chunks[1].iter().filter(is_moved).map(|chunk| chunk.count).sum();
    let kept: u64 = chunks[0].iter().filter(is_moved).map(|chunk| chunk.count).sum();
    assert!(moved + boundary - kept < 1 << 9, "{moved} {kept}");
}

#[test]
fn a_slow_worker_whose_first_piece_met_misses_takes_shorter_ones_and_stays() {
    let before = PastRuns { iteration_ns: Some(2_000.0), speeds: &[3.0, 1.0] };
    let dispenser = ChunkDispenser::new("aid-affinity".parse().unwrap(), 64, 2, before);
    let mut is_first = true;
    let chunks = run_to_the_end(dispenser, &[0, 1], |worker, count| match worker {
        1 if std::mem::take(&mut is_first) => 25_000,
        1 => 6_000 * count,
        _ => 2_000 * count,
    });
    let slow: u64 = counts(&chunks[1]).iter().sum();
    assert!((10..17).contains(&slow), "{slow}");
}

#[test]
fn pieces_of_a_loop_that_is_not_what_it_was_are_no_longer_than_others() {
    let chunks = kept(2_000, &[0, 0], &[1_000_000]);
    let is_as_others =
        |chunks: &Vec<Chunk>| chunks[0].count == 10 && chunks[1..].iter().all(|it| it.count == 1);
    assert!(chunks.iter().all(is_as_others));
    // A loop that takes no time is handed out in some dozens of pieces.
    let chunks = kept(1 << 30, &[0, 0], &[0]);
    assert!(chunks.concat().len() < 1_000, "{}", chunks.concat().len());
}

#[test]
fn speeds_are_by_worker_whatever_place_it_has_and_until_its_own_end() {
    let mut dispenser = ChunkDispenser::new("static".parse().unwrap(), 300, 3, PastRuns::default());
    let mut at = [dispenser.place(0).unwrap(), dispenser.place(1).unwrap()];
    assert_eq!(
        [0, 1].map(|it| dispenser.take(&mut at[it], KindId(0), Nanos::ZERO).unwrap().count),
        [100, 100]
    );
    dispenser.done(at[0], 0, Nanos(1_000));
    dispenser.done(at[1], 1, Nanos(4_000));
    // The third does not come: the first has its place, and what is there.
    assert_eq!(
        dispenser.take(&mut at[0], KindId(0), Nanos(1_000)),
        Some(Chunk { first: 200, count: 100 })
    );
    dispenser.done(at[0], 0, Nanos(1_000));
    assert_eq!(dispenser.speeds().collect::<Vec<_>>(), [0.1, 0.025, 0.0]);
}

#[test]
fn parts_come_to_be_as_the_workers_are_fast_wherever_they_were_at_first() {
    for first in [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
        let mut shares = Shares::default();
        shares.add(first.into_iter(), Nanos(1));
        for _ in 0..60 {
            let before = PastRuns { iteration_ns: Some(1_000.0), speeds: shares.of_workers() };
            let mut dispenser = ChunkDispenser::new("aid-affinity".parse().unwrap(), 64, 2, before);
            let mut at = [dispenser.place(0).unwrap(), dispenser.place(1).unwrap()];
            // The second comes 5 us later.
            let mut coming = vec![(Nanos(0), 0, Nanos(0)), (Nanos(5_000), 1, Nanos(0))];
            while let Some(&(now, worker, had)) = coming.iter().min() {
                coming.retain(|it| it.1 != worker);
                dispenser.done(at[worker], worker, had);
                if let Some(chunk) = dispenser.take(&mut at[worker], KindId(worker as u8), now) {
                    let span = Nanos(chunk.count * [1_000, 3_000][worker]);
                    coming.push((now + span, worker, span));
                }
            }
            shares.add(dispenser.speeds(), Nanos(48_000));
        }
        let share = shares.of_workers()[0];
        assert!((0.73..0.83).contains(&share), "{first:?}: {share}");
    }
}

#[test]
fn a_stated_length_of_chunks_has_no_shorter_pieces_but_the_first() {
    // 25 us are 1,250 iterations.
    let chunks = counts(&run("aid-static,64", 1 << 16, 2, &[0, 0], &[20])[0]);
    let (last, whole) = chunks.split_last().unwrap();
    assert!(whole[2..].iter().all(|&count| count > 600), "{whole:?} {last}");
}

#[test]
fn a_worker_that_comes_late_finds_its_part_and_one_that_does_not_come_is_not_waited_for() {
    let chunks = kept(1 << 16, &[0], &[100]).remove(0);
    assert_eq!(counts(&chunks).iter().sum::<u64>(), 1 << 16);
    let before = PastRuns { iteration_ns: Some(100.0), speeds: &[3.0, 1.0] };
    let mut dispenser = ChunkDispenser::new("aid-affinity".parse().unwrap(), 1 << 16, 2, before);
    let mut at = dispenser.place(0).unwrap();
    for _ in 0..8 {
        let chunk = dispenser.take(&mut at, KindId(0), Nanos::ZERO).unwrap();
        dispenser.done(at, 0, Nanos(100 * chunk.count));
    }
    let mut late = dispenser.place(1).unwrap();
    assert_eq!(
        dispenser.take(&mut late, KindId(0), Nanos::ZERO).map(|chunk| chunk.first),
        Some(3 << 14)
    );
}

#[test]
fn a_loop_that_is_not_what_it_was_may_be_over_before_that_is_seen() {
    let mut dispenser = ChunkDispenser::new(
        "dynamic".parse().unwrap(),
        1,
        2,
        PastRuns { iteration_ns: Some(1.0), speeds: &[] },
    );
    let mut at = [dispenser.place(0).unwrap(), dispenser.place(1).unwrap()];
    assert!(dispenser.take(&mut at[0], KindId(0), Nanos::ZERO).is_some());
    assert_eq!(dispenser.take(&mut at[1], KindId(0), Nanos::ZERO), None);
    dispenser.done(at[0], 0, Nanos(1_000));
    assert_eq!(dispenser.take(&mut at[0], KindId(0), Nanos(1_000)), None);
}

#[test]
fn a_share_is_taken_whole_far_from_the_end_and_no_piece_of_it_is_a_crumb() {
    // Chunks have 580 iterations, a share five of them, and 25 us are 257.
    let chunks = counts(&run("aid-dynamic", 1 << 16, 2, &[0, 0], &[97])[0]);
    let (sizing, last) = (8, chunks.len() - 1);
    assert_eq!(chunks[sizing], 5 * 580);
    assert!(chunks[sizing..last].iter().all(|&count| 3 * count >= 2 * 257), "{chunks:?}");
}

#[test]
fn pieces_of_a_long_share_are_the_shorter_the_less_is_left() {
    // Half of the loop is a worker's share: pieces of 400 us are 4,000 iterations, of 25 us 250.
    let chunks = counts(&run("aid-static", 1 << 16, 2, &[0, 0], &[100])[0]);
    let longest = chunks.iter().position(|&count| count > 3_000).unwrap();
    assert!(chunks[longest..].is_sorted_by(|a, b| a + a / 2 >= *b), "{chunks:?}");
    assert!(chunks.last().is_some_and(|&count| count < 2 * 250), "{chunks:?}");
}

#[test]
fn long_iterations_are_taken_one_by_one() {
    let chunks = run("dynamic", 128, 2, &[0, 0], &[1_000_000]);
    assert!(chunks.iter().flatten().all(|chunk| chunk.count == 1));
}

#[test]
fn one_worker_does_all_of_a_static_loop_if_the_others_do_not_come() {
    let chunks = run("static", 10, 3, &[0], &[1]).remove(0);
    let firsts: Vec<_> = chunks.iter().map(|chunk| (chunk.first, chunk.count)).collect();
    assert_eq!(firsts, [(0, 4), (4, 3), (7, 3)]);
}

#[test]
fn nothing_is_handed_out_after_the_stop() {
    for schedule in ["static", "dynamic"] {
        let mut dispenser =
            ChunkDispenser::new(schedule.parse().unwrap(), 100, 2, PastRuns::default());
        let mut place = dispenser.place(0).unwrap();
        assert!(dispenser.take(&mut place, KindId(0), Nanos(0)).is_some());
        dispenser.stop();
        assert_eq!(dispenser.take(&mut place, KindId(0), Nanos(0)), None);
    }
}

/// The end of the last chunk, where all on a kind take so long for an iteration.
fn makespan(schedule: &str, iterations: u64, kinds: &[u8], iteration_ns: &[u64]) -> u64 {
    let chunks = run(schedule, iterations, kinds.len(), kinds, iteration_ns);
    let time = |(chunks, kind): (&Vec<Chunk>, &u8)| {
        counts(chunks).iter().sum::<u64>() * iteration_ns[*kind as usize]
    };
    chunks.iter().zip(kinds).map(time).max().unwrap_or(0)
}

#[test]
fn a_hundred_and_twenty_eight_long_iterations_end_within_a_fast_one_of_the_ideal() {
    for slow in [2, 3, 4] {
        // A millisecond on the fast core. Ideal: both at work to the end.
        let (fast, slow) = (1_000_000, slow * 1_000_000);
        let ideal = 128.0 / (1.0 / fast as f64 + 1.0 / slow as f64);
        for schedule in ["dynamic", "aid-static", "aid-dynamic", "aid-affinity"] {
            let end = makespan(schedule, 128, &[0, 1], &[fast, slow]);
            assert!(end as f64 <= ideal + fast as f64, "{schedule} {slow}: {end}, ideal {ideal}");
        }
    }
}

#[test]
fn short_iterations_end_within_two_percent_of_the_ideal_on_three_kinds() {
    let (kinds, iteration_ns) = ([0, 0, 1, 1, 2], [20, 40, 70]);
    let ideal =
        1e6 / kinds.iter().map(|&kind| 1.0 / iteration_ns[kind as usize] as f64).sum::<f64>();
    for schedule in ["dynamic", "aid-static", "aid-dynamic", "aid-affinity"] {
        let end = makespan(schedule, 1_000_000, &kinds, &iteration_ns) as f64;
        assert!(end <= 1.02 * ideal, "{schedule}: {end}, ideal {ideal}");
    }
}

#[test]
fn a_share_that_was_too_much_is_helped_with() {
    // The first chunks say that kind 1 is as fast as kind 0; then it stands still.
    let mut dispenser =
        ChunkDispenser::new("aid-static,1".parse().unwrap(), 1_000, 2, PastRuns::default());
    let mut at = [dispenser.place(0).unwrap(), dispenser.place(1).unwrap()];
    let mut now = Nanos::ZERO;
    for _ in 0..2 {
        let taken =
            [0, 1].map(|it| dispenser.take(&mut at[it], KindId(0), now).map(|chunk| chunk.count));
        assert!(taken[0].is_some() && taken[1].is_some());
        now += Nanos(1_000);
        dispenser.done(at[0], 0, Nanos(1_000));
        if taken == [Some(1); 2] {
            dispenser.done(at[1], 1, Nanos(1_000));
        }
    }
    let mut rest = 0;
    while let Some(chunk) = dispenser.take(&mut at[0], KindId(0), now) {
        rest += chunk.count;
        now += Nanos(chunk.count);
        dispenser.done(at[0], 0, Nanos(chunk.count));
    }
    assert!(rest > 700, "{rest}: half of it was its own");
}

#[test]
fn what_the_policy_has_yet_for_a_worker_that_declined_is_done_by_another() {
    // Two chunks of `static,2` are the slow worker's when it leaves the first of them: the policy
    // would give the second to no other.
    let chunks = run("static,2", 25, 4, &[2, 0], &[1, 3, 4]);
    assert_eq!(counts(&chunks.concat()).iter().sum::<u64>(), 25);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn every_iteration_is_handed_out_once_however_many_come(
        schedule in prop::sample::select(evenkeel_policy::loops::NAMES),
        chunk in prop::option::of(1u64..9),
        iterations in 0u64..3_000,
        places in 1usize..6,
        absent in 0usize..5,
        kinds in prop::collection::vec(0u8..3, 5),
        iteration_ns in 0u64..20_000,
        remembered in prop::option::of(0.0..20_000.0),
        speeds in prop::collection::vec(0.0..1_000.0, 0..6),
        delays in prop::collection::vec(prop_oneof![4 => Just(1u64), 1 => 0u64..50], 1..20),
    ) {
        let schedule =
            chunk.map_or_else(|| schedule.to_string(), |chunk| format!("{schedule},{chunk}"));
        let comers = places.saturating_sub(absent).max(1);
        let speeds = &speeds[..places.min(speeds.len())];
        let before = PastRuns { iteration_ns: remembered, speeds };
        let dispenser = ChunkDispenser::new(schedule.parse().unwrap(), iterations, places, before);
        let mut delay = delays.iter().cycle();
        let mut chunks = run_to_the_end(dispenser, &kinds[..comers], |worker, count| {
            count * iteration_ns * [1, 3, 4][usize::from(kinds[worker])] * delay.next().unwrap()
        }).concat();
        chunks.sort_by_key(|chunk| chunk.first);
        let mut next = 0;
        for chunk in chunks {
            prop_assert_eq!(chunk.first, next);
            next += chunk.count;
        }
        prop_assert_eq!(next, iterations);
    }
}
