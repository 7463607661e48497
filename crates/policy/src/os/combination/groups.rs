//! Dealing by age in groups of cores, so that a decision costs O(n log n) of one group's threads.
//!
//! Up to 64 cores are one group. More are split into groups with the same mix of kinds, each of which deals its own threads.
//! At every timer the groups first level their numbers of threads; then each offers the first thread, in the order of dealing,
//! that gets no fastest core at home, and a group whose fastest cores hold one that would be dealt later trades it for that.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use evenkeel_machine::{CoreId, KindId};

use super::ageing::{Ageing, Bound, Job, deal};
use crate::contract::{QueueId, State, ThreadId, View};
use crate::os::homes::Homes;
use crate::os::level::{Lot, level};

/// The most cores of one group.
const GROUP_CORES: usize = 64;

/// Cores that deal their threads among themselves.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Fastest first.
    cores: Vec<CoreId>,
    /// Its runnable threads.
    members: BTreeSet<ThreadId>,
}

impl Group {
    fn online<'a>(&'a self, view: &'a View<'_>) -> impl Iterator<Item = CoreId> + 'a {
        self.cores.iter().copied().filter(|core| view.cores[core.index()].online)
    }

    /// Whether a thread may run on some core of the group.
    fn may_have(&self, thread: ThreadId, view: &View<'_>) -> bool {
        !view.thread(thread).restricted || self.online(view).any(|core| view.allowed(thread, core))
    }
}

/// All groups.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    group_of_core: Vec<usize>,
    group_of_thread: Vec<Option<usize>>,
}

