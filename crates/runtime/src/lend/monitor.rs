//! Sleepers that look now and then after workers at work, and after those that have their cores.
//! See README.md in this folder.

use std::time::{Duration, Instant};

use super::Watch;
use crate::os_thread::SchedTimes;
use crate::worker::Worker;

/// A monitor polls the workers at work after so long, then after twice as long each time, up to the
/// longest interval.
const FIRST_INTERVAL: Duration = Duration::from_millis(1);
const LONGEST_INTERVAL: Duration = Duration::from_millis(8);
/// A poll takes so long: it sees some four workers.
const POLL_TIME: Duration = Duration::from_micros(20);
/// A lender looks at its borrower after so long, which is more than a time slice of another program
/// on the lender's core; then after twice as long each time, up to the longest.
const FIRST_CHECK: Duration = Duration::from_millis(8);
const LONGEST_CHECK: Duration = Duration::from_millis(64);
/// A core that other programs use, too, is not lent for so long to workers that do run.
const CONTENDED_FOR: Duration = Duration::from_millis(100);

/// What a worker does while it sleeps.
pub enum WhileAsleep {
    /// It polls the workers at work: after how long the next time, and how many polls in turn have
    /// found none.
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

/// A lent core: the borrower, its scheduling times when the lender looked last, and when the
/// lender looks again.
pub struct LentCore {
    borrower: usize,
    times: Option<SchedTimes>,
    since: Instant,
    check_after: Duration,
}

impl Worker {
    /// Acts when the worker has fallen asleep (`activity` is None), and again at the time that this
    /// returns: it lends its core, or polls the workers at work.
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

    /// Lends its core to the worker that it has found.
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
        // One poll may fall between two tasks.
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

    /// Takes the core back if other programs use it, too, and the borrower is no better off. None:
    /// the core is not lent any more.
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
