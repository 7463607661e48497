//! Who sleeps looks now and then after those at work, and after whom it has lent its core.
//! README.md, "Cores that are lent".

use std::time::{Duration, Instant};

use super::Watch;
use crate::os_thread::Turns;
use crate::worker::Worker;

/// Who sleeps looks after those at work for the first time after so long, then after twice as long
/// each time, up to so long.
const FIRST_ROUND: Duration = Duration::from_millis(1);
const LONGEST_ROUND: Duration = Duration::from_millis(8);
/// And looks for so long: at some four of them.
const GLANCE: Duration = Duration::from_micros(20);
/// Who has lent its core looks what comes of it for so long the first time, more than a time slice
/// of whoever else may be there; then for twice as long each time, up to so long.
const FIRST_TRIAL: Duration = Duration::from_millis(8);
const LONGEST_TRIAL: Duration = Duration::from_millis(64);
/// A core that others have, too, is not lent for so long to who could wait.
const POOR: Duration = Duration::from_millis(100);

/// What a worker does while it sleeps.
pub enum Guard {
    /// It looks after those at work, the next time after so long; and how often in turn nobody was.
    Rounds(Duration, u32),
    /// It has lent its core.
    Lends(Loaned),
}

impl Guard {
    /// When it is to do something.
    fn next(&self) -> Instant {
        match self {
            Self::Rounds(round, _) => Instant::now() + *round,
            Self::Lends(loaned) => loaned.since + loaned.trial,
        }
    }
}

/// To whom, what that one had had of cores when it looked last, and when it looks again what has
/// come of it.
pub struct Loaned {
    borrower: usize,
    turns: Option<Turns>,
    since: Instant,
    trial: Duration,
}

impl Worker {
    /// What it does when it has fallen asleep (`guard`: None), and again at the time that this
    /// returns: it lends its core, or looks after those that are at work.
    pub fn stands_guard(&self, watch: &mut Watch, guard: &mut Option<Guard>) -> Option<Instant> {
        *guard = match guard.take() {
            None => self.lends(watch).or_else(|| self.mounts_guard()),
            Some(Guard::Rounds(round, in_vain)) => self.makes_round(watch, round, in_vain),
            Some(Guard::Lends(loaned)) => {
                self.sees_what_came_of(&loaned).or_else(|| self.mounts_guard())
            }
        };
        guard.as_ref().map(Guard::next)
    }

    fn mounts_guard(&self) -> Option<Guard> {
        self.registry().lending.mounts_guard(self.index).then_some(Guard::Rounds(FIRST_ROUND, 0))
    }

    /// Lends its core to whom it has found.
    fn lends(&self, watch: &Watch) -> Option<Guard> {
        let borrower = self.lend_core(watch)?;
        // They are read later, when it has not just been in a hurry to lend.
        Some(Guard::Lends(Loaned {
            borrower,
            turns: None,
            since: Instant::now(),
            trial: FIRST_TRIAL,
        }))
    }

    fn makes_round(&self, watch: &mut Watch, round: Duration, in_vain: u32) -> Option<Guard> {
        let lending = &self.registry().lending;
        // Once may be between two things that somebody does.
        let in_vain = if lending.at_work(self.index).next().is_some() { 0 } else { in_vain + 1 };
        if in_vain == 2 {
            lending.leaves_guard(self.index);
            return None;
        }
        (watch.is_sentrys, watch.next) = (true, Duration::ZERO);
        let (since, mut waited) = (Instant::now(), Duration::ZERO);
        let is_poor = self.borrower.poor_until.get().is_some_and(|until| since < until);
        while !is_poor && waited < GLANCE && self.registry().sleep.is_asleep(self.index) {
            if self.finds_borrower(watch, waited) {
                // There may be more than one. Before it lends its core, which it may lose by that.
                lending.leaves_guard(self.index);
                self.calls_next_sentry();
                return self.lends(watch).or_else(|| self.mounts_guard());
            }
            std::hint::spin_loop();
            waited = since.elapsed();
        }
        Some(Guard::Rounds(LONGEST_ROUND.min(2 * round), in_vain))
    }

    /// Wakes another of its kind, if there is more to be looked after: it finds nothing to do, and
    /// looks after them when it sleeps again.
    fn calls_next_sentry(&self) {
        let registry = self.registry();
        if registry.lending.at_work(self.index).nth(1).is_some() {
            let is_like_this =
                |other: usize| registry.team.place(other).kind == self.kind && other != self.index;
            let next = registry.sleep.asleep().find(|&other| is_like_this(other));
            next.into_iter().for_each(|next| registry.sleep.wake(next));
        }
    }

    /// Its core may be one that others have, too: then whom it has lent it to is no better off.
    /// None: it is not lent any more.
    fn sees_what_came_of(&self, loaned: &Loaned) -> Option<Guard> {
        let (lending, now) = (&self.registry().lending, Instant::now());
        let Loaned { borrower, turns: before, trial, .. } = *loaned;
        if !lending.is_lent_by(borrower, self.index) {
            return None;
        }
        let turns = lending.turns(borrower);
        if let Some((before, after)) = before.zip(turns)
            && !lending.is_worth_it(self.index, borrower, after.since(before))
        {
            self.borrower.poor_until.set(Some(now + POOR));
            self.takes_core_back();
            return None;
        }
        let trial = if before.is_some() { LONGEST_TRIAL.min(2 * trial) } else { trial };
        Some(Guard::Lends(Loaned { borrower, turns, since: now, trial }))
    }
}
