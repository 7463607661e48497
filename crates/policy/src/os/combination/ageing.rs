//! Ageing: the longest job to the fastest core.
//!
//! ```text
//! rem(t) = distance(t) - progress(t)      work to the next milestone, instructions
//!   equal     distance the same large number for all: the thread that is behind has the greatest rem
//!   profile   distance that the estimator told first, kept for the whole run: a profile knows a thread, not its intervals
//!             (meant for the estimator `offline`, whose distance is the mean of a whole run)
//!   oracle    rem as the estimator tells it now (meant for `oracle`: the true one)
//!
//! N <= cores  one each, longest to fastest
//! N > cores   core c should receive (sum rem / sum capacity) x capacity(c); threads, longest first, go to the core with the
//!             greatest shortfall; when as many are left as cores have none, one each
//! ```
//!
//! A thread of which the estimator tells nothing counts as under `equal`, so as a long one. Milestones are barriers, joins and ends
//! (`bt`), or also the end of each critical section (`bcjt`). `order=shortest` deals the shortest first, for comparison.
//!
//! Source: Lakshminarayana, Lee, Kim, "Age Based Scheduling for Asymmetric Multiprocessors", SC 2009.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::contract::{Interest, Knob, Knobs, ThreadId, View};

/// How distances are predicted.
pub const PREDICTION: Knob = Knob::Word {
    name: "prediction",
    words: &["equal", "profile", "oracle"],
    about: "distance to the next milestone: the same for all, the estimator's first word, or its present one",
};

/// Who is dealt first.
pub const ORDER: Knob =
    Knob::Word { name: "order", words: &["longest", "shortest"], about: "which job goes to the fastest core" };

/// What counts as a milestone.
pub const MILESTONES: Knob = Knob::Word {
    name: "milestones",
    words: &["bt", "bcjt"],
    about: "barrier, join and end; or also the end of critical sections",
};

/// The distance of `equal`, in instructions: more than any run retires between two milestones.
const FAR: u64 = 1 << 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prediction {
    Equal,
    Profile,
    Oracle,
}

/// What a thread has before it.
#[derive(Clone, Debug)]
pub struct Ageing {
    prediction: Prediction,
    shortest_first: bool,
    critical_sections: bool,
    threads: Vec<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Profile: the distance that was told first, instructions.
    distance: Option<u64>,
    /// Work retired when it last left a critical section, instructions.
    left_critical_at: u64,
}

impl Ageing {
    /// From the values of this module's knobs.
    pub fn new(knobs: &Knobs) -> Self {
        Self {
            prediction: match knobs.word("prediction") {
                "profile" => Prediction::Profile,
                "oracle" => Prediction::Oracle,
                _ => Prediction::Equal,
            },
            shortest_first: knobs.word("order") == "shortest",
            critical_sections: knobs.word("milestones") == "bcjt",
            threads: Vec::new(),
        }
    }

    /// What must be told for predictions and milestones to be right.
    pub fn interest(&self) -> Interest {
        // Whoever wants milestones told is also told distances.
        let distances = if self.prediction == Prediction::Equal { Interest::NONE } else { Interest::MILESTONE };
        distances.and(if self.critical_sections { Interest::CRITICAL_SECTION } else { Interest::NONE })
    }

