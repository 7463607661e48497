//! The policy made of three choices, and the directives of each choice.

use std::cmp::Reverse;
use std::ops::Range;

use evenkeel_machine::{CoreId, KindId, Nanos};

use super::ageing::Ageing;
use super::groups::Groups;
use super::{Assignment, Balance, Choices, Wake};
use crate::contract::{
    Clock, Directives, Event, Interest, Knobs, Order, Policy, QueueId, Slice, Start, StartError,
    State, ThreadId, Tier, View,
};
use crate::os::fair;
use crate::os::homes::Homes;
use crate::os::level::{Lot, level, load_of, may_help};

/// Threads per core of a group from which a start does not deal all threads again: the new one goes
/// by scaled load, and the next timer deals.
const CROWDED: usize = 8;

/// Weight of each thread in [`Homes`]: threads are counted.
const ONE: u32 = 1;

/// A policy made of three choices. Queue `q` belongs to core `q`.
#[derive(Debug)]
pub struct Combination {
    choices: Choices,
    interval: Nanos,
    kinds: Vec<KindId>,
    /// Class of a queue: its core's kind; load: number of threads.
    homes: Homes,
    /// With age in some choice: distances of threads, and groups of cores (without cores before the
    /// start).
    ageing: Option<(Ageing, Groups)>,
    /// `rrb`: the next thread and the next fast core, by number.
    turn: (u32, u32),
    /// Scratch of a deal: threads that change queues.
    changes: Vec<(ThreadId, QueueId)>,
    /// Those of them that run, with their new queues; by core: true if a thread may come at once.
    running: Vec<(ThreadId, QueueId)>,
    free: Vec<bool>,
}

impl Combination {
    /// From the three choices and the values of their knobs.
    pub fn new(choices: Choices, knobs: &Knobs) -> Self {
        Self {
            choices,
            interval: knobs.millis("interval"),
            kinds: Vec::new(),
            homes: Homes::default(),
            ageing: choices.by_age().then(|| (Ageing::new(knobs), Groups::default())),
            turn: (0, 0),
            changes: Vec::new(),
            running: Vec::new(),
            free: Vec::new(),
        }
    }

    /// True if idle cores take threads that wait elsewhere by themselves.
    fn pulls(&self) -> bool {
        self.choices.balance != Balance::Age
    }

    fn least(&self, kind: KindId, thread: ThreadId, view: &View<'_>) -> Option<(u64, QueueId)> {
        self.homes.least(kind.index(), |queue| view.allowed(thread, CoreId(queue.0)))
    }

