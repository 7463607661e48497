//! Dealing by age in groups of cores, so that a decision costs O(n log n) of one group's threads.
//!
//! Up to 64 cores are one group. More are split into groups with the same mix of kinds, each of
//! which deals its own threads. At every timer the groups first level their numbers of threads.
//! Then each offers the first thread, in the order of dealing, that gets no fastest core at home,
//! and a group whose fastest cores hold a thread that would be dealt later trades it for that one.

use std::cmp::Reverse;

use evenkeel_machine::{CoreId, KindId};

use super::ageing::Ageing;
use super::few::sort_few;
use super::table::{Change, Member, Members, NO_THREAD, Table, is_bound};
use crate::contract::{State, ThreadId, View};
use crate::os::homes::Homes;
use crate::os::level::{Lot, keep_surplus, level, may_help};

/// The most cores of one group.
const GROUP_CORES: usize = 64;

/// Weight of a thread when numbers are levelled.
const ONE: u32 = 1;

/// Place of a thread: nowhere, among the newcomers of its group (with its index there), or among
/// the members of a group (with its state when last examined). It is one number, apart from the
/// members, so that threads that keep their places need no writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing(u32);

impl Standing {
    const NOWHERE: Self = Self(u32::MAX);
    const CAME: u32 = 1 << 31;
    /// A member whose place differs from where it stands among the members.
    const MOVED: u32 = 1;
    const RUNS: u32 = 2;
    const READY: u32 = 4;
    /// A member that is listed in `ran` of its group.
    const NOTED: u32 = 8;
    /// The number of the group begins above these bits.
    const DIGITS: u32 = 4;

    const fn among_those_that_came(at: u32) -> Self {
        Self(Self::CAME | at)
    }

    fn member(group: usize, state: State) -> Self {
        let doing = match state {
            State::Running => Self::RUNS,
            State::Ready => Self::READY,
            State::Blocked | State::Exited => 0,
        };
        Self((group as u32) << Self::DIGITS | doing)
    }

    const fn moved(self) -> Self {
        Self(self.0 | Self::MOVED)
    }

    /// The group that it is a member of.
    const fn group(self) -> Option<usize> {
        if self.0 < Self::CAME { Some((self.0 >> Self::DIGITS) as usize) } else { None }
    }

    /// True if it is a member of a group and stands at its place among the members.
    const fn is_found_in(self, group: usize) -> bool {
        self.0 & !(Self::RUNS | Self::READY | Self::NOTED) == (group as u32) << Self::DIGITS
    }

    /// True if the member ran when last examined.
    const fn runs(self) -> bool {
        self.0 & Self::RUNS != 0
    }

    /// True if the member waited when last examined.
    const fn is_ready(self) -> bool {
        self.0 & Self::READY != 0
    }
}

/// A group of cores that deal their threads among themselves.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Fastest first.
    cores: Vec<CoreId>,
    /// Its runnable threads in the order of dealing, as of the last update: most threads wait
    /// between two updates and keep their places. Some may have left since.
    members: Vec<Member>,
    /// Members that ran since, some of which may have left.
    ran: Vec<ThreadId>,
    /// Threads that came since; [`NO_THREAD`] for one that has left again.
    came: Vec<ThreadId>,
    /// True if any member has left since, or has another place.
    some_left: bool,
    /// Number of threads.
    count: usize,
}

impl Group {
    fn online<'a>(&'a self, view: &'a View<'_>) -> impl Iterator<Item = CoreId> + 'a {
        self.cores.iter().copied().filter(|core| view.cores[core.index()].online)
    }

    /// True if a thread may run on some core of the group.
    fn may_have(&self, thread: ThreadId, view: &View<'_>) -> bool {
        !is_bound(thread, view) || self.online(view).any(|core| view.allowed(thread, core))
    }
}

