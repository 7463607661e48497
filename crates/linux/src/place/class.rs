//! The scheduling class of a thread: system calls that no crate wraps.

#![allow(unsafe_code)]

use std::io;

use rustix::process::Pid;

/// include/uapi/linux/sched.h; libc has no name for it yet.
const SCHED_EXT: i32 = 7;

/// A scheduling class, as far as mechanisms tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// SCHED_OTHER; and SCHED_EXT, which is the same while no sched_ext scheduler is loaded.
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
        [Self::Other, Self::Batch, Self::Idle, Self::Urgent]
            .into_iter()
            .find(|class| class.name() == name)
    }
}

/// The class of a thread.
///
/// # Errors
/// No such thread.
pub fn class(thread: Pid) -> io::Result<Class> {
    let policy = policy(thread);
    match policy {
        _ if policy < 0 => Err(io::Error::last_os_error()),
        libc::SCHED_OTHER | SCHED_EXT => Ok(Class::Other),
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
    set_policy(thread, policy)
}

/// Puts a thread into SCHED_EXT; what it forks from then on is there, too. Its nice value stays.
///
/// # Errors
/// No such thread; not allowed.
pub fn put_into_sched_ext(thread: Pid) -> io::Result<()> {
    set_policy(thread, SCHED_EXT)
}

/// True if a thread is in SCHED_EXT.
pub fn is_in_sched_ext(thread: Pid) -> bool {
    policy(thread) == SCHED_EXT
}

fn policy(thread: Pid) -> i32 {
    // SAFETY: takes and returns integers only.
    let policy = unsafe { libc::sched_getscheduler(thread.as_raw_nonzero().get()) };
    if policy < 0 { policy } else { policy & !libc::SCHED_RESET_ON_FORK }
}

fn set_policy(thread: Pid, policy: i32) -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live sched_param, which the kernel only reads.
    match unsafe {
        libc::sched_setscheduler(thread.as_raw_nonzero().get(), policy, &raw const priority)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
