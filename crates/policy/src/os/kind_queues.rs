//! One queue per kind of core, and threads that trade places between adjacent kinds: shared by the
//! policies that decide which threads deserve fast cores and leave the next pick to the queues.
//!
//! - A core serves the queue of its own kind, then those of other kinds, nearest in speed first, so
//!   no core idles while a thread waits; it adopts what it takes. A thread that becomes ready goes
//!   to the fastest idle core.
//! - A core that idles while a slower one runs a thread *pulls* the thread with the greatest claim
//!   from the nearest slower kind.
//! - With more threads than cores, each kind has its share of them by its number of cores
//!   ([`KindQueues::balance`]), rounded down for the faster kinds. Their threads then never advance
//!   more slowly than the others', and a thread that falls behind is always on the slower side,
//!   where a trade helps.
//! - A *trade* sends a thread to the next slower kind and one from there to its place
//!   ([`KindQueues::exchange`]): the thread of least claim on the faster side for the one of
//!   greatest claim on the slower, as long as the policy wants it. Three or more kinds: each
//!   adjacent pair in turn, fastest first, no thread twice in one instant.
//! - If the policy wants it ([`KindQueues::host_those_behind`]), a waiting thread that is far
//!   behind is a guest of any kind for a slice, and not adopted.
//!
//! Directives may be carried out late. Until the view shows a thread where it was sent last, it is
//! *on its way*: it counts where it goes, its core there is reserved, and no core pulls or trades
//! it again. (Otherwise a trade might be carried out twice, which undoes it.) The view tells which
//! answers have been carried out: their directives have taken effect or were dropped.
//!
//! Cores are hardware threads: of a kind with SMT each sibling counts as one, and the first
//! siblings of all its cores are preferred to the second ones.
//!
//! A claim `K` is what the policy compares threads by; the greater claim belongs on the faster
//! core. All scratch space is kept, so a steady state allocates nothing.

use std::cmp::Ordering;

use evenkeel_machine::{CoreId, KindId, MAX_KINDS, Nanos};

use super::fair;
use crate::contract::{
    Clock, Directive, Directives, Event, Knob, Order, Preemption, QueueId, Slice, Start, State,
    ThreadId, ThreadStats, Tier, View,
};
use crate::speedup::Kinds;

/// Time that a thread runs while others wait.
pub const SLICE: Knob = Knob::Number {
    name: "slice",
    default: 3.0,
    bounds: (0.1, 1_000.0),
    unit: "ms",
    about: "how long a thread runs while others wait for its kind of core (Linux CFS: 3 ms)",
};

/// Possible excess of a slice if its end is only noticed at a kernel's ticks (250 Hz).
const GRAIN: Nanos = Nanos::from_millis(4);

/// How threads of one queue take turns.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Length of a turn, while others wait.
    pub slice: Nanos,
    /// This weight; none: the thread's own.
    pub weight: Option<u32>,
}

impl Turns {
    /// Turns by weight.
    pub const fn of(slice: Nanos) -> Self {
        Self { slice, weight: None }
    }
}

/// Time on fast cores, ns, given the kinds in use, fastest first. Kinds between the fastest and the
/// slowest count in part.
pub fn fast_time(stats: &ThreadStats, kinds: &[KindId]) -> u64 {
    let slowest = kinds.len() - 1;
    let weighted = kinds
        .iter()
        .enumerate()
        .map(|(rank, &kind)| stats.time_on[kind].0 * (slowest - rank) as u64);
    weighted.sum::<u64>() / slowest.max(1) as u64
}

/// Where a thread was sent last.
#[derive(Clone, Copy, Debug)]
struct Sent {
    to: QueueId,
    /// Number of the answer.
    answer: u64,
    /// True if it starts there: it may be sent on in the same answer.
    placed: bool,
}

