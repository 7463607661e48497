//! `a-dwrr`: distributed weighted round-robin by scaled time. At the end of each round every thread
//! has had the same scaled time, by weight.
//!
//! Source: Li, Brett, Knauerhase, Koufaty, Reddy, Hahn, "Operating system support for
//! overlapping-ISA heterogeneous multi-core architectures", HPCA 2010; rounds and stealing follow
//! Li, Baumberger, Hahn, "Efficient and scalable multiprocessor fair scheduling using distributed
//! weighted round-robin", PPoPP 2009.
//!
//! ```text
//! scaled time of a thread = sum over kinds of time on kind k x scale(k)
//! scale(k)                = mean speedup factor of all threads on k, 1 on the slowest
//! in a round a thread may use quota x W_t / W_def of it, on any cores;
//!     then it waits for the next
//! a core takes    a thread of its own queue that is in the least round of any queue;
//!                 else one of that round that waits elsewhere, at the busiest core first;
//!                 else one of that round that runs on a slower core: the thread whose round has
//!                 ended here goes there instead
//!                 else it opens the next round
//! ```
//!
//! The policy counts threads, not applications, and has one scale for all: by design it does not
//! look for the thread that gains most from a fast core.
//!
//! Directives: a queue per core whose key is the round (`Order::Fixed`, step 1: a thread that has
//! used up its slice goes behind all threads of its round, which is the paper's expired queue); a
//! slice of the quota at the core's scale, carried over blocking; one tier of all queues by least
//! key, which adopts. So the first two choices of a core need no answer of the policy.
//!
//! The paper leaves open:
//!
//! - *Light threads.* While no thread is as heavy as W_def, the heaviest has the whole quota and
//!   the others their part of it. No thread has less than 0.75 ms (CFS's least slice), since swaps
//!   every few microseconds would leave no time between them.
//! - *Rounds differ by one at most.* A thread that would get two rounds ahead stays in its round
//!   and gets its quota again. This happens if one needs its core for longer than the others can
//!   wait (a heavy thread; a core for each thread and none to steal from); time that no other
//!   thread could have used is not counted.
//! - *Running threads* are stolen by faster cores only; with a core for every thread, nothing else
//!   makes scaled times equal.
//! - *Sleepers* wake in their core's round with the rest of their quota.
//! - *Bound threads* do not hold rounds up.
//! - A *new thread* goes to the core with the fewest, fast ones first.
//!
//! Three or more kinds: each has its scale; threads on the slowest cores are stolen first. More
//! than 64 cores: a pick looks at the queues of its own cluster first, and every `quota` waiting
//! threads of the least round go to clusters that have none left, so a pick does not cost O(cores).
//!
//! If a mechanism reports fewer ends of slices than there were (`evenkeel schedule` looks every few
//! milliseconds), the queues still keep the rounds; only running threads may be stolen later.
//!
//! Threads move often: with a core for each, fast cores end a round first and take over threads
//! that still run in it on slow cores. A longer `quota` is calmer. Answers that are later than a
//! fast core's quota cost fairness.
//!
//! Knobs: `quota` (30 ms), `tick` (4 ms), `refresh` of speedup factors (200 ms). The end of a slice
//! costs O(1), and O(cores) if all threads left in the round are running.

use evenkeel_machine::{CoreId, KindId, MAX_KINDS, Nanos, PerKind};

use super::fair;
use super::tournament::Tournament;
use super::{REFRESH, TICK};
use crate::contract::{
    Clock, Directive, Directives, Event, Interest, Knob, Knobs, Order, Policy, Preemption, QueueId,
    Slice, StartError, State, ThreadId, ThreadStats, Tier, View,
};
use crate::entry::{Entry, Trait};
use crate::speedup::{Kinds, Source};
use crate::weight::DEFAULT_WEIGHT;

mod rounds;

use rounds::Rounds;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "a-dwrr",
    summary: "weighted round-robin by time scaled with core speed, in rounds that differ by one at \
              most",
    source: "Li, Brett, Knauerhase, Koufaty, Reddy, Hahn, HPCA 2010",
    traits: &[Trait::WorkConserving, Trait::NeedsFactors],
    knobs: &[
        Knob::Number {
            name: "quota",
            default: 30.0,
            bounds: (1.0, 10_000.0),
            unit: "ms",
            about: "scaled time of a thread of nice 0 in a round (the paper's round slice)",
        },
        TICK,
        REFRESH,
    ],
    make: |knobs, _| Box::new(ADwrr::new(knobs)),
};

