//! Dealing by age in groups of cores, so that a decision costs O(n log n) of one group's threads.
//!
//! Up to 64 cores are one group. More are split into groups with the same mix of kinds, each of which deals its own threads.
//! At every timer the groups first level their numbers of threads; then each offers the first thread, in the order of dealing,
//! that gets no fastest core at home, and a group whose fastest cores hold one that would be dealt later trades it for that.

use std::cmp::Reverse;

use evenkeel_machine::{CoreId, KindId, MAX_KINDS};

use super::ageing::{Ageing, Bound, Job, deal, deal_free};
use crate::contract::{QueueId, State, ThreadId, View};
use crate::os::homes::Homes;
use crate::os::level::{Lot, level, may_help};

/// The most cores of one group.
const GROUP_CORES: usize = 64;

/// What a thread counts for where numbers are levelled.
const ONE: u32 = 1;

/// A thread, as of when it joined a group.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Sorts it in the order of dealing, as of the last look; nothing yet of one that has joined since.
    place: u64,
    thread: ThreadId,
    /// What it was doing then: who is dealt has been looked at in the same view.
    state: State,
    /// Which of its joinings this was: another one since, and it is no member by this one any more.
    joined: u32,
}

/// Cores that deal their threads among themselves.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Fastest first.
    cores: Vec<CoreId>,
    /// Its runnable threads, and some who have left since the last look. The first `ranked` are in the order of dealing as of then: most threads wait
    /// between two looks and keep their places, so only those that ran, and those that came, have to be sorted in.
    members: Vec<Member>,
    ranked: usize,
    /// Whether they are so in the present view: between [`Groups::rank`] and [`Groups::deal`].
    fresh: bool,
    /// How many threads it has.
    count: usize,
}

impl Group {
    fn online<'a>(&'a self, view: &'a View<'_>) -> impl Iterator<Item = CoreId> + 'a {
        self.cores.iter().copied().filter(|core| view.cores[core.index()].online)
    }

    /// Whether a thread may run on some core of the group.
    fn may_have(&self, thread: ThreadId, view: &View<'_>) -> bool {
        !is_bound(thread, view) || self.online(view).any(|core| view.allowed(thread, core))
    }
}

/// Whether a thread may not run everywhere. Where nobody is bound, nothing of the thread is looked at.
fn is_bound(thread: ThreadId, view: &View<'_>) -> bool {
    view.affinity.get(thread.index()).is_some_and(Option::is_some) && view.thread(thread).restricted
}