    /// By kind, the least loaded core that a thread may run on, fastest kind first.
    fn candidates<'a>(
        &'a self,
        thread: ThreadId,
        view: &'a View<'_>,
    ) -> impl Iterator<Item = (KindId, u64, QueueId)> + 'a {
        self.kinds.iter().filter_map(move |&kind| {
            self.least(kind, thread, view).map(|(load, queue)| (kind, load, queue))
        })
    }

    fn idle(&self, queue: QueueId, thread: ThreadId, view: &View<'_>) -> bool {
        self.homes.is_open(queue)
            && self.homes.load(queue) == 0
            && view.allowed(thread, CoreId(queue.0))
    }

    fn fewest_threads(&self, thread: ThreadId, view: &View<'_>) -> Option<QueueId> {
        self.candidates(thread, view)
            .min_by_key(|&(_, load, queue)| (load, queue))
            .map(|(_, _, queue)| queue)
    }

    fn fast_core_first(&self, thread: ThreadId, view: &View<'_>) -> Option<QueueId> {
        self.candidates(thread, view)
            .min_by_key(|&(kind, load, queue)| (load, kind, queue))
            .map(|(_, _, queue)| queue)
    }

    fn least_scaled_load(&self, thread: ThreadId, view: &View<'_>) -> Option<QueueId> {
        let after = |kind: KindId, load: u64| {
            // Cross-multiplied, not divided: fractions of equal value must compare equal, because
            // ties go to the slowest.
            (load + 1, u64::from(view.machine.kinds[kind.index()].capacity.max(1)))
        };
        self.candidates(thread, view)
            .min_by(|&(kind, load, queue), &(other_kind, other_load, other_queue)| {
                let (a, b) = (after(kind, load), after(other_kind, other_load));
                (a.0 * b.1)
                    .cmp(&(b.0 * a.1))
                    .then((Reverse(kind), queue).cmp(&(Reverse(other_kind), other_queue)))
            })
            .map(|(_, _, queue)| queue)
    }

    fn started(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let place = match self.choices.assignment {
            Assignment::FewestThreads => self.fewest_threads(thread, view),
            Assignment::FastCoreFirst => self.fast_core_first(thread, view),
            Assignment::LeastScaledLoad | Assignment::Age => self.least_scaled_load(thread, view),
        };
        let Some(queue) = place else { return };
        // The group that deals the thread now; none if age does not assign, or if too many threads
        // would have to be dealt.
        let group = match (&self.ageing, self.choices.assignment) {
            (Some((_, groups)), Assignment::Age) => {
                let restricted = view.thread(thread).restricted;
                let group =
                    if restricted { groups.of_core(CoreId(queue.0)) } else { groups.emptiest() };
                Some(group).filter(|&group| groups.crowd(group) < CROWDED)
            }
            _ => None,
        };
        self.settle(thread, queue, group);
        say.assign(thread, queue);
        say.order(
            thread,
            Order::VirtualTime { weight: view.thread(thread).weight, start: Start::Floor },
        );
        say.slice(thread, Slice::of(self.interval));
        if let Some(group) = group {
            self.deal_again(group, view, say);
        }
    }

    fn woke(&mut self, thread: ThreadId, view: &View<'_>, say: &mut Directives) {
        let stats = view.thread(thread);
        let Some(previous) = stats.queue.filter(|_| stats.runnable()) else { return };
        let kind = view.kind(CoreId(previous.0));
        let idle = |kind: KindId| {
            self.least(kind, thread, view).filter(|&(load, _)| load == 0).map(|(_, queue)| queue)
        };
        let place = match self.choices.wake {
            Wake::Previous => None,
            Wake::Fast => self.candidates(thread, view).next().map(|(_, _, queue)| queue),
            Wake::Idle if self.idle(previous, thread, view) => None,
            Wake::Idle => idle(kind).or_else(|| self.kinds.iter().find_map(|&kind| idle(kind))),
            Wake::FastIdle => self.kinds.iter().find_map(|&candidate| {
                let stays = candidate == kind && self.idle(previous, thread, view);
                if stays { Some(previous) } else { idle(candidate) }
            }),
        };
        let queue = place.unwrap_or(previous);
        self.settle(thread, queue, None);
        if queue != previous {
            say.assign(thread, queue);
        }
    }

    /// A runnable thread belongs to a queue from now on, and to a group: the one given, or that of
    /// the queue's core.
    fn settle(&mut self, thread: ThreadId, queue: QueueId, group: Option<usize>) {
        self.settle_unordered(thread, queue, group);
        self.homes.bring_into_order();
    }

    /// The same for one of many changes: see [`Homes::put_unordered`].
    fn settle_unordered(&mut self, thread: ThreadId, queue: QueueId, group: Option<usize>) {
        self.homes.put_unordered(thread, queue, ONE);
        if let Some((_, groups)) = &mut self.ageing {
            let group = group.unwrap_or_else(|| groups.of_core(CoreId(queue.0)));
            groups.join(thread, group);
        }
    }

    fn left(&mut self, thread: ThreadId) {
        self.homes.leave(thread);
        if let Some((_, groups)) = &mut self.ageing {
            groups.leave(thread);
        }
    }

    fn balance(&mut self, view: &View<'_>, say: &mut Directives) {
        match self.choices.balance {
            Balance::EqualCounts => self.level(|_| 1, 0, view, say),
            Balance::ScaledLoad => {
                let capacity =
                    |kind: KindId| u64::from(view.machine.kinds[kind.index()].capacity.max(1));
                self.level(capacity, load_of(ONE, capacity(view.machine.slowest())), view, say);
            }
            Balance::RoundRobin => self.take_turns(view, say),
            Balance::Age => {
                let Some((ageing, groups)) = &mut self.ageing else { return };
                let all = 0..groups.len();
                if groups.len() > 1 {
                    all.clone().for_each(|group| groups.rank(group, ageing, view));
                    groups.trade(ageing, view);
                }
                // All groups in one go: a thread that leaves a group's core makes room for one that
                // comes from another group.
                self.deal(all, view, say);
            }
        }
    }

    fn level(
        &mut self,
        capacity: impl Fn(KindId) -> u64,
        within: u64,
        view: &View<'_>,
        say: &mut Directives,
    ) {
        let loads =
            view.online().map(|core| (self.homes.load(QueueId(core.0)), capacity(view.kind(core))));
        if !may_help(loads, ONE, within) {
            return;
        }
        let cores: Vec<_> = view.online().collect();
        let mut place = vec![None; view.cores.len()];
        let mut lots = Vec::with_capacity(cores.len());
        for (i, &core) in cores.iter().enumerate() {
            place[core.index()] = Some(i);
            let weight = self.homes.load(QueueId(core.0));
            lots.push(Lot { capacity: capacity(view.kind(core)), weight, movable: Vec::new() });
        }
        for &thread in view.live {
            let stats = view.thread(thread);
            if stats.state == State::Ready
                && let Some(lot) =
                    stats.queue.and_then(|queue| place.get(queue.index()).copied().flatten())
            {
                lots[lot].movable.push((ONE, thread));
            }
        }
        let changes = level(&mut lots, within, |thread, lot| view.allowed(thread, cores[lot]));
        for (thread, lot) in changes {
            self.change(thread, QueueId(cores[lot].0), view);
        }
        self.shift(view, say);
    }

    /// The next thread on a slow core and one on the next fast core trade places. If the fast core
    /// has fewer threads than the slow one, the thread moves alone.
    fn take_turns(&mut self, view: &View<'_>, say: &mut Directives) {
        let on = |thread: &ThreadId, fast: bool| {
            let queue = view.thread(*thread).queue;
            queue.is_some_and(|queue| (view.kind(CoreId(queue.0)) == KindId(0)) == fast)
        };
        let next = |from: u32, fast: bool, may: &dyn Fn(ThreadId) -> bool| {
            let all = || view.runnable().filter(|thread| on(thread, fast) && may(*thread));
            all().find(|thread| thread.0 >= from).or_else(|| all().next())
        };
        let fast: Vec<_> = view.online().filter(|&core| view.kind(core) == KindId(0)).collect();
        let Some(&core) = fast.get(self.turn.1 as usize % fast.len().max(1)) else { return };
        let Some(up) = next(self.turn.0, false, &|thread| view.allowed(thread, core)) else {
            return;
        };
        let Some(from) = view.thread(up).queue else { return };
        self.turn = (up.0 + 1, self.turn.1.wrapping_add(1));
        let to = QueueId(core.0);
        let mut down = None;
        if self.homes.load(to) >= self.homes.load(from) {
            let running = view.cores[core.index()].running;
            let at_core = |thread: ThreadId| {
                view.thread(thread).queue == Some(to) && view.allowed(thread, CoreId(from.0))
            };
            down = running.filter(|&thread| at_core(thread)).or_else(|| next(0, true, &at_core));
            // No thread there may go down, and the fast core must not be crowded.
            if down.is_none() {
                return;
            }
        }
        self.change(up, to, view);
        if let Some(down) = down {
            self.change(down, from, view);
        }
        self.shift(view, say);
    }

    /// A group deals its threads between two timers.
    fn deal_again(&mut self, group: usize, view: &View<'_>, say: &mut Directives) {
        if let Some((_, groups)) = &mut self.ageing {
            groups.note_ran(view);
        }
        self.deal(group..group + 1, view, say);
    }

    /// Some groups deal their threads.
    fn deal(&mut self, which: Range<usize>, view: &View<'_>, say: &mut Directives) {
        let Some((ageing, groups)) = &mut self.ageing else { return };
        let Self { homes, changes, running, .. } = self;
        for group in which {
            groups.rank(group, ageing, view);
            groups.deal(group, ageing, homes, view, changes, running);
        }
        // Their groups stay the same.
        for &(thread, queue) in &*changes {
            homes.put_unordered(thread, queue, ONE);
        }
        self.shift(view, say);
    }

    /// Notes that a thread changes queues.
    fn change(&mut self, thread: ThreadId, queue: QueueId, view: &View<'_>) {
        self.settle_unordered(thread, queue, None);
        self.changes.push((thread, queue));
        if view.thread(thread).state == State::Running {
            self.running.push((thread, queue));
        }
    }

    /// Carries out the noted changes of queues. A running thread changes cores at once if its new
    /// core is free or becomes so, otherwise when its slice ends. Two running threads that go to
    /// each other's core trade places, so that neither core waits.
    fn shift(&mut self, view: &View<'_>, say: &mut Directives) {
        self.homes.bring_into_order();
        say.assign_all(self.changes.drain(..));
        let mut running = std::mem::take(&mut self.running);
        // The states of threads and of cores may have been read at different moments.
        running.retain(|&(thread, _)| {
            view.cores[view.thread(thread).core.index()].running == Some(thread)
        });
        if !running.is_empty() {
            self.free.clear();
            self.free.extend(view.cores.iter().map(|core| core.online && core.running.is_none()));
            running
                .iter()
                .for_each(|&(thread, _)| self.free[view.thread(thread).core.index()] = true);
        }
        for (thread, queue) in running.drain(..) {
            let core = view.thread(thread).core;
            let there = view.cores[queue.index()].running;
            let partner = there.filter(|&other| self.homes.of(other) == Some(QueueId(core.0)));
            if !std::mem::take(&mut self.free[queue.index()]) {
                continue;
            }
            match partner {
                Some(partner) if std::mem::take(&mut self.free[core.index()]) => {
                    say.swap(thread, partner)
                }
                _ => say.move_to(thread, CoreId(queue.0)),
            }
        }
        self.running = running;
    }
}

