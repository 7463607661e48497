//! The few things that the mechanism asks of the kernel, behind a trait, so that it can be tested
//! without one.

use std::io;

use rustix::process::Pid;
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, sched_setaffinity};

use crate::observe::watch::Tid;
use crate::place::class;
pub use crate::place::class::Class;

/// What the mechanism needs of the kernel.
pub trait Kernel {
    /// CPUs that a thread may run on.
    ///
    /// # Errors
    /// No such thread (`ESRCH`).
    fn affinity(&mut self, thread: Tid) -> io::Result<CpuSet>;

    /// Sets them. When this returns, a running thread has changed CPUs.
    ///
    /// # Errors
    /// No such thread (`ESRCH`), another user's (`EPERM`), none of the CPUs may be used (`EINVAL`).
    fn set_affinity(&mut self, thread: Tid, cpus: &CpuSet) -> io::Result<()>;

    /// Puts a thread into one of the normal classes.
    ///
    /// # Errors
    /// As [`Kernel::set_affinity`].
    fn set_class(&mut self, thread: Tid, class: Class) -> io::Result<()>;

    /// True if a thread that has been put into SCHED_IDLE can be taken out again: not without
    /// CAP_SYS_NICE or a suitable RLIMIT_NICE.
    fn can_park(&mut self) -> bool;

    /// How the kernel schedules a thread.
    ///
    /// # Errors
    /// No such thread.
    fn sched_params(&mut self, thread: Tid) -> io::Result<SchedParams>;

    /// True if it is a thread of the kernel, which is not placed.
    fn is_of_kernel(&mut self, thread: Tid) -> bool;

    /// The process that forked this one, as far as it is known.
    fn parent(&mut self, process: Tid) -> Option<Tid>;
}

/// How the kernel schedules a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedParams {
    /// Nice value, -20 to 19.
    pub nice: i8,
    /// Class.
    pub class: Class,
}

impl SchedParams {
    /// Weight among normal threads.
    pub fn weight(self) -> u32 {
        if self.class == Class::Idle {
            evenkeel_policy::IDLE_WEIGHT
        } else {
            evenkeel_policy::weight_of(self.nice)
        }
    }
}

/// The kernel that this process runs on.
#[derive(Debug, Default)]
pub struct Linux(());

impl Linux {
    /// Ready to be asked.
    pub fn new() -> Self {
        Self::default()
    }
}

/// True if this process may place threads of other users: CAP_SYS_NICE.
#[must_use]
pub fn can_place_others() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_NICE))
}

fn pid(thread: Tid) -> io::Result<Pid> {
    Pid::from_raw(thread.0)
        .ok_or_else(|| io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error()))
}

impl Kernel for Linux {
    fn affinity(&mut self, thread: Tid) -> io::Result<CpuSet> {
        Ok(sched_getaffinity(Some(pid(thread)?))?)
    }

    fn set_affinity(&mut self, thread: Tid, cpus: &CpuSet) -> io::Result<()> {
        Ok(sched_setaffinity(Some(pid(thread)?), cpus)?)
    }

    fn set_class(&mut self, thread: Tid, class: Class) -> io::Result<()> {
        class::set_class(pid(thread)?, class)
    }

    fn can_park(&mut self) -> bool {
        // What counts for leaving SCHED_IDLE is the other thread's RLIMIT_NICE, not ours: only the
        // capability is sure.
        can_place_others()
    }

    fn sched_params(&mut self, thread: Tid) -> io::Result<SchedParams> {
        let pid = pid(thread)?;
        let class = class::class(pid)?;
        let nice = rustix::process::getpriority_process(Some(pid))?;
        Ok(SchedParams { nice: nice.clamp(-20, 19) as i8, class })
    }

    fn is_of_kernel(&mut self, thread: Tid) -> bool {
        // Of the flags, field 9 (include/linux/sched.h).
        const PF_KTHREAD: u64 = 0x0020_0000;
        stat_field(thread, 9).is_ok_and(|flags| flags.is_some_and(|flags| flags & PF_KTHREAD != 0))
    }

    fn parent(&mut self, process: Tid) -> Option<Tid> {
        let parent = stat_field(process, 4).ok().flatten()?;
        i32::try_from(parent).ok().map(Tid)
    }
}

/// A number of `/proc/N/stat`, by its place as proc_pid_stat(5) counts, 4 or more; `None`: there is
/// no such thread.
///
/// # Errors
/// There is one, and it cannot be read.
pub fn stat_field(thread: Tid, number: usize) -> io::Result<Option<u64>> {
    let text = match std::fs::read(format!("/proc/{}/stat", thread.0)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // The name, in parentheses, may hold any bytes; after it comes field 3.
    let after = text.iter().rposition(|&byte| byte == b')').map_or(0, |at| at + 1);
    let rest = String::from_utf8_lossy(&text[after..]);
    Ok(rest.split_ascii_whitespace().nth(number - 3).and_then(|field| field.parse().ok()))
}
