//! Which waiting thread a core takes up, and which core a thread that arrives gets: the plain
//! reference.
//!
//! ```text
//! first of a queue  least (key, sequence) of the threads that may run on the core; the key of a
//!                   thread with a deadline that sticks to another core is postponed by distance
//! pick              1. the first guest, if it is behind the core's own by more than the margin,
//!                      and the core's last thread is not such a guest itself
//!                   2. the tiers in order: least key of the queues' firsts, or first of the queue
//!                      with the greatest weight that has one; the earlier queue of two that are
//!                      even
//! taken             the thread belongs to the core's adopting queue from now on, unless it is a
//!                   guest
//! idle core         the first of the queue's preference that is free; without one the thread's
//!                   last core, then the lowest number
//! victim            the greatest key of the comparable running threads, if it is above the
//!                   arrival's by more than the margin
//! ```
//!
//! Nothing is kept in order here: each question looks at all waiting threads. The affinity
//! mechanism asks these functions. The simulator has queues of its own that answer without looking
//! at all threads, and a property test holds every pick of theirs to these.

use evenkeel_machine::{CoreId, Machine};
use evenkeel_policy::{Choose, Order, QueueId, ThreadId};

use crate::{Guests, Service};

/// A thread as picking sees it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its number.
    pub thread: ThreadId,
    /// Its place in its queue.
    pub order: Order,
    /// Virtual time, nanoseconds at nominal weight.
    pub virtual_time: u64,
    /// Weight of its own, for orders that have none.
    pub weight: u32,
    /// When it came into its queue: less is earlier. No two threads of a queue have the same.
    pub sequence: u64,
    /// True if it has been woken, and has not run since.
    pub woken: bool,
    /// Core that it ran on last.
    pub last_core: CoreId,
}

impl Candidate {
    /// Its key, for a core at no distance.
    pub fn key(&self) -> u64 {
        self.order.key(self.virtual_time)
    }
}

/// A mechanism's state, as far as picking looks at it.
pub trait Scene {
    /// The machine.
    fn machine(&self) -> &Machine;
    /// What the core takes from.
    fn service(&self, core: CoreId) -> &Service;
    /// Queues whose threads may be the core's guests.
    fn guests(&self, core: CoreId) -> &Guests;
    /// Threads that wait in the queue, in any order.
    fn waiting(&self, queue: QueueId) -> impl Iterator<Item = Candidate> + '_;
    /// The queue that the thread waits in.
    fn waits_in(&self, thread: ThreadId) -> Option<QueueId>;
    /// True if the thread's own affinity has the core.
    fn allows(&self, thread: ThreadId, core: CoreId) -> bool;
    /// The thread that the core ran last.
    fn last_on(&self, core: CoreId) -> Option<ThreadId>;
    /// True if the core has no thread, or none but this one, and will have none unless it gets one
    /// now.
    fn is_free_for(&self, core: CoreId, thread: ThreadId) -> bool;
    /// The running thread of the core, if an arrival may preempt it, and the queue that it belongs
    /// to.
    fn preemptible(&self, core: CoreId) -> Option<(Candidate, QueueId)>;
}

/// Key of a waiting thread as the core sees it.
fn key_on<S: Scene>(scene: &S, core: CoreId, waiting: &Candidate) -> u64 {
    let key = waiting.key();
    let Order::Deadline { postpone, .. } = waiting.order else { return key };
    let last = waiting.last_core;
    let sticks = !waiting.woken && scene.last_on(last) == Some(waiting.thread);
    if !sticks {
        return key;
    }
    key.saturating_add(postpone[scene.machine().distance(last, core)].0)
}

/// First of a queue as the core sees it, and its key.
pub fn first_for<S: Scene>(scene: &S, core: CoreId, queue: QueueId) -> Option<(ThreadId, u64)> {
    let allowed = scene.waiting(queue).filter(|it| scene.allows(it.thread, core));
    let ranked = allowed.map(|it| (key_on(scene, core, &it), it.sequence, it.thread));
    ranked.min().map(|(key, _, thread)| (thread, key))
}

/// The thread with the least key of these queues' firsts, and its key.
fn least_key<S: Scene>(scene: &S, core: CoreId, queues: &[QueueId]) -> Option<(ThreadId, u64)> {
    let firsts = queues.iter().filter_map(|&queue| first_for(scene, core, queue));
    // `min_by_key` keeps the first of two that are even.
    firsts.min_by_key(|&(_, key)| key)
}