/// With more cores, a tier of all queues would make every pick expensive.
const ONE_TIER: usize = 64;

/// The policy `a-dwrr`. Queue `q` belongs to core `q`.
#[derive(Debug)]
pub struct ADwrr {
    quota: Nanos,
    tick: Nanos,
    refresh: Nanos,
    rounds: Rounds,
    scale: Scale,
    refreshed: Nanos,
    ranked: Nanos,
    /// By thread: the weight and the state of the scale that its last slice was computed for.
    said: Vec<(u32, u64)>,
    /// By thread: 1 + the answer in which it was last sent to another core; 0: never.
    sent: Vec<u64>,
    /// By core: 1 + the answer in which a thread was last sent there; 0: never.
    promised: Vec<u64>,
    /// By core: the other cores' queues, in the order of stealing.
    others: Vec<Vec<QueueId>>,
    /// By core: the number of those, from the first, that share a tier with its own.
    near: Vec<usize>,
    /// Fastest first.
    cores: Vec<CoreId>,
    /// Slowest kind first, each by number.
    slow_first: Vec<CoreId>,
    /// By core: its index in `slow_first`.
    slow_place: Vec<u32>,
    /// By index in `cores`: number of threads of the core, as of the answer `counted`.
    counts: Tournament,
    counted: Option<u64>,
    /// Scratch: waiting threads of the least round, and their number in each cluster.
    left: Vec<ThreadId>,
    left_in: Vec<u32>,
}

/// Mean speedup factor on each kind, over the threads that were runnable at the last refresh or
/// have started since.
#[derive(Debug)]
struct Scale {
    /// Kinds with cores, fastest first.
    kinds: Vec<KindId>,
    /// By rank.
    sums: [f64; MAX_KINDS],
    threads: u32,
    means: [f64; MAX_KINDS],
    /// Greatest weight of those threads.
    heaviest: u32,
    /// Raised when anything changes that slices depend on.
    state: u64,
}

impl Scale {
    const fn new() -> Self {
        Self {
            kinds: Vec::new(),
            sums: [0.0; MAX_KINDS],
            threads: 0,
            means: [1.0; MAX_KINDS],
            heaviest: 0,
            state: 1,
        }
    }

    fn count(&mut self, stats: &ThreadStats) {
        let kinds = Kinds { kinds: &self.kinds, cores: &[] };
        let slowest = self.kinds.len() - 1;
        for (rank, sum) in self.sums.iter_mut().enumerate().take(slowest) {
            *sum += Source::Estimator.factor(stats, kinds, rank, slowest);
        }
        self.threads += 1;
        self.heaviest = self.heaviest.max(stats.weight);
    }

    /// The weight that has the whole quota.
    fn full_weight(&self) -> u32 {
        self.heaviest.clamp(1, DEFAULT_WEIGHT)
    }

    /// Recomputes the means after counting; `full_weight` is its value before.
    fn settle(&mut self, full_weight: u32) {
        let slowest = self.kinds.len() - 1;
        let threads = f64::from(self.threads.max(1));
        let mean =
            |rank: usize| if rank < slowest { (self.sums[rank] / threads).max(1.0) } else { 1.0 };
        let means = std::array::from_fn(mean);
        self.state += u64::from(means != self.means || full_weight != self.full_weight());
        self.means = means;
    }

    /// Adds a thread that has started.
    fn add(&mut self, stats: &ThreadStats) {
        let full_weight = self.full_weight();
        self.count(stats);
        self.settle(full_weight);
    }

    /// Counts the threads that are runnable now.
    fn refresh(&mut self, view: &View<'_>) {
        let full_weight = self.full_weight();
        (self.sums, self.threads, self.heaviest) = ([0.0; MAX_KINDS], 0, 0);
        view.runnable().for_each(|thread| self.count(view.thread(thread)));
        self.settle(full_weight);
    }
}

impl ADwrr {
    fn new(knobs: &Knobs) -> Self {
        Self {
            quota: knobs.millis("quota"),
            tick: knobs.millis("tick"),
            refresh: knobs.millis("refresh"),
            rounds: Rounds::default(),
            scale: Scale::new(),
            refreshed: Nanos::ZERO,
            ranked: Nanos::ZERO,
            said: Vec::new(),
            sent: Vec::new(),
            promised: Vec::new(),
            others: Vec::new(),
            near: Vec::new(),
            cores: Vec::new(),
            slow_first: Vec::new(),
            slow_place: Vec::new(),
            counts: Tournament::default(),
            counted: None,
            left: Vec::new(),
            left_in: Vec::new(),
        }
    }

