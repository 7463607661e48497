//! One queue per kind of core, and threads that trade places between adjacent kinds: what the
//! policies have in common that decide who deserves a fast core, and leave who runs next to the
//! queues.
//!
//! - A core serves the queue of its own kind, then those of other kinds, nearest in speed first, so
//!   that no core idles while a thread waits; it adopts what it takes. Whoever becomes ready goes
//!   to the fastest idle core.
//! - A core that idles while a slower one runs a thread *pulls* the thread with the greatest claim
//!   from the nearest slower kind.
//! - With more threads than cores, each kind has its share of them by its number of cores
//!   ([`KindQueues::balance`]), rounded down for the faster kinds: their threads then never advance
//!   more slowly than the others', and whoever falls behind is always on the slower side, where a
//!   trade helps.
//! - A *trade* sends a thread to the next slower kind and one from there to its place
//!   ([`KindQueues::exchange`]): the thread of least claim on the faster side for the one of
//!   greatest claim on the slower, as long as the policy wants it. Three or more kinds: each
//!   adjacent pair in turn, fastest first, nobody twice in one instant.
//! - Where the policy wants it ([`KindQueues::host_those_behind`]), who waits and is far behind is
//!   a guest of any kind for a slice, and not adopted.
//!
//! What is said may be carried out late. Until the view shows a thread where it was sent last, it
//! is *on its way*: it is counted where it goes, its core there is not given away, and nobody pulls
//! or trades it again. (Said twice, a trade that is carried out twice undoes itself.) The view
//! tells which answers have been carried out: what was said in them has come true, or was dropped.
//!
//! Cores are hardware threads: of a kind with SMT each sibling counts as one, and the first
//! siblings of all its cores are preferred to the second ones.
//!
//! A claim `K` is whatever the policy compares by; who has the greater one belongs on the faster
//! core. All scratch space is kept: a look around allocates nothing once it has grown.

use std::cmp::Ordering;

use evenkeel_machine::{CoreId, KindId, MAX_KINDS, Nanos};

use super::fair;
use crate::contract::{
    Clock, Directive, Directives, Event, Knob, Order, Preemption, QueueId, Slice, Start, State,
    ThreadId, ThreadStats, Tier, View,
};
use crate::speedup::Kinds;

/// How long a thread runs while others wait.
pub const SLICE: Knob = Knob::Number {
    name: "slice",
    default: 3.0,
    bounds: (0.1, 1_000.0),
    unit: "ms",
    about: "how long a thread runs while others wait for its kind of core (Linux CFS: 3 ms)",
};

/// What a slice may take longer where it is only seen at a kernel's ticks that it is over (250 Hz).
const GRAIN: Nanos = Nanos::from_millis(4);

/// How threads of one queue take turns.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// How long each is, while others wait.
    pub slice: Nanos,
    /// By this weight; none: by the thread's own.
    pub weight: Option<u32>,
}

impl Turns {
    /// By weight.
    pub const fn of(slice: Nanos) -> Self {
        Self { slice, weight: None }
    }
}

/// Time on fast cores, ns, given the kinds in use, fastest first: those between the fastest and the
/// slowest count in part.
pub fn fast_time(stats: &ThreadStats, kinds: &[KindId]) -> u64 {
    let slowest = kinds.len() - 1;
    let weighted = kinds
        .iter()
        .enumerate()
        .map(|(rank, &kind)| stats.time_on[kind].0 * (slowest - rank) as u64);
    weighted.sum::<u64>() / slowest.max(1) as u64
}

/// What was said of a thread last.
#[derive(Clone, Copy, Debug)]
struct Sent {
    to: QueueId,
    /// In which answer.
    answer: u64,
    /// That it starts there: it may be sent on in the same answer.
    placed: bool,
}

/// See the file's head. Ranks are kinds, 0 the fastest.
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
    /// By thread.
    sent: Vec<Option<Sent>>,
    /// Everybody who is on the way, and some who have arrived since the last count.
    under_way: Vec<ThreadId>,
    /// By core: whom it was promised last, and in which answer.
    promised: Vec<Option<(ThreadId, u64)>>,
    /// For how long who runs on another kind than that of its queue is taken for a guest.
    visit: Nanos,
    /// Scratch, by rank.
    claims: Vec<Vec<(K, ThreadId)>>,
    idle: Vec<CoreId>,
}

impl<K: Copy + PartialOrd> KindQueues<K> {
    /// Before [`KindQueues::start`].
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

    /// Has every kind take up for a slice, as guests, who waits for another and is further behind
    /// than by so much, in virtual time: whoever has slept for long, and is soon done, is not to
    /// wait for cores of one kind alone. A guest trades with nobody, and counts where it belongs.
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

    /// Says how long the longest slice of a guest is.
    pub fn visits_last(&mut self, slice: Nanos) {
        self.visit = slice.saturating_add(GRAIN);
    }

    /// Has whoever of a kind is furthest ahead make room for one of it that comes to wait and is
    /// further behind than by so much.
    pub fn make_room_for_those_behind(&self, behind: u64, say: &mut Directives) {
        let preemption = Some(Preemption::beyond(behind));
        self.queues.iter().for_each(|&queue| say.say(Directive::Preemption(queue, preemption)));
    }

    /// Whether a thread that runs on a core of a rank is a guest there: it goes back when its turn
    /// is over. Who has stayed for longer, because nobody else came, is no guest any more.
    #[inline]
    pub fn is_guest(&self, stats: &ThreadStats, rank: usize, view: &View<'_>) -> bool {
        // Mostly it is where it belongs.
        stats.queue != Some(self.queues[rank])
            && stats.queue.is_some()
            && self.visit > Nanos::ZERO
            && view.now.saturating_sub(stats.since) <= self.visit
    }

