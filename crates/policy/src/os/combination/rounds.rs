//! Dealing by shortfall ([`super::ageing`]) to cores that any of the threads may use, in rounds.
//!
//! Cores are in order, the one with the greatest shortfall first. A *round* gives one thread to
//! each core in turn, as long as the next core is owed more than any that this round has paid. So
//! no core has to be sorted in before the round's end. Threads with similar work left make long
//! rounds, which cover every core of a kind, or every core.

use super::few::sort_few;

/// As [`super::ageing::deal`], for threads that may all run everywhere, given by their work left,
/// in order. The core of each goes into `dealt`. No allocation once `owed` and `dealt` have grown.
/// O(n log cores) if threads have similar work left, O(n cores) at most.
pub fn deal_free(remaining: &[u64], capacities: &[u32], owed: &mut Owed, dealt: &mut Vec<u32>) {
    dealt.clear();
    let (threads, cores) = (remaining.len(), capacities.len());
    if threads <= cores {
        dealt.extend(0..threads as u32);
        return;
    }
    if cores == 0 {
        return;
    }
    let work = remaining.iter().copied().map(u128::from).sum();
    // The longest are dealt first, or last.
    let longest = remaining[0].max(remaining[threads - 1]);
    let share = Share::of(work, capacities);
    // No core is owed more than the most capable one, or has had more than one thread beyond what
    // it was owed.
    let most = share.of_core(capacities.iter().copied().max().unwrap_or(0));
    if most.max(u128::from(longest)) * (cores.next_power_of_two() as u128) < i64::BOUND {
        owed.narrow.pay_all(remaining, share, capacities, dealt);
    } else {
        owed.wide.pay_all(remaining, share, capacities, dealt);
    }
}

/// All work, to be shared in proportion to capacity.
#[derive(Clone, Copy, Debug)]
struct Share {
    work: u128,
    capacity: u128,
}

impl Share {
    fn of(work: u128, capacities: &[u32]) -> Self {
        let capacity: u128 = capacities.iter().map(|&capacity| u128::from(capacity)).sum();
        Self { work, capacity: capacity.max(1) }
    }

    fn of_core(self, capacity: u32) -> u128 {
        self.work * u128::from(capacity) / self.capacity
    }
}

/// Scratch of [`deal_free`]. Machine words are used if they suffice, which takes half the time.
#[derive(Clone, Debug, Default)]
pub struct Owed {
    narrow: Claims<i64>,
    wide: Claims<i128>,
}

/// What cores have had beyond what they are owed (negative at first). Amount and core are one
/// number, the core in its last digits: no two are equal, and of cores with the same amount the
/// first is least.
#[derive(Clone, Debug, Default)]
struct Claims<C> {
    /// In ascending order at the beginning of a round.
    claims: Vec<C>,
    /// Scratch: those that a round has paid, in order.
    paid: Vec<C>,
    /// By core: true if it has been paid at all.
    has: Vec<bool>,
}

/// A number that a claim fits into.
trait Claim: Copy + Ord {
    /// Greater than any claim.
    const GREATEST: Self;
    /// Bound of the magnitude of claims.
    const BOUND: u128;

    fn new(claim: i128) -> Self;
    /// The claim after receiving work, which is added `digits` digits further up without losing
    /// digits.
    fn pay(self, work: u64, digits: u32) -> Self;
    fn last_digits(self) -> usize;
}

macro_rules! claim {
    ($number:ty) => {
        impl Claim for $number {
            const GREATEST: Self = Self::MAX;
            const BOUND: u128 = (Self::MAX / 4) as u128;

            fn new(claim: i128) -> Self {
                claim as Self
            }

            fn pay(self, work: u64, digits: u32) -> Self {
                self + ((work as Self) << digits)
            }

            fn last_digits(self) -> usize {
                self as usize
            }
        }
    };
}

claim!(i64);
claim!(i128);

