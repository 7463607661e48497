//! One worker's recording of events.

use std::cell::RefCell;
use std::time::Instant;

use evenkeel_machine::Nanos;

use crate::costs::Label;

/// Events that a worker has room for; what comes after them is left out and counted. With their
/// size: 40 MiB by worker at most.
pub const ROOM: usize = 1 << 20;
/// Events that room is made for at a time: so that nothing has to be moved.
const SEGMENT: usize = 1 << 12;
const _: () = assert!(size_of::<Event>() <= 40);

/// A task with dependences: where it lies (lower 48 bits), and which of those that have been there
/// (upper 16). 0: one without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u64);

impl TaskId {
    /// Bits of an address.
    const PLACE: u32 = 48;

    /// A task at this address, after so many others there.
    pub const fn new(address: usize, before: u16) -> Self {
        Self(address as u64 & ((1 << Self::PLACE) - 1) | (before as u64) << Self::PLACE)
    }
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A task ran.
    Task(Label, TaskId),
    /// A part of a loop ran: its first number, and how many.
    Chunk(Label, i64, u64),
    /// A stage of a pipeline, by number from 1, had an item, by number from 0.
    Stage(Label, u32, u64),
    /// A call from outside ran.
    Call,
    /// Half of a join ran that another worker had begun.
    Half,
    /// Looking for work.
    Looking,
    /// Asleep.
    Asleep,
    /// No longer asleep.
    Awake,
    /// Took a job from another worker.
    Stole(u32),
    /// Woke another worker.
    Woke(u32),
    /// LendOutcome its core to another worker.
    Lent(u32),
    /// The second task has to wait for the first.
    Edge(TaskId, TaskId),
}

/// Something that happened, since the trace began; what took no time ends when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub from: Nanos,
    pub to: Nanos,
    pub what: What,
}

/// Events of one worker, in the order in which they ended.
#[derive(Default)]
pub struct Log {
    segments: Vec<Vec<Event>>,
    dropped: u64,
}

impl Log {
    /// One more, if there is room.
    pub fn push(&mut self, event: Event) {
        if self.segments.last().is_none_or(|last| last.len() == SEGMENT) {
            if self.segments.len() == ROOM / SEGMENT {
                self.dropped += 1;
                return;
            }
            self.segments.push(Vec::with_capacity(SEGMENT));
        }
        if let Some(last) = self.segments.last_mut() {
            last.push(event);
        }
    }

    /// How many there was no room for.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// All of them.
    pub fn into_events(self) -> Vec<Event> {
        self.segments.concat()
    }
}

/// A worker's own.
pub struct Recorder {
    began: Instant,
    log: RefCell<Log>,
}

impl Recorder {
    /// A recorder for a trace that began then.
    pub fn new(began: Instant) -> Self {
        Self { began, log: RefCell::default() }
    }

    /// Something took from then until then.
    pub fn lasted(&self, what: What, from: Instant, to: Instant) {
        let since = |at: Instant| Nanos(at.saturating_duration_since(self.began).as_nanos() as u64);
        self.log.borrow_mut().push(Event { from: since(from), to: since(to), what });
    }

    /// Something happened at that instant.
    pub fn happened(&self, what: What, at: Instant) {
        self.lasted(what, at, at);
    }

    /// The second task has to wait for the first, as is found out now.
    pub fn must_wait(&self, before: TaskId, after: TaskId) {
        self.happened(What::Edge(before, after), Instant::now());
    }

    /// The recorded events.
    pub fn into_log(self) -> Log {
        self.log.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut log = Log::default();
        for at in 0..ROOM as u64 + 3 {
            log.push(Event { from: Nanos(at), to: Nanos(at), what: What::Call });
        }
        assert_eq!(log.dropped(), 3);
        let events = log.into_events();
        assert_eq!(
            (events.len(), events[ROOM - 1].from),
            (ROOM, Nanos(ROOM as u64 - 1)),
            "the first are kept"
        );
    }
}
