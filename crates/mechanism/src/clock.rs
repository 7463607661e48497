//! The clock of a queue: where virtual times start, and how they change with the queue.
//!
//! ```text
//! floor           greatest virtual time of all threads picked from the queue
//! starts          Start::Floor at the floor, Start::At(v) at v, Start::Keep where it was
//! wakes           max(v, floor - sleeper)
//! changes queues  v - floor(from) + floor(to)   if both have clocks of their own, else v
//! ```
//!
//! Source: our contract; the floor is CFS's `min_vruntime` and the sleeper's credit its
//! `sched_latency / 2` (kernel/sched/fair.c, `place_entity`), per queue instead of per CPU.

use evenkeel_policy::{Clock, Start};

/// The clock of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueClock {
    own: bool,
    floor: u64,
    sleeper: u64,
}

impl QueueClock {
    /// A clock at zero.
    pub const fn new(clock: Clock) -> Self {
        Self { own: matches!(clock, Clock::Own), floor: 0, sleeper: 0 }
    }

    /// The greatest virtual time of the threads picked from the queue.
    #[inline]
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Sets how far below the floor a thread that wakes may start.
    pub fn set_sleeper(&mut self, credit: u64) {
        self.sleeper = credit;
    }

    /// A thread of this virtual time has been picked, or runs on because no other thread waits. The
    /// latter counts, too, so that a thread that arrives then does not start that far behind.
    #[inline]
    pub fn note_picked(&mut self, virtual_time: u64) {
        self.floor = self.floor.max(virtual_time);
    }

    /// Virtual time at which a thread starts.
    #[inline]
    pub fn started(&self, virtual_time: u64, start: Start) -> u64 {
        match start {
            Start::Keep => virtual_time,
            Start::Floor => self.floor,
            Start::At(at) => at,
        }
    }

    /// Virtual time at which a thread resumes after sleep.
    #[inline]
    pub fn woken(&self, virtual_time: u64) -> u64 {
        virtual_time.max(self.floor.saturating_sub(self.sleeper))
    }

    /// A virtual time of this clock in another clock: at the same distance from the floor.
    #[inline]
    pub fn in_clock_of(&self, other: &Self, virtual_time: u64) -> u64 {
        if !self.own || !other.own {
            return virtual_time;
        }
        match virtual_time.checked_sub(self.floor) {
            Some(ahead) => other.floor.saturating_add(ahead),
            None => other.floor.saturating_sub(self.floor - virtual_time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(clock: Clock, floor: u64, sleeper: u64) -> QueueClock {
        let mut it = QueueClock::new(clock);
        it.note_picked(floor);
        it.set_sleeper(sleeper);
        it
    }

    #[test]
    fn a_start_is_where_the_order_says() {
        let clock = at(Clock::Own, 100, 0);
        let starts = [Start::Keep, Start::Floor, Start::At(7)];
        assert_eq!(starts.map(|start| clock.started(3, start)), [3, 100, 7]);
    }

    #[test]
    fn a_thread_that_wakes_is_brought_to_the_floor_less_its_credit() {
        let clock = at(Clock::Own, 100, 30);
        assert_eq!([0, 70, 71, 200].map(|it| clock.woken(it)), [70, 70, 71, 200]);
        assert_eq!(at(Clock::Own, 20, 30).woken(5), 5);
    }

    #[test]
    fn a_shared_clock_is_one_for_all_queues() {
        let (own, shared) = (at(Clock::Own, 50, 0), at(Clock::Shared, 90, 0));
        assert_eq!(own.in_clock_of(&shared, 60), 60);
        assert_eq!(shared.in_clock_of(&own, 60), 60);
    }

    proptest! {
        #[test]
        fn there_and_back_a_virtual_time_is_what_it_was(
            from in 1_u64 << 40..1 << 50, to in 1_u64 << 40..1 << 50, off in 0_u64..1 << 39,
            before: bool,
        ) {
            let (from, to) = (at(Clock::Own, from, 0), at(Clock::Own, to, 0));
            let time = if before { from.floor() - off } else { from.floor() + off };
            let there = from.in_clock_of(&to, time);
            prop_assert_eq!(i128::from(there) - i128::from(to.floor()),
                i128::from(time) - i128::from(from.floor()));
            prop_assert_eq!(to.in_clock_of(&from, there), time);
        }

        #[test]
        fn the_floor_never_falls(times in prop::collection::vec(any::<u64>(), 0..20)) {
            let mut clock = QueueClock::new(Clock::Own);
            for time in times {
                let before = clock.floor();
                clock.note_picked(time);
                prop_assert!(clock.floor() >= before.max(time));
            }
        }
    }
}
