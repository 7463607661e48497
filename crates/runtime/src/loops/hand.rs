//! Who gets which iterations: the policy, and what it needs around it where workers are threads. Sequential; the loop keeps it behind a mutex.

use evenkeel_machine::{KindId, Nanos, PerKind};
use evenkeel_policy::loops::LoopPolicy;
use evenkeel_policy::loops::tail::{self, Faster};

use super::Schedule;

/// A chunk that took this long tells how long an iteration takes.
const TELLING: Nanos = Nanos::from_micros(1);
/// What taking a chunk costs: a mutex that others want, the lines of memory behind it, two looks at the clock, what the policy notes. (Measured from loops' times
/// with chunks of several lengths: 0.45 to 0.95 us.)
const TAKING: Nanos = Nanos(500);
/// No chunk, on the kind of core that has told how long an iteration takes, and no piece of a share should take longer, however long the loop: for so long
/// nobody can help with it.
const LONGEST: Nanos = Nanos::from_micros(400);
/// What a loop took the last time counts unless its first chunk takes longer by more than this. (Where each worker begins with a part of its own, pieces of that are
/// as long as suits what is seen from the first on.)
const CONTRADICTION: f64 = 8.0;
/// The first chunk of a loop that is remembered is at most this part of a worker's fair share: it may be another loop by now.
const CONFIRMING: u64 = 4;

/// How long a piece of a share should take, at least (in a short loop, less) and at most: long enough that taking it does not count, and others can help with the
/// rest soon.
const PIECE: (Nanos, Nanos) = (Nanos::from_micros(25), LONGEST);
/// Between these, a piece is what is left of the loop / (so many x workers).
const PIECES_LEFT: u64 = 4;

/// What is known of a loop from the times before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before<'a> {
    /// Nanoseconds per iteration.
    pub pace: Option<f64>,
    /// By worker, how fast that one was, in any unit; empty: nothing is known.
    pub speeds: &'a [f64],
}

/// Iterations: the first, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    pub first: u64,
    pub count: u64,
}

/// See the file's head.
pub struct Hand {
    schedule: Schedule,
    iterations: u64,
    /// Iterations that no worker has: those that the policy (or the sizing) has not handed out, and those in shares.
    left: u64,
    places: Box<[Place]>,
    /// How many places nobody has.
    free: usize,
    stage: Stage,
    /// By kind, iterations done and the time they took.
    done: PerKind<(u64, Nanos)>,
    /// How many the first piece on each kind has at most, where there was no sizing: it may be another loop by now.
    first: Option<u64>,
}

/// A worker, as the policy knows it: it knows of as many as it may count on.
#[derive(Clone, Copy, Default)]
struct Place {
    is_taken: bool,
    /// What it has been handed out and has not begun. Taken piece by piece, so that others can help with what turns out to be too much.
    share: Chunk,
    /// While a chunk is being done: the kind of the core that does it, when it began, and how many iterations it has.
    at_work: Option<(KindId, Nanos, u64)>,
    /// Whether whoever had it has left what is there to others: its share, and what the policy has yet for it.
    has_declined: bool,
    /// Iterations that the worker of this number has done, at whatever place, and when it had, since the loop began.
    did: (u64, Nanos),
}

enum Stage {
    /// How many iterations make a chunk is being found out. By place, how many it had last; nanoseconds per iteration of a chunk that took
    /// long enough to tell, and of all chunks of the last time that has not been confirmed.
    Sizing { next: u64, last: Box<[u64]>, told: Option<f64>, remembered: Option<f64> },
    /// The policy hands out what comes after this many iterations, in chunks of `unit` at least.
    Policy { after: u64, unit: u64, policy: Box<dyn LoopPolicy> },
    /// Nothing is handed out any more.
    Over,
}

