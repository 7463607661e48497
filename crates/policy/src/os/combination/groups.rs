//! Dealing by age in groups of cores, so that a decision costs O(n log n) of one group's threads.
//!
//! Up to 64 cores are one group. More are split into groups with the same mix of kinds, each of which deals its own threads.
//! At every timer the groups first level their numbers of threads; then each offers the first thread, in the order of dealing,
//! that gets no fastest core at home, and a group whose fastest cores hold one that would be dealt later trades it for that.

use std::cmp::Reverse;

use evenkeel_machine::{CoreId, KindId, MAX_KINDS};

use super::ageing::{Ageing, Bound, Job, Owed, deal, deal_free};
use crate::contract::{QueueId, State, ThreadId, View};
use crate::os::homes::Homes;
use crate::os::level::{Lot, level, may_help};

/// The most cores of one group.
const GROUP_CORES: usize = 64;

/// What a thread counts for where numbers are levelled.
const ONE: u32 = 1;

/// A thread, as of when it was last looked at.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Sorts it in the order of dealing.
    place: u64,
    thread: ThreadId,
    /// Which of the thread's entries this is: it is out of date once there is another.
    entry: u32,
    /// What it was doing then.
    state: State,
}

/// Where a thread is a member.
#[derive(Clone, Copy, Debug)]
struct Membership {
    /// [`NO_GROUP`]: nowhere.
    group: u32,
    /// Which of its entries counts.
    entry: u32,
    /// Whether that is still to be sorted in.
    came: bool,
}

/// See [`Membership::group`].
const NO_GROUP: u32 = u32::MAX;

impl Default for Membership {
    fn default() -> Self {
        Self { group: NO_GROUP, entry: 0, came: false }
    }
}

/// Cores that deal their threads among themselves.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Fastest first.
    cores: Vec<CoreId>,
    /// Its runnable threads in the order of dealing, as of the last look: most threads wait between two looks and keep their places. Entries that are
    /// out of date are among them until the next.
    members: Vec<Member>,
    /// Those who ran or came since: thread and entry.
    came: Vec<(ThreadId, u32)>,
    /// Whether others have left since.
    left: bool,
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
    of_thread: Vec<Membership>,
    /// Scratch of a look: members to be sorted in, and all in order.
    moved: Vec<Member>,
    merged: Vec<Member>,
    table: Table,
}

/// Scratch of a deal. A *share* is what one core is dealt, whichever that will be.
#[derive(Clone, Debug, Default)]
struct Table {
    /// The cores dealt to, fastest first, and what they can do; by share, the core that it is made for.
    cores: Vec<CoreId>,
    capacities: Vec<u32>,
    owed: Owed,
    /// By member, its share.
    shares: Vec<u32>,
    /// By share, the core that it goes to, once that is known.
    core_of: Vec<Option<CoreId>>,
    /// By core of the machine: whether it is dealt to, and has no share yet.
    open: Vec<bool>,
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

    /// A runnable thread belongs to this group.
    pub fn join(&mut self, thread: ThreadId, group: usize) {
        if self.of_thread.len() <= thread.index() {
            self.of_thread.resize(thread.index() + 1, Membership::default());
        }
        if self.of_thread[thread.index()].group as usize == group {
            return;
        }
        self.leave(thread);
        let Membership { group: of_thread, entry, came } = &mut self.of_thread[thread.index()];
        (*of_thread, *came) = (group as u32, true);
        let joined = &mut self.groups[group];
        joined.count += 1;
        joined.came.push((thread, *entry));
        // Those who have left are forgotten at a look; where nobody looks, before they are more than those who are there.
        if joined.came.len() > 2 * joined.count + GROUP_CORES {
            joined.came.retain(|&(thread, entry)| self.of_thread[thread.index()].entry == entry);
        }
    }

    /// A thread is not runnable any more.
    pub fn leave(&mut self, thread: ThreadId) {
        if let Some(Membership { group, entry, came }) = self.of_thread.get_mut(thread.index())
            && *group != NO_GROUP
        {
            let left = &mut self.groups[*group as usize];
            left.count -= 1;
            left.left = true;
            (*group, *entry, *came) = (NO_GROUP, entry.wrapping_add(1), false);
        }
    }

    /// Has whoever ran sorted in anew at the next look. To be told of every view in which there is a look, and of every timer: who is said to have run
    /// has run since the last one.
    pub fn note_who_ran(&mut self, view: &View<'_>) {
        for &thread in view.ran {
            if let Some(Membership { group, entry, came }) = self.of_thread.get_mut(thread.index())
                && *group != NO_GROUP
                && !*came
            {
                (*entry, *came) = (entry.wrapping_add(1), true);
                self.groups[*group as usize].came.push((thread, *entry));
            }
        }
    }