    fn serve(&self, core: CoreId, say: &mut Directives) {
        let own = QueueId(core.0);
        let (near, far) = self.others[core.index()].split_at(self.near[core.index()]);
        let first: Vec<_> = std::iter::once(own).chain(near.iter().copied()).collect();
        say.serve(core, vec![Tier::least_key(first), Tier::most_loaded(far)], Some(own));
    }

    /// The core with the fewest threads, of those that the thread may run on, fast ones first.
    /// O(log cores); O(cores) if it may not run on the first.
    fn first_place(&mut self, thread: ThreadId, view: &View<'_>) -> Option<CoreId> {
        if self.counted != Some(view.answer) {
            self.counted = Some(view.answer);
            for (place, core) in self.cores.iter().enumerate() {
                let stats = &view.cores[core.index()];
                // Before the first answer has been carried out there are no queues.
                let waiting = view.waiting.get(core.index()).copied().unwrap_or(0);
                let count = u64::from(stats.running.is_some()) + u64::from(waiting);
                self.counts.set(place, stats.online.then_some(count));
            }
        }
        let may = |place: usize| view.allowed(thread, self.cores[place]);
        let (count, place) = match self.counts.first()? {
            (count, place) if may(place) => (count, place),
            _ => self.counts.all().filter(|&(_, place)| may(place)).min()?,
        };
        self.counts.set(place, Some(count + 1));
        Some(self.cores[place])
    }

    /// The round of the core that owns a queue: that of the thread that it runs.
    fn round_of(&self, queue: Option<QueueId>, view: &View<'_>) -> u64 {
        let running = queue.and_then(|queue| view.cores[queue.index()].running);
        running.map_or(self.rounds.base(), |thread| self.rounds.of(thread))
    }

    fn started(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let stats = view.thread(thread);
        self.scale.add(stats);
        let queue = self.first_place(thread, view).map(|core| QueueId(core.0));
        let key = self.rounds.start(thread, self.round_of(queue, view), !stats.restricted);
        if let Some(sent) = self.sent.get_mut(thread.index()) {
            *sent = 0;
        }
        if let Some(queue) = queue {
            say.assign(thread, queue);
        }
        say.order(thread, Order::Fixed { key, step: 1 });
        self.set_slice(thread, stats, say);
    }

    /// Sets a thread's slice if its weight or the scale has changed; it counts from its next round.
    fn set_slice(&mut self, thread: ThreadId, stats: &ThreadStats, say: &mut Directives) {
        if self.said.len() <= thread.index() {
            self.said.resize(thread.index() + 1, (0, 0));
        }
        let now = (stats.weight, self.scale.state);
        if std::mem::replace(&mut self.said[thread.index()], now) == now {
            return;
        }
        let scaled_ns =
            self.quota.0 as f64 * f64::from(stats.weight) / f64::from(self.scale.full_weight());
        let scaled_ns = scaled_ns.max(fair::SLICE_LEAST.0 as f64);
        let mut time = PerKind::all(self.quota);
        for (rank, &kind) in self.scale.kinds.iter().enumerate() {
            time[kind] = Nanos((scaled_ns / self.scale.means[rank]).round() as u64);
        }
        say.slice(thread, Slice { time, carry: true, ..Slice::of(Nanos::ZERO) });
    }

    fn woke(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let stats = view.thread(thread);
        if !stats.runnable() {
            return self.rounds.leave(thread);
        }
        let before = self.rounds.of(thread);
        let key = self.rounds.enter(thread, self.round_of(stats.queue, view), !stats.restricted);
        if key != before {
            say.order(thread, Order::Fixed { key, step: 1 });
        }
    }

    fn slice_used(
        &mut self,
        thread: ThreadId,
        core: CoreId,
        view: &View<'_>,
        say: &mut Directives,
    ) {
        let (key, is_next) = self.rounds.advance(thread);
        if !is_next {
            say.order(thread, Order::Fixed { key, step: 1 });
        }
        self.set_slice(thread, view.thread(thread), say);
        // Some thread is still in the round that has ended for this one. The core takes waiting
        // threads by itself, and the slowest kind steals no running ones.
        let may_steal = Some(&view.kind(core)) != self.scale.kinds.last();
        let may_all_run = self.rounds.in_base() <= view.cores.len();
        if !may_steal || key <= self.rounds.base() || !may_all_run {
            return;
        }
        if !view.affinity.is_empty() {
            if self.rounds.all_in_base(|thread| runs_on(thread, view).is_some()) {
                self.steal(core, key, view, say);
            }
        } else if let Some(thread) = self.left_behind(view.kind(core), view) {
            self.take(thread, core, view, say);
        }
    }