impl Hand {
    /// So many iterations for so many workers, at least one.
    pub fn new(schedule: Schedule, iterations: u64, workers: usize, before: Before<'_>) -> Self {
        let mut hand = Self {
            schedule,
            iterations,
            left: iterations,
            places: vec![Place::default(); workers].into(),
            free: workers,
            stage: Stage::Over,
            done: PerKind::all((0, Nanos::ZERO)),
            first: None,
        };
        // The first chunk is to confirm it: short, and of a loop of few iterations, few.
        let most = iterations / (CONFIRMING * workers as u64);
        let first = before.pace.map(|pace| within(TELLING, pace).min(most).max(1));
        if !schedule.needs_unit() {
            hand.begin_policy(0, 1, before.speeds);
        } else if let Some(pace) = before.pace.filter(|_| schedule.is_kept() && !before.speeds.is_empty()) {
            // Where each begins is known, and sizing would have them begin elsewhere.
            hand.first = first;
            hand.begin_policy(0, hand.unit(0, pace), before.speeds);
        } else {
            let last = vec![first.unwrap_or_default(); workers].into();
            hand.stage = Stage::Sizing { next: 0, last, told: None, remembered: before.pace };
        }
        hand
    }

    fn begin_policy(&mut self, after: u64, unit: u64, speeds: &[f64]) {
        let mut policy = self.schedule.policy(unit);
        policy.start_again(self.iterations - after, self.places.len() as u32, speeds);
        self.stage = Stage::Policy { after, unit, policy };
    }

    /// Iterations of a chunk that costs least, where so many have been handed out and one takes so many nanoseconds.
    fn unit(&self, after: u64, pace: f64) -> u64 {
        let share = (self.iterations - after) / self.places.len() as u64;
        within(chunk(span(share, pace)).min(LONGEST), pace).max(1)
    }

    /// Whether there is a place for somebody more.
    pub const fn has_place(&self) -> bool {
        self.free > 0
    }

    /// A place for a worker: its own where that is free. None: all are taken.
    pub fn place(&mut self, worker: usize) -> Option<usize> {
        let own = Some(worker).filter(|&own| self.places.get(own).is_some_and(|place| !place.is_taken));
        let place = own.or_else(|| self.places.iter().position(|place| !place.is_taken))?;
        self.places[place].is_taken = true;
        self.free -= 1;
        Some(place)
    }

    /// The next chunk for whoever has a place. One for whom nothing is left takes the place of a worker that has not come, then a part of
    /// somebody's share, then the place of a worker that has left. None: nothing is left, or nothing that faster workers would not end sooner.
    pub fn take(&mut self, place: &mut usize, kind: KindId, now: Nanos) -> Option<Chunk> {
        while self.places[*place].share.count == 0 {
            if let Some(chunk) = self.hand_out(*place, kind) {
                self.places[*place].share = chunk;
            } else if let Some(free) = self.place(*place) {
                *place = free;
            } else if let Some(part) = self.help() {
                self.places[*place].share = part;
            } else {
                *place = self.left_behind()?;
            }
        }
        let (left, piece) = (self.left, self.piece(*place, kind));
        if self.leaves(kind, piece.count, left, now) {
            self.places[*place].has_declined = true;
            return None;
        }
        let it = &mut self.places[*place];
        it.share = Chunk { first: piece.first + piece.count, count: it.share.count - piece.count };
        it.at_work = Some((kind, now, piece.count));
        self.left -= piece.count;
        Some(piece)
    }

    /// The place of a worker that has declined, and what the policy has for it yet. Others are not invited to it: of those who are idle most
    /// would decline, too.
    fn left_behind(&mut self) -> Option<usize> {
        let place = self.places.iter().position(|place| place.has_declined)?;
        self.places[place].has_declined = false;
        Some(place)
    }

    /// Whether whoever has this place has left the rest of the loop to faster workers.
    pub fn has_declined(&self, place: usize) -> bool {
        self.places[place].has_declined
    }

    fn hand_out(&mut self, place: usize, kind: KindId) -> Option<Chunk> {
        match &mut self.stage {
            Stage::Sizing { next, last, told, remembered } => {
                // Doubling: the chunk that tells is about as long as all before it. It has to be confirmed by another.
                let is_known = told.is_some() || remembered.is_some();
                let longer = if is_known { last[place] } else { last[place].saturating_mul(2) };
                let count = Some(longer.max(1).min(self.iterations - *next)).filter(|&count| count > 0)?;
                let chunk = Chunk { first: *next, count };
                (*next, last[place]) = (*next + count, count);
                Some(chunk)
            }
            Stage::Policy { after, policy, .. } => {
                let (first, count) = policy.take(place as u32, kind)?;
                Some(Chunk { first: *after + first, count })
            }
            Stage::Over => None,
        }
    }