/// All groups.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    group_of_core: Vec<usize>,
    /// By thread: its group, if it has one, and how often it has joined one.
    of_thread: Vec<(Option<u32>, u32)>,
    /// Scratch of a look: members whose places have changed.
    moved: Vec<Member>,
    /// Scratch of a deal: by member, its share.
    shares: Vec<u32>,
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
        Self { groups, group_of_core, ..Self::default() }
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
        (0..self.groups.len()).min_by_key(|&group| self.groups[group].count).unwrap_or(0)
    }

    /// Runnable threads per core of a group.
    pub fn crowd(&self, group: usize) -> usize {
        self.groups[group].count / self.groups[group].cores.len().max(1)
    }

    fn is_member(of_thread: &[(Option<u32>, u32)], group: usize, member: &Member) -> bool {
        of_thread[member.thread.index()] == (Some(group as u32), member.joined)
    }

    /// A runnable thread belongs to this group.
    pub fn join(&mut self, thread: ThreadId, group: usize) {
        if self.of_thread.len() <= thread.index() {
            self.of_thread.resize(thread.index() + 1, (None, 0));
        }
        if self.of_thread[thread.index()].0 == Some(group as u32) {
            return;
        }
        self.leave(thread);
        let (place, joined) = &mut self.of_thread[thread.index()];
        *place = Some(group as u32);
        *joined = joined.wrapping_add(1);
        let member = Member { place: 0, thread, state: State::Ready, joined: *joined };
        let joined = &mut self.groups[group];
        joined.count += 1;
        joined.fresh = false;
        // Those who have left are forgotten at a look; where nobody looks, before they are more than those who are there.
        if joined.members.len() > 2 * joined.count + GROUP_CORES {
            joined.members.retain(|member| Self::is_member(&self.of_thread, group, member));
            joined.ranked = 0;
        }
        self.groups[group].members.push(member);
    }

    /// A thread is not runnable any more.
    pub fn leave(&mut self, thread: ThreadId) {
        if let Some(group) = self.of_thread.get_mut(thread.index()).and_then(|(group, _)| group.take()) {
            let left = &mut self.groups[group as usize];
            left.count -= 1;
            left.fresh = false;
        }
    }

    /// Brings the members of a group into the order in which they are dealt; equals by thread, first started first. O(n), and O(k log k) for `k` that
    /// ran or came since; O(1) where that has been done for this view already.
    pub fn rank(&mut self, group: usize, ageing: &mut Ageing, view: &View<'_>) {
        let (of_thread, moved) = (&self.of_thread, &mut self.moved);
        let Group { members, ranked, fresh, .. } = &mut self.groups[group];
        if std::mem::replace(fresh, true) {
            return;
        }
        moved.clear();
        let present = members.iter().filter(|member| Self::is_member(of_thread, group, member));
        ageing.note_all(present.map(|member| member.thread), view);
        let mut kept = 0;
        for i in 0..members.len() {
            let mut member = members[i];
            if !Self::is_member(of_thread, group, &member) {
                continue;
            }
            let remaining = ageing.remaining(member.thread, view);
            let place = ageing.place(remaining);
            member.state = view.thread(member.thread).state;
            if i < *ranked && place == member.place {
                members[kept] = member;
                kept += 1;
            } else {
                moved.push(Member { place, ..member });
            }
        }
        let key = |member: &Member| (member.place, member.thread);
        moved.sort_unstable_by_key(key);
        // From the back, so that nobody is in the way.
        let all = kept + moved.len();
        members.truncate(kept);
        members.extend_from_slice(moved);
        let mut left = kept;
        for i in (0..all).rev() {
            let Some(last) = moved.last() else { break };
            if left > 0 && key(&members[left - 1]) > key(last) {
                left -= 1;
                members[i] = members[left];
            } else {
                members[i] = *last;
                moved.pop();
            }
        }
        *ranked = all;
    }

    /// Deals the threads of a group that has been ranked in the same view: which queue each should be in, told of each. A core of the right kind that has the
    /// thread keeps it.
    pub fn deal(
        &mut self,
        group: usize,
        ageing: &Ageing,
        homes: &Homes,
        view: &View<'_>,
        mut tell: impl FnMut(ThreadId, QueueId),
    ) {
        let Group { cores, members, .. } = &self.groups[group];
        let cores: Vec<_> = cores.iter().copied().filter(|core| view.cores[core.index()].online).collect();
        let capacities: Vec<_> = cores.iter().map(|&core| view.machine.kind_of(core).capacity).collect();
        let bound = |thread: ThreadId| {
            is_bound(thread, view).then(|| Bound {
                allowed: cores.iter().map(|&core| view.allowed(thread, core)).collect(),
                home: homes.of(thread).and_then(|queue| cores.iter().position(|core| core.0 == queue.0)),
            })
        };
        let remaining = members.iter().map(|member| ageing.place(member.place));
        if members.iter().any(|member| is_bound(member.thread, view)) {
            let jobs =
                members.iter().zip(remaining).map(|(member, remaining)| Job { remaining, bound: bound(member.thread) });
            let dealt = deal(&jobs.collect::<Vec<_>>(), &capacities);
            self.shares.clear();
            self.shares.extend(dealt.into_iter().map(|share| share.map_or(NOWHERE, |share| share as u32)));
        } else {
            deal_free(remaining, &capacities, &mut self.shares);
        }
        // Whoever may run nowhere here stays where it is.
        let dealt = || {
            let shares = members.iter().zip(&self.shares).filter(|&(_, &share)| share != NOWHERE);
            shares.map(|(member, &share)| (member, share as usize))
        };
        let core_of_share = keep_places(dealt, &cores, homes, view);
        dealt().for_each(|(member, share)| tell(member.thread, QueueId(core_of_share[share].0)));
        self.groups[group].fresh = false;
    }

    /// Levels the numbers of threads, and lets groups, all ranked in the same view, trade threads for their fastest cores. Those concerned belong to another
    /// group afterwards, which has to be ranked again before it deals.
    pub fn trade(&mut self, ageing: &mut Ageing, view: &View<'_>) {
        if self.groups.len() < 2 {
            return;
        }
        self.level(ageing, view);
        // (what is left, thread, group): the first that gets no fastest core, and the last that gets one.
        let (mut offers, mut takers) = (Vec::new(), Vec::new());
        for (g, group) in self.groups.iter().enumerate() {
            let fastest = group.online(view).filter(|&core| view.kind(core) == KindId(0)).count();
            let at = |place: usize| group.members.get(place).map(|member| (member.place, member.thread, g));
            offers.extend(at(fastest));
            takers.extend(fastest.checked_sub(1).and_then(at));
        }
        offers.sort_by_key(|offer| offer.0);
        takers.sort_by_key(|taker| Reverse(taker.0));
        for (offer, taker) in offers.into_iter().zip(takers) {
            let may = self.groups[taker.2].may_have(offer.1, view) && self.groups[offer.2].may_have(taker.1, view);
            if offer.0 < taker.0 && offer.2 != taker.2 && may {
                self.join(offer.1, taker.2);
                self.join(taker.1, offer.2);
            }
        }
    }

    fn level(&mut self, ageing: &mut Ageing, view: &View<'_>) {
        let capacity = |group: &Group| {
            group.online(view).map(|core| u64::from(view.machine.kind_of(core).capacity)).sum::<u64>().max(1)
        };
        if !may_help(self.groups.iter().map(|group| (group.count as u64, capacity(group))), ONE, 0) {
            return;
        }
        // Of equal threads the one that started last goes: they are told in order of start.
        let lot = |group: &Group| {
            let ready = |member: &&Member| view.thread(member.thread).state == State::Ready;
            let mut movable: Vec<_> = group.members.iter().filter(ready).map(|member| (ONE, member.thread)).collect();
            movable.sort_unstable();
            Lot { capacity: capacity(group), weight: group.count as u64, movable }
        };
        let mut lots: Vec<_> = self.groups.iter().map(lot).collect();
        let groups = &self.groups;
        let moves = level(&mut lots, 0, |thread, group| groups[group].may_have(thread, view));
        for &(thread, group) in &moves {
            self.join(thread, group);
        }
        if !moves.is_empty() {
            (0..self.len()).for_each(|group| self.rank(group, ageing, view));
        }
    }
}

