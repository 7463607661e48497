//! A queue of the policy: a plain list, since it is looked at a few hundred times a second at most.

use evenkeel_machine::CoreId;
use evenkeel_mechanism::QueueClock;
use evenkeel_policy::{Clock, Preemption, ThreadId};

/// One queue.
#[derive(Debug)]
pub struct Queue {
    pub clock: QueueClock,
    pub preemption: Option<Preemption>,
    pub prefer: Vec<CoreId>,
    /// In order of arrival.
    pub waiting: Vec<ThreadId>,
}

impl Queue {
    /// An empty one.
    pub const fn new(clock: Clock) -> Self {
        Self {
            clock: QueueClock::new(clock),
            preemption: None,
            prefer: Vec::new(),
            waiting: Vec::new(),
        }
    }
}
