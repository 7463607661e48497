//! A deal among the cores of one group: who is dealt what share, which core has which share, and
//! who changes queues for it.

use evenkeel_machine::{CoreId, MAX_KINDS};

use super::ageing::{Ageing, Bound, Job, deal};
use super::rounds::{Owed, deal_free};
use crate::contract::{QueueId, State, ThreadId, View};
use crate::os::homes::{Homes, NO_QUEUE};

/// A thread, as of when it was last looked at. In one number: what sorts it in the order of
/// dealing, then the thread, so that members are in that order as numbers are, equals by thread,
/// first started first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member(u128);

/// A thread that there is not, after all others.
pub const NOBODY: ThreadId = ThreadId(u32::MAX);

impl Member {
    /// Comes after all others.
    pub const LAST: Self = Self(u128::MAX);

    pub const fn new(place: u64, thread: ThreadId) -> Self {
        Self((place as u128) << 64 | thread.0 as u128)
    }

    /// Sorts it in the order of dealing.
    pub const fn place(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub const fn thread(self) -> ThreadId {
        ThreadId(self.0 as u32)
    }
}

/// The members of a group, as a deal looks at them.
pub struct Members<'a, R> {
    /// In the order of dealing.
    pub all: &'a [Member],
    /// Those that run, by index, in order.
    pub at_work: &'a [u32],
    /// Who waits for a core.
    pub is_ready: R,
}

/// A thread, and the queue it goes to.
pub type Change = (ThreadId, QueueId);

/// Scratch of a deal. A *share* is what one core is dealt, whichever that will be.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The cores dealt to, fastest first, and what they can do; by share, the core that it is made
    /// for.
    cores: Vec<CoreId>,
    capacities: Vec<u32>,
    /// By member, what is left for it.
    remaining: Vec<u64>,
    owed: Owed,
    /// By member, its share.
    shares: Vec<u32>,
    /// By share, the number of the queue of the core that it goes to; [`NO_QUEUE`] as long as that
    /// is not known.
    queue_of: Vec<u32>,
    /// By core of the machine: whether it is dealt to, and has no share yet.
    open: Vec<bool>,
}

/// The share of a thread that may run on none of the cores.
const NOWHERE: u32 = u32::MAX;

impl Table {
    /// Deals threads, in this order, to those of the cores that are online, and gives each share a
    /// core: one of the right kind that has one of the share's threads keeps it.
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
            // Where no core is online, nobody is dealt anywhere.
            shares.resize(members.all.len(), NOWHERE);
        }
        self.keep_places(members, some_are_bound, homes, view);
    }

    /// Tells who should be in another queue than it is in, and, again, those of them that run, or
    /// that run elsewhere although the core of their queue idles.
    pub fn tell(
        &self,
        members: &Members<'_, impl Fn(ThreadId) -> bool>,
        homes: &Homes,
        view: &View<'_>,
        changes: &mut Vec<Change>,
        running: &mut Vec<Change>,
    ) {
        let Members { all: members, at_work, .. } = *members;
        let (shares, queue_of, homes) = (&self.shares[..], &self.queue_of[..], homes.numbers());
        // Whoever may run nowhere here, and has no share, stays where it is.
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
                // Written over each other until one counts: whether a thread changes queues is
                // nothing that a processor could foretell.
                all[count] = change;
                count += usize::from(goes(change));
            }
            changes.truncate(count);
        }
        let at_work = at_work.iter().map(|&at| change(&members[at as usize], shares[at as usize]));
        running.extend(at_work.filter(|&change| goes(change) || kept(change)));
    }

    /// Shares of cores of one kind are interchangeable, unless one of their threads may not run
    /// everywhere: each goes to a core that has one of its threads already, if it can; those that
    /// run count before those that wait.
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
        // By kind: where to look on for a core that nobody has been given.
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

/// Whether a thread may not run everywhere. Where nobody is bound, nothing of the thread is looked
/// at.
pub fn is_bound(thread: ThreadId, view: &View<'_>) -> bool {
    view.affinity.get(thread.index()).is_some_and(Option::is_some) && view.thread(thread).restricted
}

/// Whether a thread still runs on another core than its own, which idles: it was sent there when
/// there was no room for it yet.
fn is_kept_from(thread: ThreadId, home: CoreId, view: &View<'_>) -> bool {
    let stats = view.thread(thread);
    let idles = view.cores[home.index()].online && view.cores[home.index()].running.is_none();
    idles && stats.state == State::Running && stats.core != home
}