    /// Whether shares are taken piece by piece: those that follow from a ratio that was sampled, which may have been wrong or have changed.
    fn pieces(&self) -> Option<u64> {
        match &self.stage {
            Stage::Policy { unit, .. } if self.schedule.samples() => Some(*unit),
            Stage::Sizing { .. } | Stage::Policy { .. } | Stage::Over => None,
        }
    }

    /// The beginning of a share: one of as many equal parts as come closest to how long a piece should take. The less is left of the loop, the shorter.
    fn piece(&self, place: usize, kind: KindId) -> Chunk {
        let share = self.places[place].share;
        let count = self.pieces().map_or(share.count, |unit| {
            if let Some(first) = self.first.filter(|_| self.pace(kind).is_none()) {
                return first.min(share.count);
            }
            let within = |span| self.pace(kind).map_or(unit, |pace| within(span, pace)).max(1);
            // Of a short loop no longer than the chunk that costs least, where that has been found out.
            let pace = self.fastest_pace().filter(|_| self.schedule.needs_unit());
            let least = pace.map_or(PIECE.0, |pace| PIECE.0.min(span(unit, pace)));
            let piece = (self.left / (PIECES_LEFT * self.places.len() as u64)).clamp(within(least), within(PIECE.1));
            let parts = (share.count.saturating_add(piece / 2) / piece).max(1);
            share.count.div_ceil(parts)
        });
        Chunk { first: share.first, count }
    }

    /// The second half of the longest share.
    fn help(&mut self) -> Option<Chunk> {
        // What a chunk was to be may be too much, of a loop that is not what it was.
        let most = self.fastest_pace().map_or(u64::MAX, |pace| within(LONGEST, pace));
        let unit = self.pieces().unwrap_or(1).min(most);
        let longest = self.places.iter_mut().map(|place| &mut place.share).max_by_key(|share| share.count)?;
        let count = (longest.count / 2).max(unit).min(longest.count);
        longest.count -= count;
        (count > 0).then_some(Chunk { first: longest.first + longest.count, count })
    }

    /// Nanoseconds per iteration on a kind, as far as it has been seen.
    pub fn pace(&self, kind: KindId) -> Option<f64> {
        let (count, time) = self.done[kind];
        (count > 0).then(|| time.0 as f64 / count as f64)
    }

    /// The tail rule, for a worker on a kind that could take so many iterations of all that are left.
    fn leaves(&self, kind: KindId, count: u64, left: u64, now: Nanos) -> bool {
        let at_work = || self.places.iter().filter_map(|place| place.at_work).filter(|(other, ..)| *other < kind);
        if at_work().next().is_none() {
            return false;
        }
        let Some(own) = self.pace(kind) else { return false };
        let faster = at_work().map(|(kind, since, count)| {
            let pace = self.pace(kind)?;
            Some(Faster { free_at: now.max(since.saturating_add(span(count, pace))), pace })
        });
        let Some(mut faster) = faster.collect::<Option<Vec<_>>>() else { return false };
        tail::leaves(now.saturating_add(span(count, own)), count, left, &mut faster)
    }

    /// How long the chunks that are out may take, on the kind of core that has told; pieces are short at the end.
    pub fn patience(&self) -> Nanos {
        match &self.stage {
            Stage::Policy { unit, .. } if !self.schedule.samples() => {
                self.fastest_pace().map_or(Nanos::ZERO, |pace| LONGEST.min(span(*unit, pace)))
            }
            Stage::Sizing { .. } | Stage::Policy { .. } | Stage::Over => Nanos::ZERO,
        }
    }

