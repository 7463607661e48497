//! Directives: the answers of a policy.
//!
//! Every mechanism can carry out each of them: the simulator, affinity, and BPF inside the kernel,
//! where a queue is a dispatch queue and nothing may wait for the policy. A directive that comes
//! late is harmless: one that names a thread that has ended or no longer runs is dropped.

use std::rc::Rc;

use evenkeel_machine::{CoreId, Nanos, PerKind};

use super::{QueueId, ThreadId};

/// Scope of the virtual times of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// One virtual time for all such queues: a thread keeps its own when it changes queues.
    Shared,
    /// One virtual time per queue, as in a core's run queue of Linux: a thread that comes from
    /// another queue keeps its distance to the queue's floor, not its absolute time.
    Own,
}

/// A thread's place in its queue: the least key goes first, equal keys by arrival.
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
    /// Key = a deadline. A thread that loses its core at the end of its slice or by preemption
    /// *sticks* to that core until the core runs another thread or the thread sleeps: other cores
    /// see its deadline postponed. All other threads have one deadline for all cores, so a pick
    /// looks at the first of them and at most one thread per core.
    Deadline {
        /// Due at.
        at: Nanos,
        /// Once a slice is used up, the deadline becomes now + this.
        renew: Nanos,
        /// Postponement by distance from the core that it sticks to: \[that core, the same cluster,
        /// another cluster\].
        postpone: [Nanos; 3],
    },
    /// Key = a number that the policy chooses, which grows by `step` whenever a slice is used up: a
    /// round or, with step 0, a priority.
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
    /// nominal weight) or, for the other orders, a deadline in nanoseconds, the policy's number, or
    /// 0 for order of arrival.
    pub const fn key(&self, virtual_time: u64) -> u64 {
        match *self {
            Self::VirtualTime { .. } => virtual_time,
            Self::Deadline { at, .. } => at.0,
            Self::Fixed { key, .. } => key,
            Self::Arrival => 0,
        }
    }

    /// Weight by which virtual time grows (`ran x charge(kind) / weight`) and queues are compared;
    /// nice 0 is 1024. It is the order's weight or, if the order has none, the thread's `own`; at
    /// least 1, because it is a divisor.
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
    /// At the floor of the thread's queue: the greatest virtual time of all threads picked from it,
    /// or that ran on after their slice because no other thread waited.
    Floor,
    /// At this.
    At(u64),
}

/// How long a thread may run once picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// By kind of core.
    pub time: PerKind<Nanos>,
    /// Divide by the number of runnable threads of the queue, down to at least this. `None`: do not
    /// divide.
    pub divided_to: Option<Nanos>,
    /// True if a thread that blocks or is preempted keeps the rest of its slice until it is used up
    /// (rounds, credit). The rest is kept as a share of the slice, so that it means the same on
    /// every kind.
    pub carry: bool,
    /// Number of slices in a row, at least 1. When one ends, the next follows without a pick,
    /// unless a thread waits that has not run since it woke or started, in a queue of the core's
    /// first tier or of its guests. Threads that compute switch less often; a thread that has slept
    /// waits for at most one slice of each thread ahead of it.
    ///
    /// What the end of a slice triggers (a renewed deadline, a step of a fixed key,
    /// [`Event::SliceUsed`](super::Event::SliceUsed)) follows the last slice of the row. In the
    /// kernel a core whose first tier has more than 8 queues behaves as with 1.
    pub batch: u32,
}

impl Slice {
    /// The same time on every kind, granted anew at each pick.
    pub const fn of(time: Nanos) -> Self {
        Self { time: PerKind::all(time), divided_to: None, carry: false, batch: 1 }
    }
}

/// Which thread is preempted by one that arrives in a queue and finds no idle core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preemption {
    /// A thread whose key is greater by more than this.
    pub margin: u64,
    /// True if a thread that was woken synchronously preempts, too: its waker has told the kernel
    /// that it is about to wait itself (`WF_SYNC`, as pipes and sockets do). The affinity mechanism
    /// cannot tell such wake-ups apart and always lets them preempt.
    pub synchronous: bool,
}

impl Preemption {
    /// Preemption beyond a margin, however the thread was woken.
    pub const fn beyond(margin: u64) -> Self {
        Self { margin, synchronous: true }
    }
}

