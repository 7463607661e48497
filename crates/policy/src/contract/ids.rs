//! Identifiers that policies and mechanisms share.

/// A thread of one run. Dense from 0; in the simulator in order of start. A mechanism that runs for
/// months reuses a number, for a thread that starts after the policy has been told
/// [`Exited`](super::Event::Exited) and has answered. Directives about the old thread (order,
/// charge, slice) then hold for the new one until they are replaced, as for a thread that comes
/// back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// An application of one run. Dense from 0; a number may be reused once all its threads have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u32);

/// A queue that the policy made. Dense from 0, in order of making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

impl ThreadId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
impl AppId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
impl QueueId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
