//! What to watch for and where to learn it; and why that may fail.

use std::{io, path::PathBuf, time::Duration};

/// Where to learn what threads do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The best that is allowed.
    #[default]
    Auto,
    /// Perf's records.
    Perf,
    /// The kernel's news of processes, by netlink.
    Connector,
    /// Reading `/proc` at an interval, of the followed processes only.
    Poll,
}

/// What to watch for, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to learn it.
    pub source: Source,
    /// Tell when threads get and leave cores, where the source can.
    pub switches: bool,
    /// Tell when threads are woken, and by which: an error where that cannot be told.
    pub wakeups: bool,
    /// To follow programs, have perf tell of all threads and pick them out (takes `CAP_PERFMON`),
    /// rather than by events that each of their threads carries. `None`: on machines of many cores,
    /// if allowed, where each new thread would carry many.
    pub wide: Option<bool>,
    /// How often [`Source::Poll`] looks.
    pub interval: Duration,
    /// Pages of memory for each of perf's rings; as many as are useful and allowed unless said.
    pub ring_pages: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            source: Source::Auto,
            switches: true,
            wakeups: false,
            wide: None,
            interval: Duration::from_millis(10),
            ring_pages: None,
        }
    }
}

/// Why threads cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There is no such thread.
    #[error("no process {0}: it has ended, or never was")]
    Gone(i32),
    /// The kernel refuses.
    #[error(
        "{what}: not allowed; kernel.perf_event_paranoid is {paranoid}: own programs can be \
         watched at 2 or below, all others \
         with CAP_PERFMON"
    )]
    NotAllowed {
        /// What was tried.
        what: &'static str,
        /// The kernel's setting.
        paranoid: String,
    },
    /// A system call failed for another reason.
    #[error("{what}: {source}")]
    Open {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A file of the kernel cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The source cannot do this.
    #[error("{0}")]
    Cannot(&'static str),
}
