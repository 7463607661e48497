//! Who gets which iterations: the policy, and what it needs around it where workers are threads. Sequential; the loop keeps it behind a mutex.

use evenkeel_machine::{KindId, Nanos};
use evenkeel_policy::loops::LoopPolicy;

use super::Schedule;

/// A chunk that took this long tells how long an iteration takes. Chunks of less are not worth their taking.
const TELLING: Nanos = Nanos::from_micros(1);
/// A worker's fair share of a loop is at least so many chunks, if that is worth it: enough for the policy to see how fast it is, and to even out.
const CHUNKS_PER_SHARE: u64 = 16;

/// Iterations: the first, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub first: u64,
    pub count: u64,
}

/// See the file's head.
pub struct Hand {
    schedule: Schedule,
    iterations: u64,
    /// By place, whether somebody has it. The policy knows of places only: as many workers as it may count on.
    taken: Box<[bool]>,
    /// How many nobody has.
    free: usize,
    stage: Stage,
}

enum Stage {
    /// How many iterations make a chunk is being found out. By place, how many it had last.
    Sizing { next: u64, last: Box<[u64]> },
    /// The policy hands out what comes after this many iterations.
    Policy { after: u64, policy: Box<dyn LoopPolicy> },
    /// Nothing is handed out any more.
    Over,
}

impl Hand {
    /// So many iterations for so many workers, at least one.
    pub fn new(schedule: Schedule, iterations: u64, workers: usize) -> Self {
        let stage =
            if schedule.needs_unit() { Stage::Sizing { next: 0, last: vec![0; workers].into() } } else { Stage::Over };
        let mut hand = Self { schedule, iterations, taken: vec![false; workers].into(), free: workers, stage };
        if !schedule.needs_unit() {
            hand.begin_policy(0, 1);
        }
        hand
    }

    fn begin_policy(&mut self, after: u64, unit: u64) {
        let mut policy = self.schedule.policy(unit);
        policy.start(self.iterations - after, self.taken.len() as u32);
        self.stage = Stage::Policy { after, policy };
    }

    /// Whether there is a place for somebody more.
    pub fn has_place(&self) -> bool {
        self.free > 0
    }

    /// A place for a worker: its own where that is free. None: all are taken.
    pub fn place(&mut self, worker: usize) -> Option<usize> {
        let own = Some(worker).filter(|&own| self.taken.get(own) == Some(&false));
        let place = own.or_else(|| self.taken.iter().position(|&taken| !taken))?;
        self.taken[place] = true;
        self.free -= 1;
        Some(place)
    }

    /// The next chunk for whoever has a place. One for whom nothing is left takes the place of a worker that has not come.
    pub fn take(&mut self, place: &mut usize, kind: KindId) -> Option<Chunk> {
        loop {
            if let Some(chunk) = self.take_at(*place, kind) {
                return Some(chunk);
            }
            *place = self.place(*place)?;
        }
    }

    fn take_at(&mut self, place: usize, kind: KindId) -> Option<Chunk> {
        match &mut self.stage {
            Stage::Sizing { next, last } => {
                // Doubling: the chunk that tells is about as long as all before it.
                let count = (2 * last[place]).max(1).min(self.iterations - *next);
                let chunk = Chunk { first: *next, count };
                (*next, last[place]) = (*next + count, count);
                (count > 0).then_some(chunk)
            }
            Stage::Policy { after, policy } => {
                let (first, count) = policy.take(place as u32, kind)?;
                Some(Chunk { first: *after + first, count })
            }
            Stage::Over => None,
        }
    }

    /// A chunk took this long.
    pub fn done(&mut self, place: usize, kind: KindId, count: u64, time: Nanos) {
        if let Stage::Sizing { next, .. } = self.stage
            && time >= TELLING
        {
            let left = self.iterations - next;
            let within = |span: Nanos| (u128::from(count) * u128::from(span.0) / u128::from(time.0)) as u64;
            let share = left / (CHUNKS_PER_SHARE * self.taken.len() as u64);
            let unit = within(self.schedule.chunk_time()).min(share.max(within(TELLING)));
            self.begin_policy(next, unit.max(1));
        }
        if let Stage::Policy { policy, .. } = &mut self.stage {
            policy.done(place as u32, kind, count, time);
        }
    }

