//! System calls that no crate wraps: the scheduling class of another thread.

#![allow(unsafe_code)]

use std::io;

use rustix::process::Pid;

/// A scheduling class, as far as the mechanism tells them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// SCHED_OTHER.
    #[default]
    Other,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO, SCHED_RR, SCHED_DEADLINE: before every normal thread.
    Urgent,
}

impl Class {
    /// Its name in the journal.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Batch => "batch",
            Self::Idle => "idle",
            Self::Urgent => "urgent",
        }
    }

    /// From its name in the journal.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Other, Self::Batch, Self::Idle, Self::Urgent].into_iter().find(|class| class.name() == name)
    }
}

/// The class of a thread.
///
/// # Errors
/// No such thread.
pub fn class(thread: Pid) -> io::Result<Class> {
    // SAFETY: takes and returns integers only.
    let policy = unsafe { libc::sched_getscheduler(thread.as_raw_nonzero().get()) };
    match policy & !libc::SCHED_RESET_ON_FORK {
        _ if policy < 0 => Err(io::Error::last_os_error()),
        libc::SCHED_OTHER => Ok(Class::Other),
        libc::SCHED_BATCH => Ok(Class::Batch),
        libc::SCHED_IDLE => Ok(Class::Idle),
        _ => Ok(Class::Urgent),
    }
}

/// Puts a thread into one of the normal classes; its nice value stays.
///
/// # Errors
/// No such thread; not allowed; not a normal class.
pub fn set_class(thread: Pid, class: Class) -> io::Result<()> {
    let policy = match class {
        Class::Idle => libc::SCHED_IDLE,
        Class::Other => libc::SCHED_OTHER,
        Class::Batch => libc::SCHED_BATCH,
        Class::Urgent => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live sched_param, which the kernel only reads.
    match unsafe { libc::sched_setscheduler(thread.as_raw_nonzero().get(), policy, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
