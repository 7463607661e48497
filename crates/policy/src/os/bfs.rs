//! `bfs`: one queue for all cores, earliest virtual deadline first. Ignores kinds.
//!
//! ```text
//! due = now + ratio(nice) x slice      set at the start and when a slice is used up; kept when
//!                                      preempted or asleep
//! a core takes the thread that is due first; one that sticks to another core (the last that ran
//!     there, taken off it) is due 1 slice later for a core of the same cluster, 2 slices later for
//!     others (`os/deadline.rs`)
//! a thread that wakes takes its last core if that is idle, else an idle one; else it preempts the
//!     running thread that is due last, if that is due later than itself; not if its waker is about
//!     to wait (a synchronous wake-up: pipes, sockets)
//! ```
//!
//! Work-conserving by construction, and never out of balance. The price is that threads wander:
//! between clusters that costs caches; between kinds a thread's speed is left to chance.
//!
//! Source: Con Kolivas, BFS (Brain Fuck Scheduler), 2009. Of its search for idle cores, nearest
//! first, only the nearest is modelled: the previous core. SCHED_IDLE counts as nice 19; a nice
//! value counts as it is when the thread starts.
//!
//! Any number of kinds: they make no difference. All directives about a thread are given at its
//! start.
//!
//! Knobs: `slice` (6 ms).

use super::deadline::{Deadlines, PREEMPTION, SLICE};
use crate::contract::{
    Clock, Directive, Directives, Event, Policy, QueueId, StartError, Tier, View,
};
use crate::entry::{Entry, Trait};

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "bfs",
    summary: "one queue for all cores, earliest virtual deadline first; unaware of kinds",
    source: "Con Kolivas, BFS, 2009",
    traits: &[Trait::WorkConserving],
    knobs: &[SLICE],
    make: |knobs, _| Box::new(Bfs { deadlines: Deadlines::of(knobs) }),
};

/// The only queue.
const ALL: QueueId = QueueId(0);

/// The policy `bfs`.
#[derive(Debug)]
pub struct Bfs {
    deadlines: Deadlines,
}

impl Policy for Bfs {
    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let queue = say.make_queue(Clock::Shared);
        say.say(Directive::Preemption(queue, Some(PREEMPTION)));
        for core in &view.machine.cores {
            say.serve(core.id, vec![Tier::least_key([queue])], None);
        }
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        if let Event::Started(thread) = event {
            say.order(thread, self.deadlines.order_from(view.thread(thread).weight, view.now));
            say.slice(thread, self.deadlines.grant());
            say.assign(thread, ALL);
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{CoreId, Nanos};

    use super::*;
    use crate::contract::{Interest, Order};
    use crate::registry::make;
    use crate::testing::Bench;
    use crate::weight::weight_of;

    #[test]
    fn all_cores_serve_one_queue_and_nothing_is_asked_but_starts() {
        let policy = make("bfs", &[]).unwrap();
        assert_eq!(policy.interest(), Interest::NONE);
        let bench = Bench::start(2, 2, policy);
        assert!((0..4).all(|core| bench.serves(CoreId(core)) == [ALL]));
    }

    #[test]
    fn a_thread_is_due_by_its_nice_value_from_when_it_starts_and_is_postponed_by_distance() {
        let mut bench = Bench::start(1, 1, make("bfs", &[]).unwrap());
        bench.now = Nanos::from_millis(100);
        let due = |bench: &Bench| match bench.said[0] {
            Directive::Order(_, Order::Deadline { at, renew, postpone }) => (at, renew, postpone),
            ref other => panic!("{other:?}"),
        };
        bench.spawn(0);
        let ms = Nanos::from_millis;
        // 6 ms x 836 / 128, and x 836 / 128 x (11/10)^5 at nice 5, each level rounded down to
        // 128ths.
        assert_eq!(
            due(&bench),
            (Nanos(139_187_500), Nanos(39_187_500), [Nanos::ZERO, ms(6), ms(12)])
        );
        bench.spawn_weighing(0, weight_of(5));
        assert_eq!(due(&bench).1, Nanos(6_000_000 * 1344 / 128));
    }
}