    /// If all threads left in the least round run, the first of them that a core of this kind may
    /// take over. If no thread is bound, these are all running threads of earlier rounds, so one
    /// pass answers both questions.
    fn left_behind(&mut self, kind: KindId, view: &View<'_>) -> Option<ThreadId> {
        let (mut least, mut stolen) = (self.slower_than(kind, view) as u32, None);
        let all_run = self.rounds.all_in_base(|thread| {
            let Some(on) = runs_on(thread, view) else { return false };
            let place = self.slow_place[on.index()];
            if place < least && is_stealable(thread, &self.sent, view) {
                (least, stolen) = (place, Some(thread));
            }
            true
        });
        stolen.filter(|_| all_run)
    }

    /// The number of cores in `slow_first`, from the first, that are slower than a kind.
    fn slower_than(&self, kind: KindId, view: &View<'_>) -> usize {
        self.slow_first.partition_point(|&other| view.kind(other) > kind)
    }

    /// A core takes over a thread that runs on a slower one and is in a round before `before`: of
    /// the least round, from the slowest core.
    fn steal(&mut self, core: CoreId, before: u64, view: &View<'_>, say: &mut Directives) {
        if is_due(self.promised.get(core.index()), view) {
            return;
        }
        if let Some(thread) = self.stealable(core, before, view) {
            self.take(thread, core, view, say);
        }
    }

    fn stealable(&self, core: CoreId, before: u64, view: &View<'_>) -> Option<ThreadId> {
        let slower = self.slower_than(view.kind(core), view);
        let running =
            self.slow_first[..slower].iter().filter_map(|other| view.cores[other.index()].running);
        // Lazily: for most threads only the first need be examined.
        let mut stealable = running
            .map(|thread| (self.rounds.of(thread), thread))
            .filter(|&(round, thread)| round < before && is_stealable(thread, &self.sent, view))
            .filter(|&(_, thread)| view.allowed(thread, core));
        // Bound threads may be in earlier rounds than all that count.
        let least = if view.affinity.is_empty() { self.rounds.base() } else { 0 };
        let mut stolen = stealable.next();
        while let Some((round, _)) = stolen.filter(|&(round, _)| round > least) {
            let Some(earlier) = stealable.find(|&(other, _)| other < round) else { break };
            stolen = Some(earlier);
        }
        stolen.map(|(_, thread)| thread)
    }

    /// A core takes over a thread, unless another one is on its way there.
    fn take(&mut self, thread: ThreadId, core: CoreId, view: &View<'_>, say: &mut Directives) {
        if is_due(self.promised.get(core.index()), view) {
            return;
        }
        if self.sent.len() <= thread.index() {
            self.sent.resize(view.threads.len(), 0);
        }
        self.sent[thread.index()] = view.answer + 1;
        self.promised[core.index()] = view.answer + 1;
        say.assign(thread, QueueId(core.0));
        say.move_to(thread, core);
    }

    fn tick(&mut self, view: &View<'_>, say: &mut Directives) {
        if view.now.saturating_sub(self.refreshed) >= self.refresh {
            self.refreshed = view.now;
            self.scale.refresh(view);
        }
        for place in 0..self.cores.len() {
            let core = self.cores[place];
            let stats = view.cores[core.index()];
            if stats.online && stats.running.is_none() {
                self.steal(core, u64::MAX, view, say);
            }
        }
        if view.now.saturating_sub(self.ranked) < self.quota {
            return;
        }
        self.ranked = view.now;
        if self.near.iter().zip(&self.others).all(|(&near, others)| near == others.len()) {
            self.rank_by_load(view, say);
        } else {
            self.spread(view, say);
        }
    }

    /// Orders the other queues so that the busiest core is stolen from first.
    fn rank_by_load(&mut self, view: &View<'_>, say: &mut Directives) {
        let load = |queue: &QueueId| view.waiting.get(queue.index()).copied().unwrap_or(0);
        for core in view.machine.cores.iter().map(|core| core.id) {
            let others = &mut self.others[core.index()];
            let busiest = others.iter().map(load).max();
            if others.first().map(load) != busiest {
                others.sort_by_key(|other| std::cmp::Reverse(load(other)));
                self.serve(core, say);
            }
        }
    }

