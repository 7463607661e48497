//! The queues that a core takes threads from, and the threads that are compared with each other.

use evenkeel_policy::{Choose, QueueId, Tier};

/// The tiers that a core takes from, first to last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    /// Each has queues.
    tiers: Vec<Tier>,
    adopt: Option<QueueId>,
}

impl Service {
    /// These tiers without unknown queues, given the number of queues.
    pub fn new(mut tiers: Vec<Tier>, adopt: Option<QueueId>, queue_count: usize) -> Self {
        for tier in &mut tiers {
            tier.queues.retain(|queue| queue.index() < queue_count);
        }
        tiers.retain(|tier| !tier.queues.is_empty());
        Self { tiers, adopt: adopt.filter(|queue| queue.index() < queue_count) }
    }

    /// The tiers, each with at least one queue.
    #[inline]
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }

    /// The queue that a thread is assigned to when the core takes it from another one.
    #[inline]
    pub fn adopt(&self) -> Option<QueueId> {
        self.adopt
    }

    /// True if the policy gives the core threads: a core without tiers is left alone.
    #[inline]
    pub fn is_used(&self) -> bool {
        !self.tiers.is_empty()
    }

    /// The queues of the first tier.
    #[inline]
    pub fn first_tier(&self) -> &[QueueId] {
        self.tiers.first().map_or(&[], |tier| &tier.queues)
    }

    /// The first queue of the first tier: its threads are the core's own, beside guests.
    #[inline]
    pub fn own_queue(&self) -> Option<QueueId> {
        self.first_tier().first().copied()
    }

    /// The queue that the core takes from before all others, if it is the only one.
    #[inline]
    pub fn only_queue(&self) -> Option<QueueId> {
        if let &[queue] = self.first_tier() { Some(queue) } else { None }
    }

    /// All queues, in the order of the tiers.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.tiers.iter().flat_map(|tier| tier.queues.iter().copied())
    }

    /// True if some tier has the queue.
    #[inline]
    pub fn serves(&self, queue: QueueId) -> bool {
        self.tiers.iter().any(|tier| tier.queues.contains(&queue))
    }

    /// True if the first tier has the queue.
    #[inline]
    pub fn serves_first(&self, queue: QueueId) -> bool {
        self.first_tier().contains(&queue)
    }

    /// True if an arrival in `queue` may preempt a running thread of `other`: the first tier has
    /// both, and chooses between them by key. Two threads of one queue are always compared.
    #[inline]
    pub fn compares(&self, queue: QueueId, other: QueueId) -> bool {
        let Some(tier) = self.tiers.first() else { return false };
        let has = |queue: QueueId| tier.queues.contains(&queue);
        has(queue) && (queue == other || tier.choose == Choose::LeastKey && has(other))
    }
}

/// Queues whose threads a core runs before its own if they are far behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guests {
    queues: Vec<QueueId>,
    behind: u64,
}

impl Guests {
    /// These queues without unknown ones, given the number of queues.
    pub fn new(mut queues: Vec<QueueId>, behind: u64, queue_count: usize) -> Self {
        queues.retain(|queue| queue.index() < queue_count);
        Self { queues, behind }
    }

    /// The queues; the first wins if keys are equal.
    #[inline]
    pub fn queues(&self) -> &[QueueId] {
        &self.queues
    }

    /// Least difference by which a guest's key must be below the core's own, exclusive.
    #[inline]
    pub fn behind(&self) -> u64 {
        self.behind
    }

    /// True if threads of the queue may be guests.
    #[inline]
    pub fn contains(&self, queue: QueueId) -> bool {
        self.queues.contains(&queue)
    }

    /// True if a thread with the key `guest` comes before the core's own, the first of which has
    /// the key `own`.
    #[inline]
    pub fn comes_before(&self, guest: u64, own: u64) -> bool {
        guest < own.saturating_sub(self.behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: QueueId = QueueId(0);
    const B: QueueId = QueueId(1);
    const C: QueueId = QueueId(2);

    #[test]
    fn queues_that_do_not_exist_are_in_no_tier_and_a_tier_without_queues_is_none() {
        let tiers = vec![Tier::least_key([C]), Tier::least_key([A, C, B])];
        let service = Service::new(tiers, Some(C), 2);
        assert_eq!(service.tiers(), [Tier::least_key([A, B])]);
        assert_eq!((service.adopt(), service.own_queue()), (None, Some(A)));
        assert!(!Service::new(vec![Tier::least_key([C])], None, 2).is_used());
        assert_eq!(Guests::new(vec![C, A], 5, 2).queues(), [A]);
    }

    #[test]
    fn threads_are_compared_within_the_first_tier_and_by_key_alone() {
        let by_key = Service::new(vec![Tier::least_key([A, B]), Tier::least_key([C])], None, 3);
        assert!(by_key.compares(A, A) && by_key.compares(A, B) && by_key.compares(B, A));
        assert!(!by_key.compares(A, C) && !by_key.compares(C, A) && !by_key.compares(C, C));
        let by_load = Tier { choose: Choose::MostLoaded, ..Tier::least_key([A, B]) };
        let by_load = Service::new(vec![by_load], None, 3);
        assert!(by_load.compares(A, A) && !by_load.compares(A, B));
    }

    #[test]
    fn the_first_tier_says_what_is_the_cores_own_and_what_comes_alone() {
        let one = Service::new(vec![Tier::least_key([B]), Tier::least_key([A])], None, 3);
        assert_eq!((one.only_queue(), one.own_queue()), (Some(B), Some(B)));
        assert!(one.serves(A) && !one.serves_first(A) && one.serves_first(B) && !one.serves(C));
        let two = Service::new(vec![Tier::least_key([B, A])], None, 3);
        assert_eq!((two.only_queue(), two.own_queue()), (None, Some(B)));
        assert_eq!(two.queues().collect::<Vec<_>>(), [B, A]);
        assert_eq!(Service::default().own_queue(), None);
    }

    #[test]
    fn a_guest_comes_first_only_if_it_is_behind_by_more_than_the_margin() {
        let guests = Guests::new(vec![A], 10, 1);
        assert!(guests.comes_before(89, 100) && !guests.comes_before(90, 100));
        assert!(!guests.comes_before(0, 10), "what would be below zero is no margin");
        assert!(guests.comes_before(0, u64::MAX));
    }
}
