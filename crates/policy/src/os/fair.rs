//! Shared by policies that share cores as Linux does: the constants of CFS, its queues, and balance
//! by weight.

use evenkeel_machine::{CoreId, Machine, Nanos};

use super::homes::Homes;
use super::level::{Lot, level, may_help};
use crate::contract::{
    Clock, Directive, Directives, Order, Preemption, QueueId, Slice, Start, StartError, State,
    ThreadId, View,
};

/// Slice of a core's only thread. Linux CFS (kernel/sched/fair.c up to 6.5): four
/// `sysctl_sched_min_granularity`.
const SLICE_ALONE: Nanos = Nanos::from_millis(3);
/// Least slice: CFS's `sysctl_sched_min_granularity`.
pub const SLICE_LEAST: Nanos = Nanos::from_micros(750);
/// A thread that wakes preempts one that is ahead by more than this, in nanoseconds of virtual
/// time: CFS's `sysctl_sched_wakeup_granularity`.
const WAKEUP_MARGIN: u64 = 1_000_000;
/// Credit of a thread that wakes, in nanoseconds of virtual time: half of CFS's
/// `sysctl_sched_latency` of 6 ms (`GENTLE_FAIR_SLEEPERS`).
const SLEEPER_CREDIT: u64 = 3_000_000;

/// 3 ms, divided by the number of runnable threads of the queue, at least 0.75 ms.
pub const SLICE: Slice = Slice { divided_to: Some(SLICE_LEAST), ..Slice::of(SLICE_ALONE) };

/// True if a core is the second hardware thread of its physical core.
pub fn is_second_sibling(machine: &Machine, core: CoreId) -> bool {
    machine.cores[core.index()].sibling.is_some_and(|sibling| sibling < core)
}

/// Cores, fastest kind first; within a kind the first sibling of every physical core before all
/// second ones, then by number. Second siblings of a fast kind still come before slower kinds: a
/// sibling's speed depends on what the other runs, so the order is that of capacity.
pub fn fast_first(machine: &Machine) -> Vec<CoreId> {
    let mut cores: Vec<_> = machine.cores.iter().map(|core| core.id).collect();
    cores.sort_by_key(|core| {
        (machine.cores[core.index()].kind, is_second_sibling(machine, *core), *core)
    });
    cores
}

/// By core, its index in an order of all cores.
pub fn places(cores: &[CoreId]) -> Vec<u32> {
    let mut places = vec![0; cores.len()];
    for (place, core) in cores.iter().enumerate() {
        places[core.index()] = place as u32;
    }
    places
}

/// A core, then the others of its cluster, then the rest, each part in the order of `cores`.
pub fn nearest_first(machine: &Machine, core: CoreId, cores: &[CoreId]) -> Vec<CoreId> {
    let cluster = |core: CoreId| machine.cores[core.index()].cluster;
    let own = cluster(core);
    let (mut near, mut far) = (Vec::new(), Vec::with_capacity(cores.len()));
    for &other in cores {
        if cluster(other) == own { near.push(other) } else { far.push(other) }
    }
    near.sort_by_key(|&other| other != core);
    near.append(&mut far);
    near
}

/// Makes a queue like one of CFS: its own clock, preemption at wake-up, credit for sleepers.
pub fn make_queue(say: &mut Directives) -> QueueId {
    let queue = say.make_queue(Clock::Own);
    say.say(Directive::Preemption(queue, Some(Preemption::beyond(WAKEUP_MARGIN))));
    say.say(Directive::Sleeper(queue, SLEEPER_CREDIT));
    queue
}

/// A thread starts in a queue made by [`make_queue`].
pub fn enter(thread: ThreadId, queue: QueueId, view: &View<'_>, say: &mut Directives) {
    say.assign(thread, queue);
    say.order(
        thread,
        Order::VirtualTime { weight: view.thread(thread).weight, start: Start::Floor },
    );
    say.slice(thread, SLICE);
}