/// Queues by kind, and the threads on their way between them. Ranks are kinds, 0 the fastest.
#[derive(Debug)]
pub struct KindQueues<K> {
    /// By rank.
    kinds: Vec<KindId>,
    queues: Vec<QueueId>,
    online: Vec<u32>,
    /// Runnable threads.
    counts: Vec<u32>,
    /// Rank of each kind; kinds without cores: the last.
    ranks: [usize; MAX_KINDS],
    /// By thread, where it was sent last.
    sent: Vec<Option<Sent>>,
    /// All threads on their way, and some that have arrived since the last count.
    under_way: Vec<ThreadId>,
    /// By core: the thread that is last promised to it, and the number of that answer.
    promised: Vec<Option<(ThreadId, u64)>>,
    /// Time for which a thread that runs on another kind than its queue's counts as a guest.
    visit: Nanos,
    /// Scratch, by rank.
    claims: Vec<Vec<(K, ThreadId)>>,
    idle: Vec<CoreId>,
}

impl<K: Copy + PartialOrd> KindQueues<K> {
    /// Without queues; see [`KindQueues::start`].
    pub const fn new() -> Self {
        Self {
            kinds: Vec::new(),
            queues: Vec::new(),
            online: Vec::new(),
            counts: Vec::new(),
            ranks: [0; MAX_KINDS],
            sent: Vec::new(),
            under_way: Vec::new(),
            promised: Vec::new(),
            visit: Nanos::ZERO,
            claims: Vec::new(),
            idle: Vec::new(),
        }
    }

    /// Makes the queues, and says what each core serves.
    pub fn start(&mut self, clock: Clock, view: &View<'_>, say: &mut Directives) {
        let machine = view.machine;
        self.kinds = (0..machine.kinds.len() as u8)
            .map(KindId)
            .filter(|&k| machine.cores_of(k).count() > 0)
            .collect();
        self.queues = self.kinds.iter().map(|_| say.make_queue(clock)).collect();
        self.claims = self.kinds.iter().map(|_| Vec::new()).collect();
        self.ranks = [self.kinds.len().saturating_sub(1); MAX_KINDS];
        for (rank, kind) in self.kinds.iter().enumerate() {
            self.ranks[kind.index()] = rank;
        }
        self.promised = vec![None; machine.cores.len()];
        let fast_first = fair::fast_first(machine);
        for (rank, &own) in self.queues.iter().enumerate() {
            say.prefer(own, fast_first.clone());
            let mut nearest: Vec<usize> = (0..self.queues.len()).collect();
            nearest.sort_by_key(|&other| (other.abs_diff(rank), other));
            for core in machine.cores_of(self.kinds[rank]) {
                let tiers =
                    nearest.iter().map(|&other| Tier::least_key([self.queues[other]])).collect();
                say.serve(core, tiers, Some(own));
            }
        }
        self.count(view);
    }

    /// Lets every kind take up, for a slice and as guests, waiting threads of another kind that are
    /// further behind than `behind` in virtual time. Such a thread has slept for long and is soon
    /// done, so it need not wait for cores of one kind alone. A guest trades with no thread, and
    /// counts where it belongs.
    pub fn host_those_behind(
        &mut self,
        behind: u64,
        slice: Nanos,
        view: &View<'_>,
        say: &mut Directives,
    ) {
        self.visits_last(slice);
        for (&own, &kind) in self.queues.iter().zip(&self.kinds) {
            let others: Vec<_> =
                self.queues.iter().copied().filter(|&queue| queue != own).collect();
            for core in view.machine.cores_of(kind) {
                say.host(core, others.clone(), behind);
            }
        }
    }

    /// Sets the length of a guest's longest slice.
    pub fn visits_last(&mut self, slice: Nanos) {
        self.visit = slice.saturating_add(GRAIN);
    }

    /// Lets the thread of a kind that is furthest ahead make room for one of that kind that arrives
    /// and is further behind than `behind`.
    pub fn make_room_for_those_behind(&self, behind: u64, say: &mut Directives) {
        let preemption = Some(Preemption::beyond(behind));
        self.queues.iter().for_each(|&queue| say.say(Directive::Preemption(queue, preemption)));
    }