impl Groups {
    /// Splits cores, given fastest first.
    pub fn new(fast_first: &[CoreId]) -> Self {
        let count = fast_first.len().div_ceil(GROUP_CORES).max(1);
        let mut groups = vec![Group::default(); count];
        let mut group_of_core = vec![0; fast_first.len()];
        for (i, &core) in fast_first.iter().enumerate() {
            groups[i % count].cores.push(core);
            group_of_core[core.index()] = i % count;
        }
        Self { groups, group_of_core, group_of_thread: Vec::new() }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// The group of a core.
    pub fn of_core(&self, core: CoreId) -> usize {
        self.group_of_core[core.index()]
    }

    /// The group with the fewest runnable threads.
    pub fn emptiest(&self) -> usize {
        (0..self.groups.len()).min_by_key(|&group| self.groups[group].members.len()).unwrap_or(0)
    }

    /// Runnable threads per core of a group.
    pub fn crowd(&self, group: usize) -> usize {
        self.groups[group].members.len() / self.groups[group].cores.len().max(1)
    }

    /// A runnable thread belongs to this group.
    pub fn join(&mut self, thread: ThreadId, group: usize) {
        self.leave(thread);
        if self.group_of_thread.len() <= thread.index() {
            self.group_of_thread.resize(thread.index() + 1, None);
        }
        self.group_of_thread[thread.index()] = Some(group);
        self.groups[group].members.insert(thread);
    }

    /// A thread is not runnable any more.
    pub fn leave(&mut self, thread: ThreadId) {
        if let Some(group) = self.group_of_thread.get_mut(thread.index()).and_then(Option::take) {
            self.groups[group].members.remove(&thread);
        }
    }

    /// Deals a group's threads: which queue each should be in. A core of the right kind that has the thread keeps it.
    pub fn deal(&self, group: usize, ageing: &mut Ageing, homes: &Homes, view: &View<'_>) -> Vec<(ThreadId, QueueId)> {
        let group = &self.groups[group];
        let cores: Vec<_> = group.online(view).collect();
        let capacities: Vec<_> = cores.iter().map(|&core| view.machine.kind_of(core).capacity).collect();
        let ranked = ageing.ranked(group.members.iter().copied(), view);
        let bound = |thread: ThreadId| {
            view.thread(thread).restricted.then(|| Bound {
                allowed: cores.iter().map(|&core| view.allowed(thread, core)).collect(),
                home: homes.of(thread).and_then(|queue| cores.iter().position(|core| core.0 == queue.0)),
            })
        };
        let jobs: Vec<_> = ranked.iter().map(|&(remaining, thread)| Job { remaining, bound: bound(thread) }).collect();
        // Whoever may run nowhere here stays where it is.
        let dealt: Vec<_> = ranked
            .iter()
            .zip(deal(&jobs, &capacities))
            .filter_map(|(&(_, thread), share)| Some((thread, share?)))
            .collect();
        let core_of_share = keep_places(&dealt, &cores, homes, view);
        dealt.into_iter().map(|(thread, share)| (thread, QueueId(core_of_share[share].0))).collect()
    }

    /// Levels the numbers of threads, and lets groups trade threads for their fastest cores. Those concerned belong to another
    /// group afterwards, which deals them next.
    pub fn trade(&mut self, ageing: &mut Ageing, view: &View<'_>) {
        if self.groups.len() < 2 {
            return;
        }
        let lot = |group: &Group| Lot {
            capacity: group.online(view).map(|core| u64::from(view.machine.kind_of(core).capacity)).sum::<u64>().max(1),
            weight: group.members.len() as u64,
            movable: group
                .members
                .iter()
                .filter(|thread| view.thread(**thread).state == State::Ready)
                .map(|&thread| (1, thread))
                .collect(),
        };
        let mut lots: Vec<_> = self.groups.iter().map(lot).collect();
        let groups = &self.groups;
        for (thread, group) in level(&mut lots, 0, |thread, group| groups[group].may_have(thread, view)) {
            self.join(thread, group);
        }
        // (what is left, thread, group): the first that gets no fastest core, and the last that gets one.
        let (mut offers, mut takers) = (Vec::new(), Vec::new());
        for (g, group) in self.groups.iter().enumerate() {
            let fastest = group.online(view).filter(|&core| view.kind(core) == KindId(0)).count();
            let ranked = ageing.ranked(group.members.iter().copied(), view);
            offers.extend(ranked.get(fastest).map(|&(left, thread)| (left, thread, g)));
            takers.extend(
                fastest.checked_sub(1).and_then(|last| ranked.get(last)).map(|&(left, thread)| (left, thread, g)),
            );
        }
        offers.sort_by_key(|offer| ageing.place(offer.0));
        takers.sort_by_key(|taker| Reverse(ageing.place(taker.0)));
        for (offer, taker) in offers.into_iter().zip(takers) {
            let may = self.groups[taker.2].may_have(offer.1, view) && self.groups[offer.2].may_have(taker.1, view);
            if ageing.place(offer.0) < ageing.place(taker.0) && offer.2 != taker.2 && may {
                self.join(offer.1, taker.2);
                self.join(taker.1, offer.2);
            }
        }
    }
}

/// Shares of cores of one kind are interchangeable, unless one of their threads may not run everywhere: each goes to a core that has
/// one of its threads already, if it can; those that run count before those that wait. Returns the core of each share.
fn keep_places(dealt: &[(ThreadId, usize)], cores: &[CoreId], homes: &Homes, view: &View<'_>) -> Vec<CoreId> {
    let mut core_of_share = vec![None; cores.len()];
    let mut place_of_core = vec![None; view.machine.cores.len()];
    for (place, core) in cores.iter().enumerate() {
        place_of_core[core.index()] = Some(place);
    }
    let mut taken = vec![false; cores.len()];
    for &(_, share) in dealt.iter().filter(|(thread, _)| view.thread(*thread).restricted) {
        core_of_share[share] = Some(cores[share]);
        taken[share] = true;
    }
    for wanted in [State::Running, State::Ready] {
        for &(thread, share) in dealt {
            let home = homes.of(thread).map(|queue| CoreId(queue.0)).filter(|_| view.thread(thread).state == wanted);
            if let Some(place) = home.and_then(|core| place_of_core.get(core.index()).copied().flatten())
                && core_of_share[share].is_none()
                && !taken[place]
                && view.kind(cores[place]) == view.kind(cores[share])
            {
                core_of_share[share] = Some(cores[place]);
                taken[place] = true;
            }
        }
    }
    let mut left = |kind: KindId| {
        let place = (0..cores.len()).find(|&place| !taken[place] && view.kind(cores[place]) == kind)?;
        taken[place] = true;
        Some(cores[place])
    };
    let share_of =
        |share: usize| core_of_share[share].or_else(|| left(view.kind(cores[share]))).unwrap_or(cores[share]);
    (0..cores.len()).map(share_of).collect()
}
