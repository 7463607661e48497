//! The chunk dispenser: which worker gets which iterations. It is the policy, with what that needs
//! where workers are threads; sequential code, behind the loop's mutex.

use evenkeel_machine::{KindId, Nanos, PerKind};
use evenkeel_policy::loops::tail::{self, Faster};
use evenkeel_policy::loops::{LoopPolicy, equal_piece};

use super::Schedule;

/// A chunk that took this long tells how long an iteration takes.
const MEASURABLE: Nanos = Nanos::from_micros(1);
/// The cost of taking a chunk: a contended mutex, the lines of memory behind it, two looks at the
/// clock, the policy's notes. (From loops' times with chunks of several lengths: 0.45 to 0.95 us.)
const TAKE_COST: Nanos = Nanos(500);
/// No chunk and no piece of a share takes longer than this on the measured kind of core: for so
/// long no other worker can help with it.
const LONGEST: Nanos = Nanos::from_micros(400);
/// The time of the last run counts unless the first chunk takes so many times as long. (If each
/// worker begins with a part of its own, pieces of that follow what is seen from the first on.)
const CHANGED: f64 = 8.0;
/// The first chunk of a loop that is remembered is at most this part of a worker's fair share: it
/// may be another loop by now.
const CONFIRMED_BY: u64 = 4;

/// How long a piece of a share should take, at least (in a short loop, less) and at most: long
/// enough that taking it does not count, and others can help with the rest soon.
const PIECE: (Nanos, Nanos) = (Nanos::from_micros(25), LONGEST);
/// Between these, a piece is what is left of the loop / (so many x workers).
const PIECES_LEFT: u64 = 4;

/// What is known of a loop from past runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PastRuns<'a> {
    /// Nanoseconds per iteration.
    pub iteration_ns: Option<f64>,
    /// Indexed by worker: its speed, in any unit. Empty: nothing is known.
    pub speeds: &'a [f64],
}

/// Iterations: the first, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    pub first: u64,
    pub count: u64,
}

/// Hands out a loop's iterations in chunks.
pub struct ChunkDispenser {
    schedule: Schedule,
    iterations: u64,
    /// Iterations that no worker has: those that the policy (or the sizing) has not handed out, and
    /// those in shares.
    left: u64,
    places: Box<[Place]>,
    /// How many places are free.
    free: usize,
    stage: Stage,
    /// Indexed by kind: iterations done and the time they took.
    done: PerKind<(u64, Nanos)>,
    /// The most iterations of the first piece on each kind, without sizing: it may be another loop
    /// by now.
    first: Option<u64>,
}

/// A worker, as the policy knows it: it knows of as many as it may count on.
#[derive(Clone, Copy, Default)]
struct Place {
    is_taken: bool,
    /// Iterations handed out and not begun. They are taken piece by piece, so that others can help.
    share: Chunk,
    /// While a chunk is being done: the kind of the core that does it, when it began, and how many
    /// iterations it has.
    at_work: Option<(KindId, Nanos, u64)>,
    /// True if its worker has left the rest to others: the share, and what the policy still has for
    /// it.
    has_declined: bool,
    /// Iterations that the worker of this number has done, at whatever place, and when it had,
    /// since the loop began.
    did: (u64, Nanos),
}

enum Stage {
    /// How many iterations make a chunk is being found out. By place, how many it had last;
    /// nanoseconds per iteration of a chunk that took long enough to tell, and of all chunks of the
    /// last time that has not been confirmed.
    Sizing { next: u64, last: Box<[u64]>, measured: Option<f64>, remembered: Option<f64> },
    /// The policy hands out what comes after this many iterations, in chunks of `unit` at least.
    Policy { after: u64, unit: u64, policy: Box<dyn LoopPolicy> },
    /// Nothing is handed out any more.
    Over,
}