    /// True if a thread that runs on a core of this rank is a guest there, which returns when its
    /// turn is over. One that has stayed for longer, because no other thread came, is no guest any
    /// more.
    #[inline]
    pub fn is_guest(&self, stats: &ThreadStats, rank: usize, view: &View<'_>) -> bool {
        // Usually a thread runs where it belongs.
        stats.queue != Some(self.queues[rank])
            && stats.queue.is_some()
            && self.visit > Nanos::ZERO
            && view.now.saturating_sub(stats.since) <= self.visit
    }

    /// Lets sleeping threads keep their virtual times, however long they sleep; the policy deals
    /// with them.
    pub fn keep_sleepers(&self, say: &mut Directives) {
        for &queue in &self.queues {
            say.say(Directive::Sleeper(queue, u64::MAX));
        }
    }

    /// Counts online cores and runnable threads per kind (those on their way where they go) and
    /// collects idle cores. O(cores).
    pub fn count(&mut self, view: &View<'_>) {
        let mut under_way = std::mem::take(&mut self.under_way);
        under_way.sort_unstable();
        under_way.dedup();
        under_way.retain(|&thread| self.on_its_way(thread, view));
        self.under_way = under_way;
        self.online.clear();
        self.online.resize(self.kinds.len(), 0);
        self.counts.clear();
        self.counts.extend(
            self.queues.iter().map(|queue| view.waiting.get(queue.index()).copied().unwrap_or(0)),
        );
        self.idle.clear();
        for (core, stats) in
            view.machine.cores.iter().zip(view.cores).filter(|(_, stats)| stats.online)
        {
            let rank = self.ranks[core.kind.index()];
            self.online[rank] += 1;
            if let Some(thread) = stats.running {
                let stats = view.thread(thread);
                let mut counts_at = rank;
                if self.is_guest(stats, rank, view) && !self.on_its_way(thread, view) {
                    counts_at =
                        stats.queue.and_then(|queue| self.rank_of_queue(queue)).unwrap_or(rank);
                }
                self.counts[counts_at] += 1;
            } else if !self.is_promised(core.id, view) {
                self.idle.push(core.id);
            }
        }
        for &thread in &self.under_way {
            let to = self.sent[thread.index()].and_then(|sent| self.rank_of_queue(sent.to));
            if let (Some(from), Some(to)) = (self.rank(view.thread(thread), view), to) {
                self.counts[from] = self.counts[from].saturating_sub(1);
                self.counts[to] += 1;
            }
        }
    }

    /// Kinds with cores, fastest first, and how many are online.
    pub fn kinds(&self) -> Kinds<'_> {
        Kinds { kinds: &self.kinds, cores: &self.online }
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// True if every thread is where it was sent and, as of the last count,
    /// [`KindQueues::pull_all`] and [`KindQueues::balance`] have nothing to do, whatever turns are
    /// taken within a queue. O(cores + threads on their way).
    pub fn even(&self, view: &View<'_>) -> bool {
        if self.under_way.iter().any(|&thread| self.on_its_way(thread, view)) {
            return false;
        }
        // A thread that runs elsewhere returns to its queue when its turn is over.
        let at_home = view.cores.iter().filter_map(|core| core.running).all(|thread| {
            let queue = view.thread(thread).queue.and_then(|queue| self.rank_of_queue(queue));
            queue.is_none() || queue == self.rank(view.thread(thread), view)
        });
        let slowest_used = self.counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let none_pulls = self.online[..slowest_used]
            .iter()
            .zip(&self.counts)
            .all(|(online, count)| count >= online);
        let total = self.runnable();
        at_home
            && none_pulls
            && (total <= self.online.iter().sum()
                || self.counts[..] == self.shares(total)[..self.len()])
    }

    /// Online cores of a rank, as of the last count.
    pub fn cores_of(&self, rank: usize) -> u32 {
        self.online[rank]
    }