    /// Brings the members of a group into the order in which they are dealt; equals by thread, first started first. O(n), and O(k log k) for `k` that
    /// ran or came since; O(1) where nobody did, or left.
    pub fn rank(&mut self, group: usize, ageing: &mut Ageing, view: &View<'_>) {
        let Self { groups, of_thread, moved, merged, .. } = self;
        let Group { members, came, left, .. } = &mut groups[group];
        if came.is_empty() && !std::mem::take(left) {
            return;
        }
        let is_valid = |thread: ThreadId, entry: u32| of_thread[thread.index()].entry == entry;
        if ageing.is_shared() {
            // What one did may change the places of all.
            came.retain(|&(thread, entry)| is_valid(thread, entry));
            members.retain(|member| is_valid(member.thread, member.entry));
            came.extend(members.drain(..).map(|member| (member.thread, member.entry)));
            ageing.note_all(came.iter().map(|&(thread, _)| thread), view);
        }
        moved.clear();
        for (thread, entry) in came.drain(..) {
            let of_thread = &mut of_thread[thread.index()];
            if of_thread.entry == entry {
                of_thread.came = false;
                let stats = view.thread(thread);
                let place = ageing.place(ageing.remaining(thread, stats));
                moved.push(Member { place, thread, entry, state: stats.state });
            }
        }
        let key = |member: &Member| (member.place, member.thread);
        moved.sort_unstable_by_key(key);
        merged.clear();
        let mut sorted_in = moved.iter().peekable();
        for member in members.iter() {
            if of_thread[member.thread.index()].entry == member.entry {
                while let Some(moved) = sorted_in.next_if(|moved| key(moved) < key(member)) {
                    merged.push(*moved);
                }
                merged.push(*member);
            }
        }
        merged.extend(sorted_in);
        std::mem::swap(members, merged);
    }

    /// Deals the threads of a group that has been ranked in the same view: which queue each should be in, told of each, with what it is doing. A core of
    /// the right kind that has the thread keeps it.
    pub fn deal(
        &mut self,
        group: usize,
        ageing: &Ageing,
        homes: &Homes,
        view: &View<'_>,
        mut tell: impl FnMut(ThreadId, QueueId, State),
    ) {
        let Group { cores, members, .. } = &self.groups[group];
        let Table { cores: online, capacities, owed, shares, .. } = &mut self.table;
        online.clear();
        online.extend(cores.iter().copied().filter(|core| view.cores[core.index()].online));
        capacities.clear();
        capacities.extend(online.iter().map(|&core| view.machine.kind_of(core).capacity));
        let remaining = members.iter().map(|member| ageing.place(member.place));
        let some_are_bound = !view.affinity.is_empty() && members.iter().any(|member| is_bound(member.thread, view));
        if some_are_bound {
            let bound = |thread: ThreadId| {
                is_bound(thread, view).then(|| Bound {
                    allowed: online.iter().map(|&core| view.allowed(thread, core)).collect(),
                    home: homes.of(thread).and_then(|queue| online.iter().position(|core| core.0 == queue.0)),
                })
            };
            let jobs =
                members.iter().zip(remaining).map(|(member, remaining)| Job { remaining, bound: bound(member.thread) });
            let dealt = deal(&jobs.collect::<Vec<_>>(), capacities);
            shares.clear();
            shares.extend(dealt.into_iter().map(|share| share.map_or(NOWHERE, |share| share as u32)));
        } else {
            deal_free(remaining, capacities, owed, shares);
        }
        self.table.keep_places(members, some_are_bound, homes, view);
        for (member, &share) in members.iter().zip(&self.table.shares) {
            // Whoever may run nowhere here stays where it is.
            if let Some(&Some(core)) = self.table.core_of.get(share as usize) {
                tell(member.thread, QueueId(core.0), member.state);
            }
        }
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

impl Table {
    /// Shares of cores of one kind are interchangeable, unless one of their threads may not run everywhere: each goes to a core that has
    /// one of its threads already, if it can; those that run count before those that wait.
    fn keep_places(&mut self, members: &[Member], some_are_bound: bool, homes: &Homes, view: &View<'_>) {
        let Self { cores, shares, core_of, open, .. } = self;
        core_of.clear();
        core_of.resize(cores.len(), None);
        open.clear();
        open.resize(view.cores.len(), false);
        cores.iter().for_each(|core| open[core.index()] = true);
        let dealt = || members.iter().zip(shares.iter().map(|&share| share as usize));
        if some_are_bound {
            for (_, share) in dealt().filter(|(member, _)| is_bound(member.thread, view)) {
                if let Some(core_of) = core_of.get_mut(share) {
                    *core_of = Some(cores[share]);
                    open[cores[share].index()] = false;
                }
            }
        }
        let mut unplaced = core_of.iter().filter(|core| core.is_none()).count();
        for wanted in [State::Running, State::Ready] {
            for (member, share) in dealt() {
                if unplaced == 0 {
                    break;
                }
                if member.state != wanted || core_of.get(share) != Some(&None) {
                    continue;
                }
                if let Some(QueueId(home)) = homes.of(member.thread)
                    && open.get(home as usize) == Some(&true)
                    && view.kind(CoreId(home)) == view.kind(cores[share])
                {
                    core_of[share] = Some(CoreId(home));
                    open[home as usize] = false;
                    unplaced -= 1;
                }
            }
        }
        // By kind: where to look on for a core that nobody has been given.
        let mut next = [0; MAX_KINDS];
        for (core_of, &made_for) in core_of.iter_mut().zip(&*cores).filter(|(core, _)| core.is_none()) {
            let kind = view.kind(made_for);
            let next = &mut next[kind.index()];
            let is_left = |core: CoreId| open[core.index()] && view.kind(core) == kind;
            if let Some(place) = (*next..cores.len()).find(|&place| is_left(cores[place])) {
                *core_of = Some(cores[place]);
                *next = place + 1;
            }
        }
    }
}