    /// The chunk at a place is done, by a worker, and took so long.
    pub fn done(&mut self, place: usize, worker: usize, time: Nanos) {
        let Some((kind, since, count)) = self.places[place].at_work.take() else { return };
        let (did, _) = self.places[worker].did;
        self.places[worker].did = (did + count, since.saturating_add(time));
        let (sum, spent) = self.done[kind];
        self.done[kind] = (sum + count, spent + time);
        self.size(count, time);
        if let Stage::Policy { policy, .. } = &mut self.stage {
            policy.done(place as u32, kind, count, time);
        }
    }

    /// While sizing: two chunks have to tell, and the faster counts. One alone may have met an interrupt, or the first touch of a page. Of a loop
    /// that is remembered one is enough, however short.
    fn size(&mut self, count: u64, time: Nanos) {
        let Stage::Sizing { next, last, told, remembered } = &mut self.stage else { return };
        let seen = time.0.max(1) as f64 / count as f64;
        let was_remembered = remembered.take();
        let confirmed = was_remembered.filter(|remembered| seen <= CONTRADICTION * remembered);
        if was_remembered.is_some() && confirmed.is_none() {
            // Chunks are as long as suited what it was.
            last.iter_mut().for_each(|it| *it = within(TELLING, seen).clamp(1, *it));
        }
        let earlier = std::mem::replace(told, Some(seen).filter(|_| time >= TELLING));
        let Some(pace) = confirmed.or_else(|| Some(earlier?.min((*told)?))) else { return };
        let next = *next;
        let unit = self.unit(next, pace).min(within(LONGEST, seen)).max(1);
        self.begin_policy(next, unit, &[]);
    }

    /// Nanoseconds per iteration on the fastest kind that has done some: what to remember.
    pub fn fastest_pace(&self) -> Option<f64> {
        self.done.0.iter().find(|(count, _)| *count > 0).map(|&(count, time)| time.0 as f64 / count as f64)
    }

    /// By worker, iterations per nanosecond from the beginning of the loop to the end of its last: what it may begin with the next time, so that all end
    /// together. (Not how many it did: who is done early finds little that is worth to be helped with, and would have less from time to time.)
    pub fn speeds(&self) -> impl ExactSizeIterator<Item = f64> + Clone {
        self.places.iter().map(|Place { did: (count, end), .. }| *count as f64 / end.0.max(1) as f64)
    }

    /// Whether it was stopped.
    pub const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// Hands out no more.
    pub fn stop(&mut self) {
        self.stage = Stage::Over;
        self.places.iter_mut().for_each(|place| place.share.count = 0);
    }
}

/// How long chunks of such a share should take: of length x there are share / x to take, and who has the last one is late by half of it in the mean. The sum
/// is least at x = sqrt(2 taking share).
fn chunk(share: Nanos) -> Nanos {
    Nanos((2.0 * TAKING.0 as f64 * share.0 as f64).sqrt() as u64)
}

/// Iterations of such a pace that take so long.
fn within(span: Nanos, pace: f64) -> u64 {
    (span.0 as f64 / pace.max(f64::MIN_POSITIVE)) as u64
}

