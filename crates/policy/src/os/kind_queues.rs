//! One queue per kind of core, and threads that trade places between adjacent kinds: what the policies have in common that
//! decide who deserves a fast core, and leave who runs next to the queues.
//!
//! - A core serves the queue of its own kind, then those of other kinds, nearest in speed first, so that no core idles while a thread
//!   waits; it adopts what it takes. Whoever becomes ready goes to the fastest idle core.
//! - A core that idles while a slower one runs a thread *pulls* the thread with the greatest claim from the nearest slower kind.
//! - With more threads than cores, each kind has its share of them by its number of cores ([`KindQueues::balance`]), rounded
//!   down for the faster kinds: their threads then never advance more slowly than the others', and whoever falls
//!   behind is always on the slower side, where a trade helps.
//! - A *trade* sends a thread to the next slower kind and one from there to its place ([`KindQueues::exchange`]): the thread of least claim
//!   on the faster side for the one of greatest claim on the slower, as long as the policy wants it. Three or more kinds: each
//!   adjacent pair in turn, fastest first, nobody twice in one instant.
//!
//! A claim `K` is whatever the policy compares by; who has the greater one belongs on the faster core. All scratch space
//! is kept: a look around allocates nothing once it has grown.

use std::cmp::Ordering;

use evenkeel_machine::{CoreId, KindId, MAX_KINDS, Nanos};

use crate::contract::{Clock, Directive, Directives, Knob, Knobs, QueueId, State, ThreadId, ThreadStats, Tier, View};
use crate::speedup::Kinds;

/// How often a policy looks at running threads.
pub const TICK: Knob = Knob::Number {
    name: "tick",
    default: 4.0,
    bounds: (0.1, 1_000.0),
    unit: "ms",
    about: "how often running threads are looked at (Linux's tick at 250 Hz)",
};

/// How often a policy asks for speedup factors.
pub const REFRESH: Knob = Knob::Number {
    name: "refresh",
    default: 200.0,
    bounds: (0.1, 60_000.0),
    unit: "ms",
    about: "how often speedup factors are refreshed (JPDC 102)",
};

/// How long a thread runs while others wait.
pub const SLICE: Knob = Knob::Number {
    name: "slice",
    default: 3.0,
    bounds: (0.1, 1_000.0),
    unit: "ms",
    about: "how long a thread runs while others wait for its kind of core (Linux CFS: 3 ms)",
};

/// From a knob in milliseconds.
pub fn millis(knobs: &Knobs, name: &str) -> Nanos {
    Nanos((knobs.number(name) * 1e6) as u64)
}

