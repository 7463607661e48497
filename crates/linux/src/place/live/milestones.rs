//! Milestones, as far as they can be seen from outside: threads of a process that block one after
//! the other, and wake together.
//!
//! A thread is *in play* once it has run since the process's last milestone. The process has
//! *gathered* when all in play are blocked, or all but one: the last to arrive at a barrier need
//! not block. They have *met* when as many as had blocked, or one fewer, wake within
//! `WAKE_UP_WINDOW`. Those in play then begin anew.
//!
//! With two or three threads in play this cannot tell a barrier from threads that wait for another
//! (a contended lock, a queue): all begin anew then. A barrier that spins is not seen at all: its
//! threads never block.

use evenkeel_machine::Nanos;
use evenkeel_policy::{AppId, ThreadId};

/// How close wake-ups must be to count as one. A broadcast over a hundred threads takes some
/// hundred microseconds; two wake-ups that have nothing to do with each other seldom fall so close
/// in programs whose milestones are worth a policy's attention.
const WAKE_UP_WINDOW: Nanos = Nanos(2_000_000);

#[derive(Debug, Default)]
struct Group {
    /// Threads that have run since the last milestone.
    in_play: Vec<ThreadId>,
    /// How many those are, and how many of them are blocked.
    count: usize,
    asleep: usize,
    /// How many were asleep when all had gathered.
    gathered: Option<usize>,
    /// First wake-up of the present window, and how many are in it.
    woken: Option<(Nanos, usize)>,
}

/// A thread, as its group has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    /// It has not run since the last milestone, or has ended.
    #[default]
    None,
    Awake,
    Asleep,
}

/// Finds milestones of processes from when their threads block and wake. Constant time for all but
/// a meeting, and the end of a thread, which take as long as there are threads in play.
#[derive(Debug, Default)]
pub struct Milestones {
    /// By application.
    groups: Vec<Group>,
    /// By thread.
    parts: Vec<Part>,
}

impl Milestones {
    fn find(&mut self, app: AppId, thread: ThreadId) -> (&mut Group, &mut Part) {
        if self.groups.len() <= app.index() {
            self.groups.resize_with(app.index() + 1, Group::default);
        }
        if self.parts.len() <= thread.index() {
            self.parts.resize(thread.index() + 1, Part::None);
        }
        (&mut self.groups[app.index()], &mut self.parts[thread.index()])
    }

    /// A thread got a core.
    pub fn ran(&mut self, app: AppId, thread: ThreadId) {
        let (group, part) = self.find(app, thread);
        if *part == Part::None {
            *part = Part::Awake;
            group.in_play.push(thread);
            group.count += 1;
            group.gathered = None;
        }
    }

    /// A thread waits for something else than a core.
    pub fn blocked(&mut self, app: AppId, thread: ThreadId) {
        let (group, part) = self.find(app, thread);
        if *part == Part::Awake {
            *part = Part::Asleep;
            group.asleep += 1;
            if group.count >= 2 && group.asleep + 1 >= group.count {
                group.gathered = Some(group.asleep);
                group.woken = None;
            }
        }
    }

    /// A thread can go on. Whether its group has met now.
    pub fn woke(&mut self, app: AppId, thread: ThreadId, at: Nanos) -> bool {
        let (group, part) = self.find(app, thread);
        if *part != Part::Asleep {
            return false;
        }
        *part = Part::Awake;
        group.asleep -= 1;
        let Some(gathered) = group.gathered else { return false };
        let (first, woken) = match group.woken {
            Some((first, woken)) if at.saturating_sub(first) <= WAKE_UP_WINDOW => {
                (first, woken + 1)
            }
            _ => (at, 1),
        };
        group.woken = Some((first, woken));
        woken >= gathered.saturating_sub(1).max(1)
    }

    /// Threads that have met, in order of when they ran first since the last time. One that still
    /// sleeps is about to wake; it is in play again when it runs.
    pub fn met(&mut self, app: AppId) -> Vec<ThreadId> {
        let Some(group) = self.groups.get_mut(app.index()) else { return Vec::new() };
        let mut met = std::mem::take(&mut group.in_play);
        met.retain(|thread| self.parts[thread.index()] != Part::None);
        for &thread in &met {
            let part = &mut self.parts[thread.index()];
            if *part == Part::Awake {
                group.in_play.push(thread);
            } else {
                *part = Part::None;
            }
        }
        group.count = group.in_play.len();
        group.asleep = 0;
        group.gathered = None;
        group.woken = None;
        met
    }

    /// A thread has ended.
    pub fn ended(&mut self, app: AppId, thread: ThreadId) {
        let (group, part) = self.find(app, thread);
        match std::mem::take(part) {
            Part::None => return,
            Part::Awake => group.count -= 1,
            Part::Asleep => {
                group.count -= 1;
                group.asleep -= 1;
            }
        }
        // Its number may be given again.
        group.in_play.retain(|&other| other != thread);
        if group.count == 0 {
            *group = Group::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: AppId = AppId(0);

    fn playing(count: u32) -> Milestones {
        let mut milestones = Milestones::default();
        for thread in 0..count {
            milestones.ran(APP, ThreadId(thread));
        }
        milestones
    }

    /// Rounds of a barrier of `n`, the last to arrive not blocking: the number of milestones seen.
    fn rounds(n: u32, rounds: u64) -> usize {
        let mut milestones = playing(n);
        let mut seen = 0;
        for round in 0..rounds {
            let at = |ms: u64| Nanos::from_millis(100 * round + ms);
            for thread in 0..n - 1 {
                milestones.blocked(APP, ThreadId(thread));
            }
            for thread in 0..n - 1 {
                if milestones.woke(
                    APP,
                    ThreadId(thread),
                    Nanos(at(50).0 + 1000 * u64::from(thread)),
                ) {
                    seen += 1;
                    let met = milestones.met(APP);
                    assert_eq!(met.len(), n as usize, "all have met");
                }
                milestones.ran(APP, ThreadId(thread));
            }
            milestones.ran(APP, ThreadId(n - 1));
        }
        seen
    }

    #[test]
    fn every_round_of_a_barrier_of_two_is_a_milestone() {
        assert_eq!(rounds(2, 5), 5);
    }

    #[test]
    fn every_round_of_a_barrier_of_eight_is_a_milestone() {
        assert_eq!(rounds(8, 5), 5);
    }

    #[test]
    fn threads_that_wake_far_apart_have_not_met() {
        let mut milestones = playing(4);
        for thread in 0..4 {
            milestones.blocked(APP, ThreadId(thread));
        }
        for thread in 0..4 {
            let at = Nanos::from_millis(10 + 5 * u64::from(thread));
            assert!(!milestones.woke(APP, ThreadId(thread), at), "{thread}");
        }
    }

    #[test]
    fn a_thread_with_the_number_of_one_that_has_ended_meets_once() {
        let mut milestones = playing(2);
        milestones.ended(APP, ThreadId(1));
        milestones.ran(APP, ThreadId(1));
        milestones.blocked(APP, ThreadId(1));
        assert!(milestones.woke(APP, ThreadId(1), Nanos(9)));
        assert_eq!(milestones.met(APP), [ThreadId(0), ThreadId(1)]);
    }

    #[test]
    fn one_of_three_that_sleeps_and_wakes_makes_no_milestone() {
        let mut milestones = playing(3);
        milestones.blocked(APP, ThreadId(0));
        assert!(!milestones.woke(APP, ThreadId(0), Nanos(9)));
    }
}