    /// True if every thread had arrived where it was sent, as of the last count.
    pub fn settled(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Runnable threads, as of the last count.
    pub fn runnable(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Online cores of the ranks up to this one, as of the last count.
    pub fn cores_to(&self, rank: usize) -> u32 {
        self.online[..=rank].iter().sum()
    }

    /// Runnable threads per core as of the last count, at least 1: the mean length of a run queue.
    pub fn queue_length(&self) -> f64 {
        let cores = self.online.iter().sum::<u32>().max(1);
        (f64::from(self.runnable()) / f64::from(cores)).max(1.0)
    }

    /// Rank of a runnable thread: of its core's kind, or of its queue. `None`: it has not been
    /// placed yet, or is not runnable.
    pub fn rank(&self, stats: &ThreadStats, view: &View<'_>) -> Option<usize> {
        let queue = stats.queue?;
        match stats.state {
            State::Running => Some(self.ranks[view.kind(stats.core).index()]),
            State::Ready => self.rank_of_queue(queue),
            State::Blocked | State::Exited => None,
        }
    }

    fn rank_of_queue(&self, queue: QueueId) -> Option<usize> {
        self.queues.iter().position(|&other| other == queue)
    }

    /// Puts a new thread on a kind with an idle core, fast ones first, else on the fastest kind
    /// with less than its share.
    pub fn place(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let last = self.len() - 1;
        let shares = self.shares(self.runnable() + 1);
        let allowed = |&rank: &usize| self.may_run(thread, rank, view);
        let idle = (0..=last).filter(allowed).find(|&rank| self.counts[rank] < self.online[rank]);
        let short = || (0..=last).filter(allowed).find(|&rank| self.counts[rank] < shares[rank]);
        let any = || (0..=last).rev().find(allowed);
        let rank = idle.or_else(short).or_else(any).unwrap_or(last);
        self.counts[rank] += 1;
        self.assign(thread, rank, true, view, say);
    }

    /// The common part of all these policies: places a thread that starts, counts out one that
    /// ends, lets an idle core pull by `claim`, and counts cores that come or go. Call it after the
    /// policy's own part.
    pub fn keep(
        &mut self,
        event: Event,
        turns: Turns,
        claim: impl Fn(ThreadId, &ThreadStats) -> K,
        view: &View<'_>,
        say: &mut Directives,
    ) {
        match event {
            Event::Started(thread) => {
                self.place(thread, view, say);
                say.slice(thread, Slice::of(turns.slice));
                let weight = turns.weight.unwrap_or(view.thread(thread).weight);
                say.order(thread, Order::VirtualTime { weight, start: Start::Floor });
            }
            Event::Exited(thread) => self.ended(thread, view),
            Event::CoreIdle(core) => self.pull(core, view, claim, say),
            Event::CoreOnline(_) | Event::CoreOffline(_) => self.count(view),
            _ => {}
        }
    }

    /// Removes a thread that has ended from the count.
    pub fn ended(&mut self, thread: ThreadId, view: &View<'_>) {
        let stats = view.thread(thread);
        let rank = self.ranks[view.kind(stats.core).index()];
        self.counts[rank] = self.counts[rank].saturating_sub(1);
    }

    /// The share of `total` threads of each rank, by its number of cores, rounded down for the
    /// faster kinds.
    fn shares(&self, total: u32) -> [u32; MAX_KINDS] {
        let cores = u64::from(self.online.iter().sum::<u32>().max(1));
        let mut shares = [0; MAX_KINDS];
        let (mut seen, mut given) = (0, 0);
        for (share, &online) in shares.iter_mut().zip(&self.online) {
            seen += u64::from(online);
            let upto = (u64::from(total) * seen / cores) as u32;
            *share = upto - given;
            given = upto;
        }
        shares
    }

    /// True if some online core of a rank may run a thread.
    pub fn may_run(&self, thread: ThreadId, rank: usize, view: &View<'_>) -> bool {
        !view.thread(thread).restricted
            || view
                .machine
                .cores_of(self.kinds[rank])
                .any(|core| view.cores[core.index()].online && view.allowed(thread, core))
    }

    /// True if a thread was sent in an answer that has not been carried out, so the view does not
    /// show it where it goes.
    pub fn on_its_way(&self, thread: ThreadId, view: &View<'_>) -> bool {
        self.sent.get(thread.index()).copied().flatten().is_some_and(|sent| {
            let stays = sent.placed && sent.answer == view.answer;
            view.carried_out <= sent.answer && !stays
        })
    }

    /// True if the policy may send a thread: it is the policy's to place and has arrived where it
    /// was sent last.
    fn may_be_sent(&self, thread: ThreadId, view: &View<'_>) -> bool {
        view.thread(thread).queue.is_some()
            && (self.under_way.is_empty() || !self.on_its_way(thread, view))
    }

    fn is_promised(&self, core: CoreId, view: &View<'_>) -> bool {
        !self.under_way.is_empty()
            && self.promised[core.index()].is_some_and(|(thread, answer)| {
                // Not if the thread has been sent elsewhere since, or its number reused.
                let is_still = self.sent[thread.index()].is_some_and(|sent| sent.answer == answer);
                is_still && self.on_its_way(thread, view) && view.thread(thread).runnable()
            })
    }

    /// A thread belongs to the queue of a rank from now on, and is not sent again in this instant.
    fn send(&mut self, thread: ThreadId, rank: usize, view: &View<'_>, say: &mut Directives) {
        self.assign(thread, rank, false, view, say);
    }

    fn assign(
        &mut self,
        thread: ThreadId,
        rank: usize,
        placed: bool,
        view: &View<'_>,
        say: &mut Directives,
    ) {
        if self.sent.len() <= thread.index() {
            self.sent.resize(view.threads.len().max(thread.index() + 1), None);
        }
        let to = self.queues[rank];
        say.assign(thread, to);
        self.sent[thread.index()] = Some(Sent { to, answer: view.answer, placed });
        self.under_way.push(thread);
    }

    /// A thread goes to an idle core.
    fn fetch(&mut self, thread: ThreadId, core: CoreId, view: &View<'_>, say: &mut Directives) {
        self.send(thread, self.ranks[view.kind(core).index()], view, say);
        say.move_to(thread, core);
        self.promised[core.index()] = Some((thread, view.answer));
    }

    /// Threads that run on cores of a rank and may be sent elsewhere.
    fn pullable<'a>(
        &'a self,
        rank: usize,
        view: &'a View<'_>,
    ) -> impl Iterator<Item = ThreadId> + 'a {
        let running = view
            .machine
            .cores_of(self.kinds[rank])
            .filter_map(|core| view.cores[core.index()].running);
        running.filter(|&thread| self.may_be_sent(thread, view))
    }

