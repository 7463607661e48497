//! Names of what policies and mechanisms talk about.

/// A thread of one run. Dense from 0, in order of start in the simulator. Where threads come and go
/// for months, as on a real machine, a number is given again: to a thread that starts after the
/// policy has been told [`Exited`](super::Event::Exited) and has answered. What has been said of it
/// (order, charge, slice) then holds for the new one until something else is said, as for a thread
/// that comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// An application of one run. Dense from 0; a number may be given again once every thread of it has
/// ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u32);

/// A queue that the policy made. Dense from 0 in order of making.
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
