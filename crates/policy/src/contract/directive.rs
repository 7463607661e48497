//! What a policy says: directives, and nothing else.
//!
//! Each must be possible to carry out on every mechanism, in the simulator, by affinity, and in BPF
//! inside the kernel, where a queue is a dispatch queue and nothing may wait for the policy. Each
//! is harmless when it comes late: one that names a thread that has ended, or that no longer runs,
//! is dropped.

use std::rc::Rc;

use evenkeel_machine::{CoreId, Nanos, PerKind};

use super::{QueueId, ThreadId};

/// Whether the virtual times of a queue are comparable with those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// One virtual time for all queues made so: a thread takes its time along when it changes
    /// queues.
    Shared,
    /// The queue's own, as of a core's run queue in Linux: a thread that comes from another queue
    /// keeps its distance to the queue's floor, not its absolute time.
    Own,
}

/// A thread's place in its queue: the least key goes first, equal keys first come, first served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Key = virtual time, which grows by `ran x charge(kind) / weight` (see
    /// [`Directive::Charge`]). A thread that wakes is brought forward to the floor of its queue
    /// less the credit of [`Directive::Sleeper`].
    VirtualTime {
        /// Weight; nice 0 is 1024.
        weight: u32,
        /// Where it starts from.
        start: Start,
    },
    /// Key = a deadline. A thread *sticks* to the core that it was taken off by the end of its
    /// slice or by preemption, until that core runs another or the thread sleeps: other cores see
    /// its deadline postponed. Everybody else has one deadline for all cores, so that a pick looks
    /// at one thread per core at most beside the first.
    Deadline {
        /// Due at.
        at: Nanos,
        /// Once a slice has been used up, the deadline becomes now + this.
        renew: Nanos,
        /// By how much it is postponed, by distance from the core that it sticks to: \[that core,
        /// the same cluster, another cluster\].
        postpone: [Nanos; 3],
    },
    /// Key = a number of the policy's own, which grows by `step` whenever a slice has been used up:
    /// a round, or, with step 0, a priority.
    Fixed {
        /// Now.
        key: u64,
        /// Added per slice used up.
        step: u64,
    },
    /// Key = order of arrival.
    Arrival,
}

impl Order {
    /// Key of a thread in its queue, for a core at no distance: `virtual_time` (nanoseconds at
    /// nominal weight), or what the order has in its place: a deadline in nanoseconds, the policy's
    /// own number, or 0 for order of arrival.
    pub const fn key(&self, virtual_time: u64) -> u64 {
        match *self {
            Self::VirtualTime { .. } => virtual_time,
            Self::Deadline { at, .. } => at.0,
            Self::Fixed { key, .. } => key,
            Self::Arrival => 0,
        }
    }

    /// Weight by which virtual time grows (`ran x charge(kind) / weight`) and queues are compared;
    /// nice 0 is 1024. The policy's, where the order has one, else the thread's `own`; at least 1,
    /// since it is divided by.
    pub fn weight(&self, own: u32) -> u32 {
        let weight = match *self {
            Self::VirtualTime { weight, .. } => weight,
            Self::Deadline { .. } | Self::Fixed { .. } | Self::Arrival => own,
        };
        weight.max(1)
    }
}

/// Where a virtual time starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As it is.
    Keep,
    /// At the floor of the thread's queue: the greatest virtual time of those picked from it, or
    /// going on when their slice has ended because nobody else waits.
    Floor,
    /// At this.
    At(u64),
}

/// How long a thread may run once picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// By kind of core.
    pub time: PerKind<Nanos>,
    /// Divide by the number of runnable threads of the queue, but never below this. `None`: do not
    /// divide.
    pub divided_to: Option<Nanos>,
    /// What is left when the thread blocks or is preempted is kept, as a share of the slice so that
    /// it means the same on every kind, and renewed only when used up (rounds, credit).
    pub carry: bool,
    /// How many in a row, at least 1: when one ends, another follows without a choice as long as
    /// nobody waits who has woken or started and not run since, in a queue of the core's first tier
    /// or in one whose threads may be its guests. Who only computes loses nothing by longer turns
    /// and fewer switches; who has slept waits for no more than one slice of each that goes before
    /// it. What the end of a slice comes to (a deadline renewed, a step added to a fixed key,
    /// [`Event::SliceUsed`](super::Event::SliceUsed)) comes after the last. In the kernel a core
    /// whose first tier has more than 8 queues goes by 1.
    pub batch: u32,
}

