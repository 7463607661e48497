//! Ageing: the longest job to the fastest core.
//!
//! ```text
//! rem(t) = distance(t) - progress(t)      work to the next milestone, instructions
//!   equal     distance the same large number for all: the thread that is behind has the greatest
//!             rem
//!   profile   distance that was told first, kept for the whole run: a profile knows a thread, not
//!             its intervals. It is of another input, so that ratios count: once a thread has gone
//!             beyond its distance, those of all threads of its application double
//!             (meant for a profile of a run beforehand, or the estimator `offline`, whose distance
//!             is the mean of a whole run)
//!   oracle    rem as the estimator tells it now (meant for `oracle`: the true one)
//!
//! N <= cores  one each, longest to fastest
//! N > cores   core c should receive (sum rem / sum capacity) x capacity(c); threads, longest
//!             first, go to the core with the greatest shortfall; when as many are left as cores
//!             have none, one each
//! ```
//!
//! A thread that may run on some cores only is dealt among those. Where they are all taken, and one
//! of them by a thread that may also go to a core that nobody has, that thread makes way.
//!
//! A thread of which the estimator tells nothing counts as under `equal`, so as a long one.
//! Milestones are barriers, joins and ends (`bt`), or also the end of each critical section
//! (`bcjt`). The latter goes with `prediction=equal` only, and is refused with the others: their
//! distances reach to the next barrier, join or end, and would not start anew at the end of a
//! critical section. `order=shortest` deals the shortest first, for comparison.
//!
//! `--profile-from FACTOR` runs the workload at that size beforehand, under `cfs-unaware`. It keeps
//! one figure for each thread: the work between two milestones, in the mean over its instructions.
//! Threads are told apart by the order in which their application made them. The run beforehand is
//! not part of the result.
//!
//! Up to 64 cores are dealt together, more in groups with the same mix of kinds
//! (`combination/groups.rs`): there the longest threads take a few intervals to get where they
//! belong.
//!
//! Of real threads nobody knows distances, and nobody sees critical sections: the live mechanisms
//! refuse `prediction=profile`, `prediction=oracle` and `milestones=bcjt`.
//!
//! Knobs: `prediction` (equal), `order` (longest), `milestones` (bt).
//!
//! Source: Lakshminarayana, Lee, Kim, "Age Based Scheduling for Asymmetric Multiprocessors", SC
//! 2009.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::contract::{Interest, Knob, Knobs, StartError, ThreadId, ThreadStats, View};

/// How distances are predicted.
pub const PREDICTION: Knob = Knob::Word {
    name: "prediction",
    words: &["equal", "profile", "oracle"],
    about: "distance to the next milestone: the same for all, in the ratios of a profile, or the \
            true one",
};

/// Who is dealt first.
pub const ORDER: Knob = Knob::Word {
    name: "order",
    words: &["longest", "shortest"],
    about: "which job goes to the fastest core",
};

/// What counts as a milestone.
pub const MILESTONES: Knob = Knob::Word {
    name: "milestones",
    words: &["bt", "bcjt"],
    about: "barrier, join and end; or also the end of critical sections (with prediction=equal \
            only)",
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
    /// Profile: by thread, the distance that was told first, instructions.
    distances: Vec<Option<u64>>,
    /// Profile: by application, how many times as long as they were told its distances are by now.
    growth: Vec<f64>,
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
            distances: Vec::new(),
            growth: Vec::new(),
        }
    }

    /// What must be told for predictions and milestones to be right.
    pub fn interest(&self) -> Interest {
        let distances = match self.prediction {
            Prediction::Equal => Interest::NONE,
            Prediction::Profile => Interest::DISTANCE.and(Interest::PROFILE),
            Prediction::Oracle => Interest::DISTANCE,
        };
        let read = distances.and(Interest::PROGRESS).and(Interest::RAN);
        read.and(if self.critical_sections { Interest::CRITICAL_SECTION } else { Interest::NONE })
    }

    /// Why the values of the knobs do not go together, if they do not.
    pub fn contradiction(&self) -> Option<StartError> {
        let contradicts = self.critical_sections && self.prediction != Prediction::Equal;
        contradicts.then_some(StartError::MilestonesUnpredicted)
    }

    /// Whether what one thread has done may change what is left for others.
    pub fn is_shared(&self) -> bool {
        self.prediction == Prediction::Profile
    }

    /// Takes note of all before any is asked after: what one has done beyond its distance counts
    /// for the others.
    pub fn note_all(&mut self, threads: impl Iterator<Item = ThreadId>, view: &View<'_>) {
        if self.prediction == Prediction::Profile {
            threads.for_each(|thread| self.note(thread, view));
        }
    }

    /// Profile: remembers what a thread was told first, and notes where it has gone beyond that.
    fn note(&mut self, thread: ThreadId, view: &View<'_>) {
        let stats = view.thread(thread);
        let progress = stats.since_milestone.0;
        if self.distances.len() <= thread.index() {
            self.distances.resize(thread.index() + 1, None);
        }
        if self.growth.len() <= stats.app.index() {
            self.growth.resize(stats.app.index() + 1, 1.0);
        }
        let distance = &mut self.distances[thread.index()];
        *distance = distance.or(stats.to_milestone.map(|told| told.0.saturating_add(progress)));
        let growth = &mut self.growth[stats.app.index()];
        if let Some(distance) = distance {
            // Of an end that is not known doubling guesses wrong by less than twice, and leaves
            // everybody something to go.
            while progress as f64 > (*distance).max(1) as f64 * *growth {
                *growth *= 2.0;
            }
        }
    }

    /// What is left until the next milestone, instructions; at least 1.
    pub fn remaining(&self, thread: ThreadId, stats: &ThreadStats) -> u64 {
        let progress = stats.since_milestone.0;
        let remaining = match self.prediction {
            Prediction::Equal => None,
            Prediction::Profile => {
                self.distances.get(thread.index()).copied().flatten().map(|distance| {
                    let distance =
                        (distance.max(1) as f64 * self.growth[stats.app.index()]).ceil() as u64;
                    distance.saturating_sub(progress)
                })
            }
            Prediction::Oracle => stats.to_milestone.map(|work| work.0),
        };
        remaining.unwrap_or(FAR.saturating_sub(progress)).max(1)
    }

    /// Sorts threads, by what is left for them, in the order of dealing. Its own inverse.
    pub const fn place(&self, remaining: u64) -> u64 {
        if self.shortest_first { remaining } else { u64::MAX - remaining }
    }
}

