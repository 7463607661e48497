//! The policy's answers: how many it has given, and those that are still on their way.

use std::collections::VecDeque;

use evenkeel_machine::Nanos;
use evenkeel_policy::Directive;

/// Answers of a policy.
#[derive(Default)]
pub struct Answers {
    given: u64,
    carried_out: u64,
    /// Each with the time at which it is carried out, in order.
    late: VecDeque<(Nanos, Vec<Directive>)>,
}

impl Answers {
    /// How many have been given.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// How many have been carried out.
    pub fn carried_out(&self) -> u64 {
        self.carried_out
    }

    /// One has been given.
    pub fn note_given(&mut self) {
        self.given += 1;
    }

    /// One has been carried out.
    pub fn note_carried_out(&mut self) {
        self.carried_out += 1;
    }

    /// An answer will be carried out then, which is not before those that wait already.
    pub fn postpone(&mut self, due: Nanos, said: Vec<Directive>) {
        self.late.push_back((due, said));
    }

    /// When the first of those that wait is to be carried out.
    pub fn due(&self) -> Option<Nanos> {
        self.late.front().map(|&(due, _)| due)
    }

    /// Takes the first of those that wait, if it is to be carried out by now.
    pub fn take_due(&mut self, now: Nanos) -> Option<Vec<Directive>> {
        self.due().filter(|&due| due <= now)?;
        self.late.pop_front().map(|(_, said)| said)
    }
}