impl<C: Claim> Claims<C> {
    /// Deals threads, more than there are cores, given by their work left.
    fn pay_all(
        &mut self,
        remaining: &[u64],
        share: Share,
        capacities: &[u32],
        dealt: &mut Vec<u32>,
    ) {
        let cores = capacities.len();
        let digits = cores.next_power_of_two();
        self.reset(share, capacities, digits);
        dealt.resize(remaining.len(), 0);
        // Number of threads beyond those that cores without threads will need.
        let mut spare = remaining.len() - cores;
        let mut next = 0;
        let dealt = &mut dealt[..];
        while spare > 0 {
            let mut least_paid = C::GREATEST;
            let mut paid = 0;
            let has = &mut self.has[..];
            for ((claim, &work), to) in
                self.claims.iter_mut().zip(&remaining[next..]).zip(&mut dealt[next..])
            {
                if *claim > least_paid || spare == 0 {
                    break;
                }
                let core = claim.last_digits() & (digits - 1);
                *claim = claim.pay(work, digits.trailing_zeros());
                least_paid = least_paid.min(*claim);
                *to = core as u32;
                spare -= usize::from(std::mem::replace(&mut has[core], true));
                paid += 1;
            }
            next += paid;
            self.sort_in(paid);
        }
        // As many threads are left as cores without threads: one each.
        let without = (0..cores as u32).filter(|&core| !self.has[core as usize]);
        dealt[next..].iter_mut().zip(without).for_each(|(to, core)| *to = core);
    }

    /// Resets claims: no core has been paid.
    fn reset(&mut self, share: Share, capacities: &[u32], digits: usize) {
        self.has.clear();
        self.has.resize(capacities.len(), false);
        self.claims.clear();
        // Cores of a kind are next to each other: one division for all of them.
        let mut like = (0, 0);
        for (core, &capacity) in capacities.iter().enumerate() {
            if like.0 != capacity {
                like = (capacity, share.of_core(capacity));
            }
            self.claims.push(C::new(core as i128 - like.1 as i128 * digits as i128));
        }
        if !self.claims.is_sorted() {
            self.claims.sort_unstable();
        }
    }

    /// Sorts the first `paid` claims into the rest.
    #[inline]
    fn sort_in(&mut self, paid: usize) {
        sort_few(&mut self.claims[..paid]);
        if paid == 0 || self.claims.get(paid).is_none_or(|other| *other > self.claims[paid - 1]) {
            return;
        }
        self.paid.clear();
        self.paid.extend_from_slice(&self.claims[..paid]);
        let (mut to, mut other) = (0, paid);
        for &claim in &self.paid {
            while let Some(&less) = self.claims.get(other).filter(|&&other| other < claim) {
                self.claims[to] = less;
                (to, other) = (to + 1, other + 1);
            }
            self.claims[to] = claim;
            to += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ageing::{Job, deal};
    use super::*;

    /// Either similar work for all, in both orders, as `age` has it, which makes long rounds; or
    /// anything.
    fn works() -> impl Strategy<Value = Vec<u64>> {
        let alike = prop::collection::vec((0u64..200).prop_map(|done| (1 << 50) - done), 0..200);
        let mixed = prop_oneof![9 => 1u64..=40, 1 => Just(1 << 50), 1 => Just(u64::MAX)];
        let works = prop_oneof![alike, prop::collection::vec(mixed, 0..60)];
        (works, any::<bool>()).prop_map(|(mut works, longest_first)| {
            works.sort_unstable();
            if longest_first {
                works.reverse();
            }
            works
        })
    }

    fn capacities() -> impl Strategy<Value = Vec<u32>> {
        let of_kinds = (0usize..40, 0usize..40)
            .prop_map(|(fast, slow)| [vec![1024; fast], vec![417; slow]].concat());
        prop_oneof![of_kinds, prop::collection::vec(1u32..=6, 0..12)]
    }

    proptest! {
        #[test]
        fn those_that_may_run_everywhere_are_dealt_in_rounds_as_one_by_one(remaining in works(), capacities in capacities()) {
            let mut dealt = Vec::new();
            deal_free(&remaining, &capacities, &mut Owed::default(), &mut dealt);
            let jobs: Vec<_> = remaining.iter().map(|&remaining| Job { remaining, bound: None }).collect();
            let expected: Vec<_> = deal(&jobs, &capacities).into_iter().flatten().map(|core| core as u32).collect();
            prop_assert_eq!(&dealt, &expected);
            if expected.len() > capacities.len() && !capacities.is_empty() {
                let share = Share::of(remaining.iter().copied().map(u128::from).sum(), &capacities);
                dealt.clear();
                Claims::<i128>::default().pay_all(&remaining, share, &capacities, &mut dealt);
                prop_assert_eq!(dealt, expected, "in numbers of twice the length");
            }
        }
    }
}