/// Queues of equal rank among which a core chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The queues; earlier ones win ties.
    pub queues: Vec<QueueId>,
    /// How the core chooses among them.
    pub choose: Choose,
}

/// How a core chooses within a tier.
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

/// A policy may answer with one directive for each of ten thousand threads.
const _: () = assert!(size_of::<Directive>() <= 56);

/// One answer of a policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// Makes the next queue, numbered by the count of queues made before. The queues of an answer
    /// are made before the rest of it is carried out, so directives may name queues that are made
    /// after them.
    MakeQueue(Clock),
    /// The thread waits in this queue when runnable. One that waits elsewhere moves now; one that
    /// runs goes on.
    Assign(ThreadId, QueueId),
    /// The same for many threads, one after another; each is named once.
    AssignAll(Box<[(ThreadId, QueueId)]>),
    /// The thread's place in its queue.
    Order(ThreadId, Order),
    /// How fast its virtual time grows on each kind, of 1024 (1024 unless said).
    Charge(ThreadId, PerKind<u32>),
    /// How long it may run once picked.
    Slice(ThreadId, Rc<Slice>),
    /// The tiers that the core takes threads from, in order. No tiers: the core is not used, and
    /// its thread is preempted.
    Serve {
        /// Which core.
        core: CoreId,
        /// First to last.
        tiers: Vec<Tier>,
        /// A thread that the core takes from another queue is assigned to this one from then on.
        adopt: Option<QueueId>,
    },
    /// The threads at the head of these queues may be *guests* of the core. The guest with the
    /// least key goes before the core's own queue (the first of its first tier) if a thread that
    /// may run on the core waits in that queue, or has just used up its slice on the core, and the
    /// guest's key is less than that thread's by more than `behind`. After a guest's turn one of
    /// the core's own threads is next.
    ///
    /// A guest stays in its queue, whatever the core adopts. Each such directive replaces the one
    /// before; no queues: no guests. At most 8 queues, each in some tier of the core.
    Host {
        /// Which core.
        core: CoreId,
        /// Queues whose threads may be guests.
        guests: Vec<QueueId>,
        /// Least advantage of a guest, exclusive.
        behind: u64,
    },
    /// The order in which idle cores are tried when a thread arrives in the queue; cores that do
    /// not serve the queue are skipped. By default: the thread's last core, then by number. In the
    /// kernel, among cores of one kind, those whose SMT sibling is idle too go first, and among
    /// these the thread's last core; the simulator and the affinity mechanism keep to the order.
    Prefer(QueueId, Vec<CoreId>),
    /// A thread that arrives in the queue and finds no idle core preempts a running thread whose
    /// key is greater by more than a margin; of several the one with the greatest key. Candidates
    /// run on a core that has the queue in its first tier, and come from a queue of that tier, or
    /// from the same queue if the tier does not choose by key. So no thread is preempted that would
    /// be picked first. By default there is no preemption.
    Preemption(QueueId, Option<Preemption>),
    /// How far below its queue's floor a thread that wakes may start, in virtual time (Linux: half
    /// a latency); 0 unless said.
    Sleeper(QueueId, u64),
    /// Two threads trade cores if both run; otherwise nothing happens.
    Swap(ThreadId, ThreadId),
    /// The thread, running or waiting, runs on this core next; the thread that runs there goes back
    /// to its queue.
    Move(ThreadId, CoreId),
    /// The core's thread goes back to its queue, and the core picks again.
    Preempt(CoreId),
    /// Period of [`Event::Timer`](super::Event::Timer), from now on. `Nanos::ZERO`: no timer.
    Timer(Nanos),
}

/// Collects the directives of a policy in answer to events.
#[derive(Debug, Default)]
pub struct Directives {
    said: Vec<Directive>,
    queues: u32,
    /// The last slice: successive threads often have the same, and share it.
    slice: Option<Rc<Slice>>,
}

impl Directives {
    /// Adds a directive.
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

    /// See [`Directive::AssignAll`]. Does nothing if there are no threads.
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

    /// Takes out all directives, in order.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Directive> {
        self.said.drain(..)
    }

    /// Takes out all directives and hands them to a mechanism: new queues first, the rest in order.
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

    /// True if there are no directives.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }
}