/// A thread to be dealt.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is left for it, instructions.
    pub remaining: u64,
    /// Where it may run, if not everywhere.
    pub bound: Option<Bound>,
}

/// Where a thread may run, in places among the cores to be dealt.
#[derive(Clone, Debug)]
pub struct Bound {
    /// By place.
    pub allowed: Vec<bool>,
    /// Where it is now: of equally fast cores it takes this.
    pub home: Option<usize>,
}

impl Job {
    fn may(&self, core: usize) -> bool {
        self.bound.as_ref().is_none_or(|bound| bound.allowed[core])
    }
}

/// Deals threads, in the order given, to cores given by capacity, fastest first: the core of each
/// thread, as an index into `capacities`; `None` for one that may run on none of them. O(n log
/// cores), and O(cores) for each thread that may not run everywhere.
pub fn deal(jobs: &[Job], capacities: &[u32]) -> Vec<Option<usize>> {
    if jobs.len() <= capacities.len() {
        one_each(jobs, capacities)
    } else {
        by_shortfall(jobs, capacities)
    }
}

/// No more threads than cores: each takes the fastest that is left.
fn one_each(jobs: &[Job], capacities: &[u32]) -> Vec<Option<usize>> {
    let mut dealt: Vec<Option<usize>> = vec![None; jobs.len()];
    let mut holder = vec![None; capacities.len()];
    let mut first_free = 0;
    for (i, job) in jobs.iter().enumerate() {
        while holder.get(first_free).is_some_and(Option::is_some) {
            first_free += 1;
        }
        let free = |job: &Job| {
            (first_free..holder.len()).find(|&core| holder[core].is_none() && job.may(core))
        };
        let at_home = |core: usize| {
            let home = job.bound.as_ref().and_then(|bound| bound.home)?;
            (holder[home].is_none() && job.may(home) && capacities[home] == capacities[core])
                .then_some(home)
        };
        let mut core = free(job).map(|core| at_home(core).unwrap_or(core));
        if core.is_none() {
            let way = (0..holder.len()).filter(|&core| job.may(core)).find_map(|core| {
                let holder: usize = holder[core]?;
                Some((core, holder, free(&jobs[holder])?))
            });
            if let Some((taken, before, to)) = way {
                (dealt[before], holder[to]) = (Some(to), Some(before));
                core = Some(taken);
            }
        }
        // Nobody makes way: it shares the fastest core that it may run on.
        dealt[i] = core.or_else(|| (0..holder.len()).find(|&core| job.may(core)));
        if let Some(core) = core {
            holder[core] = Some(i);
        }
    }
    dealt
}