    /// Gives an idle core the running thread of greatest claim, from the nearest slower kind that
    /// has one.
    pub fn pull(
        &mut self,
        core: CoreId,
        view: &View<'_>,
        claim: impl Fn(ThreadId, &ThreadStats) -> K,
        say: &mut Directives,
    ) {
        let stats = view.cores[core.index()];
        if !stats.online || stats.running.is_some() || self.is_promised(core, view) {
            return;
        }
        let own = self.ranks[view.kind(core).index()];
        let best = (own + 1..self.len()).find_map(|rank| {
            let allowed = self.pullable(rank, view).filter(|&thread| view.allowed(thread, core));
            allowed.map(|thread| (claim(thread, view.thread(thread)), thread)).min_by(descending)
        });
        if let Some((_, thread)) = best {
            self.fetch(thread, core, view, say);
        }
    }

    /// Lets every core that is idle as of the last count pull: for cores that went idle before a
    /// slower one found work. O(cores log cores), and for each idle core a look at the threads that
    /// may not run there.
    pub fn pull_all(
        &mut self,
        view: &View<'_>,
        claim: impl Fn(ThreadId, &ThreadStats) -> K,
        say: &mut Directives,
    ) {
        let Some(slowest_used) = self.counts.iter().rposition(|&count| count > 0) else { return };
        let idle = std::mem::take(&mut self.idle);
        let mut running = std::mem::take(&mut self.claims);
        if idle.iter().any(|&core| self.ranks[view.kind(core).index()] < slowest_used) {
            for (rank, claims) in running.iter_mut().enumerate() {
                claims.clear();
                claims.extend(
                    self.pullable(rank, view)
                        .map(|thread| (claim(thread, view.thread(thread)), thread)),
                );
                claims.sort_unstable_by(descending);
            }
            for &core in &idle {
                let slower = running.iter_mut().skip(self.ranks[view.kind(core).index()] + 1);
                let found = slower.filter(|claims| !claims.is_empty()).find_map(|claims| {
                    let first =
                        claims.iter().position(|&(_, thread)| view.allowed(thread, core))?;
                    Some(claims.remove(first))
                });
                if let Some((_, thread)) = found {
                    self.fetch(thread, core, view, say);
                }
            }
        }
        self.idle = idle;
        self.claims = running;
    }

