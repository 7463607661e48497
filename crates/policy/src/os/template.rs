//! `template`: what it does, in a sentence.
//!
//! ```text
//! an idle core takes the thread with least virtual time from the one queue that all cores serve
//! a thread that wakes is offered to idle cores in order of their speed, the fastest first
//! ```
//!
//! Source: the paper or system that it comes from, with section or equation.
//!
//! Any number of kinds: say what it does on one kind, and on three.
//!
//! Knobs: `slice` (3 ms).

use evenkeel_machine::{CoreId, Nanos};

use crate::contract::{
    Clock, Directives, Event, Interest, Knob, Knobs, Order, Policy, QueueId, Slice, Start,
    StartError, Tier, View,
};
use crate::entry::{Entry, Trait};

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "template",
    summary: "one queue, idle cores woken fastest first",
    source: "an example of Evenkeel's",
    traits: &[Trait::WorkConserving],
    knobs: &[Knob::Number {
        name: "slice",
        default: 3.0,
        bounds: (0.1, 1_000.0),
        unit: "ms",
        about: "how long a thread runs before the next has its turn (ours)",
    }],
    make: |knobs, _| Box::new(TemplatePolicy::new(knobs)),
};

/// The only queue.
const ALL: QueueId = QueueId(0);

/// State of the policy: what it keeps between events.
#[derive(Debug)]
pub struct TemplatePolicy {
    slice: Nanos,
}

impl TemplatePolicy {
    fn new(knobs: &Knobs) -> Self {
        Self { slice: knobs.millis("slice") }
    }
}

impl Policy for TemplatePolicy {
    /// Starts and ends are always reported. Ask for what you use:
    /// `Interest::WOKE.and(Interest::PROGRESS)`.
    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let queue = say.make_queue(Clock::Shared);
        for core in &view.machine.cores {
            say.serve(core.id, vec![Tier::least_key([queue])], None);
        }
        let mut fastest_first: Vec<CoreId> =
            view.machine.cores.iter().map(|core| core.id).collect();
        fastest_first.sort_by_key(|&core| view.machine.cores[core.index()].kind);
        say.prefer(queue, fastest_first);
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        if let Event::Started(thread) = event {
            say.order(
                thread,
                Order::VirtualTime { weight: view.thread(thread).weight, start: Start::Floor },
            );
            say.slice(thread, Slice::of(self.slice));
            say.assign(thread, ALL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[test]
    fn all_cores_serve_the_one_queue_and_threads_wait_there() {
        let knobs = Knobs::new(ENTRY.name, ENTRY.knobs, &[]).unwrap();
        let mut bench = Bench::start(1, 2, (ENTRY.make)(&knobs, 1));
        let thread = bench.spawn(0);
        assert!((0..3).all(|core| bench.serves(CoreId(core)) == [ALL]));
        assert_eq!(bench.queue_of(thread), Some(ALL));
    }
}
