//! Where a machine or a workload is from.

use std::sync::Arc;

/// Where something is from, with its content where it is not built in.
#[derive(Debug)]
pub enum Source<T: ?Sized> {
    /// It has a name that is known.
    BuiltIn,
    /// A file, as it was when it was read.
    File(Arc<T>),
    /// Nothing but memory.
    Memory(Arc<T>),
}

impl<T: ?Sized> Clone for Source<T> {
    fn clone(&self) -> Self {
        match self {
            Self::BuiltIn => Self::BuiltIn,
            Self::File(content) => Self::File(Arc::clone(content)),
            Self::Memory(content) => Self::Memory(Arc::clone(content)),
        }
    }
}

impl<T: ?Sized> Source<T> {
    /// What is in it; `None`: it is built in.
    pub fn content(&self) -> Option<&T> {
        match self {
            Self::BuiltIn => None,
            Self::File(content) | Self::Memory(content) => Some(content),
        }
    }

    /// The same where it is in memory alone.
    pub fn in_memory(&self) -> Option<&T> {
        match self {
            Self::BuiltIn | Self::File(_) => None,
            Self::Memory(content) => Some(content),
        }
    }
}
