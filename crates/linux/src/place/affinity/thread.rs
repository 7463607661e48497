//! A real thread as the mechanism keeps it: what the policy does not see of it.

use evenkeel_machine::{CoreId, Nanos, PerKind};
use evenkeel_policy::pelt::Load;
use evenkeel_policy::{Order, QueueId, Slice};
use rustix::thread::CpuSet;

use super::kernel::Class;
use crate::observe::watch::Tid;

/// A slice as long as it takes: for threads of policies that name none.
const UNLIMITED: Slice = Slice::of(Nanos::MAX);

/// A charge or a weight of one.
pub const UNIT: u32 = 1024;

/// Where the mechanism has put a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: it is blocked, has ended, is not the policy's, or is *loose* (see the module's
    /// head).
    #[default]
    Nowhere,
    /// It waits in a queue.
    Queue(QueueId),
    /// It has a core.
    Core(CoreId),
}

/// What was last asked of the kernel for a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mask {
    /// Nothing: it has the mask that it was born with.
    #[default]
    Untouched,
    /// Nothing, but a parent handed down what it had been given: the last of it, or what came
    /// before.
    Inherited(Box<[CpuSet; 2]>),
    /// This, and this before.
    Set(Box<[CpuSet; 2]>),
    /// It chose its own, and keeps it.
    Own,
    /// The kernel does not let us.
    Refused,
}

/// A thread that is followed, with what the policy does not see of it.
#[derive(Debug)]
pub struct Thread {
    pub tid: Tid,
    pub process: Tid,
    pub order: Order,
    pub charge: PerKind<u32>,
    pub slice: Slice,
    /// What it has run of its slice, time on a core of the machine file.
    pub used: Nanos,
    /// What is left of a carried slice, as a share.
    pub left: Option<f64>,
    pub place: Place,
    /// Order of arrival in its queue.
    pub sequence: u64,

    /// The core that it was last seen to get and has not been seen to leave.
    pub on: Option<CoreId>,
    /// Up to when its time on that core has been counted.
    pub counted: Nanos,
    /// The core that it ran on last.
    pub last: Option<CoreId>,
    pub runnable: bool,
    /// It was there before it was first seen.
    pub found: bool,
    /// It has woken since it was first seen, or began then.
    pub has_woken: bool,
    /// Up to when its time, runnable or not, has been counted.
    pub since: Nanos,
    /// Time runnable, on a core or not.
    pub runnable_time: Nanos,
    /// It has blocked since the mechanism last looked around.
    pub blocked_lately: bool,
    /// It has woken, and has not been put into a queue since.
    pub woken: bool,
    /// It had woken when it was put into its queue, and has been given no core since.
    pub waits_woken: bool,
    /// Which of the slices in a row it is in, the first being 1.
    pub slice_number: u32,
    /// It is on the list of threads that may have changed.
    pub touched: bool,
    /// The policy has been told that it started.
    pub announced: bool,
    pub ended: bool,
    /// On the list of loose threads.
    pub loose: bool,
    /// Not the policy's: in a class before the normal ones, or bound to CPUs that are not the
    /// machine's.
    pub foreign: bool,
    /// It has reached a milestone since the last look.
    pub at_milestone: bool,

    pub mask: Mask,
    /// The mask that it had before the mechanism touched it or its ancestors.
    pub original: Option<CpuSet>,
    /// The class that it has when it is not parked.
    pub class: Class,
    pub parked: bool,
    /// What it had is in the journal.
    pub written: bool,
    /// It has slept since [`super::naps`] last asked, while it had a core.
    pub napped: bool,
    /// The share of those questions that found so, late ones counting most.
    pub naps: f32,
    /// The core that it has been put on, and runs elsewhere than on.
    pub called_to: Option<CoreId>,
    /// It has been parked for too long, and is not again before it has had a core.
    pub overdue: bool,
    /// Not narrowed before this.
    pub grace_until: Nanos,
    pub load: Load,
    /// By kind, work done per nanosecond on a core, of 2^16: see [`super::account`].
    pub relative_speed: PerKind<u64>,
    pub migrations: u64,
}

impl Thread {
    /// One that begins now.
    pub fn new(tid: Tid, process: Tid, at: Nanos) -> Self {
        Self {
            tid,
            process,
            order: Order::Arrival,
            charge: PerKind::all(UNIT),
            slice: UNLIMITED,
            used: Nanos::ZERO,
            left: None,
            place: Place::Nowhere,
            sequence: 0,
            on: None,
            counted: at,
            last: None,
            runnable: true,
            found: false,
            has_woken: true,
            since: at,
            runnable_time: Nanos::ZERO,
            blocked_lately: false,
            woken: false,
            waits_woken: false,
            slice_number: 1,
            touched: false,
            announced: false,
            ended: false,
            loose: false,
            foreign: false,
            at_milestone: false,
            mask: Mask::Untouched,
            original: None,
            class: Class::Other,
            parked: false,
            written: false,
            napped: false,
            naps: 0.0,
            called_to: None,
            overdue: false,
            grace_until: Nanos::ZERO,
            load: Load::new(at),
            relative_speed: PerKind::all(1 << 16),
            migrations: 0,
        }
    }
}

impl Thread {
    /// What a thread gets from the one that forks it.
    pub fn inherit(&mut self, parent: &Self) {
        self.mask = match &parent.mask {
            Mask::Set(masks) | Mask::Inherited(masks) => Mask::Inherited(masks.clone()),
            Mask::Untouched => Mask::Untouched,
            Mask::Own => Mask::Own,
            Mask::Refused => Mask::Refused,
        };
        self.original = parent.original;
        self.class = parent.class;
        self.parked = parent.parked;
        self.foreign = parent.foreign;
    }
}
