//! `aid-affinity,c`: each worker begins with a part of the iterations that stays about the same
//! from one execution to the next. The data of an iteration then lie in the caches of the core that
//! runs it, and the parts follow the speed of the cores without sampling.
//!
//! ```text
//! first time       as aid-dynamic,c
//! part(w)          [ N s_0 + ... + N s_(w-1),  N s_0 + ... + N s_w )      s: speeds, of a sum of 1
//! speed            iterations that a worker did before / time from the beginning of the loop to
//!                  the end of its last
//! taking           a worker takes the beginning of its part:  left / (4 W),  at least c,  as near
//!                  as equal pieces come to that
//! helping          a worker whose part is done makes the second half of the longest part its own
//! ```
//!
//! `left` is the number of iterations of the whole loop that have not been taken, W the number of
//! workers: pieces are long at first and short at the end. Helping takes the end of another
//! worker's part, so boundaries between parts move and the rest of a part stays where it is.
//!
//! The parts aim at a common end. A worker's count of iterations alone does not measure its speed:
//! near the end little is left that is worth helping with, so a part that is too small stays too
//! small. The caller decides which executions `s` comes from: the last, or a mean of several.
//!
//! Sources: Markatos and LeBlanc, "Using processor affinity in loop scheduling on shared-memory
//! multiprocessors", IEEE TPDS 1994 (a queue for each processor; idle ones take from the most
//! loaded); Subramaniam and Eager, "Affinity scheduling of unbalanced workloads", SC 1994 (parts
//! that follow from the last execution); Saez, Castro and Prieto-Matias, ICPP 2020 (unequal parts
//! on unequal cores). Two rules are ours: pieces are a quarter of a fair share of what is left, and
//! a helper gets half of a part.

use std::ops::Range;

use evenkeel_machine::{KindId, Nanos};

use super::{AidDynamic, LoopPolicy, equal_piece};

/// A piece is the number of iterations left / (this x workers).
const PIECES: u64 = 4;

/// Loop policy with parts that stay on their workers.
#[derive(Clone, Debug)]
pub struct AidAffinity {
    chunk: u64,
    workers: u32,
    first_time: AidDynamic,
    /// By worker, the rest of its part. Empty if no earlier execution is known, shorter if some
    /// workers are unknown.
    parts: Vec<Range<u64>>,
    /// Sum of the parts' lengths.
    left: u64,
}

impl AidAffinity {
    /// Pieces of at least about this many iterations, 1 or more.
    pub fn new(chunk: u64) -> Self {
        Self {
            chunk: chunk.max(1),
            workers: 0,
            first_time: AidDynamic::new(chunk),
            parts: Vec::new(),
            left: 0,
        }
    }

    /// Takes the end of the longest part, as a worker's new part.
    fn help(&mut self) -> Range<u64> {
        let length = |part: &Range<u64>| part.end - part.start;
        let Some(longest) = self.parts.iter_mut().max_by_key(|part| length(part)) else {
            return 0..0;
        };
        let count = (length(longest) / 2).max(self.chunk).min(length(longest));
        longest.end -= count;
        longest.end..longest.end + count
    }
}

impl LoopPolicy for AidAffinity {
    fn start(&mut self, iterations: u64, workers: u32) {
        self.workers = workers;
        self.parts.clear();
        self.first_time.start(iterations, workers);
    }

    fn start_again(&mut self, iterations: u64, workers: u32, speeds: &[f64]) {
        let total: f64 = speeds.iter().sum();
        if !(total > 0.0 && total.is_finite() && speeds.len() <= workers as usize) {
            return self.start(iterations, workers);
        }
        self.parts.clear();
        (self.left, self.workers) = (iterations, workers);
        let (mut sum, mut end) = (0.0, 0);
        self.parts.extend(speeds.iter().map(|speed| {
            sum += speed;
            let first = end;
            end = ((iterations as f64 * (sum / total)).round() as u64).clamp(first, iterations);
            first..end
        }));
        // The rest that rounding leaves.
        self.parts.last_mut().into_iter().for_each(|last| last.end = iterations);
    }

