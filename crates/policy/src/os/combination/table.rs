//! A deal among the cores of one group: the share of each thread, the core of each share, and the
//! threads that change queues for it.

use evenkeel_machine::{CoreId, MAX_KINDS};

use super::ageing::{Ageing, Bound, Job, deal};
use super::rounds::{Owed, deal_free};
use crate::contract::{QueueId, State, ThreadId, View};
use crate::os::homes::{Homes, NO_QUEUE};

/// A thread as of its last update. It is one number: the sort key of dealing, then the thread. So
/// members are in the order of dealing when their numbers are; equals by thread, first started
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member(u128);

/// Stands for no thread, after all others.
pub const NO_THREAD: ThreadId = ThreadId(u32::MAX);

impl Member {
    /// Comes after all others.
    pub const LAST: Self = Self(u128::MAX);

    pub const fn new(place: u64, thread: ThreadId) -> Self {
        Self((place as u128) << 64 | thread.0 as u128)
    }

    /// Sort key in the order of dealing.
    pub const fn place(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub const fn thread(self) -> ThreadId {
        ThreadId(self.0 as u32)
    }
}

/// The members of a group, as used by a deal.
pub struct Members<'a, R> {
    /// In the order of dealing.
    pub all: &'a [Member],
    /// Indices of running members, in order.
    pub at_work: &'a [u32],
    /// True for a thread that waits for a core.
    pub is_ready: R,
}

/// A thread, and its new queue.
pub type Change = (ThreadId, QueueId);

/// Scratch of a deal. A *share* is what one core is dealt, before it is known which core.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The cores dealt to, fastest first, and their capacities; by share, the core that it is
    /// computed for.
    cores: Vec<CoreId>,
    capacities: Vec<u32>,
    /// By member, its work left.
    remaining: Vec<u64>,
    owed: Owed,
    /// By member, its share.
    shares: Vec<u32>,
    /// By share, the queue number of the core that it goes to; [`NO_QUEUE`] while that is not
    /// known.
    queue_of: Vec<u32>,
    /// By core of the machine: true if it is dealt to and has no share yet.
    open: Vec<bool>,
}

/// The share of a thread that may run on none of the cores.
const NOWHERE: u32 = u32::MAX;

impl Table {
    /// Deals threads, in this order, to the online ones of the cores, and gives each share a core:
    /// one of the right kind that has one of the share's threads keeps it.
    pub fn deal(
        &mut self,
        cores: &[CoreId],
        members: &Members<'_, impl Fn(ThreadId) -> bool>,
        ageing: &Ageing,
        homes: &Homes,
        view: &View<'_>,
    ) {
        let Self { cores: online, capacities, remaining, owed, shares, .. } = self;
        online.clear();
        online.extend(cores.iter().copied().filter(|core| view.cores[core.index()].online));
        capacities.clear();
        capacities.extend(online.iter().map(|&core| view.machine.kind_of(core).capacity));
        remaining.clear();
        remaining.extend(members.all.iter().map(|member| ageing.place(member.place())));
        let some_are_bound = !view.affinity.is_empty()
            && members.all.iter().any(|member| is_bound(member.thread(), view));
        if some_are_bound {
            let bound = |thread: ThreadId| {
                is_bound(thread, view).then(|| Bound {
                    allowed: online.iter().map(|&core| view.allowed(thread, core)).collect(),
                    home: homes
                        .of(thread)
                        .and_then(|queue| online.iter().position(|core| core.0 == queue.0)),
                })
            };
            let jobs = members
                .all
                .iter()
                .zip(&*remaining)
                .map(|(member, &remaining)| Job { remaining, bound: bound(member.thread()) });
            let dealt = deal(&jobs.collect::<Vec<_>>(), capacities);
            shares.clear();
            shares
                .extend(dealt.into_iter().map(|share| share.map_or(NOWHERE, |share| share as u32)));
        } else {
            deal_free(remaining, capacities, owed, shares);
            // If no core is online, no thread is dealt anywhere.
            shares.resize(members.all.len(), NOWHERE);
        }
        self.keep_places(members, some_are_bound, homes, view);
    }