impl ChunkDispenser {
    /// A dispenser of so many iterations for so many workers, at least one.
    pub fn new(schedule: Schedule, iterations: u64, workers: usize, before: PastRuns<'_>) -> Self {
        let mut dispenser = Self {
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
        let most = iterations / (CONFIRMED_BY * workers as u64);
        let first = before
            .iteration_ns
            .map(|iteration_ns| within(MEASURABLE, iteration_ns).min(most).max(1));
        if !schedule.needs_unit() {
            dispenser.begin_policy(0, 1, before.speeds);
        } else if let Some(iteration_ns) =
            before.iteration_ns.filter(|_| schedule.is_kept() && !before.speeds.is_empty())
        {
            // Each worker's beginning is known, and sizing would begin elsewhere.
            dispenser.first = first;
            dispenser.begin_policy(0, dispenser.unit(0, iteration_ns), before.speeds);
        } else {
            let last = vec![first.unwrap_or_default(); workers].into();
            dispenser.stage =
                Stage::Sizing { next: 0, last, measured: None, remembered: before.iteration_ns };
        }
        dispenser
    }

    fn begin_policy(&mut self, after: u64, unit: u64, speeds: &[f64]) {
        let mut policy = self.schedule.policy(unit);
        policy.start_again(self.iterations - after, self.places.len() as u32, speeds);
        self.stage = Stage::Policy { after, unit, policy };
    }

    /// Iterations of a chunk that costs least, where so many have been handed out and one takes so
    /// many nanoseconds.
    fn unit(&self, after: u64, iteration_ns: f64) -> u64 {
        let share = (self.iterations - after) / self.places.len() as u64;
        within(chunk(span(share, iteration_ns)).min(LONGEST), iteration_ns).max(1)
    }

    /// True if one more worker may come in.
    pub const fn has_place(&self) -> bool {
        self.free > 0
    }

    /// A place for a worker: its own if that is free. None: all are taken.
    pub fn place(&mut self, worker: usize) -> Option<usize> {
        let own =
            Some(worker).filter(|&own| self.places.get(own).is_some_and(|place| !place.is_taken));
        let place = own.or_else(|| self.places.iter().position(|place| !place.is_taken))?;
        self.places[place].is_taken = true;
        self.free -= 1;
        Some(place)
    }

    /// The next chunk for the worker at a place. A worker that is given nothing takes the place of
    /// one that has not come, then a part of another's share, then the place of one that has left.
    /// None: nothing is left that faster workers would not end sooner.
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
        let mut piece = self.piece(*place, kind);
        // A shorter one may be done in time: pieces are the same on all kinds, and the first on a
        // core may have met misses that the next ones do not.
        while self.leaves(kind, piece.count, self.left, now) {
            let least = self.pieces().map_or(piece.count, |unit| self.least(unit, kind));
            if piece.count <= least {
                self.places[*place].has_declined = true;
                return None;
            }
            piece.count = (piece.count / 2).max(least);
        }
        let it = &mut self.places[*place];
        it.share = Chunk { first: piece.first + piece.count, count: it.share.count - piece.count };
        it.at_work = Some((kind, now, piece.count));
        self.left -= piece.count;
        Some(piece)
    }

    /// The place of a worker that has declined, for what the policy still has for it. Other workers
    /// are not invited: most idle ones would decline, too.
    fn left_behind(&mut self) -> Option<usize> {
        let place = self.places.iter().position(|place| place.has_declined)?;
        self.places[place].has_declined = false;
        Some(place)
    }

    /// True if the worker at this place has left the rest of the loop to faster workers.
    pub fn has_declined(&self, place: usize) -> bool {
        self.places[place].has_declined
    }

