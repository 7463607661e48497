//! The round of each thread. Threads that count are all in the least round of any, `base`, or in
//! the one after it. A thread that would open a third stays in the second, so time that no other
//! thread could use is not charged.

use crate::contract::ThreadId;

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    round: u64,
    /// Its index among the threads that count in its round.
    member: Option<u32>,
}

/// Rounds of all threads.
#[derive(Debug, Default)]
pub struct Rounds {
    threads: Vec<Place>,
    base: u64,
    /// Threads that count, in the round `base` and in the one after it, in no order.
    members: [Vec<ThreadId>; 2],
}

impl Rounds {
    /// The least round of any thread that counts.
    pub const fn base(&self) -> u64 {
        self.base
    }

    /// Threads in the least round.
    pub fn in_base(&self) -> usize {
        self.members[0].len()
    }

    /// True if the condition holds for all threads in the least round. The thread for which it
    /// failed is tested first the next time: O(1) while it still fails.
    pub fn all_in_base(&mut self, mut holds: impl FnMut(ThreadId) -> bool) -> bool {
        let Some(other) = self.members[0].iter().position(|&thread| !holds(thread)) else {
            return true;
        };
        self.members[0].swap(0, other);
        for place in [0, other] {
            self.threads[self.members[0][place].index()].member = Some(place as u32);
        }
        false
    }

    /// The round that a thread is in, or was in when it ceased to count.
    pub fn of(&self, thread: ThreadId) -> u64 {
        self.threads.get(thread.index()).map_or(self.base, |place| place.round)
    }

    /// A thread starts. Forgets the round of an earlier thread of the same number; otherwise as
    /// [`Rounds::enter`].
    pub fn start(&mut self, thread: ThreadId, of_core: u64, counts: bool) -> u64 {
        self.leave(thread);
        if let Some(place) = self.threads.get_mut(thread.index()) {
            place.round = 0;
        }
        self.enter(thread, of_core, counts)
    }