    /// Threads that sleep keep their virtual times, however long: what to do about them is left to
    /// the policy.
    pub fn keep_sleepers(&self, say: &mut Directives) {
        for &queue in &self.queues {
            say.say(Directive::Sleeper(queue, u64::MAX));
        }
    }

    /// Counts online cores and runnable threads per kind, those on their way where they go, and
    /// looks who idles. O(cores).
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

    /// Kinds that have cores, fastest first, and how many are online.
    pub fn kinds(&self) -> Kinds<'_> {
        Kinds { kinds: &self.kinds, cores: &self.online }
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether everybody is where it was sent, and, as of the last count, nothing is left to be
    /// done by [`KindQueues::pull_all`] and [`KindQueues::balance`], however those take turns who
    /// share a queue. O(cores), and a look at those on their way.
    pub fn even(&self, view: &View<'_>) -> bool {
        if self.under_way.iter().any(|&thread| self.on_its_way(thread, view)) {
            return false;
        }
        // Who runs elsewhere goes back to its queue when its turn is over.
        let at_home = view.cores.iter().filter_map(|core| core.running).all(|thread| {
            let queue = view.thread(thread).queue.and_then(|queue| self.rank_of_queue(queue));
            queue.is_none() || queue == self.rank(view.thread(thread), view)
        });
        let slowest_used = self.counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let nobody_pulls = self.online[..slowest_used]
            .iter()
            .zip(&self.counts)
            .all(|(online, count)| count >= online);
        let total = self.runnable();
        at_home
            && nobody_pulls
            && (total <= self.online.iter().sum()
                || self.counts[..] == self.shares(total)[..self.len()])
    }

    /// Online cores of a rank, as of the last count.
    pub fn cores_of(&self, rank: usize) -> u32 {
        self.online[rank]
    }

    /// Whether everybody had arrived where it was sent, as of the last count.
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

    /// Rank where a runnable thread is: of its core's kind, or of its queue. `None`: it has not
    /// been placed yet, or is not runnable.
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

    /// Puts a new thread where a core idles, fast ones first, else on the fastest kind with less
    /// than its share.
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

    /// What all of these policies do: a thread that starts is placed, one that ends is counted out,
    /// a core that idles pulls by `claim`, and cores that come or go are counted. Call it after
    /// what is the policy's own.
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

    /// Counts out a thread that has ended.
    pub fn ended(&mut self, thread: ThreadId, view: &View<'_>) {
        let stats = view.thread(thread);
        let rank = self.ranks[view.kind(stats.core).index()];
        self.counts[rank] = self.counts[rank].saturating_sub(1);
    }

    /// Threads that each rank should have of `total`, by its number of cores, rounded down for the
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

    /// Whether some online core of a rank may run a thread.
    pub fn may_run(&self, thread: ThreadId, rank: usize, view: &View<'_>) -> bool {
        !view.thread(thread).restricted
            || view
                .machine
                .cores_of(self.kinds[rank])
                .any(|core| view.cores[core.index()].online && view.allowed(thread, core))
    }

    /// Whether a thread was sent in an answer that has not been carried out, so that the view does
    /// not show it where it goes.
    pub fn on_its_way(&self, thread: ThreadId, view: &View<'_>) -> bool {
        self.sent.get(thread.index()).copied().flatten().is_some_and(|sent| {
            let stays = sent.placed && sent.answer == view.answer;
            view.carried_out <= sent.answer && !stays
        })
    }

    /// Whether the policy may send a thread somewhere: it is the policy's to place, and has arrived
    /// where it was sent last.
    fn may_be_sent(&self, thread: ThreadId, view: &View<'_>) -> bool {
        view.thread(thread).queue.is_some()
            && (self.under_way.is_empty() || !self.on_its_way(thread, view))
    }

    fn is_promised(&self, core: CoreId, view: &View<'_>) -> bool {
        !self.under_way.is_empty()
            && self.promised[core.index()].is_some_and(|(thread, answer)| {
                // Not if it has been sent elsewhere since, or its number is somebody else's.
                let is_still = self.sent[thread.index()].is_some_and(|sent| sent.answer == answer);
                is_still && self.on_its_way(thread, view) && view.thread(thread).runnable()
            })
    }

    /// A thread belongs to the queue of a rank from now on, and is not sent on in this instant.
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

    /// Gives an idle core the running thread of greatest claim of the nearest slower kind that has
    /// one.
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

    /// Lets every core that idles pull, as of the last count: for cores that went idle before a
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
    /// Those sent to a faster kind have the greatest claim of their queue, those sent to a slower
    /// one the least. O(cores) where nothing is to be done, as of the last count.
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
    /// kind, the claim of its thread of least claim, and that of the slower kind's thread of
    /// greatest claim. Looks at running threads, and at `waiting` ones if so asked. Returns whether
    /// anybody traded.
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

    /// Threads that may trade, with their ranks: those that run, and those that are `waiting`, if
    /// so asked.
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

    /// Whether any pair of kinds trades at all: mostly none does, and nothing need be sorted to see
    /// that.
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

/// By claim; equal ones by number, so that the order is one and the same everywhere.
fn ascending<K: PartialOrd>(a: &(K, ThreadId), b: &(K, ThreadId)) -> Ordering {
    a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
}

/// By claim, the greatest first; equal ones by number.
fn descending<K: PartialOrd>(a: &(K, ThreadId), b: &(K, ThreadId)) -> Ordering {
    b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
}
