//! Names of what policies and mechanisms talk about.

/// A thread of one run. Dense from 0 in order of start; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// An application of one run. Dense from 0.
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