    /// Adds to `changes` the threads that should change queues, or that run elsewhere although the
    /// core of their queue idles, and to `running` those of them that run.
    pub fn list_changes(
        &self,
        members: &Members<'_, impl Fn(ThreadId) -> bool>,
        homes: &Homes,
        view: &View<'_>,
        changes: &mut Vec<Change>,
        running: &mut Vec<Change>,
    ) {
        let Members { all: members, at_work, .. } = *members;
        let (shares, queue_of, homes) = (&self.shares[..], &self.queue_of[..], homes.numbers());
        // A thread that may run nowhere here has no share and stays where it is.
        let queue_of = |share: u32| queue_of.get(share as usize).copied().unwrap_or(NO_QUEUE);
        let change = |member: &Member, share: u32| (member.thread(), QueueId(queue_of(share)));
        let goes = |(thread, queue): Change| queue.0 != NO_QUEUE && homes.of(thread) != queue.0;
        let kept = |(thread, queue): Change| {
            queue.0 != NO_QUEUE && is_kept_from(thread, CoreId(queue.0), view)
        };
        let dealt = members.iter().zip(shares).map(|(member, &share)| change(member, share));
        if self.cores.iter().any(|core| view.cores[core.index()].running.is_none()) {
            changes.extend(dealt.filter(|&change| goes(change) || kept(change)));
        } else {
            let mut count = changes.len();
            changes.resize(count + members.len(), (ThreadId(0), QueueId(0)));
            let all = &mut changes[..];
            for change in dealt {
                // Overwritten unless it counts: a branch here would be unpredictable.
                all[count] = change;
                count += usize::from(goes(change));
            }
            changes.truncate(count);
        }
        let at_work = at_work.iter().map(|&at| change(&members[at as usize], shares[at as usize]));
        running.extend(at_work.filter(|&change| goes(change) || kept(change)));
    }

    /// Shares of cores of one kind are interchangeable, unless one of their threads may not run
    /// everywhere. Each goes to a core that already has one of its threads, if possible; running
    /// threads count before waiting ones.
    fn keep_places(
        &mut self,
        members: &Members<'_, impl Fn(ThreadId) -> bool>,
        some_are_bound: bool,
        homes: &Homes,
        view: &View<'_>,
    ) {
        let Members { all: members, at_work, is_ready } = members;
        let Self { cores, shares, queue_of, open, .. } = self;
        let (cores, shares, homes) = (&cores[..], &shares[..], homes.numbers());
        queue_of.clear();
        queue_of.resize(cores.len(), NO_QUEUE);
        open.clear();
        open.resize(view.cores.len(), false);
        cores.iter().for_each(|core| open[core.index()] = true);
        if some_are_bound {
            let dealt = members.iter().zip(shares.iter().map(|&share| share as usize));
            for (_, share) in dealt.filter(|(member, _)| is_bound(member.thread(), view)) {
                if let Some(queue_of) = queue_of.get_mut(share) {
                    *queue_of = cores[share].0;
                    open[cores[share].index()] = false;
                }
            }
        }
        let mut unplaced = queue_of.iter().filter(|&&queue| queue == NO_QUEUE).count();
        let (queues, open_now) = (&mut queue_of[..], &mut open[..]);
        let mut place = |member: &Member, share: u32| {
            if let Some(queue) = queues.get_mut(share as usize)
                && *queue == NO_QUEUE
            {
                let home = homes.of(member.thread());
                if open_now.get(home as usize) == Some(&true)
                    && view.kind(CoreId(home)) == view.kind(cores[share as usize])
                {
                    *queue = home;
                    open_now[home as usize] = false;
                    unplaced -= 1;
                }
            }
            unplaced > 0
        };
        let mut some_are_left = true;
        for &at in *at_work {
            some_are_left = place(&members[at as usize], shares[at as usize]);
        }
        for (member, &share) in members.iter().zip(shares) {
            if !some_are_left {
                break;
            }
            if is_ready(member.thread()) {
                some_are_left = place(member, share);
            }
        }
        // By kind: where to continue the search for a core without a share.
        let mut next = [0; MAX_KINDS];
        for (queue_of, &made_for) in
            queue_of.iter_mut().zip(cores).filter(|(queue, _)| **queue == NO_QUEUE)
        {
            let kind = view.kind(made_for);
            let next = &mut next[kind.index()];
            let is_left = |core: CoreId| open[core.index()] && view.kind(core) == kind;
            if let Some(place) = (*next..cores.len()).find(|&place| is_left(cores[place])) {
                *queue_of = cores[place].0;
                *next = place + 1;
            }
        }
    }
}

/// True if a thread may not run everywhere. If no thread is bound, this reads nothing of the
/// thread.
pub fn is_bound(thread: ThreadId, view: &View<'_>) -> bool {
    view.affinity.get(thread.index()).is_some_and(Option::is_some) && view.thread(thread).restricted
}

/// True if a thread still runs on another core than its own, which idles: there was no room when it
/// was sent there.
fn is_kept_from(thread: ThreadId, home: CoreId, view: &View<'_>) -> bool {
    let stats = view.thread(thread);
    let idles = view.cores[home.index()].online && view.cores[home.index()].running.is_none();
    idles && stats.state == State::Running && stats.core != home
}