    fn take(&mut self, worker: u32, kind: KindId) -> Option<(u64, u64)> {
        if self.parts.is_empty() {
            return self.first_time.take(worker, kind);
        }
        let own = worker as usize;
        if own >= self.parts.len() {
            // A worker of unknown speed.
            self.parts.resize(own + 1, 0..0);
        }
        if self.parts[own].is_empty() {
            self.parts[own] = self.help();
        }
        let workers = u64::from(self.workers);
        let part = &mut self.parts[own];
        let (first, length) = (part.start, part.end - part.start);
        let piece = (self.left / (PIECES * workers).max(1)).max(self.chunk);
        let count = equal_piece(length, piece);
        part.start += count;
        self.left -= count;
        (count > 0).then_some((first, count))
    }

    fn done(&mut self, worker: u32, kind: KindId, iterations: u64, time: Nanos) {
        if self.parts.is_empty() {
            self.first_time.done(worker, kind, iterations, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Run, run, run_again};
    use super::*;

    /// The first and the last iteration of a worker, and their number.
    fn span(run: &Run, worker: u32) -> (u64, u64, u64) {
        let chunks = run.chunks_of(worker);
        let ends = chunks.iter().map(|(first, count)| first + count);
        let count = chunks.iter().map(|(_, count)| count).sum();
        (chunks.iter().map(|(first, _)| *first).min().unwrap(), ends.max().unwrap(), count)
    }

    #[test]
    fn the_first_time_is_like_aid_dynamic() {
        let runs = [&mut AidAffinity::new(2) as &mut dyn LoopPolicy, &mut AidDynamic::new(2)];
        let [ours, theirs] = runs.map(|policy| run(policy, 200, &[0, 1], &[10, 30]));
        assert_eq!([0, 1].map(|worker| ours.of(worker)), [0, 1].map(|worker| theirs.of(worker)));
    }

    #[test]
    fn parts_are_as_the_workers_were_fast_and_each_keeps_to_its_own() {
        let run = run_again(&mut AidAffinity::new(1), 800, &[0, 1], &[10, 30], &[3.0, 1.0]);
        assert_eq!((span(&run, 0), span(&run, 1)), ((0, 600, 600), (600, 800, 200)));
        assert_eq!(run.makespan(), Nanos(6_000));
    }

    #[test]
    fn pieces_are_long_at_first_and_short_at_the_end() {
        let run = run_again(&mut AidAffinity::new(4), 800, &[0, 0], &[10], &[1.0, 1.0]);
        let pieces = run.of(0);
        assert_eq!(pieces[0], 100);
        assert!(
            pieces.is_sorted_by(|a, b| a >= b) && pieces.last().is_some_and(|&last| last <= 8),
            "{pieces:?}"
        );
    }

    #[test]
    fn parts_that_no_longer_fit_are_made_even_from_their_ends() {
        // Equal parts, though one worker takes three times as long: its part shrinks at the end.
        let run = run_again(&mut AidAffinity::new(1), 800, &[0, 1], &[10, 30], &[1.0, 1.0]);
        let (_, end, count) = span(&run, 1);
        assert!(run.makespan() <= Nanos(6_000 + 2 * 30), "{:?}", run.makespan());
        assert!(end < 620 && count > 190, "{end} {count}");
    }

    #[test]
    fn the_part_of_a_worker_that_does_not_come_is_done_by_others() {
        let mut policy = AidAffinity::new(1);
        policy.start_again(100, 2, &[1.0, 1.0]);
        let taken: u64 =
            std::iter::from_fn(|| policy.take(0, KindId(0))).map(|(_, count)| count).sum();
        assert_eq!((taken, policy.take(1, KindId(0))), (100, None));
    }

    #[test]
    fn what_is_known_of_other_workers_or_is_nothing_is_not_gone_by() {
        for speeds in
            [&[][..], &[1.0, 1.0, 1.0], &[0.0, 0.0], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0]]
        {
            let mut policy = AidAffinity::new(3);
            policy.start_again(100, 2, speeds);
            assert_eq!(policy.take(0, KindId(0)), Some((0, 3)), "{speeds:?}");
        }
    }
}
