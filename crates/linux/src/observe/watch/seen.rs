//! What a watcher tells.

use evenkeel_machine::Nanos;

/// A thread of the operating system, by its number in `/proc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub i32);

/// A CPU of the operating system, by its number under `/sys/devices/system/cpu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub u32);

/// What woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// Another thread, by what it did.
    Thread(Tid),
    /// An interrupt: a timer, a device, another machine.
    Interrupt,
}

/// Something that a thread did. Times are `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A thread began, and may run.
    Started {
        /// Which.
        tid: Tid,
        /// Its process (thread group).
        process: Tid,
        /// The thread that forked it, where the source tells.
        parent: Option<Tid>,
        /// When.
        at: Nanos,
    },
    /// A thread was there already: when the watcher attached, or after records were lost.
    Found {
        /// Which.
        tid: Tid,
        /// Its process (thread group).
        process: Tid,
        /// It had a core or waited for one; otherwise it was blocked or stopped.
        runnable: bool,
        /// When.
        at: Nanos,
    },
    /// Its process began another program.
    Exec {
        /// Which.
        tid: Tid,
        /// When.
        at: Nanos,
    },
    /// It ended, or left the cgroup that is watched; and left its core if it was on one: no
    /// [`Seen::Left`] says so.
    Exited {
        /// Which.
        tid: Tid,
        /// When.
        at: Nanos,
    },
    /// It got a core.
    Took {
        /// Which.
        tid: Tid,
        /// Where.
        cpu: Cpu,
        /// When.
        at: Nanos,
    },
    /// It left its core.
    Left {
        /// Which.
        tid: Tid,
        /// Where.
        cpu: Cpu,
        /// When.
        at: Nanos,
        /// It could have gone on: it waits for a core. Otherwise it waits for something else.
        preempted: bool,
    },
    /// It was woken: it waits for a core. Only told if asked for, and only by some sources.
    Woke {
        /// Which.
        tid: Tid,
        /// What woke it.
        by: Waker,
        /// When.
        at: Nanos,
    },
}