/// The first of the queue whose threads weigh most, of the queues that have one for the core.
fn most_loaded<S: Scene>(scene: &S, core: CoreId, queues: &[QueueId]) -> Option<ThreadId> {
    let mut best: Option<(u64, ThreadId)> = None;
    for &queue in queues {
        let weights = scene.waiting(queue).map(|it| u64::from(it.order.weight(it.weight)));
        let weight: u64 = weights.sum();
        if weight > best.map_or(0, |(greatest, _)| greatest)
            && let Some((thread, _)) = first_for(scene, core, queue)
        {
            best = Some((weight, thread));
        }
    }
    best.map(|(_, thread)| thread)
}

/// True if the core's last thread waits among its guests: its turn has just ended.
fn had_guest<S: Scene>(scene: &S, core: CoreId) -> bool {
    let waits_in = scene.last_on(core).and_then(|thread| scene.waits_in(thread));
    waits_in.is_some_and(|queue| scene.guests(core).contains(queue))
}

/// True if the key is so much less than those of the core's own that its thread may be a guest.
fn is_far_behind<S: Scene>(scene: &S, core: CoreId, key: u64) -> bool {
    let own = scene.service(core).own_queue().and_then(|own| first_for(scene, core, own));
    own.is_some_and(|(_, own)| scene.guests(core).comes_before(key, own))
}

/// The guest that the core takes up before its own threads.
fn guest<S: Scene>(scene: &S, core: CoreId) -> Option<ThreadId> {
    let (guest, key) = least_key(scene, core, scene.guests(core).queues())?;
    (!had_guest(scene, core) && is_far_behind(scene, core, key)).then_some(guest)
}

/// The thread that the core takes up next.
pub fn pick<S: Scene>(scene: &S, core: CoreId) -> Option<ThreadId> {
    guest(scene, core).or_else(|| {
        scene.service(core).tiers().iter().find_map(|tier| match tier.choose {
            Choose::LeastKey => least_key(scene, core, &tier.queues).map(|(thread, _)| thread),
            Choose::MostLoaded => most_loaded(scene, core, &tier.queues),
        })
    })
}

/// The queue that a thread belongs to after the core has taken it from `queue`; `None`: it stays in
/// that one. `key`: the thread's.
pub fn adopted_into<S: Scene>(
    scene: &S,
    core: CoreId,
    queue: QueueId,
    key: u64,
) -> Option<QueueId> {
    let adopt = scene.service(core).adopt().filter(|&adopt| adopt != queue)?;
    let is_guest = scene.guests(core).contains(queue)
        && !had_guest(scene, core)
        && is_far_behind(scene, core, key);
    (!is_guest).then_some(adopt)
}

/// The free core for a thread that has arrived in the queue. `last`: the core that comes first if
/// the queue prefers none.
pub fn idle_core<S: Scene>(
    scene: &S,
    thread: ThreadId,
    queue: QueueId,
    prefer: &[CoreId],
    last: Option<CoreId>,
) -> Option<CoreId> {
    let fits = |&core: &CoreId| {
        scene.is_free_for(core, thread)
            && scene.service(core).serves(queue)
            && scene.allows(thread, core)
    };
    if !prefer.is_empty() {
        return prefer.iter().copied().find(fits);
    }
    let all = || scene.machine().cores.iter().map(|core| core.id);
    last.filter(fits).or_else(|| all().find(fits))
}

/// The core whose thread an arrival in the queue preempts. Of two that are even it is the one that
/// comes first in `cores`.
pub fn victim<S: Scene>(
    scene: &S,
    arrival: &Candidate,
    queue: QueueId,
    margin: u64,
    cores: impl Iterator<Item = CoreId>,
) -> Option<CoreId> {
    let least = arrival.key().saturating_add(margin);
    let mut victim: Option<(u64, CoreId)> = None;
    for core in cores.filter(|&core| scene.allows(arrival.thread, core)) {
        let Some((running, other)) = scene.preemptible(core) else { continue };
        let key = running.key();
        if scene.service(core).compares(queue, other)
            && key > least
            && victim.is_none_or(|(greatest, _)| key > greatest)
        {
            victim = Some((key, core));
        }
    }
    victim.map(|(_, core)| core)
}
