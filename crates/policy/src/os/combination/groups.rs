//! Dealing by age in groups of cores, so that a decision costs O(n log n) of one group's threads.
//!
//! Up to 64 cores are one group. More are split into groups with the same mix of kinds, each of which deals its own threads.
//! At every timer the groups first level their numbers of threads; then each offers the first thread, in the order of dealing,
//! that gets no fastest core at home, and a group whose fastest cores hold one that would be dealt later trades it for that.

use std::cmp::Reverse;

use evenkeel_machine::{CoreId, KindId};

use super::ageing::Ageing;
use super::few::sort_few;
use super::table::{Change, Member, NOBODY, Table, is_bound};
use crate::contract::{State, ThreadId, View};
use crate::os::homes::Homes;
use crate::os::level::{Lot, leave_out_who_stays, level, may_help};

/// The most cores of one group.
const GROUP_CORES: usize = 64;

/// What a thread counts for where numbers are levelled.
const ONE: u32 = 1;

/// Where a thread stands: nowhere, among those that came, or among the members, at an index there. In as few digits as may be, because all that a deal moves
/// have theirs written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing(u32);

impl Standing {
    const NOWHERE: Self = Self(u32::MAX);
    const CAME: u32 = 1 << 31;

    const fn among_those_that_came(at: u32) -> Self {
        Self(Self::CAME | at)
    }

    const fn member(at: u32) -> Self {
        Self(at)
    }

    /// Its index among the members.
    const fn among_members(self) -> Option<usize> {
        if self.0 < Self::CAME { Some(self.0 as usize) } else { None }
    }
}

/// The group that a thread stands in.
#[derive(Clone, Copy, Debug, Default)]
struct Membership {
    group: u32,
    /// Whether it is among those of its group that ran.
    noted: bool,
}

/// Cores that deal their threads among themselves.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Fastest first.
    cores: Vec<CoreId>,
    /// Its runnable threads in the order of dealing, as of the last look: most threads wait between two looks and keep their places.
    members: Vec<Member>,
    /// Those of them that ran since, some of which may have left.
    ran: Vec<ThreadId>,
    /// Those who came since; [`NOBODY`] for one that has left again.
    came: Vec<ThreadId>,
    /// How many members have left since.
    left: usize,
    /// Those members that were found to run since it was last noted who did, some of which may have left.
    running: Vec<ThreadId>,
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