/// All groups.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    group_of_core: Vec<usize>,
    /// By thread: its group, its standing, and its sort key as a member.
    group_of: Vec<u32>,
    standings: Vec<Standing>,
    places: Vec<u64>,
    /// Scratch of an update: members to be sorted in, and all in order.
    moved: Vec<Member>,
    merged: Vec<Member>,
    /// Scratch of a deal: the running members, by index, in order.
    at_work: Vec<u32>,
    table: Table,
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

    /// Number of groups.
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

    /// A runnable thread joins this group.
    pub fn join(&mut self, thread: ThreadId, group: usize) {
        if self.standings.len() <= thread.index() {
            self.group_of.resize(thread.index() + 1, 0);
            self.standings.resize(thread.index() + 1, Standing::NOWHERE);
            self.places.resize(thread.index() + 1, 0);
        }
        let is_somewhere = self.standings[thread.index()] != Standing::NOWHERE;
        if is_somewhere && self.group_of[thread.index()] as usize == group {
            return;
        }
        self.leave(thread);
        let joined = &mut self.groups[group];
        joined.count += 1;
        // An update drops threads that have left. Without updates they are dropped here once they
        // outnumber the others by `GROUP_CORES`.
        if joined.came.len() > 2 * joined.count + GROUP_CORES {
            joined.came.retain(|&thread| thread != NO_THREAD);
            for (at, thread) in (0..).zip(&joined.came) {
                self.standings[thread.index()] = Standing::among_those_that_came(at);
            }
        }
        self.standings[thread.index()] = Standing::among_those_that_came(joined.came.len() as u32);
        joined.came.push(thread);
        self.group_of[thread.index()] = group as u32;
    }

    /// A thread is no longer runnable.
    pub fn leave(&mut self, thread: ThreadId) {
        let Some(standing) = self.standings.get_mut(thread.index()) else { return };
        let standing = std::mem::replace(standing, Standing::NOWHERE);
        if standing == Standing::NOWHERE {
            return;
        }
        let group = &mut self.groups[self.group_of[thread.index()] as usize];
        match standing.group() {
            None => group.came[(standing.0 & !Standing::CAME) as usize] = NO_THREAD,
            Some(_) => group.some_left = true,
        }
        group.count -= 1;
    }

    /// Marks threads that ran, which the next update sorts in again. To be called for every view
    /// with an update and for every timer, because `ran` covers the time since the last timer.
    pub fn note_ran(&mut self, view: &View<'_>) {
        for &thread in view.ran {
            if let Some(standing) = self.standings.get_mut(thread.index())
                && let Some(group) = standing.group()
                && standing.0 & Standing::NOTED == 0
            {
                standing.0 |= Standing::NOTED;
                self.groups[group].ran.push(thread);
            }
        }
    }

    /// Brings the members of a group into the order in which they are dealt; equals by thread,
    /// first started first. O(n), and O(k log k) for `k` threads that ran or came since; O(1) if
    /// none did and none left.
    pub fn rank(&mut self, group: usize, ageing: &mut Ageing, view: &View<'_>) {
        self.look(group, ageing, view);
        let Self { groups, standings, moved, merged, .. } = self;
        let Group { members, some_left, .. } = &mut groups[group];
        if moved.is_empty() && !*some_left {
            return;
        }
        *some_left = false;
        sort_few(moved);
        // Every candidate is written, and the next one overwrites it unless it counts: a branch
        // here would be unpredictable.
        let mut sorted_in = moved.iter().copied();
        let mut next = sorted_in.next().unwrap_or(Member::LAST);
        merged.resize(members.len() + moved.len(), Member::LAST);
        let mut count = 0;
        let (all, standings) = (&mut merged[..], &mut standings[..]);
        for &member in members.iter() {
            while next < member {
                all[count] = next;
                count += 1;
                next = sorted_in.next().unwrap_or(Member::LAST);
            }
            all[count] = member;
            count += usize::from(standings[member.thread().index()].is_found_in(group));
        }
        merged.truncate(count);
        merged.extend(Some(next).filter(|next| next.thread() != NO_THREAD));
        merged.extend(sorted_in);
        std::mem::swap(members, merged);
        moved.iter().for_each(|member| standings[member.thread().index()].0 &= !Standing::MOVED);
    }

    /// Examines the threads of a group that ran or came. Those whose places may have changed are
    /// marked as moved and collected, to be sorted in again.
    fn look(&mut self, group: usize, ageing: &mut Ageing, view: &View<'_>) {
        let Self { groups, standings, places, moved, .. } = self;
        let Group { members, ran, came, .. } = &mut groups[group];
        moved.clear();
        let mut look_at = |thread: ThreadId, standing: &mut Standing, ageing: &Ageing| {
            let stats = view.thread(thread);
            let place = ageing.place(ageing.remaining(thread, stats));
            let before = std::mem::replace(&mut places[thread.index()], place);
            let keeps_its_place = standing.is_found_in(group) && before == place;
            *standing = Standing::member(group, stats.state);
            if !keeps_its_place {
                *standing = standing.moved();
                moved.push(Member::new(place, thread));
            }
        };
        if (ran.is_empty() && came.is_empty()) || !ageing.is_shared() {
            for thread in ran.drain(..) {
                let standing = &mut standings[thread.index()];
                if standing.is_found_in(group) {
                    look_at(thread, standing, ageing);
                }
            }
        } else {
            // The progress of one may change the places of all.
            ran.clear();
            for thread in members.drain(..).map(Member::thread) {
                let standing = &mut standings[thread.index()];
                if standing.is_found_in(group) {
                    *standing = standing.moved();
                    came.push(thread);
                }
            }
            ageing.note_all(came.iter().copied().filter(|&thread| thread != NO_THREAD), view);
        }
        for thread in came.drain(..).filter(|&thread| thread != NO_THREAD) {
            look_at(thread, &mut standings[thread.index()], ageing);
        }
    }

    /// Deals the threads of a group that has been ranked in the same view. `changes` gets the
    /// threads that should change queues, or that run elsewhere although the core of their queue
    /// idles; `running` gets those of them that run. A core of the right kind that has the thread
    /// keeps it.
    pub fn deal(
        &mut self,
        group: usize,
        ageing: &Ageing,
        homes: &Homes,
        view: &View<'_>,
        changes: &mut Vec<Change>,
        running: &mut Vec<Change>,
    ) {
        self.find_at_work(group);
        let Self { groups, standings, at_work, table, .. } = self;
        let Group { cores, members, .. } = &groups[group];
        let is_ready = |thread: ThreadId| standings[thread.index()].is_ready();
        let members = Members { all: members, at_work, is_ready };
        table.deal(cores, &members, ageing, homes, view);
        table.list_changes(&members, homes, view, changes, running);
    }

    /// Finds the members of a group that run.
    fn find_at_work(&mut self, group: usize) {
        let Self { groups, standings, at_work, .. } = self;
        let members = &groups[group].members[..];
        at_work.clear();
        at_work.resize(members.len(), 0);
        let (all, standings) = (&mut at_work[..], &standings[..]);
        let mut count = 0;
        for (at, member) in (0..).zip(members) {
            // Overwritten unless it counts.
            all[count] = at;
            count += usize::from(standings[member.thread().index()].runs());
        }
        at_work.truncate(count);
    }

    /// Levels the numbers of threads, and lets groups, all ranked in the same view, trade threads
    /// for their fastest cores. Such threads then belong to another group, which has to be ranked
    /// again before it deals.
    pub fn trade(&mut self, ageing: &mut Ageing, view: &View<'_>) {
        if self.groups.len() < 2 {
            return;
        }
        self.level(ageing, view);
        // (sort key, thread, group): the first that gets no fastest core, and the last that gets
        // one.
        let (mut offers, mut takers) = (Vec::new(), Vec::new());
        for (g, group) in self.groups.iter().enumerate() {
            let fastest = group.online(view).filter(|&core| view.kind(core) == KindId(0)).count();
            let at = |place: usize| {
                group.members.get(place).map(|member| (member.place(), member.thread(), g))
            };
            offers.extend(at(fastest));
            takers.extend(fastest.checked_sub(1).and_then(at));
        }
        offers.sort_by_key(|offer| offer.0);
        takers.sort_by_key(|taker| Reverse(taker.0));
        for (offer, taker) in offers.into_iter().zip(takers) {
            let may = self.groups[taker.2].may_have(offer.1, view)
                && self.groups[offer.2].may_have(taker.1, view);
            if offer.0 < taker.0 && offer.2 != taker.2 && may {
                self.join(offer.1, taker.2);
                self.join(taker.1, offer.2);
            }
        }
    }

    fn level(&mut self, ageing: &mut Ageing, view: &View<'_>) {
        let capacity = |group: &Group| {
            group
                .online(view)
                .map(|core| u64::from(view.machine.kind_of(core).capacity))
                .sum::<u64>()
                .max(1)
        };
        if !may_help(self.groups.iter().map(|group| (group.count as u64, capacity(group))), ONE, 0)
        {
            return;
        }
        // Of equal threads the one that started last goes: they are compared in order of start.
        let lot = |group: &Group| {
            let ready = |member: &&Member| view.thread(member.thread()).state == State::Ready;
            let movable =
                group.members.iter().filter(ready).map(|member| (ONE, member.thread())).collect();
            Lot { capacity: capacity(group), weight: group.count as u64, movable }
        };
        let mut lots: Vec<_> = self.groups.iter().map(lot).collect();
        if view.affinity.is_empty() {
            keep_surplus(&mut lots);
        }
        lots.iter_mut().for_each(|lot| lot.movable.sort_unstable());
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ageing::{MILESTONES, ORDER, PREDICTION};
    use super::*;
    use crate::contract::Knobs;
    use crate::registry::make;
    use crate::testing::Bench;

    const THREADS: usize = 24;

    proptest! {
        #[test]
        fn however_threads_come_and_run_and_leave_they_are_ranked_as_if_all_were_sorted(
            steps in prop::collection::vec((0..THREADS, 0u8..7, 0u64..3), 1..300),
            order in prop_oneof![Just("longest"), Just("shortest")],
        ) {
            // Threads and their states, from a bench whose own policy does not matter.
            let mut bench = Bench::start(2, 2, make("pinned", &[]).unwrap());
            (0..THREADS).for_each(|_| {
                bench.spawn(0);
            });
            let mut ageing = Ageing::new(&Knobs::new("age", &[PREDICTION, ORDER, MILESTONES], &[("order".into(), order.into())]).unwrap());
            let mut groups = Groups::new(&bench.machine.cores.iter().map(|core| core.id).collect::<Vec<_>>());
            let (mut joined, mut ran) = (vec![false; THREADS], Vec::new());
            for (index, what, work) in steps {
                let thread = ThreadId(index as u32);
                match what {
                    0 | 1 => {
                        joined[index] = true;
                        groups.join(thread, 0);
                    }
                    2 => {
                        joined[index] = false;
                        groups.leave(thread);
                    }
                    // Runs, for some time or none, and goes on or stops.
                    3..=5 => {
                        bench.threads[index].since_milestone.0 += work;
                        bench.threads[index].state = if what == 3 { State::Running } else { State::Ready };
                        ran.push(thread);
                    }
                    _ => {
                        let view = bench.view_of(&ran);
                        groups.note_ran(&view);
                        groups.rank(0, &mut ageing, &view);
                        let member = |thread: ThreadId| {
                            let stats = view.thread(thread);
                            (ageing.place(ageing.remaining(thread, stats)), thread, stats.state == State::Running)
                        };
                        let all = (0..THREADS).filter(|&index| joined[index]).map(|index| ThreadId(index as u32));
                        let mut expected: Vec<_> = all.map(member).collect();
                        expected.sort_unstable_by_key(|member| (member.0, member.1));
                        let runs = |thread: ThreadId| groups.standings[thread.index()].runs();
                        let ranked = groups.groups[0].members.iter().map(|member| (member.place(), member.thread(), runs(member.thread())));
                        prop_assert_eq!(ranked.collect::<Vec<_>>(), expected.clone());
                        let runs = (0..).zip(&expected).filter(|(_, member)| member.2).map(|(at, _)| at);
                        groups.find_at_work(0);
                        prop_assert_eq!(&groups.at_work, &runs.collect::<Vec<u32>>());
                        ran.retain(|thread| bench.threads[thread.index()].state == State::Running);
                    }
                }
            }
        }
    }
}