    /// Hands out no more.
    pub fn stop(&mut self) {
        self.stage = Stage::Over;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All chunks, by who took them, where workers come in turn and an iteration takes so long.
    fn run(schedule: &str, iterations: u64, places: usize, comers: usize, pace: u64) -> Vec<Vec<Chunk>> {
        let mut hand = Hand::new(schedule.parse().unwrap(), iterations, places);
        let mut at: Vec<_> = (0..comers).map(|worker| hand.place(worker).unwrap()).collect();
        let mut chunks = vec![Vec::new(); comers];
        loop {
            let before: usize = chunks.iter().map(Vec::len).sum();
            for worker in 0..comers {
                if let Some(chunk) = hand.take(&mut at[worker], KindId(0)) {
                    chunks[worker].push(chunk);
                    hand.done(at[worker], KindId(0), chunk.count, Nanos(chunk.count * pace));
                }
            }
            if chunks.iter().map(Vec::len).sum::<usize>() == before {
                return chunks;
            }
        }
    }

    #[test]
    fn chunks_double_until_one_takes_a_microsecond_and_take_ten_from_then_on() {
        let chunks = run("dynamic", 1 << 20, 1, 1, 100).remove(0);
        let counts: Vec<_> = chunks.iter().map(|chunk| chunk.count).collect();
        assert_eq!(counts[..8], [1, 2, 4, 8, 16, 100, 100, 100]);
    }

    #[test]
    fn a_short_loop_has_chunks_of_a_share_that_are_worth_their_taking() {
        // 16 iterations take 1.6 us; a sixteenth of half of what is left would be 30, and ten microseconds are 100.
        let counts = |n| run("dynamic", n, 2, 1, 100).remove(0).iter().map(|chunk| chunk.count).collect::<Vec<_>>();
        assert_eq!(counts(31 + 32 * 30)[5..8], [30, 30, 30]);
        assert_eq!(counts(31 + 32 * 3)[5..8], [10, 10, 10]);
    }

    #[test]
    fn long_iterations_are_taken_one_by_one() {
        let chunks = run("dynamic", 128, 2, 2, 1_000_000);
        assert!(chunks.iter().flatten().all(|chunk| chunk.count == 1));
    }

    #[test]
    fn one_worker_does_all_of_a_static_loop_if_the_others_do_not_come() {
        let chunks = run("static", 10, 3, 1, 1).remove(0);
        let firsts: Vec<_> = chunks.iter().map(|chunk| (chunk.first, chunk.count)).collect();
        assert_eq!(firsts, [(0, 4), (4, 3), (7, 3)]);
    }

    #[test]
    fn nothing_is_handed_out_after_the_stop() {
        for schedule in ["static", "dynamic"] {
            let mut hand = Hand::new(schedule.parse().unwrap(), 100, 2);
            let mut place = hand.place(0).unwrap();
            assert!(hand.take(&mut place, KindId(0)).is_some());
            hand.stop();
            assert_eq!(hand.take(&mut place, KindId(0)), None);
        }
    }

    proptest! {
        #[test]
        fn every_iteration_is_handed_out_once_however_many_come(
            schedule in prop::sample::select(evenkeel_policy::loops::NAMES),
            chunk in prop::option::of(1u64..9),
            iterations in 0u64..3_000,
            places in 1usize..6,
            absent in 0usize..5,
            pace in 0u64..20_000,
        ) {
            let schedule = chunk.map_or_else(|| schedule.to_string(), |chunk| format!("{schedule},{chunk}"));
            let comers = places.saturating_sub(absent).max(1);
            let mut chunks: Vec<_> = run(&schedule, iterations, places, comers, pace).concat();
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
