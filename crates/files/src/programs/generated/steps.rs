//! What one thread of a generated program does: rounds between barriers, lock acquisitions evenly
//! along the way.

use crate::programs::build::{compute, repeat};
use evenkeel_model::{BarrierId, LockId, PhaseId, Step};

/// A lock is held for one in this many of the instructions from one acquisition to the next, and
/// for at least one instruction. Assumption.
const HELD_ONE_IN: u64 = 50;

/// One in this many acquisitions takes a lock that other threads take, too; the rest take a lock
/// that belongs to the thread alone. Assumption: in the study more than 90 % of acquisitions find
/// the lock free. That holds here on cores of any speed, even if a thread is preempted while it
/// holds a shared lock.
const SHARED_ONE_IN: u64 = 16;

/// Locks that threads share. Assumption, as is [`SHARED_BY_TURNS`].
const SHARED: u32 = 64;

/// A thread takes this many of the shared locks by turns. They are evenly spaced, from one that its
/// place gives.
const SHARED_BY_TURNS: u32 = 16;

/// The locks of a program: those shared, then one for each place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locks(pub(super) LockId);

impl Locks {
    /// How many there are for so many places.
    pub(super) const fn count(places: u32) -> u32 {
        SHARED + places
    }

    fn shared(self, place: u32, nth: u32) -> LockId {
        LockId(self.0.0 + (place + nth % SHARED_BY_TURNS * (SHARED / SHARED_BY_TURNS)) % SHARED)
    }

    fn own(self, place: u32) -> LockId {
        LockId(self.0.0 + SHARED + place)
    }
}

/// What one thread does in the parallel part.
pub(super) struct Share {
    /// Its place among those that work.
    pub(super) place: u32,
    /// Instructions.
    pub(super) work: u64,
    /// Lock acquisitions.
    pub(super) locks: u64,
    /// How often the thread meets others at `barrier`: after equal parts of its work, the last time
    /// at its end.
    pub(super) meetings: u64,
    pub(super) barrier: Option<BarrierId>,
    /// One more meeting after those, with some of the other threads only.
    pub(super) last: Option<BarrierId>,
}

impl Share {
    pub(super) fn steps(&self, phase: PhaseId, locks: Locks) -> Vec<Step> {
        let rounds = self.meetings + u64::from(self.last.is_some());
        let way = Way { phase, locks, place: self.place };
        if rounds == 0 {
            return way.stretch(self.work, self.locks);
        }
        let mut steps = Vec::new();
        let (work, few) = (self.work / rounds, self.locks / rounds);
        // The first round alone takes what does not divide evenly.
        compute(&mut steps, self.work % rounds, phase);
        let more = self.locks % rounds;
        let round = |locks: u64, barrier: Option<BarrierId>| {
            let mut steps = way.stretch(work, locks);
            steps.extend(barrier.map(Step::Barrier));
            steps
        };
        // The last round, if there is one, is a round with fewer locks, of which there is always
        // one.
        let fewer = rounds - more - u64::from(self.last.is_some());
        steps.extend(alternate(
            more,
            round(few + 1, self.barrier),
            fewer,
            round(few, self.barrier),
        ));
        if self.last.is_some() {
            steps.extend(round(few, self.last));
        }
        steps
    }
}

/// What the steps of one thread have in common.
#[derive(Clone, Copy)]
struct Way {
    phase: PhaseId,
    locks: Locks,
    place: u32,
}

impl Way {
    /// Work with lock acquisitions spread evenly over it.
    fn stretch(self, work: u64, acquisitions: u64) -> Vec<Step> {
        let mut steps = Vec::new();
        if acquisitions == 0 {
            compute(&mut steps, work, self.phase);
            return steps;
        }
        let distance = work / acquisitions;
        let held = (distance / HELD_ONE_IN).max(1).min(distance);
        compute(&mut steps, work % acquisitions, self.phase);
        let section = |lock: LockId| {
            let mut steps = Vec::new();
            compute(&mut steps, distance - held, self.phase);
            steps.push(Step::Lock(lock));
            compute(&mut steps, held, self.phase);
            steps.push(Step::Unlock(lock));
            steps
        };
        let own = |times: u64| repeated(times, section(self.locks.own(self.place)));
        let turns = |count: u64| -> Vec<Step> {
            let turn = |nth: u64| {
                [own(SHARED_ONE_IN - 1), section(self.locks.shared(self.place, nth as u32))]
            };
            (0..count).flat_map(turn).flatten().collect()
        };
        let (all, rest) = (u64::from(SHARED_BY_TURNS), acquisitions / SHARED_ONE_IN);
        steps.extend(repeated(rest / all, turns(all)));
        steps.extend(turns(rest % all));
        steps.extend(own(acquisitions % SHARED_ONE_IN));
        steps
    }
}

/// Repeats a body; gives no steps for 0 times.
fn repeated(times: u64, body: Vec<Step>) -> Vec<Step> {
    if times == 0 || body.is_empty() { Vec::new() } else { repeat(times, body) }
}

/// Repeats one body `some` times and another `others` times. The rarer one is spread among the
/// other as evenly as two loops can.
fn alternate(some: u64, one: Vec<Step>, others: u64, other: Vec<Step>) -> Vec<Step> {
    let ((few, mut rare), (many, frequent)) = if some <= others {
        ((some, one), (others, other))
    } else {
        ((others, other), (some, one))
    };
    if few == 0 {
        return repeated(many, frequent);
    }
    rare.extend(repeated(many / few, frequent.clone()));
    let mut steps = repeated(few, rare);
    steps.extend(repeated(many % few, frequent));
    steps
}