    fn hand_out(&mut self, place: usize, kind: KindId) -> Option<Chunk> {
        match &mut self.stage {
            Stage::Sizing { next, last, measured, remembered } => {
                // Doubling: the chunk that tells is about as long as all before it. It has to be
                // confirmed by another.
                let is_known = measured.is_some() || remembered.is_some();
                let longer = if is_known { last[place] } else { last[place].saturating_mul(2) };
                let count =
                    Some(longer.max(1).min(self.iterations - *next)).filter(|&count| count > 0)?;
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

    /// The least piece of a share, if shares are taken piece by piece: those that follow from a
    /// sampled ratio, which may have been wrong or have changed.
    fn pieces(&self) -> Option<u64> {
        match &self.stage {
            Stage::Policy { unit, .. } if self.schedule.samples() => Some(*unit),
            Stage::Sizing { .. } | Stage::Policy { .. } | Stage::Over => None,
        }
    }

    /// The beginning of a share: one of as many equal parts as come closest to how long a piece
    /// should take. The less is left of the loop, the shorter.
    fn piece(&self, place: usize, kind: KindId) -> Chunk {
        let share = self.places[place].share;
        let count = self.pieces().map_or(share.count, |unit| {
            if let Some(first) = self.first.filter(|_| self.iteration_ns(kind).is_none()) {
                return first.min(share.count);
            }
            let piece = self.left / (PIECES_LEFT * self.places.len() as u64);
            equal_piece(
                share.count,
                piece.clamp(self.least(unit, kind), self.within(PIECE.1, unit, kind)),
            )
        });
        Chunk { first: share.first, count }
    }

    /// The shortest piece of a share that is worth to be taken on a kind.
    fn least(&self, unit: u64, kind: KindId) -> u64 {
        // In a short loop, no longer than the chunk that costs least, once that has been found out.
        let iteration_ns = self.fastest_iteration_ns().filter(|_| self.schedule.needs_unit());
        self.within(
            iteration_ns.map_or(PIECE.0, |iteration_ns| PIECE.0.min(span(unit, iteration_ns))),
            unit,
            kind,
        )
    }

    /// Iterations that take so long on a kind, where that has been seen.
    fn within(&self, span: Nanos, unit: u64, kind: KindId) -> u64 {
        self.iteration_ns(kind).map_or(unit, |iteration_ns| within(span, iteration_ns)).max(1)
    }

    /// The second half of the longest share.
    fn help(&mut self) -> Option<Chunk> {
        // The planned chunk may be too long if the loop is not what it was.
        let most = self
            .fastest_iteration_ns()
            .map_or(u64::MAX, |iteration_ns| within(LONGEST, iteration_ns));
        let unit = self.pieces().unwrap_or(1).min(most);
        let longest =
            self.places.iter_mut().map(|place| &mut place.share).max_by_key(|share| share.count)?;
        let count = (longest.count / 2).max(unit).min(longest.count);
        longest.count -= count;
        (count > 0).then_some(Chunk { first: longest.first + longest.count, count })
    }

    /// Nanoseconds per iteration on a kind, as far as it has been seen.
    pub fn iteration_ns(&self, kind: KindId) -> Option<f64> {
        let (count, time) = self.done[kind];
        (count > 0).then(|| time.0 as f64 / count as f64)
    }

    /// The tail rule, for a worker on a kind that could take so many iterations of all that are
    /// left.
    fn leaves(&self, kind: KindId, count: u64, left: u64, now: Nanos) -> bool {
        let at_work = || {
            self.places.iter().filter_map(|place| place.at_work).filter(|(other, ..)| *other < kind)
        };
        if at_work().next().is_none() {
            return false;
        }
        let Some(own) = self.iteration_ns(kind) else { return false };
        let faster = at_work().map(|(kind, since, count)| {
            let iteration_ns = self.iteration_ns(kind)?;
            Some(Faster {
                free_at: now.max(since.saturating_add(span(count, iteration_ns))),
                pace: iteration_ns,
            })
        });
        let Some(mut faster) = faster.collect::<Option<Vec<_>>>() else { return false };
        tail::leaves(now.saturating_add(span(count, own)), count, left, &mut faster)
    }

    /// How long the chunks that are out may take, on the measured kind of core; pieces are short at
    /// the end.
    pub fn longest_chunk_time(&self) -> Nanos {
        match &self.stage {
            Stage::Policy { unit, .. } if !self.schedule.samples() => self
                .fastest_iteration_ns()
                .map_or(Nanos::ZERO, |iteration_ns| LONGEST.min(span(*unit, iteration_ns))),
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

    /// Sizing: two chunks have to be long enough to measure, and the faster counts. One alone may
    /// have met an interrupt, or the first touch of a page. In a loop that is remembered one is
    /// enough, however short.
    fn size(&mut self, count: u64, time: Nanos) {
        let Stage::Sizing { next, last, measured, remembered } = &mut self.stage else { return };
        let seen = time.0.max(1) as f64 / count as f64;
        let was_remembered = remembered.take();
        let confirmed = was_remembered.filter(|remembered| seen <= CHANGED * remembered);
        if was_remembered.is_some() && confirmed.is_none() {
            // Chunks are as long as suited what it was.
            last.iter_mut().for_each(|it| *it = within(MEASURABLE, seen).clamp(1, *it));
        }
        let earlier = std::mem::replace(measured, Some(seen).filter(|_| time >= MEASURABLE));
        let Some(iteration_ns) = confirmed.or_else(|| Some(earlier?.min((*measured)?))) else {
            return;
        };
        let next = *next;
        let unit = self.unit(next, iteration_ns).min(within(LONGEST, seen)).max(1);
        self.begin_policy(next, unit, &[]);
    }

    /// Nanoseconds per iteration on the fastest kind that has done some: what to remember.
    pub fn fastest_iteration_ns(&self) -> Option<f64> {
        self.done
            .0
            .iter()
            .find(|(count, _)| *count > 0)
            .map(|&(count, time)| time.0 as f64 / count as f64)
    }

    /// Indexed by worker: iterations per nanosecond from the beginning of the loop to the end of
    /// its last chunk. The next run begins with these, so that all end together. (Counts alone
    /// would not do: a worker that is done early finds little to help with, and would have less
    /// each time.)
    pub fn speeds(&self) -> impl ExactSizeIterator<Item = f64> + Clone {
        self.places
            .iter()
            .map(|Place { did: (count, end), .. }| *count as f64 / end.0.max(1) as f64)
    }

    /// True if it was stopped.
    pub const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// Hands out no more.
    pub fn stop(&mut self) {
        self.stage = Stage::Over;
        self.places.iter_mut().for_each(|place| place.share.count = 0);
    }
}

/// How long chunks of such a share should take. There are share / x chunks of length x to take, and
/// the last one is late by x / 2 in the mean: the sum is least at x = sqrt(2 * take * share).
fn chunk(share: Nanos) -> Nanos {
    Nanos((2.0 * TAKE_COST.0 as f64 * share.0 as f64).sqrt() as u64)
}

/// Iterations that take so long, at so many nanoseconds each.
fn within(span: Nanos, iteration_ns: f64) -> u64 {
    (span.0 as f64 / iteration_ns.max(f64::MIN_POSITIVE)) as u64
}

fn span(iterations: u64, iteration_ns: f64) -> Nanos {
    Nanos((iterations as f64 * iteration_ns) as u64)
}

#[cfg(test)]
mod tests;