impl Policy for Combination {
    fn interest(&self) -> Interest {
        let mut interest = Interest::WOKE.and(Interest::BLOCKED);
        interest = interest.and(if self.pulls() { Interest::PICKED } else { Interest::CORE_IDLE });
        self.ageing.as_ref().map_or(interest, |(ageing, _)| interest.and(ageing.interest()))
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        if let Some(why) = self.ageing.as_ref().and_then(|(ageing, _)| ageing.contradiction()) {
            return Err(why);
        }
        self.kinds = (0..view.machine.kinds.len()).map(|rank| KindId(rank as u8)).collect();
        let fast_first = fair::fast_first(view.machine);
        let places = fair::places(&fast_first);
        self.homes = Homes::new(
            view.machine.cores.iter().map(|core| (core.kind.index(), places[core.id.index()])),
        );
        if let Some((_, groups)) = &mut self.ageing {
            *groups = Groups::new(&fast_first);
        }
        let queues: Vec<_> =
            view.machine.cores.iter().map(|_| say.make_queue(Clock::Own)).collect();
        for (core, &own) in view.machine.cores.iter().zip(&queues) {
            let mut tiers = vec![Tier::least_key([own])];
            if self.pulls() {
                let others: Vec<_> = queues.iter().copied().filter(|&queue| queue != own).collect();
                tiers.push(Tier::most_loaded(others));
            }
            say.serve(core.id, tiers, self.pulls().then_some(own));
            // This policy chooses where a thread goes, at its start and at wake-up, not the
            // mechanism.
            say.prefer(own, vec![core.id]);
            self.homes.open(own, view.cores[core.id.index()].online);
        }
        say.timer(self.interval);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => self.started(thread, view, say),
            Event::Woke(thread) => self.woke(thread, view, say),
            Event::Blocked(thread) | Event::Exited(thread) => self.left(thread),
            Event::Picked(thread, _) => {
                let stats = view.thread(thread);
                if let Some(queue) = stats
                    .queue
                    .filter(|&queue| stats.runnable() && self.homes.of(thread) != Some(queue))
                {
                    self.settle(thread, queue, None);
                }
            }
            Event::CoreIdle(core) => {
                if let (Balance::Age, Some((_, groups))) = (self.choices.balance, &self.ageing) {
                    let group = groups.of_core(core);
                    self.deal_again(group, view, say);
                }
            }
            Event::Timer => {
                if let Some((_, groups)) = &mut self.ageing {
                    groups.note_ran(view);
                }
                if self.pulls() {
                    self.homes.sync(view, |_| ONE);
                }
                self.balance(view, say);
            }
            Event::CoreOnline(core) => self.homes.open(QueueId(core.0), true),
            Event::CoreOffline(core) => {
                self.homes.open(QueueId(core.0), false);
                for thread in fair::at_home(core, view) {
                    if let Some(queue) = self.least_scaled_load(thread, view) {
                        say.assign(thread, queue);
                        if view.thread(thread).runnable() {
                            self.settle(thread, queue, None);
                        }
                    }
                }
            }
            Event::Milestone(_) | Event::CriticalSection(_) | Event::SliceUsed(..) => {}
        }
    }
}