    /// A thread becomes runnable. It enters its own round or that of its core if that is later, but
    /// no round before the least one. It `counts` unless it is bound to some cores, where others'
    /// rounds must not wait for it. Returns its round.
    pub fn enter(&mut self, thread: ThreadId, of_core: u64, counts: bool) -> u64 {
        self.leave(thread);
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Place::default());
        }
        let round = self.of(thread).max(of_core).clamp(self.base, self.base + 1);
        self.threads[thread.index()].round = round;
        if counts {
            self.count(thread);
            self.open();
        }
        round
    }

    /// A thread has ended or sleeps: no round waits for it. It keeps its round.
    pub fn leave(&mut self, thread: ThreadId) {
        if self.discount(thread) {
            self.open();
        }
    }

    /// A thread has used up its quota in its round. Returns its round now, and true if that is the
    /// next one: it stays if some thread is still in the round before its own.
    pub fn advance(&mut self, thread: ThreadId) -> (u64, bool) {
        let Some(&Place { round: before, .. }) = self.threads.get(thread.index()) else {
            return (self.base, false);
        };
        let round = (before + 1).clamp(self.base, self.base + 1);
        if round > before {
            let counts = self.discount(thread);
            self.threads[thread.index()].round = round;
            if counts {
                self.count(thread);
            }
        }
        self.open();
        (round, round == before + 1)
    }

    fn members_of(&mut self, round: u64) -> &mut Vec<ThreadId> {
        &mut self.members[usize::from(round > self.base)]
    }

    /// Counts a thread in its round.
    fn count(&mut self, thread: ThreadId) {
        let members = self.members_of(self.threads[thread.index()].round);
        members.push(thread);
        self.threads[thread.index()].member = Some(members.len() as u32 - 1);
    }

    /// Stops counting a thread. True if it counted.
    fn discount(&mut self, thread: ThreadId) -> bool {
        let Some(Place { round, member: Some(member) }) = self.threads.get(thread.index()).copied()
        else {
            return false;
        };
        self.threads[thread.index()].member = None;
        let members = self.members_of(round);
        members.swap_remove(member as usize);
        if let Some(&moved) = members.get(member as usize) {
            self.threads[moved.index()].member = Some(member);
        }
        true
    }

    /// Goes on to the next round once the least one is empty.
    fn open(&mut self) {
        if self.members[0].is_empty() && !self.members[1].is_empty() {
            self.base += 1;
            self.members.swap(0, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nobody_gets_two_rounds_ahead_of_the_last() {
        let mut rounds = Rounds::default();
        let [quick, slow] = [ThreadId(0), ThreadId(1)];
        rounds.enter(quick, 0, true);
        rounds.enter(slow, 0, true);
        assert_eq!(
            [rounds.advance(quick), rounds.advance(quick), rounds.advance(quick)],
            [(1, true), (1, false), (1, false)]
        );
        assert_eq!((rounds.advance(slow), rounds.base()), ((1, true), 1));
        assert_eq!(rounds.advance(quick), (2, true));
    }

    #[test]
    fn who_slept_through_rounds_wakes_in_that_of_its_core_and_makes_up_for_none() {
        let mut rounds = Rounds::default();
        let [awake, asleep] = [ThreadId(0), ThreadId(1)];
        rounds.enter(awake, 0, true);
        rounds.enter(asleep, 0, true);
        rounds.leave(asleep);
        (0..5).for_each(|_| assert!(rounds.advance(awake).1));
        assert_eq!(rounds.enter(asleep, rounds.of(awake), true), 5);
    }

    #[test]
    fn who_wakes_where_others_are_a_round_ahead_is_in_theirs() {
        let mut rounds = Rounds::default();
        let [ahead, behind, asleep] = [ThreadId(0), ThreadId(1), ThreadId(2)];
        [ahead, behind, asleep].iter().for_each(|&thread| {
            rounds.enter(thread, 0, true);
        });
        rounds.leave(asleep);
        rounds.advance(ahead);
        assert_eq!(rounds.enter(asleep, rounds.of(behind), true), 0);
        rounds.leave(asleep);
        assert_eq!(rounds.enter(asleep, rounds.of(ahead), true), 1);
    }

    #[test]
    fn no_round_waits_for_a_thread_that_does_not_count() {
        let mut rounds = Rounds::default();
        let [bound, free] = [ThreadId(0), ThreadId(1)];
        rounds.enter(bound, 0, false);
        rounds.enter(free, 0, true);
        (0..3).for_each(|_| assert!(rounds.advance(free).1));
        assert_eq!(rounds.advance(bound), (3, false), "it is not left behind either");
    }

    proptest! {
        #[test]
        fn those_that_count_are_in_two_rounds_at_most_and_none_goes_back(
            steps in prop::collection::vec((0u32..5, 0u8..4), 0..200),
        ) {
            let mut rounds = Rounds::default();
            let mut counted = [false; 5];
            let mut before = [0; 5];
            for (number, what) in steps {
                let thread = ThreadId(number);
                match what {
                    0 => { rounds.leave(thread); counted[number as usize] = false; }
                    1 => { rounds.enter(thread, 0, true); counted[number as usize] = true; }
                    _ if counted[number as usize] => { rounds.advance(thread); }
                    _ => {}
                }
                for number in (0..5).filter(|&number| counted[number]) {
                    let round = rounds.of(ThreadId(number as u32));
                    prop_assert!(round >= before[number] && (rounds.base()..=rounds.base() + 1).contains(&round));
                    before[number] = round;
                }
                let in_base: Vec<_> =
                    (0..5).map(ThreadId).filter(|n| counted[n.index()] && rounds.of(*n) == rounds.base()).collect();
                prop_assert_eq!(rounds.in_base(), in_base.len());
                prop_assert!(rounds.all_in_base(|thread| in_base.contains(&thread)));
                for &other in &in_base {
                    prop_assert!(!rounds.all_in_base(|thread| thread != other));
                }
            }
        }
    }
}
