//! Steal backoff: a thief leaves its victims alone if stealing does not pay.
//!
//! To steal a task moves some lines of memory from the victim's core to the thief's, and back those
//! that the victim goes on to write: 70 to 100 ns each between two cores of a large server. Two
//! workers with shorter tasks are slower together than the victim alone.
//!
//! So a thief times one steal in sixteen, and the task that it got. If the taking took longer (of a
//! batch: the taking for every second line of memory), it leaves its victims alone for 2 us, for
//! twice as long each time that it finds the same again, and for 50 us at most. One task that was
//! worth its steal ends that.
//!
//! The thief backs off before its next steal, when it has no work of its own: a chain that it has
//! taken up goes on. A task that has created others is not judged, nor are tickets of loops and
//! halves of joins. A victim that has neither run nor created tasks meanwhile does something else,
//! and its tasks are the thief's.
//!
//! A thief that backs off has given its credits back and counts as idle for slow workers that
//! decline tasks. It stops for such a task, for a call from outside, and when what it waits for has
//! come about. This is a delay and nothing else: no protocol depends on it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::spin_timeout::SPIN_TIMEOUT;

/// One steal in so many is timed: two looks at the clock cost some 50 ns.
const SAMPLED: u32 = 16;
/// The first backoff.
const FIRST: Duration = Duration::from_micros(2);
/// The longest backoff: as long as an idle worker looks before it sleeps.
const LONGEST: Duration = SPIN_TIMEOUT;

/// A worker's record of its steals.
#[derive(Default)]
pub struct StealBackoff {
    /// Steals since the last one that was timed.
    steals: Cell<u32>,
    /// True if the next steal is timed.
    is_timing: Cell<bool>,
    /// The last timed steal that was begun: the victim, and when.
    begun: Cell<Option<(usize, Instant)>>,
    span: Cell<Duration>,
    /// The victim to leave alone before the next steal, and for how long.
    due: Cell<Option<(usize, Duration)>>,
}

impl StealBackoff {
    /// Counts a steal.
    #[inline]
    pub fn count_steal(&self) {
        self.steals.set(self.steals.get() + 1);
    }

    /// True if the next steal is to be timed.
    #[inline]
    pub fn is_sample_due(&self) -> bool {
        self.steals.get() >= SAMPLED
    }

    /// Looks for a job and times the steal that finds it: the victim, and when the steal was begun.
    /// None: the job was not stolen.
    pub fn time_steal<J>(
        &self,
        find_work: impl FnOnce() -> Option<J>,
    ) -> Option<(J, Option<(usize, Instant)>)> {
        self.begun.set(None);
        self.is_timing.set(true);
        let job = find_work();
        self.is_timing.set(false);
        let job = job?;
        // A search that finds nothing is timed again the next time.
        self.steals.set(0);
        Some((job, self.begun.take()))
    }

    /// Notes the victim, and the time if the steal is timed.
    #[inline]
    pub fn begin_steal(&self, victim: usize) {
        if self.is_timing.get() {
            self.begun.set(Some((victim, Instant::now())));
        }
    }

    /// Judges a timed steal: so long it took, and so long the task. Several lines of memory come
    /// faster together than one by one: twice as fast, say.
    pub fn record(&self, victim: usize, lines: usize, taking: Duration, task: Duration) {
        let next = if taking * lines.div_ceil(2) as u32 <= task {
            Duration::ZERO
        } else {
            (2 * self.span.get()).clamp(FIRST, LONGEST)
        };
        self.span.set(next);
        self.due.set(Some((victim, next)).filter(|(_, span)| !span.is_zero()));
    }

    /// The victim to leave alone now, and for how long.
    #[inline]
    pub fn take_due(&self) -> Option<(usize, Duration)> {
        self.due.take()
    }

    /// The victim has neither run nor created tasks meanwhile: it does something else, and its
    /// tasks are the thief's.
    pub fn reset(&self) {
        self.span.set(Duration::ZERO);
    }

    /// As if it had found out that this victim is to be left alone for so long.
    #[cfg(test)]
    pub fn set_due(&self, victim: usize, span: Duration) {
        self.due.set(Some((victim, span)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(ns: u64) -> Duration {
        Duration::from_nanos(ns)
    }

    /// For how long after a steal of 200 ns and a task of such a length.
    fn span(steal_backoff: &StealBackoff, task: u64) -> u128 {
        steal_backoff.record(3, 1, ns(200), ns(task));
        steal_backoff.take_due().map_or(0, |(victim, span)| {
            assert_eq!(victim, 3);
            span.as_micros()
        })
    }

    #[test]
    fn one_steal_of_sixteen_is_timed_however_often_none_is_found() {
        let steal_backoff = StealBackoff::default();
        let timed = (0..1_600).filter(|at| {
            let found = (at % 10 == 0).then(|| {
                steal_backoff.begin_steal(3);
                steal_backoff.count_steal();
            });
            steal_backoff.is_sample_due() && steal_backoff.time_steal(|| found).is_some()
        });
        assert_eq!(timed.count(), 10);
        (0..SAMPLED).for_each(|_| steal_backoff.count_steal());
        assert!(
            steal_backoff.time_steal(|| None::<()>).is_none() && steal_backoff.is_sample_due(),
            "what has not been found is timed the next time"
        );
    }

    #[test]
    fn a_thief_of_tasks_shorter_than_their_taking_backs_off_for_longer_and_longer() {
        let steal_backoff = StealBackoff::default();
        assert_eq!([100; 7].map(|task| span(&steal_backoff, task)), [2, 4, 8, 16, 32, 50, 50]);
        assert_eq!(steal_backoff.take_due(), None, "once each");
    }

    #[test]
    fn a_task_that_is_worth_it_or_a_victim_that_is_busy_ends_that() {
        let steal_backoff = StealBackoff::default();
        assert_eq!([100, 100, 300, 100].map(|task| span(&steal_backoff, task)), [2, 4, 0, 2]);
        steal_backoff.reset();
        assert_eq!(span(&steal_backoff, 100), 2);
    }
}
