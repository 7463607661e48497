//! Who sleeps looks now and then after those at work, and after whom it has lent its core.
//! README.md, "Cores that are lent".

use std::time::{Duration, Instant};

use super::Watch;
use crate::os_thread::SchedTimes;
use crate::worker::Worker;

/// Who sleeps looks after those at work for the first time after so long, then after twice as long
/// each time, up to so long.
const FIRST_INTERVAL: Duration = Duration::from_millis(1);
const LONGEST_INTERVAL: Duration = Duration::from_millis(8);
/// And looks for so long: at some four of them.
const POLL_TIME: Duration = Duration::from_micros(20);
/// Who has lent its core looks what comes of it for so long the first time, more than a time slice
/// of whoever else may be there; then for twice as long each time, up to so long.
const FIRST_CHECK: Duration = Duration::from_millis(8);
const LONGEST_CHECK: Duration = Duration::from_millis(64);
/// A core that others have, too, is not lent for so long to who could wait.
const CONTENDED_FOR: Duration = Duration::from_millis(100);

/// What a worker does while it sleeps.
pub enum WhileAsleep {
    /// It looks after those at work, the next time after so long; and how often in turn nobody was.
    Monitors(Duration, u32),
    /// It has lent its core.
    Lends(LentCore),
}

impl WhileAsleep {
    /// When it is to do something.
    fn next(&self) -> Instant {
        match self {
            Self::Monitors(interval, _) => Instant::now() + *interval,
            Self::Lends(lent) => lent.since + lent.check_after,
        }
    }
}

/// To whom, what that one had had of cores when it looked last, and when it looks again what has
/// come of it.
pub struct LentCore {
    borrower: usize,
    times: Option<SchedTimes>,
    since: Instant,
    check_after: Duration,
}

impl Worker {
    /// What it does when it has fallen asleep (`guard`: None), and again at the time that this
    /// returns: it lends its core, or looks after those that are at work.
    pub fn acts_while_asleep(
        &self,
        watch: &mut Watch,
        activity: &mut Option<WhileAsleep>,
    ) -> Option<Instant> {
        *activity = match activity.take() {
            None => self.lends(watch).or_else(|| self.becomes_monitor()),
            Some(WhileAsleep::Monitors(interval, empty_polls)) => {
                self.polls_workers(watch, interval, empty_polls)
            }
            Some(WhileAsleep::Lends(lent)) => {
                self.checks_borrower(&lent).or_else(|| self.becomes_monitor())
            }
        };
        activity.as_ref().map(WhileAsleep::next)
    }

    fn becomes_monitor(&self) -> Option<WhileAsleep> {
        self.registry()
            .lending
            .becomes_monitor(self.index)
            .then_some(WhileAsleep::Monitors(FIRST_INTERVAL, 0))
    }

    /// Lends its core to whom it has found.
    fn lends(&self, watch: &Watch) -> Option<WhileAsleep> {
        let borrower = self.lend_core(watch)?;
        // They are read later, when it has not just been in a hurry to lend.
        Some(WhileAsleep::Lends(LentCore {
            borrower,
            times: None,
            since: Instant::now(),
            check_after: FIRST_CHECK,
        }))
    }

    fn polls_workers(
        &self,
        watch: &mut Watch,
        interval: Duration,
        empty_polls: u32,
    ) -> Option<WhileAsleep> {
        let lending = &self.registry().lending;
        // Once may be between two things that somebody does.
        let empty_polls =
            if lending.at_work(self.index).next().is_some() { 0 } else { empty_polls + 1 };
        if empty_polls == 2 {
            lending.stops_monitoring(self.index);
            return None;
        }
        (watch.is_monitor, watch.next) = (true, Duration::ZERO);
        let (since, mut waited) = (Instant::now(), Duration::ZERO);
        let is_contended = self.borrower.contended_until.get().is_some_and(|until| since < until);
        while !is_contended && waited < POLL_TIME && self.registry().sleep.is_asleep(self.index) {
            if self.finds_borrower(watch, waited) {
                // There may be more than one. Before it lends its core, which it may lose by that.
                lending.stops_monitoring(self.index);
                self.wakes_next_monitor();
                return self.lends(watch).or_else(|| self.becomes_monitor());
            }
            std::hint::spin_loop();
            waited = since.elapsed();
        }
        Some(WhileAsleep::Monitors(LONGEST_INTERVAL.min(2 * interval), empty_polls))
    }

    /// Wakes another of its kind, if there is more to be looked after: it finds nothing to do, and
    /// looks after them when it sleeps again.
    fn wakes_next_monitor(&self) {
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
    fn checks_borrower(&self, lent: &LentCore) -> Option<WhileAsleep> {
        let (lending, now) = (&self.registry().lending, Instant::now());
        let LentCore { borrower, times: before, check_after, .. } = *lent;
        if !lending.is_lent_by(borrower, self.index) {
            return None;
        }
        let times = lending.sched_times(borrower);
        if let Some((before, after)) = before.zip(times)
            && !lending.pays_off(self.index, borrower, after.since(before))
        {
            self.borrower.contended_until.set(Some(now + CONTENDED_FOR));
            self.takes_core_back();
            return None;
        }
        let check_after =
            if before.is_some() { LONGEST_CHECK.min(2 * check_after) } else { check_after };
        Some(WhileAsleep::Lends(LentCore { borrower, times, since: now, check_after }))
    }
}