impl Slice {
    /// The same on every kind, granted anew at each pick.
    pub const fn of(time: Nanos) -> Self {
        Self { time: PerKind::all(time), divided_to: None, carry: false, batch: 1 }
    }
}

/// Whom a thread that arrives in a queue preempts, where no core idles for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preemption {
    /// A thread whose key is greater by more than this.
    pub margin: u64,
    /// Whether one that was woken synchronously preempts, too: its waker has told the kernel that
    /// it is about to wait itself (`WF_SYNC`, as pipes and sockets do). By affinity nobody knows
    /// how a thread was woken, and it does.
    pub synchronous: bool,
}

impl Preemption {
    /// However the thread was woken.
    pub const fn beyond(margin: u64) -> Self {
        Self { margin, synchronous: true }
    }
}

/// Queues among which a core chooses at equal rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Which; earlier ones win ties.
    pub queues: Vec<QueueId>,
    /// By what it chooses.
    pub choose: Choose,
}

/// By what a core chooses within a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choose {
    /// The queue whose first thread has the least key.
    LeastKey,
    /// The queue with the greatest weight of waiting threads.
    MostLoaded,
}

impl Tier {
    /// A tier that chooses by least key.
    pub fn least_key(queues: impl Into<Vec<QueueId>>) -> Self {
        Self { queues: queues.into(), choose: Choose::LeastKey }
    }

    /// A tier that chooses by load.
    pub fn most_loaded(queues: impl Into<Vec<QueueId>>) -> Self {
        Self { queues: queues.into(), choose: Choose::MostLoaded }
    }
}

/// Ten thousand threads may be told of at once.
const _: () = assert!(size_of::<Directive>() <= 56);

/// What a policy says.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// Makes the next queue: its number is the count of those made before. The queues of an answer
    /// are made before the rest of it is carried out, so that what it says first may name what it
    /// makes last.
    MakeQueue(Clock),
    /// The thread waits in this queue when runnable. One that waits elsewhere moves now; one that
    /// runs goes on.
    Assign(ThreadId, QueueId),
    /// The same for many threads, one after the other; each is named once.
    AssignAll(Box<[(ThreadId, QueueId)]>),
    /// The thread's place in its queue.
    Order(ThreadId, Order),
    /// How fast its virtual time grows on each kind, of 1024 (1024 unless said).
    Charge(ThreadId, PerKind<u32>),
    /// How long it may run once picked.
    Slice(ThreadId, Rc<Slice>),
    /// What the core takes from: tiers in order. None: the core is not used; its thread is
    /// preempted.
    Serve {
        /// Which core.
        core: CoreId,
        /// First to last.
        tiers: Vec<Tier>,
        /// A thread that the core takes from another queue is assigned to this one from then on.
        adopt: Option<QueueId>,
    },
    /// Of all first threads of these queues the one with the least key goes before those of the
    /// core's own queue, which is the first of its first tier, if somebody waits there whom the
    /// core may run (or is back from the core, the slice being over) and its key is less than
    /// theirs by more than `behind`. It is a guest: it stays in its queue, whatever the core
    /// adopts. Where a guest's turn is over one of the core's own is next. What was said before
    /// counts no more; no queues: no guests. At most 8 queues, which some tier of the core has.
    Host {
        /// Which core.
        core: CoreId,
        /// Whose threads may be guests.
        guests: Vec<QueueId>,
        /// By more than this.
        behind: u64,
    },
    /// The order in which idle cores are looked at when a thread arrives in the queue; those that
    /// do not serve it are passed over. Unless said: the core where the thread was last, then by
    /// number. In the kernel, of cores of one kind those go first whose SMT sibling idles, too, and
    /// of these the one where the thread was last; the simulator and the affinity mechanism keep to
    /// the order.
    Prefer(QueueId, Vec<CoreId>),
    /// A thread that arrives in the queue, with no idle core to take it, preempts a running thread
    /// whose key is greater by more than a margin, the greatest of them: on a core that has the
    /// queue in its first tier, and a thread of a queue that is there, too; of the same queue where
    /// the tier does not choose by key. So nobody is preempted who would be picked before. Never
    /// unless said.
    Preemption(QueueId, Option<Preemption>),
    /// How far below its queue's floor a thread that wakes may start, in virtual time (Linux: half
    /// a latency); 0 unless said.
    Sleeper(QueueId, u64),
    /// Two threads trade places: if both run, their cores; otherwise nothing.
    Swap(ThreadId, ThreadId),
    /// The thread, running or waiting, runs on this core next; what runs there goes back to its
    /// queue.
    Move(ThreadId, CoreId),
    /// The core's thread goes back to its queue, and the core picks again.
    Preempt(CoreId),
    /// When to be asked again: every so often, from now. `Nanos::ZERO`: not.
    Timer(Nanos),
}