/// More threads than cores: each goes where most is owed, and the last ones where nobody is.
fn by_shortfall(jobs: &[Job], capacities: &[u32]) -> Vec<Option<usize>> {
    let work: i128 = jobs.iter().map(|job| i128::from(job.remaining)).sum();
    let capacity: i128 = capacities.iter().map(|&capacity| i128::from(capacity)).sum();
    let should = |core: usize| work * i128::from(capacities[core]) / capacity.max(1);
    let mut shortfalls: BinaryHeap<_> =
        (0..capacities.len()).map(|core| (should(core), Reverse(core))).collect();
    let mut without: Vec<usize> = (0..capacities.len()).collect();
    let mut passed_over = Vec::new();
    let mut dealt = Vec::with_capacity(jobs.len());
    for (i, job) in jobs.iter().enumerate() {
        let last = jobs.len() - i <= without.len();
        let empty = if last { without.iter().copied().find(|&core| job.may(core)) } else { None };
        let fits = |core: usize| empty.map_or_else(|| job.may(core), |empty| empty == core);
        let mut found = None;
        while let Some((shortfall, Reverse(core))) = shortfalls.pop() {
            if fits(core) {
                shortfalls.push((shortfall - i128::from(job.remaining), Reverse(core)));
                without.retain(|&other| other != core);
                found = Some(core);
                break;
            }
            passed_over.push((shortfall, Reverse(core)));
        }
        shortfalls.extend(passed_over.drain(..));
        dealt.push(found);
    }
    dealt
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn free(remaining: &[u64]) -> Vec<Job> {
        remaining.iter().map(|&remaining| Job { remaining, bound: None }).collect()
    }

    fn bound(remaining: u64, allowed: &[bool]) -> Job {
        Job { remaining, bound: Some(Bound { allowed: allowed.to_vec(), home: None }) }
    }

    #[test]
    fn as_many_threads_as_cores_get_one_each_in_order() {
        assert_eq!(deal(&free(&[9, 5, 1]), &[1024, 512, 512]), [0, 1, 2].map(Some));
        assert_eq!(deal(&free(&[9]), &[1024, 512]), [Some(0)]);
        assert_eq!(deal(&free(&[9]), &[]), [None]);
    }

    #[test]
    fn a_bound_thread_leaves_cores_to_others_where_it_may_not_run_and_has_its_own_though_others_come_first()
     {
        let [long, short] = [9, 5].map(|remaining| Job { remaining, bound: None });
        let on_little = bound(7, &[false, true]);
        assert_eq!(deal(&[on_little.clone(), short], &[1024, 512]), [1, 0].map(Some));
        let on_big = bound(1, &[true, false]);
        assert_eq!(
            deal(&[long, on_big.clone()], &[1024, 512]),
            [1, 0].map(Some),
            "the long one makes way"
        );
        assert_eq!(deal(&[on_big.clone(), on_big, on_little], &[1024, 512]), [0, 0, 1].map(Some));
        assert_eq!(deal(&[bound(1, &[false, false])], &[1024, 512]), [None]);
    }

    #[test]
    fn equal_threads_are_dealt_in_proportion_to_capacity() {
        let dealt = deal(&free(&[FAR; 9]), &[1024, 512]);
        assert_eq!(dealt.iter().filter(|&&core| core == Some(0)).count(), 6);
    }

    #[test]
    fn when_as_many_are_left_as_cores_have_none_each_core_gets_one() {
        // The first thread is so long that the fast core alone would be owed all the others.
        assert_eq!(deal(&free(&[2, 2, 2, 2]), &[1_000_000, 1, 1]), [0, 0, 1, 2].map(Some));
    }

    proptest! {
        #[test]
        fn everybody_is_dealt_and_no_core_is_left_without_while_there_are_enough(
            mut remaining in prop::collection::vec(1u64..=FAR, 0..60),
            mut capacities in prop::collection::vec(1u32..=1024, 1..12),
        ) {
            remaining.sort_unstable_by_key(|&work| Reverse(work));
            capacities.sort_unstable_by_key(|&capacity| Reverse(capacity));
            let dealt = deal(&free(&remaining), &capacities);
            prop_assert_eq!(dealt.len(), remaining.len());
            let mut cores: Vec<_> = dealt.into_iter().flatten().collect();
            cores.sort_unstable();
            cores.dedup();
            prop_assert_eq!(cores.len(), remaining.len().min(capacities.len()));
        }

        #[test]
        fn nobody_is_dealt_where_it_may_not_run_and_whoever_may_run_somewhere_is_dealt(
            jobs in prop::collection::vec((1u64..=FAR, prop::option::of(prop::collection::vec(any::<bool>(), 6))), 0..14),
        ) {
            let jobs: Vec<_> = jobs.into_iter().map(|(remaining, allowed)| {
                Job { remaining, bound: allowed.map(|allowed| Bound { allowed, home: None }) }
            }).collect();
            for (job, core) in jobs.iter().zip(deal(&jobs, &[1024, 1024, 700, 700, 300, 300])) {
                match core {
                    Some(core) => prop_assert!(job.may(core)),
                    None => prop_assert!((0..6).all(|core| !job.may(core))),
                }
            }
        }
    }
}