/// The same, with `homes` kept up to date.
pub fn settle(
    homes: &mut Homes,
    thread: ThreadId,
    queue: QueueId,
    view: &View<'_>,
    say: &mut Directives,
) {
    homes.put(thread, queue, view.thread(thread).weight);
    enter(thread, queue, view, say);
}

/// A thread woke, blocked or ended: adds or removes its weight. If the view is newer than the
/// event, the view counts.
pub fn recount(homes: &mut Homes, thread: ThreadId, view: &View<'_>) {
    let stats = view.thread(thread);
    match stats.queue {
        Some(queue) if stats.runnable() => homes.put(thread, queue, stats.weight),
        _ => homes.leave(thread),
    }
}

/// A thread belongs to another queue from now on.
pub fn rehome(
    homes: &mut Homes,
    thread: ThreadId,
    queue: QueueId,
    view: &View<'_>,
    say: &mut Directives,
) {
    say.assign(thread, queue);
    if view.thread(thread).runnable() {
        homes.put(thread, queue, view.thread(thread).weight);
    }
}

/// Threads that belong to the queue of a core (queue `q` is core `q`'s), and must move when the
/// core goes offline.
pub fn at_home<'a>(core: CoreId, view: &'a View<'_>) -> impl Iterator<Item = ThreadId> + 'a {
    view.live
        .iter()
        .copied()
        .filter(move |&thread| view.thread(thread).queue == Some(QueueId(core.0)))
}

/// Checks thresholds: load above one of them must not be below the other.
pub fn check_thresholds(policy: &'static str, up: f64, down: f64) -> Result<(), StartError> {
    if down < up { Ok(()) } else { Err(StartError::Thresholds { policy, up, down }) }
}

/// Periodic balance by weight of the open queues of each class among themselves; waiting threads
/// may move where `may` allows. O(threads + queues), and O(log queues) per move; usually nothing is
/// out of balance, and a thread costs one look.
pub fn balance(
    homes: &mut Homes,
    may: impl Fn(ThreadId, QueueId) -> bool,
    view: &View<'_>,
    say: &mut Directives,
) {
    balance_by(homes, |_| 1, may, view, say);
}

/// The same, by weight / `capacity` of the queue's core.
pub fn balance_by(
    homes: &mut Homes,
    capacity: impl Fn(QueueId) -> u64,
    may: impl Fn(ThreadId, QueueId) -> bool,
    view: &View<'_>,
    say: &mut Directives,
) {
    homes.sync(view, |thread| view.thread(thread).weight);
    for class in 0..homes.classes() {
        let queues = homes.open_queues(class).collect();
        balance_among(homes, queues, &capacity, &may, view, say);
    }
}

/// The same for these queues among themselves; `homes` must be up to date.
pub fn balance_among(
    homes: &mut Homes,
    mut queues: Vec<QueueId>,
    capacity: impl Fn(QueueId) -> u64,
    may: impl Fn(ThreadId, QueueId) -> bool,
    view: &View<'_>,
    say: &mut Directives,
) {
    let loads = queues.iter().map(|&queue| (homes.load(queue), capacity(queue)));
    if !may_help(loads, homes.lightest(), 0) {
        return;
    }
    // Of queues with equal loads the first by number gives and receives.
    queues.sort_unstable();
    let mut place = vec![None; homes.len()];
    let mut lots = Vec::with_capacity(queues.len());
    for (i, &queue) in queues.iter().enumerate() {
        place[queue.index()] = Some(i);
        lots.push(Lot {
            capacity: capacity(queue),
            weight: homes.load(queue),
            movable: Vec::new(),
        });
    }
    for &thread in view.live {
        let stats = view.thread(thread);
        if stats.state == State::Ready
            // By `homes` and not by the view: this answer may have moved it already.
            && let Some(lot) = homes.of(thread).and_then(|queue| place.get(queue.index()).copied().flatten())
        {
            lots[lot].movable.push((stats.weight, thread));
        }
    }
    for (thread, target) in level(&mut lots, 0, |thread, lot| may(thread, queues[lot])) {
        rehome(homes, thread, queues[target], view, say);
    }
}