    /// With more threads than cores: waiting threads change kinds until each kind has its share.
    /// Those sent to a faster kind have the greatest claims of their queue, those sent to a slower
    /// one the least. O(cores) if there is nothing to do, as of the last count.
    pub fn balance(
        &mut self,
        view: &View<'_>,
        claim: impl Fn(ThreadId, &ThreadStats) -> K,
        say: &mut Directives,
    ) {
        let total = self.runnable();
        if total <= self.online.iter().sum() {
            return;
        }
        let shares = self.shares(total);
        for donor in 0..self.len() {
            let mut surplus = self.counts[donor].saturating_sub(shares[donor]);
            if surplus == 0 {
                continue;
            }
            let mut waiting = std::mem::take(&mut self.claims[donor]);
            waiting.clear();
            for &thread in view.live {
                let stats = view.thread(thread);
                if stats.state == State::Ready
                    && stats.queue == Some(self.queues[donor])
                    && self.may_be_sent(thread, view)
                {
                    waiting.push((claim(thread, stats), thread));
                }
            }
            waiting.sort_unstable_by(ascending);
            for (receiver, &share) in shares.iter().enumerate().take(self.len()) {
                for place in 0..waiting.len() {
                    if surplus == 0 || self.counts[receiver] >= share {
                        break;
                    }
                    let (_, thread) =
                        waiting[if donor < receiver { place } else { waiting.len() - 1 - place }];
                    if self.may_be_sent(thread, view) && self.may_run(thread, receiver, view) {
                        self.send(thread, receiver, view, say);
                        self.counts[donor] -= 1;
                        self.counts[receiver] += 1;
                        surplus -= 1;
                    }
                }
            }
            self.claims[donor] = waiting;
        }
    }

    /// Trades between adjacent kinds while the policy `wants` it, given the rank of the faster
    /// kind, its least claim, and the greatest claim of the slower kind. Considers running threads
    /// and, on request, `waiting` ones. True if any threads traded.
    pub fn exchange(
        &mut self,
        view: &View<'_>,
        waiting: bool,
        claim: impl Fn(ThreadId, &ThreadStats) -> K,
        wants: impl Fn(usize, K, K) -> bool,
        say: &mut Directives,
    ) -> bool {
        if !self.is_wanted(view, waiting, &claim, &wants) {
            return false;
        }
        let sent = self.under_way.len();
        let mut claims = std::mem::take(&mut self.claims);
        claims.iter_mut().for_each(Vec::clear);
        self.traders(view, waiting).for_each(|(rank, thread)| {
            claims[rank].push((claim(thread, view.thread(thread)), thread))
        });
        for faster in 0..self.len().saturating_sub(1) {
            let (upper, lower) = claims.split_at_mut(faster + 1);
            self.exchange_pair(faster, &mut upper[faster], &mut lower[0], view, &wants, say);
        }
        self.claims = claims;
        self.under_way.len() > sent
    }