/// Collects what a policy says in answer to events.
#[derive(Debug, Default)]
pub struct Directives {
    said: Vec<Directive>,
    queues: u32,
    /// The last slice: many threads in a row have the same, and share it.
    slice: Option<Rc<Slice>>,
}

impl Directives {
    /// Says one.
    pub fn say(&mut self, directive: Directive) {
        self.said.push(directive);
    }

    /// Makes a queue.
    pub fn make_queue(&mut self, clock: Clock) -> QueueId {
        let queue = QueueId(self.queues);
        self.queues += 1;
        self.said.push(Directive::MakeQueue(clock));
        queue
    }

    /// See [`Directive::Assign`].
    pub fn assign(&mut self, thread: ThreadId, queue: QueueId) {
        self.said.push(Directive::Assign(thread, queue));
    }

    /// See [`Directive::AssignAll`]. Of none, nothing is said.
    pub fn assign_all(&mut self, threads: impl Iterator<Item = (ThreadId, QueueId)>) {
        let threads: Box<[_]> = threads.collect();
        if !threads.is_empty() {
            self.said.push(Directive::AssignAll(threads));
        }
    }

    /// See [`Directive::Order`].
    pub fn order(&mut self, thread: ThreadId, order: Order) {
        self.said.push(Directive::Order(thread, order));
    }

    /// See [`Directive::Charge`].
    pub fn charge(&mut self, thread: ThreadId, per_kind: PerKind<u32>) {
        self.said.push(Directive::Charge(thread, per_kind));
    }

    /// See [`Directive::Slice`].
    pub fn slice(&mut self, thread: ThreadId, slice: Slice) {
        let last = self.slice.take().filter(|last| **last == slice);
        let shared = last.unwrap_or_else(|| Rc::new(slice));
        self.slice = Some(Rc::clone(&shared));
        self.said.push(Directive::Slice(thread, shared));
    }

    /// See [`Directive::Serve`].
    pub fn serve(&mut self, core: CoreId, tiers: Vec<Tier>, adopt: Option<QueueId>) {
        self.said.push(Directive::Serve { core, tiers, adopt });
    }

    /// See [`Directive::Host`].
    pub fn host(&mut self, core: CoreId, guests: Vec<QueueId>, behind: u64) {
        self.said.push(Directive::Host { core, guests, behind });
    }

    /// See [`Directive::Prefer`].
    pub fn prefer(&mut self, queue: QueueId, cores: Vec<CoreId>) {
        self.said.push(Directive::Prefer(queue, cores));
    }

    /// See [`Directive::Swap`].
    pub fn swap(&mut self, a: ThreadId, b: ThreadId) {
        self.said.push(Directive::Swap(a, b));
    }

    /// See [`Directive::Move`].
    pub fn move_to(&mut self, thread: ThreadId, core: CoreId) {
        self.said.push(Directive::Move(thread, core));
    }

    /// See [`Directive::Preempt`].
    pub fn preempt(&mut self, core: CoreId) {
        self.said.push(Directive::Preempt(core));
    }

    /// See [`Directive::Timer`].
    pub fn timer(&mut self, period: Nanos) {
        self.said.push(Directive::Timer(period));
    }

    /// What has been said, in order; it is forgotten here.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Directive> {
        self.said.drain(..)
    }

    /// Hands out what has been said, new queues first, the rest in order; it is forgotten here.
    /// What mechanisms use.
    pub fn drain_queues_first(&mut self, mut carry_out: impl FnMut(Directive)) {
        for directive in &self.said {
            if let Directive::MakeQueue(clock) = directive {
                carry_out(Directive::MakeQueue(*clock));
            }
        }
        for directive in self.said.drain(..) {
            if !matches!(directive, Directive::MakeQueue(_)) {
                carry_out(directive);
            }
        }
    }

    /// Whether nothing has been said.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }
}