    /// Sends waiting threads of the least round to clusters that have none left, one to each core.
    fn spread(&mut self, view: &View<'_>, say: &mut Directives) {
        let cluster = |core: usize| view.machine.cores[core].cluster.index();
        let base = self.rounds.base();
        self.left.clear();
        self.left_in.clear();
        self.left_in.resize(view.machine.clusters.len(), 0);
        for &thread in view.live.iter().filter(|&&thread| self.rounds.of(thread) == base) {
            let stats = view.thread(thread);
            if let (State::Ready, Some(queue)) = (stats.state, stats.queue) {
                self.left.push(thread);
                self.left_in[cluster(queue.index())] += 1;
            }
        }
        for core in view.online() {
            let through = view.cores[core.index()]
                .running
                .is_some_and(|thread| self.rounds.of(thread) > base);
            if through && self.left_in[cluster(core.index())] == 0 {
                let Some(thread) = self.left.pop() else { return };
                if view.allowed(thread, core) {
                    say.assign(thread, QueueId(core.0));
                }
            }
        }
    }
}

/// True if answer `answer - 1` has not been carried out yet.
fn is_due(answer: Option<&u64>, view: &View<'_>) -> bool {
    answer.is_some_and(|&answer| answer > view.carried_out)
}

/// True if a running thread is the policy's and not on its way to another core already.
fn is_stealable(thread: ThreadId, sent: &[u64], view: &View<'_>) -> bool {
    !is_due(sent.get(thread.index()), view) && view.thread(thread).queue.is_some()
}

/// The core that a thread runs on.
fn runs_on(thread: ThreadId, view: &View<'_>) -> Option<CoreId> {
    Some(view.thread(thread).core).filter(|core| view.cores[core.index()].running == Some(thread))
}

impl Policy for ADwrr {
    fn interest(&self) -> Interest {
        Interest::SLICE_USED.and(Interest::WOKE).and(Interest::BLOCKED).and(Interest::CORE_IDLE)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let machine = view.machine;
        let kinds = (0..machine.kinds.len() as u8).map(KindId);
        self.scale.kinds = kinds.filter(|&kind| machine.cores_of(kind).count() > 0).collect();
        self.cores = fair::fast_first(machine);
        self.slow_first = machine.cores.iter().map(|core| core.id).collect();
        self.slow_first.sort_by_key(|&core| std::cmp::Reverse(machine.cores[core.index()].kind));
        self.counts = Tournament::new(self.cores.len());
        self.promised = vec![0; machine.cores.len()];
        self.slow_place = fair::places(&self.slow_first);
        let all_near = machine.cores.len() <= ONE_TIER;
        let rank = |core: CoreId| (view.kind(core), fair::is_second_sibling(machine, core));
        let alike: Vec<_> = self.cores.chunk_by(|&a, &b| rank(a) == rank(b)).collect();
        let queues: Vec<_> = machine.cores.iter().map(|_| say.make_queue(Clock::Own)).collect();
        for (core, &own) in machine.cores.iter().zip(&queues) {
            // A thread of an earlier round preempts one of a later round.
            say.say(Directive::Preemption(own, Some(Preemption::beyond(0))));
            let mut others = fair::nearest_first(machine, core.id, &self.cores);
            let idle = alike.iter().flat_map(|alike| fair::nearest_first(machine, core.id, alike));
            say.prefer(own, idle.collect());
            others.retain(|&other| other != core.id);
            let near =
                others.partition_point(|&other| all_near || machine.distance(core.id, other) < 2);
            self.near.push(near);
            self.others.push(others.into_iter().map(|other| QueueId(other.0)).collect());
            self.serve(core.id, say);
        }
        say.timer(self.tick);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => self.started(thread, view, say),
            Event::SliceUsed(thread, core) => self.slice_used(thread, core, view, say),
            Event::Woke(thread) => self.woke(thread, view, say),
            Event::Blocked(thread) if !view.thread(thread).runnable() => self.rounds.leave(thread),
            Event::Exited(thread) => self.rounds.leave(thread),
            Event::CoreIdle(core) if view.cores[core.index()].running.is_none() => {
                self.steal(core, u64::MAX, view, say);
            }
            Event::Timer => self.tick(view, say),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