    /// Threads that may trade, with their ranks: running ones and, on request, `waiting` ones.
    fn traders<'a>(
        &'a self,
        view: &'a View<'_>,
        waiting: bool,
    ) -> impl Iterator<Item = (usize, ThreadId)> + 'a {
        let cores = view.machine.cores.iter().zip(view.cores);
        let running = cores
            .filter_map(|(core, stats)| Some((self.ranks[core.kind.index()], stats.running?)))
            .filter(|&(rank, thread)| !self.is_guest(view.thread(thread), rank, view));
        let live = if waiting { view.live } else { &[] };
        let waiting = live.iter().filter_map(|&thread| {
            let stats = view.thread(thread);
            let rank = if stats.state == State::Ready { self.rank(stats, view) } else { None };
            Some((rank?, thread))
        });
        running.chain(waiting).filter(|&(_, thread)| self.may_be_sent(thread, view))
    }

    /// True if any pair of kinds trades. Usually none does, and this needs no sorting.
    fn is_wanted(
        &self,
        view: &View<'_>,
        waiting: bool,
        claim: impl Fn(ThreadId, &ThreadStats) -> K,
        wants: impl Fn(usize, K, K) -> bool,
    ) -> bool {
        // By rank: least and greatest claim.
        let mut ends: [Option<(K, K)>; MAX_KINDS] = [None; MAX_KINDS];
        self.traders(view, waiting).for_each(|(rank, thread)| {
            let claim = claim(thread, view.thread(thread));
            let (least, greatest) = ends[rank].unwrap_or((claim, claim));
            let least = if claim < least { claim } else { least };
            let greatest = if claim > greatest { claim } else { greatest };
            ends[rank] = Some((least, greatest));
        });
        ends.windows(2).enumerate().any(|(faster, pair)| match pair {
            [Some((least, _)), Some((_, greatest))] => wants(faster, *least, *greatest),
            _ => false,
        })
    }

    fn exchange_pair(
        &mut self,
        faster: usize,
        fast: &mut [(K, ThreadId)],
        slow: &mut [(K, ThreadId)],
        view: &View<'_>,
        wants: impl Fn(usize, K, K) -> bool,
        say: &mut Directives,
    ) {
        let (Some(least), Some(greatest)) =
            (fast.iter().copied().min_by(ascending), slow.iter().copied().max_by(ascending))
        else {
            return;
        };
        if !wants(faster, least.0, greatest.0) {
            return;
        }
        fast.sort_unstable_by(ascending);
        slow.sort_unstable_by(|a, b| ascending(b, a));
        let (mut fast, mut slow) =
            (fast.iter().copied().peekable(), slow.iter().copied().peekable());
        while let (Some(&(low, a)), Some(&(high, b))) = (fast.peek(), slow.peek()) {
            if !wants(faster, low, high) {
                return;
            }
            let a_stays = !self.may_be_sent(a, view) || !self.may_run(a, faster + 1, view);
            let b_stays = !self.may_be_sent(b, view) || !self.may_run(b, faster, view);
            if !a_stays && !b_stays {
                self.trade(a, b, faster, view, say);
            }
            if a_stays || !b_stays {
                fast.next();
            }
            if b_stays || !a_stays {
                slow.next();
            }
        }
    }

    /// `a` goes to the kind below `faster`, `b` to `faster`. One that runs makes room for the other
    /// at once.
    fn trade(
        &mut self,
        a: ThreadId,
        b: ThreadId,
        faster: usize,
        view: &View<'_>,
        say: &mut Directives,
    ) {
        let (one, two) = (view.thread(a), view.thread(b));
        let (one_runs, two_runs) = (one.state == State::Running, two.state == State::Running);
        if (one_runs && !view.allowed(b, one.core)) || (two_runs && !view.allowed(a, two.core)) {
            return;
        }
        self.send(a, faster + 1, view, say);
        self.send(b, faster, view, say);
        match (one_runs, two_runs) {
            (true, true) => say.swap(a, b),
            (true, false) => say.move_to(b, one.core),
            (false, true) => say.move_to(a, two.core),
            (false, false) => {}
        }
    }
}

/// By claim; equal ones by number, so that the order is the same everywhere.
fn ascending<K: PartialOrd>(a: &(K, ThreadId), b: &(K, ThreadId)) -> Ordering {
    a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
}

/// By claim, the greatest first; equal ones by number.
fn descending<K: PartialOrd>(a: &(K, ThreadId), b: &(K, ThreadId)) -> Ordering {
    b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
}