/// The share of a thread that may run on none of the cores.
const NOWHERE: u32 = u32::MAX;

/// Shares of cores of one kind are interchangeable, unless one of their threads may not run everywhere: each goes to a core that has
/// one of its threads already, if it can; those that run count before those that wait. Returns the core of each share.
fn keep_places<'a, D: Iterator<Item = (&'a Member, usize)>>(
    dealt: impl Fn() -> D,
    cores: &[CoreId],
    homes: &Homes,
    view: &View<'_>,
) -> Vec<CoreId> {
    let mut core_of_share = vec![None; cores.len()];
    let mut place_of_core = vec![None; view.machine.cores.len()];
    for (place, core) in cores.iter().enumerate() {
        place_of_core[core.index()] = Some(place);
    }
    let mut taken = vec![false; cores.len()];
    for (_, share) in dealt().filter(|(member, _)| is_bound(member.thread, view)) {
        core_of_share[share] = Some(cores[share]);
        taken[share] = true;
    }
    let mut unplaced = core_of_share.iter().filter(|core| core.is_none()).count();
    for wanted in [State::Running, State::Ready] {
        for (member, share) in dealt() {
            if unplaced == 0 {
                break;
            }
            if core_of_share[share].is_some() || member.state != wanted {
                continue;
            }
            let home = homes.of(member.thread).and_then(|queue| place_of_core.get(queue.index()).copied().flatten());
            if let Some(place) = home
                && !taken[place]
                && view.kind(cores[place]) == view.kind(cores[share])
            {
                core_of_share[share] = Some(cores[place]);
                taken[place] = true;
                unplaced -= 1;
            }
        }
    }
    // By kind: where to look on for a core that nobody has taken.
    let mut next = [0; MAX_KINDS];
    let mut left = |kind: KindId| {
        let next = &mut next[kind.index()];
        let place = (*next..cores.len()).find(|&place| !taken[place] && view.kind(cores[place]) == kind)?;
        taken[place] = true;
        *next = place + 1;
        Some(cores[place])
    };
    let share_of =
        |share: usize| core_of_share[share].or_else(|| left(view.kind(cores[share]))).unwrap_or(cores[share]);
    (0..cores.len()).map(share_of).collect()
}
