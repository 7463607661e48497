//! A deal among the cores of one group: who is dealt what share, which core has which share, and who changes queues for it.

use evenkeel_machine::{CoreId, MAX_KINDS};

use super::ageing::{Ageing, Bound, Job, deal};
use super::rounds::{Owed, deal_free};
use crate::contract::{QueueId, State, ThreadId, View};
use crate::os::homes::Homes;

/// A thread, as of when it was last looked at.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Sorts it in the order of dealing.
    pub place: u64,
    pub thread: ThreadId,
    /// What it was doing then.
    pub state: State,
    /// Whether it has left since, or has another place: it stands here until all are brought into order again.
    pub gone: bool,
}

/// A thread that there is not, after all others.
pub const NOBODY: ThreadId = ThreadId(u32::MAX);

impl Member {
    /// Comes after all others.
    pub const LAST: Self = Self { place: u64::MAX, thread: NOBODY, state: State::Exited, gone: true };

    /// In the order of dealing; equals by thread, first started first.
    pub fn precedes(&self, other: &Self) -> bool {
        (self.place, self.thread) < (other.place, other.thread)
    }
}

/// A thread, and the queue it goes to.
pub type Change = (ThreadId, QueueId);

/// Scratch of a deal. A *share* is what one core is dealt, whichever that will be.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The cores dealt to, fastest first, and what they can do; by share, the core that it is made for.
    cores: Vec<CoreId>,
    capacities: Vec<u32>,
    /// By member, what is left for it.
    remaining: Vec<u64>,
    owed: Owed,
    /// By member, its share.
    shares: Vec<u32>,
    /// By share, the core that it goes to, once that is known.
    core_of: Vec<Option<CoreId>>,
    /// By core of the machine: whether it is dealt to, and has no share yet.
    open: Vec<bool>,
}

/// The share of a thread that may run on none of the cores.
const NOWHERE: u32 = u32::MAX;

impl Table {
    /// Deals threads, in this order, to those of the cores that are online, and gives each share a core: one of the right kind that has one of the
    /// share's threads keeps it. `at_work`: those that run, by index, in order.
    pub fn deal(
        &mut self,
        cores: &[CoreId],
        members: &[Member],
        at_work: &[u32],
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
        remaining.extend(members.iter().map(|member| ageing.place(member.place)));
        let some_are_bound = !view.affinity.is_empty() && members.iter().any(|member| is_bound(member.thread, view));
        if some_are_bound {
            let bound = |thread: ThreadId| {
                is_bound(thread, view).then(|| Bound {
                    allowed: online.iter().map(|&core| view.allowed(thread, core)).collect(),
                    home: homes.of(thread).and_then(|queue| online.iter().position(|core| core.0 == queue.0)),
                })
            };
            let jobs = members
                .iter()
                .zip(&*remaining)
                .map(|(member, &remaining)| Job { remaining, bound: bound(member.thread) });
            let dealt = deal(&jobs.collect::<Vec<_>>(), capacities);
            shares.clear();
            shares.extend(dealt.into_iter().map(|share| share.map_or(NOWHERE, |share| share as u32)));
        } else {
            deal_free(remaining, capacities, owed, shares);
        }
        self.keep_places(members, at_work, some_are_bound, homes, view);
    }

    /// The queue that a member goes to: that of the core that its share is for. Whoever may run nowhere here stays where it is.
    fn goes_to(&self, at: usize) -> Option<QueueId> {
        let core = *self.core_of.get(self.shares[at] as usize)?;
        core.map(|core| QueueId(core.0))
    }

    /// Tells who should be in another queue than it is in, and, again, those of them that run, or that run elsewhere although the core of their queue idles.
    pub fn tell(
        &self,
        members: &[Member],
        at_work: &[u32],
        homes: &Homes,
        view: &View<'_>,
        changes: &mut Vec<Change>,
        running: &mut Vec<Change>,
    ) {
        let kept = |at: usize, queue: QueueId| is_kept_from(members[at].thread, CoreId(queue.0), view);
        if self.cores.iter().any(|core| view.cores[core.index()].running.is_none()) {
            let goes = |(at, member): (usize, &Member)| {
                let queue = self.goes_to(at)?;
                (homes.of(member.thread) != Some(queue) || kept(at, queue)).then_some((member.thread, queue))
            };
            changes.extend(members.iter().enumerate().filter_map(goes));
        } else {
            let mut count = changes.len();
            changes.resize(count + members.len(), (ThreadId(0), QueueId(0)));
            for (at, member) in members.iter().enumerate() {
                // Written over each other until one counts: whether a thread changes queues is nothing that a processor could foretell.
                if let Some(queue) = self.goes_to(at) {
                    changes[count] = (member.thread, queue);
                    count += usize::from(homes.of(member.thread) != Some(queue));
                }
            }
            changes.truncate(count);
        }
        for &at in at_work {
            let thread = members[at as usize].thread;
            if let Some(queue) = self.goes_to(at as usize)
                && (homes.of(thread) != Some(queue) || kept(at as usize, queue))
            {
                running.push((thread, queue));
            }
        }
    }

    /// Shares of cores of one kind are interchangeable, unless one of their threads may not run everywhere: each goes to a core that has
    /// one of its threads already, if it can; those that run count before those that wait.
    fn keep_places(
        &mut self,
        members: &[Member],
        at_work: &[u32],
        some_are_bound: bool,
        homes: &Homes,
        view: &View<'_>,
    ) {
        let Self { cores, shares, core_of, open, .. } = self;
        core_of.clear();
        core_of.resize(cores.len(), None);
        open.clear();
        open.resize(view.cores.len(), false);
        cores.iter().for_each(|core| open[core.index()] = true);
        if some_are_bound {
            let dealt = members.iter().zip(shares.iter().map(|&share| share as usize));
            for (_, share) in dealt.filter(|(member, _)| is_bound(member.thread, view)) {
                if let Some(core_of) = core_of.get_mut(share) {
                    *core_of = Some(cores[share]);
                    open[cores[share].index()] = false;
                }
            }
        }
        let mut unplaced = core_of.iter().filter(|core| core.is_none()).count();
        let mut place = |member: &Member, share: u32| {
            let share = share as usize;
            if core_of.get(share) == Some(&None)
                && let Some(QueueId(home)) = homes.of(member.thread)
                && open.get(home as usize) == Some(&true)
                && view.kind(CoreId(home)) == view.kind(cores[share])
            {
                core_of[share] = Some(CoreId(home));
                open[home as usize] = false;
                unplaced -= 1;
            }
            unplaced > 0
        };
        let mut some_are_left = true;
        for &at in at_work {
            some_are_left = place(&members[at as usize], shares[at as usize]);
        }
        for (member, &share) in members.iter().zip(&*shares) {
            if !some_are_left {
                break;
            }
            if member.state == State::Ready {
                some_are_left = place(member, share);
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

/// Whether a thread may not run everywhere. Where nobody is bound, nothing of the thread is looked at.
pub fn is_bound(thread: ThreadId, view: &View<'_>) -> bool {
    view.affinity.get(thread.index()).is_some_and(Option::is_some) && view.thread(thread).restricted
}

/// Whether a thread still runs on another core than its own, which idles: it was sent there when there was no room for it yet.
fn is_kept_from(thread: ThreadId, home: CoreId, view: &View<'_>) -> bool {
    let stats = view.thread(thread);
    let idles = view.cores[home.index()].online && view.cores[home.index()].running.is_none();
    idles && stats.state == State::Running && stats.core != home
}