fn span(iterations: u64, pace: f64) -> Nanos {
    Nanos((iterations as f64 * pace) as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::shares::Shares;
    use super::*;

    /// All chunks, by who took them: workers on kinds, with so many nanoseconds per iteration by kind. Who is done first asks first.
    fn run(schedule: &str, iterations: u64, places: usize, kinds: &[u8], paces: &[u64]) -> Vec<Vec<Chunk>> {
        let hand = Hand::new(schedule.parse().unwrap(), iterations, places, Before::default());
        run_to_the_end(hand, kinds, |worker, count| count * paces[usize::from(kinds[worker])])
    }

    /// The same, where a worker takes so long for so many iterations.
    fn run_to_the_end(mut hand: Hand, kinds: &[u8], mut span: impl FnMut(usize, u64) -> u64) -> Vec<Vec<Chunk>> {
        let mut at: Vec<_> = (0..kinds.len()).map(|worker| hand.place(worker).unwrap()).collect();
        let mut chunks = vec![Vec::new(); kinds.len()];
        let mut spans = vec![Nanos::ZERO; kinds.len()];
        let mut coming: Vec<_> = (0..kinds.len()).map(|worker| (Nanos::ZERO, worker)).collect();
        while let Some(&(now, worker)) = coming.iter().min() {
            coming.retain(|&(_, it)| it != worker);
            hand.done(at[worker], worker, spans[worker]);
            let kind = KindId(kinds[worker]);
            if let Some(chunk) = hand.take(&mut at[worker], kind, now) {
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
        // What is left is 3,272 us, whose root with a microsecond is 57.2.
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
            assert_eq!(chunks.iter().map(|&count| u128::from(count)).sum::<u128>(), u128::from(u64::MAX));
        }
    }

    #[test]
    fn a_caller_is_as_patient_as_a_chunk_is_long_where_the_end_has_no_shorter_ones() {
        let patience = |schedule: &str| {
            let mut hand = Hand::new(schedule.parse().unwrap(), 1 << 15, 1, Before::default());
            let mut place = hand.place(0).unwrap();
            while let Some(chunk) = hand.take(&mut place, KindId(0), Nanos::ZERO) {
                hand.done(place, 0, Nanos(100 * chunk.count));
            }
            hand.patience()
        };
        // Chunks of 572 iterations of 100 ns.
        assert_eq!((patience("dynamic"), patience("aid-dynamic")), (Nanos(57_200), Nanos::ZERO));
    }

    #[test]
    fn one_chunk_that_met_an_interrupt_does_not_tell() {
        let mut hand = Hand::new("dynamic".parse().unwrap(), 1 << 15, 1, Before::default());
        let (mut place, mut now, mut longest) = (hand.place(0).unwrap(), Nanos::ZERO, 0);
        while let Some(chunk) = hand.take(&mut place, KindId(0), now) {
            longest = longest.max(chunk.count);
            let interrupt = if now == Nanos::ZERO { 5_000 } else { 0 };
            let span = Nanos(100 * chunk.count + interrupt);
            now += span;
            hand.done(place, 0, span);
        }
        assert_eq!(longest, 572);
    }

    /// Chunks of one worker in a loop of 1,000 that took 20 ns per iteration the last time.
    fn remembering(pace: u64) -> Vec<u64> {
        let mut hand = Hand::new("dynamic".parse().unwrap(), 1_000, 2, Before { pace: Some(20.0), speeds: &[] });
        let (mut place, mut now, mut counts) = (hand.place(0).unwrap(), Nanos::ZERO, Vec::new());
        while let Some(chunk) = hand.take(&mut place, KindId(0), now) {
            counts.push(chunk.count);
            now += Nanos(pace * chunk.count);
            hand.done(place, 0, Nanos(pace * chunk.count));
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
    fn kept(iterations: u64, kinds: &[u8], paces: &[u64]) -> Vec<Vec<Chunk>> {
        let before = Before { pace: Some(100.0), speeds: &[3.0, 1.0] };
        let hand = Hand::new("aid-affinity".parse().unwrap(), iterations, 2, before);
        run_to_the_end(hand, kinds, |worker, count| count * paces[usize::from(kinds[worker])])
    }

    #[test]
    fn each_worker_begins_where_it_was_and_the_first_piece_is_short() {
        let chunks = kept(1 << 16, &[0, 1], &[100, 300]);
        let boundary = 3 << 14;
        assert_eq!(chunks.concat().iter().find(|chunk| chunk.first == boundary).map(|chunk| chunk.count), Some(10));
        assert_eq!(chunks[0][0], Chunk { first: 0, count: 10 });
        let is_moved = |chunk: &&Chunk| chunk.first < boundary;
        let moved: u64 = chunks[1].iter().filter(is_moved).map(|chunk| chunk.count).sum();
        let kept: u64 = chunks[0].iter().filter(is_moved).map(|chunk| chunk.count).sum();
        assert!(moved + boundary - kept < 1 << 9, "{moved} {kept}");
    }

    #[test]
    fn pieces_of_a_loop_that_is_not_what_it_was_are_no_longer_than_others() {
        let chunks = kept(2_000, &[0, 0], &[1_000_000]);
        assert!(chunks.iter().all(|chunks| chunks[0].count == 10 && chunks[1..].iter().all(|chunk| chunk.count == 1)));
        // Where they take no time all is handed out in some dozens of pieces.
        let chunks = kept(1 << 30, &[0, 0], &[0]);
        assert!(chunks.concat().len() < 1_000, "{}", chunks.concat().len());
    }

    #[test]
    fn speeds_are_by_worker_whatever_place_it_has_and_until_its_own_end() {
        let mut hand = Hand::new("static".parse().unwrap(), 300, 3, Before::default());
        let mut at = [hand.place(0).unwrap(), hand.place(1).unwrap()];
        assert_eq!([0, 1].map(|it| hand.take(&mut at[it], KindId(0), Nanos::ZERO).unwrap().count), [100, 100]);
        hand.done(at[0], 0, Nanos(1_000));
        hand.done(at[1], 1, Nanos(4_000));
        // The third does not come: the first has its place, and what is there.
        assert_eq!(hand.take(&mut at[0], KindId(0), Nanos(1_000)), Some(Chunk { first: 200, count: 100 }));
        hand.done(at[0], 0, Nanos(1_000));
        assert_eq!(hand.speeds().collect::<Vec<_>>(), [0.1, 0.025, 0.0]);
    }

    #[test]
    fn parts_come_to_be_as_the_workers_are_fast_wherever_they_were_at_first() {
        for first in [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
            let mut shares = Shares::default();
            shares.add(first.into_iter(), Nanos(1));
            for _ in 0..60 {
                let before = Before { pace: Some(1_000.0), speeds: shares.of_workers() };
                let mut hand = Hand::new("aid-affinity".parse().unwrap(), 64, 2, before);
                let mut at = [hand.place(0).unwrap(), hand.place(1).unwrap()];
                // The second comes 5 us later.
                let mut coming = vec![(Nanos(0), 0, Nanos(0)), (Nanos(5_000), 1, Nanos(0))];
                while let Some(&(now, worker, had)) = coming.iter().min() {
                    coming.retain(|it| it.1 != worker);
                    hand.done(at[worker], worker, had);
                    if let Some(chunk) = hand.take(&mut at[worker], KindId(worker as u8), now) {
                        let span = Nanos(chunk.count * [1_000, 3_000][worker]);
                        coming.push((now + span, worker, span));
                    }
                }
                shares.add(hand.speeds(), Nanos(48_000));
            }
            let share = shares.of_workers()[0];
            assert!((0.73..0.83).contains(&share), "{first:?}: {share}");
        }
    }

    #[test]
    fn who_has_said_how_long_a_chunk_is_has_no_shorter_pieces_but_the_first() {
        // 25 us are 1,250 iterations.
        let chunks = counts(&run("aid-static,64", 1 << 16, 2, &[0, 0], &[20])[0]);
        let (last, whole) = chunks.split_last().unwrap();
        assert!(whole[2..].iter().all(|&count| count > 600), "{whole:?} {last}");
    }

    #[test]
    fn who_comes_late_finds_its_part_and_who_does_not_come_is_not_waited_for() {
        let chunks = kept(1 << 16, &[0], &[100]).remove(0);
        assert_eq!(counts(&chunks).iter().sum::<u64>(), 1 << 16);
        let before = Before { pace: Some(100.0), speeds: &[3.0, 1.0] };
        let mut hand = Hand::new("aid-affinity".parse().unwrap(), 1 << 16, 2, before);
        let mut at = hand.place(0).unwrap();
        for _ in 0..8 {
            let chunk = hand.take(&mut at, KindId(0), Nanos::ZERO).unwrap();
            hand.done(at, 0, Nanos(100 * chunk.count));
        }
        let mut late = hand.place(1).unwrap();
        assert_eq!(hand.take(&mut late, KindId(0), Nanos::ZERO).map(|chunk| chunk.first), Some(3 << 14));
    }

    #[test]
    fn a_loop_that_is_not_what_it_was_may_be_over_before_that_is_seen() {
        let mut hand = Hand::new("dynamic".parse().unwrap(), 1, 2, Before { pace: Some(1.0), speeds: &[] });
        let mut at = [hand.place(0).unwrap(), hand.place(1).unwrap()];
        assert!(hand.take(&mut at[0], KindId(0), Nanos::ZERO).is_some());
        assert_eq!(hand.take(&mut at[1], KindId(0), Nanos::ZERO), None);
        hand.done(at[0], 0, Nanos(1_000));
        assert_eq!(hand.take(&mut at[0], KindId(0), Nanos(1_000)), None);
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
            let mut hand = Hand::new(schedule.parse().unwrap(), 100, 2, Before::default());
            let mut place = hand.place(0).unwrap();
            assert!(hand.take(&mut place, KindId(0), Nanos(0)).is_some());
            hand.stop();
            assert_eq!(hand.take(&mut place, KindId(0), Nanos(0)), None);
        }
    }

    /// The end of the last chunk, where all on a kind take so long for an iteration.
    fn makespan(schedule: &str, iterations: u64, kinds: &[u8], paces: &[u64]) -> u64 {
        let chunks = run(schedule, iterations, kinds.len(), kinds, paces);
        let time = |(chunks, kind): (&Vec<Chunk>, &u8)| counts(chunks).iter().sum::<u64>() * paces[*kind as usize];
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
        let (kinds, paces) = ([0, 0, 1, 1, 2], [20, 40, 70]);
        let ideal = 1e6 / kinds.iter().map(|&kind| 1.0 / paces[kind as usize] as f64).sum::<f64>();
        for schedule in ["dynamic", "aid-static", "aid-dynamic", "aid-affinity"] {
            let end = makespan(schedule, 1_000_000, &kinds, &paces) as f64;
            assert!(end <= 1.02 * ideal, "{schedule}: {end}, ideal {ideal}");
        }
    }

    #[test]
    fn a_share_that_was_too_much_is_helped_with() {
        // The first chunks say that kind 1 is as fast as kind 0; then it stands still.
        let mut hand = Hand::new("aid-static,1".parse().unwrap(), 1_000, 2, Before::default());
        let mut at = [hand.place(0).unwrap(), hand.place(1).unwrap()];
        let mut now = Nanos::ZERO;
        for _ in 0..2 {
            let taken = [0, 1].map(|it| hand.take(&mut at[it], KindId(0), now).map(|chunk| chunk.count));
            assert!(taken[0].is_some() && taken[1].is_some());
            now += Nanos(1_000);
            hand.done(at[0], 0, Nanos(1_000));
            if taken == [Some(1); 2] {
                hand.done(at[1], 1, Nanos(1_000));
            }
        }
        let mut rest = 0;
        while let Some(chunk) = hand.take(&mut at[0], KindId(0), now) {
            rest += chunk.count;
            now += Nanos(chunk.count);
            hand.done(at[0], 0, Nanos(chunk.count));
        }
        assert!(rest > 700, "{rest}: half of it was its own");
    }

    #[test]
    fn what_the_policy_has_yet_for_a_worker_that_declined_is_done_by_another() {
        // Two chunks of `static,2` are the slow worker's when it leaves the first of them: the policy would give nobody else the second.
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
            pace in 0u64..20_000,
            remembered in prop::option::of(0.0..20_000.0),
            speeds in prop::collection::vec(0.0..1_000.0, 0..6),
            delays in prop::collection::vec(prop_oneof![4 => Just(1u64), 1 => 0u64..50], 1..20),
        ) {
            let schedule = chunk.map_or_else(|| schedule.to_string(), |chunk| format!("{schedule},{chunk}"));
            let comers = places.saturating_sub(absent).max(1);
            let before = Before { pace: remembered, speeds: &speeds[..places.min(speeds.len())] };
            let hand = Hand::new(schedule.parse().unwrap(), iterations, places, before);
            let mut delay = delays.iter().cycle();
            let mut chunks = run_to_the_end(hand, &kinds[..comers], |worker, count| {
                count * pace * [1, 3, 4][usize::from(kinds[worker])] * delay.next().unwrap()
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
}
