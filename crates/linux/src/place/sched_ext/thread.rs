//! A real thread as this side keeps it: what the policy does not see of it.

use evenkeel_machine::{Nanos, PerKind};
use evenkeel_policy::pelt::Load;
use evenkeel_policy::{Order, Slice, Start};

use super::counters::Sampled;
use crate::observe::watch::Tid;

/// What a thread has until the policy names a slice, as in the simulator.
pub const DEFAULT_SLICE: Nanos = Nanos::from_millis(3);
/// A charge or a weight of one.
pub const UNIT: u32 = 1024;

/// Statistics that its former slots add up to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    pub waiting: Nanos,
    pub blocked: Nanos,
    pub runs: u64,
    pub migrations: u64,
}

/// A thread of the policy, with what the policy does not see of it.
#[derive(Debug)]
pub struct Thread {
    pub tid: Tid,
    /// When the kernel made it, as its slot has it.
    pub born: u64,
    /// The same in `/proc`, in other units: as of the first look there since it left its last slot.
    pub born_in_proc: Option<u64>,
    /// Its slot, while the mechanism has it.
    pub slot: Option<u32>,
    pub order: Order,
    pub charge: PerKind<u32>,
    pub slice: Slice,
    pub relative_speed: PerKind<u64>,
    /// The policy has been told that it started, and not that it ended.
    pub announced: bool,
    /// What it was told last: that it is runnable, or that it blocked.
    pub announced_runnable: bool,
    /// Gone for good.
    pub ended: bool,
    pub nice: i32,
    pub migrations: u64,
    pub before: Before,
    /// Time on each kind, in the present slot, as of the last look.
    pub counted: PerKind<u64>,
    pub queue_generation: u32,
    pub order_generation: u32,
    /// When it last blocked and woke, as of the last look; the kernel's clock.
    pub blocked_at: u64,
    pub woke_at: u64,
    /// What it retires; only where that is counted.
    pub sampled: Option<Box<Sampled>>,
    pub load: Load,
}

impl Thread {
    /// One that begins now.
    pub fn new(tid: Tid, at: Nanos) -> Self {
        Self {
            tid,
            born: 0,
            born_in_proc: None,
            slot: None,
            order: Order::VirtualTime { weight: UNIT, start: Start::Keep },
            charge: PerKind::all(UNIT),
            slice: Slice::of(DEFAULT_SLICE),
            relative_speed: PerKind::all(1 << 16),
            announced: false,
            announced_runnable: false,
            ended: false,
            nice: 0,
            migrations: 0,
            before: Before::default(),
            counted: PerKind::all(0),
            queue_generation: 0,
            order_generation: 0,
            blocked_at: 0,
            woke_at: 0,
            sampled: None,
            load: Load::new(at),
        }
    }
}

/// Weight by which virtual time grows and queues are compared: the policy's, where the order has
/// one.
pub fn weight_in(order: &Order, own: u32) -> u32 {
    match *order {
        Order::VirtualTime { weight, .. } => weight.max(1),
        Order::Deadline { .. } | Order::Fixed { .. } | Order::Arrival => own.max(1),
    }
}