    fn known(&mut self, thread: ThreadId) -> &mut Known {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Known::default());
        }
        &mut self.threads[thread.index()]
    }

    /// A thread has left a critical section.
    pub fn left_critical_section(&mut self, thread: ThreadId, view: &View<'_>) {
        self.known(thread).left_critical_at = view.thread(thread).retired.0;
    }

    /// What is left until the next milestone, instructions; at least 1.
    pub fn remaining(&mut self, thread: ThreadId, view: &View<'_>) -> u64 {
        let stats = view.thread(thread);
        let prediction = self.prediction;
        let known = self.known(thread);
        let progress = stats.since_milestone.0.min(stats.retired.0.saturating_sub(known.left_critical_at));
        let told = stats.to_milestone.map(|work| work.0);
        if known.distance.is_none() {
            known.distance = told.map(|told| told.saturating_add(stats.since_milestone.0));
        }
        let remaining = match prediction {
            Prediction::Equal => None,
            Prediction::Profile => known.distance.map(|distance| distance.saturating_sub(progress)),
            Prediction::Oracle => told,
        };
        remaining.unwrap_or(FAR.saturating_sub(progress)).max(1)
    }

    /// Threads with what is left for each, in the order in which they are dealt; equals by thread, first started first.
    pub fn ranked(&mut self, threads: impl Iterator<Item = ThreadId>, view: &View<'_>) -> Vec<(u64, ThreadId)> {
        let mut ranked: Vec<_> = threads.map(|thread| (self.remaining(thread, view), thread)).collect();
        ranked.sort_unstable_by_key(|&(remaining, thread)| (self.place(remaining), thread));
        ranked
    }

    /// Sorts threads, by what is left for them, in the order of dealing.
    pub fn place(&self, remaining: u64) -> u64 {
        if self.shortest_first { remaining } else { u64::MAX - remaining }
    }
}

/// Deals threads, in the order given by what is left for each, to cores given by capacity, fastest first: the core of each
/// thread, as an index into `capacities`. O(n log cores). No cores: nothing is dealt.
pub fn deal(remaining: &[u64], capacities: &[u32]) -> Vec<usize> {
    if remaining.len() <= capacities.len() || capacities.is_empty() {
        return (0..remaining.len().min(capacities.len())).collect();
    }
    let work: i128 = remaining.iter().map(|&work| i128::from(work)).sum();
    let capacity: i128 = capacities.iter().map(|&capacity| i128::from(capacity)).sum();
    let should = |core: usize| work * i128::from(capacities[core]) / capacity.max(1);
    let mut shortfalls: BinaryHeap<_> = (0..capacities.len()).map(|core| (should(core), Reverse(core))).collect();
    let mut has_one = vec![false; capacities.len()];
    let mut without = capacities.len();
    let mut dealt = Vec::with_capacity(remaining.len());
    for (i, &work) in remaining.iter().enumerate() {
        if remaining.len() - i == without {
            dealt.extend((0..capacities.len()).filter(|&core| !has_one[core]));
            break;
        }
        if let Some((shortfall, Reverse(core))) = shortfalls.pop() {
            shortfalls.push((shortfall - i128::from(work), Reverse(core)));
            without -= usize::from(!std::mem::replace(&mut has_one[core], true));
            dealt.push(core);
        }
    }
    dealt
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn as_many_threads_as_cores_get_one_each_in_order() {
        assert_eq!(deal(&[9, 5, 1], &[1024, 512, 512]), [0, 1, 2]);
        assert_eq!(deal(&[9], &[1024, 512]), [0]);
        assert_eq!(deal(&[9], &[]), [0usize; 0]);
    }

    #[test]
    fn equal_threads_are_dealt_in_proportion_to_capacity() {
        let dealt = deal(&[FAR; 9], &[1024, 512]);
        assert_eq!(dealt.iter().filter(|&&core| core == 0).count(), 6);
    }

    #[test]
    fn when_as_many_are_left_as_cores_have_none_each_core_gets_one() {
        // The first thread is so long that the fast core alone would be owed all the others.
        assert_eq!(deal(&[2, 2, 2, 2], &[1_000_000, 1, 1]), [0, 0, 1, 2]);
    }

    proptest! {
        #[test]
        fn everybody_is_dealt_and_no_core_is_left_without_while_there_are_enough(
            mut remaining in prop::collection::vec(1u64..=FAR, 0..60),
            mut capacities in prop::collection::vec(1u32..=1024, 1..12),
        ) {
            remaining.sort_unstable_by_key(|&work| Reverse(work));
            capacities.sort_unstable_by_key(|&capacity| Reverse(capacity));
            let dealt = deal(&remaining, &capacities);
            prop_assert_eq!(dealt.len(), remaining.len());
            let mut cores = dealt.clone();
            cores.sort_unstable();
            cores.dedup();
            prop_assert_eq!(cores.len(), remaining.len().min(capacities.len()));
        }
    }
}