/// All groups.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    group_of_core: Vec<usize>,
    of_thread: Vec<Membership>,
    standings: Vec<Standing>,
    /// Scratch of a look: members to be sorted in; and all in order.
    moved: Vec<Member>,
    merged: Vec<Member>,
    /// Scratch of a deal: the members that run, by index, in order; and the same as bits.
    at_work: Vec<u32>,
    bits: Vec<u64>,
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
            self.standings.resize(thread.index() + 1, Standing::NOWHERE);
        }
        let is_somewhere = self.standings[thread.index()] != Standing::NOWHERE;
        if is_somewhere && self.of_thread[thread.index()].group as usize == group {
            return;
        }
        self.leave(thread);
        let joined = &mut self.groups[group];
        joined.count += 1;
        // Those who have left are forgotten at a look; where nobody looks, before they are more than those who are there.
        if joined.came.len() > 2 * joined.count + GROUP_CORES {
            joined.came.retain(|&thread| thread != NOBODY);
            for (at, thread) in (0..).zip(&joined.came) {
                self.standings[thread.index()] = Standing::among_those_that_came(at);
            }
        }
        self.standings[thread.index()] = Standing::among_those_that_came(joined.came.len() as u32);
        joined.came.push(thread);
        self.of_thread[thread.index()] = Membership { group: group as u32, noted: false };
    }

    /// A thread is not runnable any more.
    pub fn leave(&mut self, thread: ThreadId) {
        let Some(standing) = self.standings.get_mut(thread.index()) else { return };
        let standing = std::mem::replace(standing, Standing::NOWHERE);
        if standing == Standing::NOWHERE {
            return;
        }
        let group = &mut self.groups[self.of_thread[thread.index()].group as usize];
        match standing.among_members() {
            None => group.came[(standing.0 & !Standing::CAME) as usize] = NOBODY,
            Some(at) => {
                group.members[at].leave();
                group.left += 1;
            }
        }
        group.count -= 1;
    }

    /// Has whoever ran sorted in anew at the next look. To be told of every view in which there is a look, and of every timer: who is said to have run
    /// has run since the last one.
    pub fn note_who_ran(&mut self, view: &View<'_>) {
        self.groups.iter_mut().for_each(|group| group.running.clear());
        for &thread in view.ran {
            if let Some(of_thread) = self.of_thread.get_mut(thread.index())
                && self.standings[thread.index()].among_members().is_some()
                && !std::mem::replace(&mut of_thread.noted, true)
            {
                self.groups[of_thread.group as usize].ran.push(thread);
            }
        }
    }

    /// Brings the members of a group into the order in which they are dealt; equals by thread, first started first. O(n), and O(k log k) for `k` that
    /// ran or came since; O(1) where nobody did, or left.
    pub fn rank(&mut self, group: usize, ageing: &mut Ageing, view: &View<'_>) {
        self.look(group, ageing, view);
        let Self { groups, standings, moved, merged, .. } = self;
        let Group { members, left, running, .. } = &mut groups[group];
        if moved.is_empty() && *left == 0 {
            return;
        }
        *left = 0;
        sort_few(moved);
        // Written over each other until one counts: whether a member does is nothing that a processor could foretell.
        let mut sorted_in = moved.iter().copied();
        let mut next = sorted_in.next().unwrap_or(Member::LAST);
        merged.resize(members.len() + moved.len(), Member::LAST);
        let mut count = 0;
        let all = &mut merged[..];
        for &member in members.iter() {
            while next < member {
                all[count] = next;
                count += 1;
                next = sorted_in.next().unwrap_or(Member::LAST);
            }
            all[count] = member;
            count += usize::from(!member.is_gone());
        }
        merged.truncate(count);
        merged.extend(Some(next).filter(|next| next.thread() != NOBODY));
        merged.extend(sorted_in);
        std::mem::swap(members, merged);
        let standings = &mut standings[..];
        for (at, member) in (0..).zip(&*members) {
            standings[member.thread().index()] = Standing::member(at);
        }
        running.extend(moved.iter().filter(|member| member.runs()).map(|member| member.thread()));
    }

    /// Looks at the threads of a group that ran or came: those whose places may be other ones now are taken out, to be sorted in.
    fn look(&mut self, group: usize, ageing: &mut Ageing, view: &View<'_>) {
        let Self { groups, of_thread, standings, moved, .. } = self;
        let Group { members, ran, came, left, running, .. } = &mut groups[group];
        moved.clear();
        if (ran.is_empty() && came.is_empty()) || !ageing.is_shared() {
            for thread in ran.drain(..) {
                let of_thread = &mut of_thread[thread.index()];
                if let Some(at) =
                    standings[thread.index()].among_members().filter(|_| of_thread.group as usize == group)
                {
                    of_thread.noted = false;
                    let stats = view.thread(thread);
                    let now = Member::new(ageing.place(ageing.remaining(thread, stats)), thread, stats.state);
                    if now.place() != members[at].place() {
                        members[at].leave();
                        moved.push(now);
                        *left += 1;
                        continue;
                    }
                    members[at] = now;
                    if now.runs() {
                        running.push(thread);
                    }
                }
            }
        } else {
            // What one did may change the places of all.
            ran.drain(..).for_each(|thread| of_thread[thread.index()].noted = false);
            came.extend(members.drain(..).filter(|member| !member.is_gone()).map(|member| member.thread()));
            ageing.note_all(came.iter().copied().filter(|&thread| thread != NOBODY), view);
        }
        for thread in came.drain(..).filter(|&thread| thread != NOBODY) {
            let stats = view.thread(thread);
            moved.push(Member::new(ageing.place(ageing.remaining(thread, stats)), thread, stats.state));
        }
    }

    /// Deals the threads of a group that has been ranked in the same view: which should be in another queue than they are, and, again, those of them that
    /// run, or that run elsewhere although the core of their queue idles. A core of the right kind that has the thread keeps it.
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
        let Group { cores, members, .. } = &self.groups[group];
        self.table.deal(cores, members, &self.at_work, ageing, homes, view);
        self.table.tell(members, &self.at_work, homes, view, changes, running);
    }

    /// Finds the members of a group that run.
    fn find_at_work(&mut self, group: usize) {
        let Self { groups, of_thread, standings, at_work, bits, .. } = self;
        let Group { members, running, .. } = &groups[group];
        bits.clear();
        bits.resize(members.len().div_ceil(64), 0);
        for &thread in running {
            let standing = standings[thread.index()].among_members();
            if let Some(at) =
                standing.filter(|&at| of_thread[thread.index()].group as usize == group && members[at].runs())
            {
                bits[at / 64] |= 1 << (at % 64);
            }
        }
        at_work.clear();
        for (first, &word) in (0..).step_by(64).zip(&*bits) {
            let mut rest = word;
            while rest != 0 {
                at_work.push(first + rest.trailing_zeros());
                rest &= rest - 1;
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
            let at = |place: usize| group.members.get(place).map(|member| (member.place(), member.thread(), g));
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
            let ready = |member: &&Member| view.thread(member.thread()).state == State::Ready;
            let movable = group.members.iter().filter(ready).map(|member| (ONE, member.thread())).collect();
            Lot { capacity: capacity(group), weight: group.count as u64, movable }
        };
        let mut lots: Vec<_> = self.groups.iter().map(lot).collect();
        if view.affinity.is_empty() {
            leave_out_who_stays(&mut lots);
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
            // What threads are and do, on a bench whose own policy is of no account.
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
                        groups.note_who_ran(&view);
                        groups.rank(0, &mut ageing, &view);
                        let member = |thread: ThreadId| {
                            let stats = view.thread(thread);
                            (ageing.place(ageing.remaining(thread, stats)), thread, stats.state == State::Running)
                        };
                        let all = (0..THREADS).filter(|&index| joined[index]).map(|index| ThreadId(index as u32));
                        let mut expected: Vec<_> = all.map(member).collect();
                        expected.sort_unstable_by_key(|member| (member.0, member.1));
                        let ranked = groups.groups[0].members.iter().map(|member| (member.place(), member.thread(), member.runs()));
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