/// See the file's head. Ranks count the kinds that have cores, 0 the fastest.
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
    /// By thread: the instant after the one in which it was last sent somewhere.
    sent: Vec<Nanos>,
    /// The same for whoever was sent last.
    last_sent: Nanos,
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
            last_sent: Nanos::ZERO,
            claims: Vec::new(),
            idle: Vec::new(),
        }
    }

    /// Makes the queues, and says what each core serves.
    pub fn start(&mut self, clock: Clock, view: &View<'_>, say: &mut Directives) {
        let machine = view.machine;
        self.kinds = (0..machine.kinds.len() as u8).map(KindId).filter(|&k| machine.cores_of(k).count() > 0).collect();
        self.queues = self.kinds.iter().map(|_| say.make_queue(clock)).collect();
        self.claims = self.kinds.iter().map(|_| Vec::new()).collect();
        self.ranks = [self.kinds.len().saturating_sub(1); MAX_KINDS];
        for (rank, kind) in self.kinds.iter().enumerate() {
            self.ranks[kind.index()] = rank;
        }
        let fast_first: Vec<_> = self.kinds.iter().flat_map(|&kind| machine.cores_of(kind)).collect();
        for (rank, &own) in self.queues.iter().enumerate() {
            say.prefer(own, fast_first.clone());
            let mut nearest: Vec<usize> = (0..self.queues.len()).collect();
            nearest.sort_by_key(|&other| (other.abs_diff(rank), other));
            for core in machine.cores_of(self.kinds[rank]) {
                let tiers = nearest.iter().map(|&other| Tier::least_key([self.queues[other]])).collect();
                say.serve(core, tiers, Some(own));
            }
        }
        self.count(view);
    }

    /// Threads that sleep keep their virtual times, however long: what to do about them is left to the policy.
    pub fn keep_sleepers(&self, say: &mut Directives) {
        for &queue in &self.queues {
            say.say(Directive::Sleeper(queue, u64::MAX));
        }
    }

    /// Counts online cores and runnable threads per kind, and looks who idles. O(cores). While threads wait, every core counts as
    /// taken: one that runs nothing has just given its thread up, and picks another before time goes on.
    pub fn count(&mut self, view: &View<'_>) {
        self.online.clear();
        self.online.resize(self.kinds.len(), 0);
        self.counts.clear();
        self.counts.extend(self.queues.iter().map(|queue| view.waiting.get(queue.index()).copied().unwrap_or(0)));
        let waiting = self.counts.iter().any(|&count| count > 0);
        self.idle.clear();
        for (core, stats) in view.machine.cores.iter().zip(view.cores).filter(|(_, stats)| stats.online) {
            let rank = self.ranks[core.kind.index()];
            self.online[rank] += 1;
            if waiting || stats.running.is_some() {
                self.counts[rank] += 1;
            } else {
                self.idle.push(core.id);
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

    /// Rank where a runnable thread is: of its core's kind, or of its queue. `None`: it has not been placed yet, or is not runnable.
    pub fn rank(&self, stats: &ThreadStats, view: &View<'_>) -> Option<usize> {
        let queue = stats.queue?;
        match stats.state {
            State::Running => Some(self.ranks[view.kind(stats.core).index()]),
            State::Ready => self.queues.iter().position(|&other| other == queue),
            State::Blocked | State::Exited => None,
        }
    }

    /// Puts a new thread where a core idles, fast ones first, else on the fastest kind with less than its share.
    pub fn place(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let last = self.len() - 1;
        let shares = self.shares(self.runnable() + 1);
        let allowed = |&rank: &usize| self.may_run(thread, rank, view);
        let idle = (0..=last).filter(allowed).find(|&rank| self.counts[rank] < self.online[rank]);
        let short = || (0..=last).filter(allowed).find(|&rank| self.counts[rank] < shares[rank]);
        let any = || (0..=last).rev().find(allowed);
        let rank = idle.or_else(short).or_else(any).unwrap_or(last);
        self.counts[rank] += 1;
        say.assign(thread, self.queues[rank]);
    }

    /// Counts out a thread that has ended.
    pub fn ended(&mut self, thread: ThreadId, view: &View<'_>) {
        let stats = view.thread(thread);
        let rank = self.ranks[view.kind(stats.core).index()];
        self.counts[rank] = self.counts[rank].saturating_sub(1);
    }

    /// Threads that each rank should have of `total`, by its number of cores, rounded down for the faster kinds.
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
    fn may_run(&self, thread: ThreadId, rank: usize, view: &View<'_>) -> bool {
        !view.thread(thread).restricted
            || view
                .machine
                .cores_of(self.kinds[rank])
                .any(|core| view.cores[core.index()].online && view.allowed(thread, core))
    }

    fn was_sent(&self, thread: ThreadId, view: &View<'_>) -> bool {
        self.last_sent > view.now && self.sent.get(thread.index()).is_some_and(|&at| at > view.now)
    }

    fn note_sent(&mut self, thread: ThreadId, view: &View<'_>) {
        if self.sent.len() <= thread.index() {
            self.sent.resize(view.threads.len().max(thread.index() + 1), Nanos::ZERO);
        }
        self.last_sent = view.now.saturating_add(Nanos(1));
        self.sent[thread.index()] = self.last_sent;
    }

    /// Gives an idle core the running thread of greatest claim of the nearest slower kind that has one.
    pub fn pull(
        &mut self,
        core: CoreId,
        view: &View<'_>,
        claim: impl Fn(ThreadId, &ThreadStats) -> K,
        say: &mut Directives,
    ) {
        let stats = view.cores[core.index()];
        if !stats.online || stats.running.is_some() {
            return;
        }
        let own = self.ranks[view.kind(core).index()];
        for rank in own + 1..self.len() {
            let running = view.machine.cores_of(self.kinds[rank]).filter_map(|core| view.cores[core.index()].running);
            let best = running
                .filter(|&thread| !self.was_sent(thread, view) && view.allowed(thread, core))
                .map(|thread| (claim(thread, view.thread(thread)), thread))
                .reduce(|best, next| if next.0 > best.0 { next } else { best });
            if let Some((_, thread)) = best {
                say.assign(thread, self.queues[own]);
                say.move_to(thread, core);
                self.note_sent(thread, view);
                return;
            }
        }
    }

    /// Lets every core that idles pull, as of the last count: for cores that went idle before a slower one found work.
    pub fn pull_all(&mut self, view: &View<'_>, claim: impl Fn(ThreadId, &ThreadStats) -> K, say: &mut Directives) {
        let Some(slowest_used) = self.counts.iter().rposition(|&count| count > 0) else { return };
        let idle = std::mem::take(&mut self.idle);
        for &core in &idle {
            if self.ranks[view.kind(core).index()] < slowest_used {
                self.pull(core, view, &claim, say);
            }
        }
        self.idle = idle;
    }

    /// With more threads than cores: waiting threads change kinds until each kind has its share. Those sent to a faster kind have the
    /// greatest claim of their queue, those sent to a slower one the least. O(cores) where nothing is to be done, as of the last count.
    pub fn balance(&mut self, view: &View<'_>, claim: impl Fn(ThreadId, &ThreadStats) -> K, say: &mut Directives) {
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
                    && !self.was_sent(thread, view)
                {
                    waiting.push((claim(thread, stats), thread));
                }
            }
            waiting.sort_unstable_by(ascending);
            let mut waiting_left = &waiting[..];
            for (receiver, &share) in shares.iter().enumerate().take(self.len()) {
                while surplus > 0 && self.counts[receiver] < share {
                    let taken = if donor < receiver { waiting_left.split_first() } else { waiting_left.split_last() };
                    let Some((&(_, thread), rest)) = taken else { break };
                    waiting_left = rest;
                    if self.may_run(thread, receiver, view) {
                        say.assign(thread, self.queues[receiver]);
                        self.note_sent(thread, view);
                        self.counts[donor] -= 1;
                        self.counts[receiver] += 1;
                        surplus -= 1;
                    }
                }
            }
            self.claims[donor] = waiting;
        }
    }

    /// Trades between adjacent kinds while the policy `wants` it, given the rank of the faster kind, the claim of its thread of
    /// least claim, and that of the slower kind's thread of greatest claim. Looks at running threads, and at `waiting` ones if so asked.
    pub fn exchange(
        &mut self,
        view: &View<'_>,
        waiting: bool,
        claim: impl Fn(ThreadId, &ThreadStats) -> K,
        wants: impl Fn(usize, K, K) -> bool,
        say: &mut Directives,
    ) {
        let mut claims = std::mem::take(&mut self.claims);
        claims.iter_mut().for_each(Vec::clear);
        for (core, thread) in view.machine.cores.iter().zip(view.cores).filter_map(|(core, s)| Some((core, s.running?)))
        {
            let stats = view.thread(thread);
            if stats.queue.is_some() && !self.was_sent(thread, view) {
                claims[self.ranks[core.kind.index()]].push((claim(thread, stats), thread));
            }
        }
        for &thread in if waiting { view.live } else { &[] } {
            let stats = view.thread(thread);
            if stats.state == State::Ready
                && let Some(rank) = self.rank(stats, view).filter(|_| !self.was_sent(thread, view))
            {
                claims[rank].push((claim(thread, stats), thread));
            }
        }
        for faster in 0..self.len().saturating_sub(1) {
            let (upper, lower) = claims.split_at_mut(faster + 1);
            self.exchange_pair(faster, &mut upper[faster], &mut lower[0], view, &wants, say);
        }
        self.claims = claims;
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
        let (mut fast, mut slow) = (fast.iter().copied().peekable(), slow.iter().copied().peekable());
        while let (Some(&(low, a)), Some(&(high, b))) = (fast.peek(), slow.peek()) {
            if !wants(faster, low, high) {
                return;
            }
            let a_stays = self.was_sent(a, view) || !self.may_run(a, faster + 1, view);
            let b_stays = self.was_sent(b, view) || !self.may_run(b, faster, view);
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

    /// `a` goes to the kind below `faster`, `b` to `faster`. One that runs makes room for the other at once.
    fn trade(&mut self, a: ThreadId, b: ThreadId, faster: usize, view: &View<'_>, say: &mut Directives) {
        let (one, two) = (view.thread(a), view.thread(b));
        let (one_runs, two_runs) = (one.state == State::Running, two.state == State::Running);
        if (one_runs && !view.allowed(b, one.core)) || (two_runs && !view.allowed(a, two.core)) {
            return;
        }
        say.assign(a, self.queues[faster + 1]);
        say.assign(b, self.queues[faster]);
        match (one_runs, two_runs) {
            (true, true) => say.swap(a, b),
            (true, false) => say.move_to(b, one.core),
            (false, true) => say.move_to(a, two.core),
            (false, false) => {}
        }
        self.note_sent(a, view);
        self.note_sent(b, view);
    }
}

/// By claim; equal ones by number, so that the order is one and the same everywhere.
fn ascending<K: PartialOrd>(a: &(K, ThreadId), b: &(K, ThreadId)) -> Ordering {
    a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
}
